//! `chiliad bench log`: how fast a shared log takes records.

use crate::args::{Alone, LogFlags};
use crate::settings;
use chiliad_driver::Appending;
use chiliad_host::Stop;
use chiliad_lab::run::AppendSpec;

/// Appends for the time that was asked for, and says how many records that were.
pub fn run(bench: &Alone<LogFlags>) -> Result<(), Stop> {
    let flags = &bench.flags;
    let mut sink = bench.output.sink()?;
    let appending = Appending {
        record_bytes: flags.record_bytes,
        threads: flags.threads,
        in_flight: flags.in_flight,
        duration: flags.duration,
    };
    let open = settings::open_log;
    let result = AppendSpec { appending, log: flags.shared_log.clone(), open }.run()?;
    sink.say(&result.text())?;
    sink.json(&result.json())?;
    sink.finish()
}
