//! Errors, and whether trying again may help.

use crate::duplicate::DuplicateKey;
use crate::layout_differs::LayoutDiffers;
use crate::migration_failed::MigrationFailed;
use crate::not_unique::NotUnique;
use chiliad_log::{LogError, Position};
use chiliad_row::{BadNumber, BadRow, BadValue, SchemaError};
use core::fmt;

/// Why a scheme refused a transaction. The transaction may be run again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// A record that was read has changed since.
    ReadChanged,
    /// A record that was read is being written by another transaction.
    ReadLatched,
    /// A key came or went in a range or at a key that was found absent.
    Phantom,
    /// A record to be written is latched by another transaction.
    WriteLatched,
    /// A record left its index between being found and being used.
    Vanished,
    /// The read set is no longer one state of the database (`Options::opacity`).
    Inconsistent,
    /// The commit epoch has given out all its identifiers; the next one will do.
    EpochFull,
    /// Another transaction holds a lock, and the scheme does not wait for it.
    LockDenied,
    /// An older transaction holds a lock, or waits for it (`wait-die`).
    Younger,
    /// The transaction waited for a lock in a circle with others.
    Deadlock,
    /// The transaction waited for a lock for too long.
    LockTimeout,
    /// The lock table has as many locks as it may have.
    LocksExhausted,
    /// A version is younger than the transaction that would read or overwrite it.
    TooLate,
}

impl Reason {
    /// All reasons, in the order of [`Reason::index`].
    pub const ALL: [Self; 13] = [
        Self::ReadChanged,
        Self::ReadLatched,
        Self::Phantom,
        Self::WriteLatched,
        Self::Vanished,
        Self::Inconsistent,
        Self::EpochFull,
        Self::LockDenied,
        Self::Younger,
        Self::Deadlock,
        Self::LockTimeout,
        Self::LocksExhausted,
        Self::TooLate,
    ];

    /// A dense number, for counters.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadChanged => "read_changed",
            Self::ReadLatched => "read_latched",
            Self::Phantom => "phantom",
            Self::WriteLatched => "write_latched",
            Self::Vanished => "vanished",
            Self::Inconsistent => "inconsistent",
            Self::EpochFull => "epoch_full",
            Self::LockDenied => "lock_denied",
            Self::Younger => "younger",
            Self::Deadlock => "deadlock",
            Self::LockTimeout => "lock_timeout",
            Self::LocksExhausted => "locks_exhausted",
            Self::TooLate => "too_late",
        }
    }
}

/// How a transaction and one that runs inside it, in its closure, stand in each other's way. To run either again
/// does not help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Nested {
    /// The inner one would wait for what the outer one holds, which ends after it.
    WaitsForOuter,
    /// The inner one has waited, or was refused again and again, for a tenth of a second: for what the outer one
    /// holds, or for a transaction that waits for that, or for a slow one.
    HeldUp,
    /// The outer one was refused again and again, each time after an inner one had committed writes: it reads what
    /// these overwrite.
    UndoneByInner,
}

impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WaitsForOuter => {
                "a transaction would wait for the one that it runs inside, and that for it"
            }
            Self::HeldUp => {
                "a transaction that runs inside another one was held up for too long, \
                 by that one most likely"
            }
            Self::UndoneByInner => {
                "a transaction is refused whenever it is run, since those that run inside it \
                 overwrite what it reads"
            }
        })
    }
}

