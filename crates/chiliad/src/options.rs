//! How a database is opened, and how a transaction is run.

use crate::Clock;
use crate::backoff::Backoff;
use crate::threads::Threads;
use chiliad_engine::{
    DurableOptions, Error, LogOptions, SchemeName as Scheme, Snapshots, Timestamps,
};
use std::path::PathBuf;
use std::time::Duration;

/// When the result of a transaction is given out, in a database in a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Nothing is written to disk: what a database in memory has, and all it can have.
    None,
    /// At once; it becomes durable with its commit epoch, within an epoch and a sync.
    /// [`Database::submit`](crate::Database::submit) holds a result back until then without making its
    /// thread wait.
    Epoch,
    /// When it is durable: every call waits for the disk, together with all others that do, and the
    /// epoch ends early for them.
    #[default]
    Sync,
}

/// Threads for futures at most.
const ASYNC_THREADS_MAX: usize = 1024;

/// The greatest number of workers that the engine has slots for.
const WORKERS_MAX: usize = 65_536;

/// Run-time options of a database.
///
/// ```
/// use chiliad::{Database, Options, Scheme, Snapshots};
/// use std::time::Duration;
///
/// let options = Options::default()
///     .scheme("silo".parse()?)
///     .memory_bytes_max(256 << 20)
///     .snapshots(Snapshots::Always)
///     .epoch(Duration::from_millis(10));
/// let db = Database::in_memory_with(options)?;
/// assert_eq!(db.options().scheme, Scheme::Silo);
/// # Ok::<(), chiliad::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How transactions are kept apart.
    pub scheme: Scheme,
    /// Memory that tables may reserve, in bytes; `u64::MAX` for no limit. A write beyond it fails
    /// with [`Error::OutOfMemory`], and the database goes on.
    pub memory_bytes_max: u64,
    /// Memory that is obtained when the database is opened, in bytes, so that no transaction waits
    /// for the operating system to give it.
    pub memory_bytes_ready: u64,
    /// The memory of one transaction for what it reads and writes, in bytes: 1 GiB by default, 64 KiB to 3 GiB are accepted.
    /// One that needs more fails with [`Error::TransactionTooLarge`]. Rows that a scan only shows
    /// ([`Scan::for_each`](crate::Scan::for_each)) and those of [`Reader::get_many`](crate::Reader::get_many) do not count.
    pub transaction_bytes_max: u64,
    /// When old versions are kept for [`Database::snapshot`](crate::Database::snapshot).
    pub snapshots: Snapshots,
    /// The length of a commit epoch, 40 ms by default.
    pub epoch: Duration,
    /// Commit epochs per snapshot epoch, 5 by default: how far apart the states lie that
    /// [`Database::snapshot`](crate::Database::snapshot) can see.
    pub snapshot_every: u64,
    /// Check what a transaction has read while it runs, so that its closure is not left for long
    /// with a state that never was: for at most half as many reads as it has made by then, or 64. Without it a
    /// transaction that is bound to be retried may see one until it commits.
    pub opacity: bool,
    /// The number of partitions, for [`Scheme::Partitioned`] and [`Scheme::HStore`].
    pub partitions: u32,
    /// How long a transaction waits for a lock before it gives up, for [`Scheme::DlDetect`] and the schemes with a
    /// lock table; zero: not at all; [`Duration::MAX`]: until it gets it. By default 100 us under the former, and
    /// for ever with the latter.
    pub wait_timeout: Option<Duration>,
    /// Locks in memory at most, 1,024 to 2^32, for the schemes with a lock table.
    pub locks_max: u64,
    /// How long it waits before it looks for a deadlock, and between two looks; [`Duration::MAX`]: it
    /// never looks, and only [`Options::wait_timeout`] ends a deadlock.
    pub deadlock_check: Duration,
    /// Where transactions get their timestamps, for [`Scheme::HStore`], [`Scheme::WaitDie`],
    /// [`Scheme::Timestamp`], [`Scheme::Mvcc`] and [`Scheme::Occ`]; [`Timestamps::Hardware`] is refused.
    pub timestamps: Timestamps,
    /// Workers at once: each thread that runs transactions has one, a transaction within another
    /// takes one more, and so does each [`Worker`](crate::Worker), and each transaction in flight of
    /// [`Database::run_each`](crate::Database::run_each) and [`Queue::serve`](crate::Queue::serve).
    pub workers_max: usize,
    /// Threads for transactions that are asked for as futures ([`Database::run_async`](crate::Database::run_async)): 1
    /// to 1,024, one for each core by default. They are started with the first of these, and each takes up to eight workers
    /// of [`Options::workers_max`].
    pub async_threads: usize,
    /// Threads that own partitions, for transactions that are handed to them
    /// ([`Database::submit_to`](crate::Database::submit_to)): 1 to 1,024, one for each core by default. Each is started with the first
    /// transaction that it gets, and takes one worker of [`Options::workers_max`]. With another number partitions have
    /// other owners.
    pub owner_threads: usize,
    /// How long to wait before a refused transaction is run again.
    pub backoff: Backoff,
    /// When results are given out, for a database in a directory.
    pub durability: Durability,
    /// Threads that write the log, each to a file of its own.
    pub log_writers: u32,
    /// Bytes of one file of the log.
    pub log_segment_bytes: u64,
    /// Compress log and checkpoints: fewer bytes for more work.
    pub log_compress: bool,
    /// Bytes of log after which a checkpoint is made by itself, and old logs go; more, where the last
    /// checkpoint was larger. `u64::MAX` for never.
    pub checkpoint_log_bytes: u64,
    /// Bytes of log that are kept for [`Database::changes`](crate::Database::changes) beside what recovery needs; 0, the
    /// default, for none: a follower that is behind the last checkpoint is refused. Whole files are kept, the newest ones, and
    /// dropped when a checkpoint is made.
    pub change_log_bytes: u64,
    /// The directory of a joined database's checkpoints, made if it is missing; `None`: `checkpoints` in the directory of
    /// a log in files, and no checkpoints with other logs. Servers of one log may share it, and should: see
    /// [`Database::join`](crate::Database::join).
    pub checkpoints: Option<PathBuf>,
    /// The share of its time, in percent, that each thread of a checkpoint works while transactions
    /// run.
    pub checkpoint_effort: u32,
    /// Threads for recovery and checkpoints; 0 for two per core in recovery, where one waits for the
    /// disk while the other replays, and one per core in checkpoints.
    pub recovery_threads: usize,
    /// The clock by which rows expire, the system's by default; see [`Row`](crate::Row).
    pub clock: Clock,
    /// Open a directory to look at it: nothing is changed, and nothing can be.
    pub read_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        let engine = chiliad_engine::Options::default();
        let durable = DurableOptions::default();
        Self {
            scheme: Scheme::default(),
            memory_bytes_max: engine.memory_bytes_max,
            memory_bytes_ready: engine.memory_bytes_ready,
            transaction_bytes_max: engine.transaction_bytes_max,
            snapshots: engine.snapshots,
            epoch: engine.epoch,
            snapshot_every: engine.snapshot_every,
            opacity: true,
            partitions: engine.partitions,
            wait_timeout: engine.wait_timeout,
            locks_max: engine.locks_max,
            deadlock_check: engine.deadlock_check,
            timestamps: engine.timestamps,
            workers_max: WORKERS_MAX,
            async_threads: Threads::one_per_core(),
            owner_threads: Threads::one_per_core(),
            backoff: Backoff::default(),
            durability: Durability::default(),
            log_writers: durable.log.writers,
            log_segment_bytes: durable.log.segment_bytes,
            log_compress: durable.log.compress,
            checkpoint_log_bytes: durable.checkpoint_log_bytes,
            change_log_bytes: durable.change_log_bytes,
            checkpoints: None,
            checkpoint_effort: durable.checkpoint_effort,
            recovery_threads: 0,
            clock: Clock::system(),
            read_only: false,
        }
    }
}

