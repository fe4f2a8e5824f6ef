//! Why a log was not opened, and errors of the client in our words.

use async_nats::jetstream;
use chiliad_machine::shared_log::SharedLogError;
use std::error::Error;
use std::fmt;

/// Why a log was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL or an option cannot be used: which, and why.
    Invalid(String),
    /// The stream, or a server, is not set up as a shared log needs it.
    Refused {
        /// The name of the stream or the server.
        of: String,
        /// The setting, as the server's documents name it.
        setting: &'static str,
        /// What it is.
        is: String,
        /// What it has to be.
        needed: String,
    },
    /// The log cannot be reached, or is not what it was.
    Log(SharedLogError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(what) => f.write_str(what),
            Self::Refused { of, setting, is, needed } => {
                write!(f, "{of} is no shared log: {setting} is {is}, needed is {needed}")
            }
            Self::Log(error) => error.fmt(f),
        }
    }
}

impl Error for OpenError {}

impl From<SharedLogError> for OpenError {
    fn from(error: SharedLogError) -> Self {
        Self::Log(error)
    }
}

/// The server's own error inside one of the client's, if it sent one.
pub fn of_server<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a jetstream::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
