//! Data directories, for people: what one holds, how far its reading is, and why it cannot be used.

mod refusal;
mod report;
mod rows;

pub use refusal::refusal;
pub use report::{Inspected, Salvaged};
pub use rows::{RowForm, write_rows};

use chiliad::Phase;
use chiliad_host::Leftover;
use chiliad_host::bar::bar;
use indicatif::ProgressBar;
use std::path::Path;

/// Writes a directory by `write`, which itself takes back what it could not finish. A signal takes it back
/// too.
///
/// # Errors
/// Those of `write`.
pub fn whole_or_not_at_all<T>(
    to: &Path,
    write: impl FnOnce() -> chiliad::Result<T>,
) -> chiliad::Result<T> {
    let unfinished = Leftover::contents(to);
    let written = write();
    if let Some(finished) = unfinished {
        finished.keep();
    }
    written
}

/// How far the reading of a directory is: on a terminal, on standard error.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar; hidden if `quiet` or where there is no terminal.
    #[must_use]
    pub fn new(quiet: bool) -> Self {
        Self(bar(1, "{msg:<32} [{bar:30}] {elapsed}", quiet))
    }

    /// Shows a phase, units done, all units.
    pub fn show(&self, phase: Phase, done: u64, of: u64) {
        let (what, unit) = match phase {
            Phase::Inspect => ("looking for the ends of logs", 1),
            Phase::Replay => ("reading, MiB", 1 << 20),
            Phase::Finalize => ("making ready, tables", 1),
            _ => ("going on", 1),
        };
        self.0.set_message(format!("{what}: {} of {}", done / unit, of / unit));
        self.0.set_length(of);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
