//! A directory that cannot be used, as bad input.

use chiliad::{Error, LogError};
use chiliad_host::Stop;
use std::io::ErrorKind;
use std::path::Path;

/// The error of a directory that cannot be used, in one line with what is accepted.
#[must_use]
pub fn refusal(place: &Path, error: &Error) -> Stop {
    let Error::Data(problem) = error else { return Stop::bad(place.display(), error) };
    let accepted = match problem {
        LogError::Damaged { .. } => {
            let accepted = "accepted: a sound directory (`chiliad recover DIR --salvage TO` saves \
                            what can be saved)";
            return Stop::bad(place.display(), format!("{problem}; {accepted}"));
        }
        LogError::NewerFormat { .. } => return Stop::bad(place.display(), problem),
        LogError::Missing { .. } => "; accepted: a directory that Chiliad wrote",
        LogError::Io { kind: ErrorKind::NotFound | ErrorKind::NotADirectory, .. } => {
            "; accepted: a directory"
        }
        LogError::Io { kind: ErrorKind::PermissionDenied, .. } => {
            "; accepted: a directory with permission to use it"
        }
        LogError::Io { .. } => "; accepted: a directory on a disk that works and has room",
        // The others name the directory, and say what is accepted.
        _ => "",
    };
    Stop::BadInput(format!("{problem}{accepted}"))
}
