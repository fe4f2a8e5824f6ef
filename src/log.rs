//! `chiliad bench log`: how fast a shared log takes records.

use crate::args::{Alone, LogFlags};
use crate::settings;
use chiliad_driver::Appending;
use chiliad_host::Stop;
use chiliad_lab::run::AppendSpec;

/// Appends for the time that was asked for, and says how many records that were.
pub fn run(bench: &Alone<LogFlags>) -> Result<(), Stop> {
    let mut sink = bench.output.sink()?;
    let result = spec(&bench.flags).run()?;
    sink.say(&result.text())?;
    sink.json(&result.json())?;
    sink.finish()
}

/// What the flags ask for.
pub fn spec(flags: &LogFlags) -> AppendSpec {
    let appending = Appending {
        record_bytes: flags.record_bytes,
        threads: flags.threads,
        in_flight: flags.in_flight,
        duration: flags.duration,
    };
    AppendSpec { appending, log: flags.shared_log.clone(), open: settings::open_log }
}