/// A failed operation. Nothing stays latched, and the database goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The scheme refused the transaction: run it again ([`Error::is_retryable`]).
    Conflict(Reason),
    /// An insertion found the key present: which, in which table. The transaction may go on.
    DuplicateKey(Box<DuplicateKey>),
    /// A write would give two rows one key in the unique index of this name.
    UniqueViolation {
        /// The secondary index.
        index: String,
    },
    /// A unique index was to be added to a table that has two rows of one key: which. The table is as it was.
    NotUnique(Box<NotUnique>),
    /// A migration failed at a row: the row, and why. Nothing was changed.
    Migration(Box<MigrationFailed>),
    /// Transactions cannot change the table of this name while a migration writes its rows anew.
    Migrating(String),
    /// The database was migrated by a later release of the application.
    LaterRelease {
        /// The last migration that was made: its number and its name.
        made: (u32, String),
        /// The last one that this release has; 0: it has none.
        known: u32,
    },
    /// The engine does not offer this.
    Unsupported(&'static str),
    /// The body asked for a rollback.
    RolledBack,
    /// No table has this name or number.
    UnknownTable(String),
    /// A table of this name exists.
    TableExists(String),
    /// The table has no index of this name.
    UnknownIndex(String),
    /// A table was opened with other columns or indexes than it has: which, and the first that
    /// differs.
    LayoutDiffers(Box<LayoutDiffers>),
    /// The schema of the table of this name has changed since its handle was made: open it again.
    SchemaChanged(String),
    /// A row's bytes are none of the table's schema.
    BadRow(Box<BadRow>),
    /// A value that a column cannot have: why.
    BadValue(Box<BadValue>),
    /// Nothing was added to a number of a row: why.
    BadNumber(Box<BadNumber>),
    /// A schema, or a change of one, that cannot be.
    Schema(Box<SchemaError>),
    /// The key is longer than [`chiliad_storage::KEY_BYTES_MAX`].
    KeyTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The value is longer than [`crate::VALUE_BYTES_MAX`], or shorter than the key parts of a
    /// secondary index reach.
    ValueSize {
        /// Its length in bytes.
        bytes: usize,
        /// The accepted range, in bytes.
        accepted: (usize, usize),
    },
    /// A hash table cannot be scanned.
    NotOrdered,
    /// A snapshot or read-only transaction cannot write.
    ReadOnly,
    /// Transactions cannot change a table that is declared read-only, and loads not once it is
    /// sealed: its name.
    ReadOnlyTable(String),
    /// A snapshot transaction cannot read a table that keeps no versions.
    PresentOnly,
    /// The memory limit is reached. A transaction that meets it can only be rolled back.
    OutOfMemory {
        /// The limit in bytes; `u64::MAX`: there is none, and the system has no more to give.
        limit_bytes: u64,
    },
    /// The lock table has as many locks as it may have, and the transaction half of them: it needs more than there
    /// are. (One that has fewer meets [`Reason::LocksExhausted`], and may do better when others have ended.)
    LocksExhausted {
        /// The limit (`Options::locks_max`).
        locks_max: u64,
    },
    /// As many workers are in use as there may be.
    TooManyWorkers {
        /// How many there may be.
        workers_max: usize,
    },
    /// The deadline passed before an attempt committed.
    DeadlineExceeded,
    /// The transaction has committed, and is seen by others, but its wait for the disk has ended: its deadline has
    /// passed, or it was told to give up. It will be durable in its turn, if nothing happens to the log.
    NotYetDurable {
        /// Its commit epoch.
        epoch: u64,
    },
    /// It stands in the way of one that runs inside it, or the other way round.
    Nested(Nested),
    /// The transaction has failed or ended already: only a rollback is left.
    TransactionOver,
    /// A row, an entry or a scan was given to a transaction that has not read it. Nothing has
    /// happened, and the transaction may go on.
    ForeignHandle,
    /// A savepoint of another transaction, or one that has ended. Nothing has happened, and the transaction may go on.
    UnknownSavepoint,
    /// It was told to give up before it had committed: by its handle, or because its queue or its database
    /// is closed. Nothing has happened.
    Canceled,
    /// The database was not closed: other handles of it are held. It goes on for them.
    InUse {
        /// How many there were: clones, workers, queues.
        handles: usize,
    },
    /// The database was opened for reading only.
    OpenedReadOnly,
    /// The log can no longer be written: nothing that was not durable by then will be, and the
    /// database only reads. What was acknowledged is safe.
    LogFailed(LogError),
    /// A data directory or a file in it cannot be used.
    Data(LogError),
    /// The log that servers share is not the one that this server's checkpoint goes on in: it was emptied, made anew,
    /// rolled back or trimmed. Nothing was appended.
    LogRefused {
        /// Where the log is.
        log: String,
        /// The reason.
        what: String,
    },
    /// Two servers of a shared log have come to different verdicts. This one stops, and only reads.
    Diverged {
        /// This server, and the one that it differs from, by the numbers of the items by which they joined.
        servers: (u64, u64),
        /// The state in which they differ.
        label: u64,
    },
    /// One transaction wrote more than the log takes at once, or read and wrote more than it may.
    TransactionTooLarge {
        /// The bytes that it has written, or read and written.
        bytes: usize,
        /// The most that is accepted.
        accepted: usize,
    },
    /// Changes after a position have been dropped from the log. The database goes on, and so may whoever follows its
    /// changes, from the tables as they are.
    PositionPassed(Box<PassedPosition>),
    /// A position is of another database, or lies ahead of all that the directory has.
    UnknownPosition(Box<Position>),
    /// The system gave no thread, or had no room for a stack: what, and what limits it. Nothing was run.
    HostExhausted(String),
    /// The program was built without this scheme (a Cargo feature of `chiliad`).
    SchemeNotCompiledIn {
        /// The scheme asked for.
        scheme: &'static str,
        /// The schemes that there are.
        there: Vec<&'static str>,
    },
    /// An option is out of range: which, and what is accepted.
    InvalidOption(String),
}

