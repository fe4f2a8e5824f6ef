//! A database on a disk: opened, logged, checkpointed, recovered.
//!
//! | to see | look into |
//! | --- | --- |
//! | what is kept while a database is open | here; `runner` for the writers |
//! | opening, and the new incarnation that begins | `open` |
//! | what a directory holds; copies; the catalog on disk | `directory` |
//! | replay of logs and checkpoints, the entries of indexes | `recover` |
//! | checkpoints, and the end of old logs | `checkpoint` |
//! | changes for those who follow them | `changes` |
//! | work for several threads | `parallel` |
//!
//! None of it knows a scheme: it sees write sets with their commit epoch and order, and records by
//! `restore::stable_read`. A directory written under one scheme is opened under any other.
//!
//! The order that makes it right (SiloR, sections 3 to 5):
//!
//! 1. a transaction appends to its worker's buffer inside its commit window;
//! 2. an epoch is stable when its windows have closed, durable when every writer has synced what was
//!    in the buffers after that; results are given out then;
//! 3. a checkpoint has an epoch *redo after*, stable before its walk begins, and an *end*, the newest epoch with
//!    content when the walk ended: it holds everything up to the first, and counts once the log is durable through the
//!    end;
//! 4. recovery takes the newest checkpoint and replays what the logs have of later epochs than its *redo after*; of
//!    the versions of a key the one with the greatest (incarnation, order) wins.

mod changes;
mod checkpoint;
mod directory;
mod faults;
mod gathering;
mod open;
mod parallel;
mod recover;
mod runner;
mod turn;

pub(crate) use chiliad_api::catalog::{Blob as CatalogBlob, TABLE_NUMBERS_MAX};
pub use directory::backup::copy_directory;
pub use directory::inspect::inspect;
pub use directory::plan::{declared, erase};
pub use faults::READER_NOT_HELD_BACK;
pub(crate) use faults::{APPENDED_AFTER_ITS_WINDOW, FAULTS};
pub use open::{Mode, Opened};
pub(crate) use parallel::walk::Walk;
pub(crate) use recover::restore::stable_read;
pub use runner::LogRunner;
pub(crate) use turn::{Turn, nap};

use chiliad_api::catalog::Blob;
use chiliad_api::{Error, Result};
use chiliad_log::{KeptLog, Log, LogEnd, LogError, LogOptions, Manifest};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Latch, Machine, Ordering, Word};
use std::sync::Arc;

/// How a database uses its disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DurableOptions {
    /// The log.
    pub log: LogOptions,
    /// Bytes of log after which a checkpoint is due; more where the last checkpoint was larger.
    pub checkpoint_log_bytes: u64,
    /// The share of its time, in percent, that each worker of a checkpoint works while transactions
    /// run.
    pub checkpoint_effort: u32,
    /// Bytes of log that are kept for those who follow changes, beside what recovery needs.
    pub change_log_bytes: u64,
}

impl Default for DurableOptions {
    fn default() -> Self {
        let log = LogOptions::default();
        Self { log, checkpoint_log_bytes: 1 << 30, checkpoint_effort: 10, change_log_bytes: 0 }
    }
}

impl DurableOptions {
    /// Refuses options that no database can run with.
    pub(crate) fn validate(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::InvalidOption(what));
        let LogOptions { writers, segment_bytes, buffer_bytes_max, .. } = self.log;
        if !(1..=WRITERS_MAX).contains(&writers) {
            return refuse(format!("log writers {writers}: 1 to {WRITERS_MAX} are accepted"));
        }
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&segment_bytes) {
            return refuse(format!(
                "log segments of {segment_bytes} bytes: 64 KiB to 64 GiB are accepted"
            ));
        }
        if !(4096..=1 << 30).contains(&buffer_bytes_max) {
            return refuse(format!(
                "log buffers of {buffer_bytes_max} bytes: 4 KiB to 1 GiB are accepted"
            ));
        }
        if !(1..=100).contains(&self.checkpoint_effort) {
            let given = self.checkpoint_effort;
            return refuse(format!(
                "a checkpoint effort of {given} percent: 1 to 100 are accepted"
            ));
        }
        Ok(())
    }
}

const WRITERS_MAX: u32 = 64;
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
const SEGMENT_BYTES_MAX: u64 = 64 << 30;

/// The most that one transaction may hold when it commits to a log, in bytes.
pub(crate) const TRANSACTION_BYTES_MAX: usize = 256 << 20;
const _: () =
    assert!(TRANSACTION_BYTES_MAX < chiliad_log::frame::PAYLOAD_BYTES_MAX, "it fits a frame");

