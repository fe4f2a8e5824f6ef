//! `chiliad bench locks`: locks alone, one at a time.

use crate::args::{LocksFlags, YesNo, typed};
use crate::bench::stop;
use crate::progress::Bar;
use crate::result::{Counts, RunResult};
use crate::settings::Shown;
use crate::{host, limit};
use chiliad_driver::{Length, Locking, run_locking};
use chiliad_host::Stop;
use chiliad_host::values;

/// The workload's name, and that of what it counts.
const NAMES: (&str, &str) = ("locks", "pair");

/// Locks and unlocks natively and does nothing else.
pub fn run(flags: &LocksFlags, quiet: bool) -> Result<RunResult, Stop> {
    let threads = flags.threads.unwrap_or_else(host::cores);
    limit::check_threads("--threads", threads, 0)?;
    let locking = Locking {
        table: flags.scheme.kind(),
        mutex: flags.latch.kind(),
        mode: flags.mode.mode(),
        hot: flags.hot == YesNo::Yes,
        threads,
        duration: flags.duration,
        warmup: flags.warmup,
        pairs: flags.transactions.map(|it| it as u64),
    };
    let bar = Bar::new(Length::Time(flags.duration), quiet || flags.transactions.is_some());
    let (counted, tally) = run_locking(&locking, &bar).map_err(stop)?;
    drop(bar);
    let mut result = RunResult::counted(NAMES, threads, 0, &counted, shown(flags, threads));
    result.scheme = typed(&flags.scheme);
    result.counts = Counts::new(&tally, &[NAMES.1], Some(counted.seconds), None);
    Ok(result)
}

fn shown(flags: &LocksFlags, threads: usize) -> Shown {
    let mut shown = Shown::new();
    shown.insert("mode".into(), typed(&flags.mode).into());
    shown.insert("hot".into(), typed(&flags.hot).into());
    shown.insert("latch".into(), typed(&flags.latch).into());
    shown.insert("threads".into(), threads.into());
    match flags.transactions {
        Some(pairs) => shown.insert("transactions".into(), pairs.into()),
        None => {
            shown.insert("warmup".into(), values::show_time(flags.warmup).into());
            shown.insert("duration".into(), values::show_time(flags.duration).into())
        }
    };
    shown.insert("repeat".into(), flags.repeat.into());
    shown
}
