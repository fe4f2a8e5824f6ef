//! `chiliad bench index`: look-ups alone, single or in groups.

use crate::args::{IndexFlags, IndexKindFlag, typed};
use crate::bench::stop;
use crate::progress::Bar;
use crate::result::RunResult;
use crate::settings::Shown;
use chiliad_driver::{Length, Lookup, run_lookup};
use chiliad_engine::IndexKind;
use chiliad_host::Stop;
use chiliad_host::limit;
use chiliad_host::values;

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
    let memory = lookup.memory();
    limit::check_memory(memory.flag, memory.bytes)?;
    limit::check_threads("--threads", flags.threads, 0)?;
    let bar = Bar::new(Length::Time(flags.duration), quiet);
    let report = run_lookup(&lookup, &bar).map_err(stop)?;
    drop(bar);
    Ok(RunResult::counted(("index", "get"), flags.threads, flags.seed, &report, shown(flags)))
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
