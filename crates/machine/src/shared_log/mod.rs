//! Shared logs: one sequence of records that several servers append to and all of them read, behind one interface.
//!
//! A log is a value, as a [`crate::disk::Disk`] is: it is passed in when a database is opened, and outlives the
//! machine. Its implementation is memory, files, a simulated log that fails as a seed says, or a service on the
//! network.
//!
//! The promises of a log, and no others:
//!
//! - records have positions 1, 2, 3 and so on, without gaps; every reader sees the same record at a position, for
//!   ever, until it is trimmed;
//! - a record that [`SharedLog::append`] has returned [`Ok`] for is durable and will be read by everybody; where it had
//!   to be sent again it may be there more than once, so readers must know a record that they have read before;
//! - one for which it has failed may be there all the same, once or more than once, now or later;
//! - records of one call may have others between them, and need not be in the order of the call;
//! - what [`SharedLog::bounds`] says may be old when it is said: it never exceeds what is there.

use core::fmt;
use core::ops::Range;
use std::io;
use std::time::Duration;

/// The place of a record in a log: the first is 1.
pub type Position = u64;

/// A sequence of records that servers share.
pub trait SharedLog: Send + Sync + fmt::Debug {
    /// Where it is, for messages.
    fn place(&self) -> String;

    /// A number drawn when the log was created. Another one at the same place says that the log was emptied, or made
    /// anew.
    ///
    /// # Errors
    /// [`SharedLogError::Unavailable`], [`SharedLogError::Damaged`].
    fn identity(&self) -> Result<u128, SharedLogError>;

    /// The most bytes that a record may have.
    fn record_bytes_max(&self) -> usize;

    /// Appends `records`, and returns when all of them are durable. Several callers may append at once.
    ///
    /// # Errors
    /// [`SharedLogError::TooLarge`]: nothing was appended. After any other error each record may have been appended
    /// or not.
    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError>;

    /// Hands the records from position `from` on to `take`, in order and without gaps: all that are there up to
    /// about `bytes` bytes, at least one. Where there is none yet it waits up to `patience` for one, or less.
    /// Returns the position after the last record handed over: `from`, if there was none.
    ///
    /// # Errors
    /// [`SharedLogError::Trimmed`], [`SharedLogError::Unavailable`], [`SharedLogError::Damaged`]. Records handed over
    /// before are good.
    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError>;

    /// The first position that can be read, and the one after the last.
    ///
    /// # Errors
    /// [`SharedLogError::Unavailable`], [`SharedLogError::Damaged`].
    fn bounds(&self) -> Result<Range<Position>, SharedLogError>;

    /// Forgets the records below `position`, durably, as far as they are there; those that others are reading may
    /// still be handed over.
    ///
    /// # Errors
    /// [`SharedLogError::Unavailable`], [`SharedLogError::Damaged`]: some may have been forgotten.
    fn trim(&self, position: Position) -> Result<(), SharedLogError>;

    /// Bytes that the log takes where it is stored, if that is known.
    fn stored_bytes(&self) -> Option<u64> {
        None
    }
}

/// Why a shared log did not do what it was asked to.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SharedLogError {
    /// It cannot be reached, or has no leader: later it may. The operation, and why.
    Unavailable(String),
    /// It has no room for further records, until it is trimmed or given more.
    Full(String),
    /// A record is larger than [`SharedLog::record_bytes_max`].
    TooLarge {
        /// Its length in bytes.
        bytes: usize,
        /// The most that is accepted.
        accepted: usize,
    },
    /// The records asked for were trimmed.
    Trimmed {
        /// The first position that is left.
        first: Position,
    },
    /// It is not what it should be, and will not be again: what is wrong, and where.
    Damaged(String),
}

impl SharedLogError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// The error of an operation on a file: a full file system, or one that does not answer.
    #[must_use]
    pub fn of_file(what: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full(format!("{what}: {error}"))
            }
            _ => Self::Damaged(format!("{what}: {error}")),
        }
    }
}

impl fmt::Display for SharedLogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(what) => write!(f, "the shared log cannot be reached: {what}"),
            Self::Full(what) => write!(f, "the shared log is full: {what}"),
            Self::TooLarge { bytes, accepted } => {
                write!(f, "a record of {bytes} bytes; the shared log accepts {accepted}")
            }
            Self::Trimmed { first } => {
                write!(f, "the shared log was trimmed: its first record is number {first}")
            }
            Self::Damaged(what) => write!(f, "the shared log is damaged: {what}"),
        }
    }
}

impl std::error::Error for SharedLogError {}