/// A position after which changes are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PassedPosition {
    /// The position.
    pub position: Position,
    /// The oldest position from which all changes are there.
    pub oldest: Position,
}

impl PassedPosition {
    /// Changes after `position` are missing; from `oldest` on all are there.
    #[must_use]
    pub fn new(position: Position, oldest: Position) -> Self {
        Self { position, oldest }
    }
}

impl From<BadRow> for Error {
    fn from(bad: BadRow) -> Self {
        Self::BadRow(Box::new(bad))
    }
}

impl From<BadValue> for Error {
    fn from(bad: BadValue) -> Self {
        Self::BadValue(Box::new(bad))
    }
}

impl From<BadNumber> for Error {
    fn from(bad: BadNumber) -> Self {
        Self::BadNumber(Box::new(bad))
    }
}

impl From<SchemaError> for Error {
    fn from(wrong: SchemaError) -> Self {
        Self::Schema(Box::new(wrong))
    }
}

impl Error {
    /// No slot is left of all that a database can have.
    pub const NO_SLOT: Self = Self::TooManyWorkers { workers_max: chiliad_storage::WORKERS_MAX };

    /// The table has this key already.
    #[cold]
    #[must_use]
    pub fn duplicate_key(table: &str, key: &[u8]) -> Self {
        Self::DuplicateKey(Box::new(DuplicateKey::new(table, key)))
    }

