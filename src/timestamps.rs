//! `chiliad bench timestamps`: how fast threads can draw timestamps.

use crate::args::{TimestampsFlags, typed, values};
use crate::bench::stop;
use crate::failure::Stop;
use crate::host;
use crate::progress::Bar;
use crate::result::RunResult;
use crate::settings::Shown;
use chiliad_workload::driver::{Drawing, Length, run_drawing};

/// Draws timestamps and does nothing else.
pub fn run(flags: &TimestampsFlags, quiet: bool) -> Result<RunResult, Stop> {
    let threads = flags.threads.unwrap_or_else(host::cores);
    let drawing = Drawing {
        kind: flags.timestamps.kind(),
        threads,
        duration: flags.duration,
        warmup: flags.warmup,
    };
    let bar = Bar::new(Length::Time(flags.duration), quiet);
    let report = run_drawing(&drawing, &bar).map_err(stop)?;
    drop(bar);
    let options = shown(flags, threads);
    Ok(RunResult::counted(("timestamps", "draw"), threads, 0, &report, options))
}

fn shown(flags: &TimestampsFlags, threads: usize) -> Shown {
    let mut shown = Shown::new();
    shown.insert("timestamps".into(), typed(&flags.timestamps).into());
    shown.insert("threads".into(), threads.into());
    shown.insert("duration".into(), values::show_time(flags.duration).into());
    shown.insert("warmup".into(), values::show_time(flags.warmup).into());
    shown.insert("repeat".into(), flags.repeat.into());
    shown
}
