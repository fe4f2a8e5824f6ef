//! What the commands on data directories share: refusals in one line, and a bar for long readings.

use chiliad::{Error, LogError, Phase};
use chiliad_host::Leftover;
use chiliad_host::Stop;
use chiliad_host::bar::bar;
use indicatif::ProgressBar;
use std::io::ErrorKind;
use std::path::Path;

/// A directory that cannot be used, told with what is accepted.
pub fn refusal(place: &Path, error: &Error) -> Stop {
    let Error::Data(problem) = error else { return Stop::bad(place.display(), error) };
    let accepted = match problem {
        LogError::Damaged { .. } => {
            let accepted = "accepted: a sound directory (`chiliad recover DIR --salvage TO` saves \
                            what can be saved)";
            return Stop::bad(place.display(), format!("{problem}; {accepted}"));
        }
        LogError::NewerFormat { .. } => return Stop::bad(place.display(), problem),
        // These name the directory, and say what is accepted.
        LogError::NotOurs { .. }
        | LogError::Locked { .. }
        | LogError::OpenHere { .. }
        | LogError::NotEmpty { .. } => "",
        LogError::Missing { .. } => "; accepted: a directory that Chiliad wrote",
        LogError::Io { kind: ErrorKind::NotFound | ErrorKind::NotADirectory, .. } => {
            "; accepted: a directory"
        }
        LogError::Io { kind: ErrorKind::PermissionDenied, .. } => {
            "; accepted: a directory with permission to use it"
        }
        LogError::Io { .. } => "; accepted: a directory on a disk that works and has room",
    };
    Stop::BadInput(format!("{problem}{accepted}"))
}

/// Writes a directory by `write`, which itself takes back what it could not finish. A signal takes it back
/// too.
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
    pub fn new(quiet: bool) -> Self {
        Self(bar(1, "{msg:<32} [{bar:30}] {elapsed}", quiet))
    }

    /// Shows a phase, units done, all units.
    pub fn show(&self, phase: Phase, done: u64, of: u64) {
        let (what, unit) = match phase {
            Phase::Inspect => ("looking for the ends of logs", 1),
            Phase::Replay => ("reading, MiB", 1 << 20),
            Phase::Finalize => ("making ready, tables", 1),
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