    /// Whether the same transaction may succeed when it is run again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(reason) => write!(f, "conflict ({}): run it again", reason.name()),
            Self::DuplicateKey(duplicate) => write!(f, "{duplicate}"),
            Self::UniqueViolation { index } => {
                write!(f, "the unique index {index} has this key already")
            }
            Self::Unsupported(what) => write!(f, "{what}"),
            Self::RolledBack => write!(f, "rolled back by its own logic"),
            Self::UnknownTable(name) => write!(f, "no table {name}"),
            Self::TableExists(name) => write!(f, "there is a table {name} already"),
            Self::UnknownIndex(name) => write!(f, "no index {name}"),
            Self::KeyTooLong { bytes } => {
                let max = chiliad_storage::KEY_BYTES_MAX;
                write!(f, "a key of {bytes} bytes; at most {max} are accepted")
            }
            Self::ValueSize { bytes, accepted: (low, high) } => {
                write!(f, "a value of {bytes} bytes; {low} to {high} are accepted")
            }
            Self::NotOrdered => write!(f, "a hash table cannot be scanned"),
            Self::ReadOnly => write!(f, "a read-only transaction cannot write"),
            Self::ReadOnlyTable(name) => {
                write!(
                    f,
                    "the table {name} is read-only: loads alone write to it, until it is sealed"
                )
            }
            Self::PresentOnly => write!(f, "the table is closed to snapshots"),
            Self::OutOfMemory { limit_bytes: u64::MAX } => {
                write!(f, "the system has no more memory to give")
            }
            Self::OutOfMemory { limit_bytes } => {
                write!(f, "the memory limit of {limit_bytes} bytes is reached")
            }
            Self::LocksExhausted { locks_max } => {
                write!(f, "the limit of {locks_max} locks is reached")
            }
            Self::TooManyWorkers { workers_max } => {
                write!(f, "all {workers_max} workers that there may be are in use")
            }
            Self::DeadlineExceeded => write!(f, "the deadline passed before a commit"),
            Self::NotYetDurable { epoch } => {
                write!(f, "committed in epoch {epoch}, and not known to be durable yet")
            }
            Self::Nested(how) => write!(f, "{how}"),
            Self::TransactionOver => write!(f, "the transaction has failed or ended already"),
            Self::ForeignHandle => {
                write!(f, "a row, entry or scan of another transaction: it ends with its own")
            }
            Self::UnknownSavepoint => {
                write!(f, "a savepoint of another transaction, or one that has ended")
            }
            Self::Canceled => write!(f, "told to give up before a commit"),
            Self::InUse { handles } => write!(f, "it stays open for {handles} other handles of it"),
            Self::SchemeNotCompiledIn { scheme, there } => {
                write!(f, "the scheme {scheme} is not compiled in: there are {}", there.join(", "))
            }
            Self::HostExhausted(what) | Self::InvalidOption(what) => write!(f, "{what}"),
            _ => self.fmt_of_columns(f),
        }
    }
}

impl Error {
    /// The text of an error about a table's columns, or about a change of tables.
    fn fmt_of_columns(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUnique(rows) => write!(f, "{rows}"),
            Self::Migration(failed) => write!(f, "{failed}"),
            Self::Migrating(name) => {
                write!(f, "the table {name} is being written anew by a migration: it is only read")
            }
            Self::LaterRelease { made: (number, name), known } => write!(
                f,
                "the database was migrated by a later release: migration {number} ({name}) was made, \
                 this release knows up to {known}"
            ),
            Self::LayoutDiffers(differs) => write!(f, "{differs}"),
            Self::SchemaChanged(name) => {
                write!(
                    f,
                    "the schema of the table {name} has changed since it was opened: open it again"
                )
            }
            Self::BadRow(bad) => write!(f, "the stored bytes do not fit the table's schema: {bad}"),
            Self::BadValue(bad) => write!(f, "no value of the column: {bad}"),
            Self::BadNumber(bad) => write!(f, "nothing was added: {bad}"),
            Self::Schema(wrong) => write!(f, "{wrong}"),
            _ => self.fmt_of_logs(f),
        }
    }

    /// The text of an error about a log or a directory.
    fn fmt_of_logs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenedReadOnly => write!(f, "the database was opened for reading only"),
            Self::LogFailed(error) => {
                write!(f, "the log has failed, the database only reads: {error}")
            }
            Self::Data(error) => write!(f, "{error}"),
            Self::LogRefused { log, what } => write!(f, "the shared log {log} is refused: {what}"),
            Self::Diverged { servers: (own, other), label } => {
                write!(
                    f,
                    "the servers {own} and {other} of the shared log differ in state {label}: \
                     one of them was shown another log, or decides by other rules; this one only reads"
                )
            }
            Self::TransactionTooLarge { bytes, accepted } => {
                write!(f, "a transaction of {bytes} bytes; at most {accepted} are accepted")
            }
            Self::PositionPassed(passed) => {
                let PassedPosition { position, oldest } = **passed;
                write!(
                    f,
                    "changes after {position} have been dropped from the log; the oldest position is {oldest}"
                )
            }
            Self::UnknownPosition(position) => {
                write!(f, "{position} is no position of this database")
            }
            // Every other one has its text above.
            other => write!(f, "{other:?}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<chiliad_machine::NoRoom> for Error {
    fn from(error: chiliad_machine::NoRoom) -> Self {
        Self::HostExhausted(error.to_string())
    }
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        Self::Data(error)
    }
}

/// The engine's results.
pub type Result<T> = core::result::Result<T, Error>;
