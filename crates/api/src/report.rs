//! The contents of a directory, and the results of recovery.

use chiliad_log::{CheckpointInfo, LogError};

/// The results of a recovery.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// The incarnation that begins; 1 for a new database, 0 when nothing was there to read.
    pub incarnation: u32,
    /// The last epoch of the incarnation before that was durable.
    pub durable_epoch: u64,
    /// The checkpoint that it began with.
    pub checkpoint: Option<CheckpointInfo>,
    /// Rows read from the checkpoint.
    pub checkpoint_rows: u64,
    /// Transactions replayed.
    pub transactions: u64,
    /// Their writes.
    pub writes: u64,
    /// Transactions that were in the logs and had not become durable: nobody was told of them.
    pub dropped: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Rows in tables now.
    pub rows: u64,
    /// How long checkpoint and logs took to read and apply, in nanoseconds.
    pub replay_ns: u64,
    /// How long the walks over all tables took that end an incarnation, in nanoseconds.
    pub finalize_ns: u64,
    /// Whether a log ended in a write that was cut short.
    pub torn: bool,
    /// Whether the database was closed as it should be.
    pub closed: bool,
    /// The losses, where salvage was asked for.
    pub losses: Vec<LogError>,
}

/// The contents of a directory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Contents {
    /// Its format version.
    pub format: u32,
    /// The database's number.
    pub database: u128,
    /// Names of tables.
    pub tables: Vec<String>,
    /// Logs by incarnation and writer.
    pub logs: Vec<LogContents>,
    /// Bytes of all files.
    pub bytes: u64,
    /// The result that recovery would have.
    pub recovered: Recovered,
}

/// One writer's log of one incarnation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LogContents {
    /// Which opening.
    pub incarnation: u32,
    /// Which writer.
    pub writer: u32,
    /// Its segments.
    pub segments: usize,
    /// Its last epoch.
    pub epoch: u64,
    /// Whether it ends in a write that was cut short.
    pub torn: bool,
    /// Whether it was closed as it should be.
    pub closed: bool,
}

/// A checkpoint that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Checkpointed {
    /// Which.
    pub info: CheckpointInfo,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Files of logs and of older checkpoints that are gone, or room for new logs.
    pub released: usize,
}

impl Checkpointed {
    /// A checkpoint that was made; nothing is gone for it yet.
    #[must_use]
    pub fn new(info: CheckpointInfo, rows: u64, bytes: u64) -> Self {
        Self { info, rows, bytes, released: 0 }
    }
}

/// The result of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Copied {
    /// Files, the manifest apart.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}
