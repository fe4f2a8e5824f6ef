//! Errors of files, reported so that one line says which file, where, and what is accepted.

use core::fmt;
use std::io;

/// A failure of the log or of a data directory.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LogError {
    /// The system refused an operation on a file.
    Io {
        /// The operation, and its file.
        doing: String,
        /// The kind, for callers that act on it.
        kind: io::ErrorKind,
        /// The system's own words.
        message: String,
    },
    /// A file does not hold what was written to it.
    Damaged {
        /// The file.
        file: String,
        /// Where, in bytes from its start.
        offset: u64,
        /// The part that does not fit.
        what: String,
    },
    /// The directory holds something, and no data of ours.
    NotOurs {
        /// The directory.
        place: String,
    },
    /// Written by a newer version.
    NewerFormat {
        /// The file.
        file: String,
        /// Its format version.
        found: u32,
        /// The newest that is understood.
        accepted: u32,
    },
    /// Another process uses the directory.
    Locked {
        /// The directory.
        place: String,
    },
    /// This process uses the directory already.
    OpenHere {
        /// The directory.
        place: String,
    },
    /// The directory is to be written to, and holds something.
    NotEmpty {
        /// The directory.
        place: String,
    },
    /// The directory holds no database.
    Missing {
        /// The directory.
        place: String,
    },
}

impl LogError {
    /// An error of the system, met while doing something.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io { doing, kind: error.kind(), message: error.to_string() }
    }

    /// Damage found in a file.
    pub fn damaged(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { file: file.into(), offset, what: what.into() }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, message, .. } => write!(f, "{doing}: {message}"),
            Self::Damaged { file, offset, what } => {
                write!(f, "{file} is damaged at byte {offset}: {what}")
            }
            Self::NotOurs { place } => {
                write!(
                    f,
                    "{place} holds files and none of them is a Chiliad manifest; accepted: an empty directory, or one that Chiliad wrote"
                )
            }
            Self::NewerFormat { file, found, accepted } => {
                write!(f, "{file} has format version {found}; accepted: up to {accepted}")
            }
            Self::Locked { place } => {
                write!(f, "{place} is in use by another process; accepted: one at a time")
            }
            Self::OpenHere { place } => {
                write!(f, "{place} is open in this process already; accepted: once at a time")
            }
            Self::NotEmpty { place } => {
                write!(f, "{place} is not empty; accepted: an empty directory")
            }
            Self::Missing { place } => write!(f, "{place} holds no database"),
        }
    }
}

impl std::error::Error for LogError {}

/// Results of this room.
pub type Result<T> = core::result::Result<T, LogError>;