impl Options {
    /// Sets [`Options::scheme`].
    #[must_use]
    pub fn scheme(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// Sets [`Options::memory_bytes_max`].
    #[must_use]
    pub fn memory_bytes_max(self, memory_bytes_max: u64) -> Self {
        Self { memory_bytes_max, ..self }
    }

    /// Sets [`Options::memory_bytes_ready`].
    #[must_use]
    pub fn memory_bytes_ready(self, memory_bytes_ready: u64) -> Self {
        Self { memory_bytes_ready, ..self }
    }

    /// Sets [`Options::transaction_bytes_max`].
    #[must_use]
    pub fn transaction_bytes_max(self, transaction_bytes_max: u64) -> Self {
        Self { transaction_bytes_max, ..self }
    }

    /// Sets [`Options::snapshots`].
    #[must_use]
    pub fn snapshots(self, snapshots: Snapshots) -> Self {
        Self { snapshots, ..self }
    }

    /// Sets [`Options::epoch`].
    #[must_use]
    pub fn epoch(self, epoch: Duration) -> Self {
        Self { epoch, ..self }
    }

    /// Sets [`Options::snapshot_every`].
    #[must_use]
    pub fn snapshot_every(self, snapshot_every: u64) -> Self {
        Self { snapshot_every, ..self }
    }

    /// Sets [`Options::opacity`].
    #[must_use]
    pub fn opacity(self, opacity: bool) -> Self {
        Self { opacity, ..self }
    }

    /// Sets [`Options::wait_timeout`].
    #[must_use]
    pub fn wait_timeout(self, wait_timeout: Duration) -> Self {
        Self { wait_timeout: Some(wait_timeout), ..self }
    }

    /// Sets [`Options::locks_max`].
    #[must_use]
    pub fn locks_max(self, locks_max: u64) -> Self {
        Self { locks_max, ..self }
    }

    /// Sets [`Options::deadlock_check`].
    #[must_use]
    pub fn deadlock_check(self, deadlock_check: Duration) -> Self {
        Self { deadlock_check, ..self }
    }

    /// Sets [`Options::partitions`].
    #[must_use]
    pub fn partitions(self, partitions: u32) -> Self {
        Self { partitions, ..self }
    }

    /// Sets [`Options::timestamps`].
    #[must_use]
    pub fn timestamps(self, timestamps: Timestamps) -> Self {
        Self { timestamps, ..self }
    }

    /// Sets [`Options::workers_max`].
    #[must_use]
    pub fn workers_max(self, workers_max: usize) -> Self {
        Self { workers_max, ..self }
    }

    /// Sets [`Options::async_threads`].
    #[must_use]
    pub fn async_threads(self, async_threads: usize) -> Self {
        Self { async_threads, ..self }
    }

    /// Sets [`Options::owner_threads`].
    #[must_use]
    pub fn owner_threads(self, owner_threads: usize) -> Self {
        Self { owner_threads, ..self }
    }

    /// Sets [`Options::backoff`].
    #[must_use]
    pub fn backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Sets [`Options::durability`].
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Sets [`Options::log_writers`].
    #[must_use]
    pub fn log_writers(self, log_writers: u32) -> Self {
        Self { log_writers, ..self }
    }

    /// Sets [`Options::log_segment_bytes`].
    #[must_use]
    pub fn log_segment_bytes(self, log_segment_bytes: u64) -> Self {
        Self { log_segment_bytes, ..self }
    }

    /// Sets [`Options::log_compress`].
    #[must_use]
    pub fn log_compress(self, log_compress: bool) -> Self {
        Self { log_compress, ..self }
    }

    /// Sets [`Options::checkpoint_log_bytes`].
    #[must_use]
    pub fn checkpoint_log_bytes(self, checkpoint_log_bytes: u64) -> Self {
        Self { checkpoint_log_bytes, ..self }
    }

    /// Sets [`Options::change_log_bytes`].
    #[must_use]
    pub fn change_log_bytes(self, change_log_bytes: u64) -> Self {
        Self { change_log_bytes, ..self }
    }

    /// Sets [`Options::checkpoints`].
    #[must_use]
    pub fn checkpoints(self, directory: impl Into<PathBuf>) -> Self {
        Self { checkpoints: Some(directory.into()), ..self }
    }

    /// Sets [`Options::checkpoint_effort`].
    #[must_use]
    pub fn checkpoint_effort(self, checkpoint_effort: u32) -> Self {
        Self { checkpoint_effort, ..self }
    }

    /// Sets [`Options::recovery_threads`].
    #[must_use]
    pub fn recovery_threads(self, recovery_threads: usize) -> Self {
        Self { recovery_threads, ..self }
    }

    /// Sets [`Options::clock`].
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets [`Options::read_only`].
    #[must_use]
    pub fn read_only(self, read_only: bool) -> Self {
        Self { read_only, ..self }
    }

    /// Refuses what is out of range; the engine does the same for its own options.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let counts = [
            ("workers_max", self.workers_max, WORKERS_MAX),
            ("async_threads", self.async_threads, ASYNC_THREADS_MAX),
            ("owner_threads", self.owner_threads, ASYNC_THREADS_MAX),
        ];
        match counts.into_iter().find(|(_, given, most)| !(1..=*most).contains(given)) {
            None => Ok(()),
            Some((name, given, most)) => {
                Err(Error::InvalidOption(format!("{name} {given}: 1 to {most} are accepted")))
            }
        }
    }

    pub(crate) fn durable(&self) -> DurableOptions {
        let log = LogOptions {
            writers: self.log_writers,
            segment_bytes: self.log_segment_bytes,
            compress: self.log_compress,
            ..LogOptions::default()
        };
        DurableOptions {
            log,
            checkpoint_log_bytes: self.checkpoint_log_bytes,
            checkpoint_effort: self.checkpoint_effort,
            change_log_bytes: self.change_log_bytes,
        }
    }

    pub(crate) fn engine(&self) -> chiliad_engine::Options {
        chiliad_engine::Options {
            memory_bytes_max: self.memory_bytes_max,
            memory_bytes_ready: self.memory_bytes_ready,
            transaction_bytes_max: self.transaction_bytes_max,
            snapshots: self.snapshots,
            epoch: self.epoch,
            snapshot_every: self.snapshot_every,
            opacity: self.opacity,
            partitions: self.partitions,
            wait_timeout: self.wait_timeout,
            locks_max: self.locks_max,
            deadlock_check: self.deadlock_check,
            timestamps: self.timestamps,
            ..chiliad_engine::Options::default()
        }
    }
}