/// The state of an open database on its disk. Lives in the machine's memory.
pub(crate) struct Durable<M: Machine> {
    pub disk: Arc<dyn Disk>,
    pub options: DurableOptions,
    pub log: Log<M>,
    /// The manifest in place. Changed under `changing`.
    manifest: Latch<M, Manifest>,
    /// Held while the manifest is changed.
    pub changing: Turn<M>,
    /// Held while a checkpoint is made, or while files are copied that a checkpoint would remove.
    pub copying: Turn<M>,
    /// Bytes of log written when the last checkpoint was made.
    checkpointed_at: M::Word,
    /// Not zero once no checkpoint is wanted any more.
    canceled: M::Word,
    /// Where the logs of those writers end that have finished.
    finished: Latch<M, Vec<Option<LogEnd>>>,
    /// Bytes of the last checkpoint.
    checkpoint_bytes: M::Word,
    /// The logs of incarnations that are over, and segments of this one that recovery needs no more.
    kept: Latch<M, KeptLog>,
}

impl<M: Machine> Durable<M> {
    /// The manifest in place.
    pub fn manifest(&self) -> Manifest {
        self.manifest.lock().clone()
    }

    /// Puts a changed manifest in place. The caller has the turn. After a failure nobody knows which
    /// of the two is in place, and nothing may be built on either.
    pub fn change_manifest(&self, change: impl FnOnce(&mut Manifest)) -> Result<()> {
        let mut manifest = self.manifest();
        change(&mut manifest);
        debug_assert!(manifest.incarnation() == self.log.incarnation(), "this one stays the last");
        manifest.generation += 1;
        if let Err(error) = manifest.write::<M>(&*self.disk) {
            self.log.fail(error.clone());
            return Err(Error::LogFailed(error));
        }
        self.log.manifest_is(manifest.generation);
        *self.manifest.lock() = manifest;
        Ok(())
    }

    /// The log of a writer has ended. After the last of them the manifest says where all of them end: the
    /// next opening demands just that.
    fn finish(&self, writer: u32, end: LogEnd) -> Result<()> {
        let ends: Option<Vec<LogEnd>> = {
            let mut finished = self.finished.lock();
            debug_assert!(finished[writer as usize].is_none(), "a log ends once");
            finished[writer as usize] = Some(end);
            finished.iter().copied().collect()
        };
        let Some(ends) = ends else { return Ok(()) };
        debug_assert!(ends.len() == self.options.log.writers as usize, "an end for each writer");
        let _turn = self.changing.take();
        self.change_manifest(|manifest| {
            let Some(current) = manifest.incarnations.last_mut() else { return };
            current.ended = ends.iter().map(|end| end.epoch).min();
            current.ends = ends;
        })
    }

    /// Puts a changed catalog in place. The caller has the turn.
    pub fn change_catalog(&self, blob: &Blob) -> Result<()> {
        debug_assert!(blob.tables.is_sorted_by(|(a, _), (b, _)| a < b), "tables are in order");
        debug_assert!(blob.tables.iter().all(|(it, _)| *it < blob.next), "numbers given out");
        self.change_manifest(|manifest| manifest.catalog = blob.encode())
    }

    /// Waits until an epoch is durable. Somebody ticks and somebody runs the writers.
    pub fn wait(&self, epoch: u64) -> Result<()> {
        while self.log.durable() < epoch {
            self.nap()?;
        }
        Ok(())
    }

    /// As [`Durable::wait`], but has the epoch end now rather than in its time.
    pub fn hurry(&self, epoch: u64) -> Result<()> {
        if self.log.durable() < epoch {
            self.log.hurry(epoch);
        }
        self.wait(epoch)
    }

    /// Sleeps for a moment, if there is something to wait for.
    pub fn nap(&self) -> Result<()> {
        self.check()?;
        nap::<M>();
        Ok(())
    }

    /// Refuses if nothing more becomes durable.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.log.has_failed() {
            false => Ok(()),
            true => Err(self.failure()),
        }
    }

    #[cold]
    fn failure(&self) -> Error {
        let unknown = || LogError::Missing { place: self.disk.place() };
        Error::LogFailed(self.log.failure().unwrap_or_else(unknown))
    }

    /// Whether enough was logged since the last checkpoint for another one.
    pub fn checkpoint_is_due(&self) -> bool {
        let since = self.log.written_bytes() - self.checkpointed_at.load(Ordering::Relaxed);
        let last = self.checkpoint_bytes.load(Ordering::Relaxed);
        since >= self.options.checkpoint_log_bytes.max(last)
    }
}
