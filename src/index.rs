//! `chiliad bench index`: look-ups alone, single or in groups.

use crate::args::{IndexFlags, IndexKindFlag, typed, values};
use crate::bench::stop;
use crate::failure::Stop;
use crate::progress::Bar;
use crate::result::{Counts, RunResult};
use crate::settings::Shown;
use chiliad_engine::IndexKind;
use chiliad_workload::driver::{Length, Lookup, Tally, run_lookup};

/// Loads an index and looks up keys in it.
pub fn run(flags: &IndexFlags, quiet: bool) -> Result<RunResult, Stop> {
    let lookup = Lookup {
        records: flags.records,
        record_bytes: flags.record_bytes,
        group: flags.group,
        index: match flags.index {
            IndexKindFlag::Ordered => IndexKind::Ordered,
            IndexKindFlag::Hash => IndexKind::Hash,
        },
        threads: flags.threads,
        duration: flags.duration,
        warmup: flags.warmup,
        seed: flags.seed,
    };
    let bar = Bar::new(Length::Time(flags.duration), quiet);
    let report = run_lookup(&lookup, &bar).map_err(stop)?;
    drop(bar);
    let mut tally = Tally::new(1);
    tally.kinds[0].committed = report.count;
    let (build, host_cpu) = RunResult::host();
    Ok(RunResult {
        workload: "index".into(),
        scheme: String::new(),
        machine: "native",
        threads: flags.threads,
        clients: flags.threads,
        seed: flags.seed,
        seconds: report.seconds,
        counts: Counts::new(&tally, &["get"], Some(report.seconds), None),
        verified: None,
        consistency: None,
        disk: None,
        simulation: None,
        options: shown(flags),
        build,
        host_memory_bytes: report.memory_bytes,
        host_cpu,
    })
}

fn shown(flags: &IndexFlags) -> Shown {
    let mut shown = Shown::new();
    shown.insert("records".into(), flags.records.into());
    shown.insert("record_bytes".into(), flags.record_bytes.into());
    shown.insert("group".into(), flags.group.into());
    shown.insert("index".into(), typed(&flags.index).into());
    shown.insert("threads".into(), flags.threads.into());
    shown.insert("duration".into(), values::show_time(flags.duration).into());
    shown.insert("warmup".into(), values::show_time(flags.warmup).into());
    shown.insert("seed".into(), flags.seed.into());
    shown.insert("repeat".into(), flags.repeat.into());
    shown
}
