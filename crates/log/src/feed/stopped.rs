//! Why changes are not read.

use crate::error::LogError;
use crate::position::Position;

/// Why a reader goes no further.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// Changes after its position have been dropped.
    Passed {
        /// Where it stands.
        position: Position,
        /// The oldest position from which all changes are there.
        oldest: Position,
    },
    /// The position is none of this database, or lies ahead of all that the directory has.
    Unknown(Position),
    /// A file is damaged, or the system refuses it.
    Log(LogError),
}

impl From<LogError> for Stopped {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}
