//! Checkpoints: all rows into files, beside the transactions, and the end of the logs before.
//!
//! Transactions go on meanwhile. *Redo after* is an epoch whose windows had all closed before the walk began: the
//! walk meets everything committed up to it, or something newer in its place. The *end* is the newest epoch in which
//! anything had been logged when the walk ended: nothing met is newer, and the files say so too, which they need not
//! of later epochs in which nothing happened. So the checkpoint may count as soon as the log is durable through the
//! end, and recovery replays the log of the epochs after *redo after*. Removed rows are not met; the log has their
//! removal if its epoch is later, and nothing of them if it is not.

pub(super) mod walkers;

use crate::base::Base;
use crate::contract::Scheme;
use crate::database::Database;
use crate::durable::Durable;
use crate::durable::directory::number::random_number;
use crate::durable::faults::{CHECKPOINT_TOO_EARLY, LOG_REMOVED_TOO_EARLY, REDO_AFTER_THE_END};
use crate::durable::parallel::crew::Parallel;
use crate::durable::parallel::next::Next;
use chiliad_api::{Checkpointed, Error, Host, Result};
use chiliad_log::{CheckpointInfo, KeptLog, LogError, Name, SegmentId};
use chiliad_machine::disk::{Access, Disk};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use walkers::{Walkers, Written};

impl<M: Machine> Walkers<'_, M> {
    fn finish(self, host: &dyn Host<M>) -> Result<Written> {
        Parallel::Walkers(&self).run(host);
        let mut written = core::mem::take(&mut *self.result.lock());
        match written.failure.take() {
            Some(error) => {
                // What there is of it is of no use, and may be what fills the disk.
                for part in 0..written.parts {
                    let name = Name::Part { checkpoint: self.number, part };
                    let _ = self.disk.remove(&name.to_string());
                }
                Err(error)
            }
            None => Ok(written),
        }
    }
}

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Writes a checkpoint while transactions go on, and removes the logs that it replaces.
    ///
    /// # Errors
    /// [`Error::Data`] when it could not be written: the one before still counts, and the database goes
    /// on. [`Error::LogFailed`]. [`Error::InvalidOption`] for a database without a directory.
    pub fn checkpoint(&self, host: &dyn Host<M>) -> Result<Checkpointed> {
        self.inner.base().checkpoint(host)
    }

    /// Ends checkpoints that are being made, and refuses others, before the database is closed.
    pub fn cancel_checkpoints(&self) {
        if let Some(durable) = &self.inner.words.durable {
            // Relaxed: seen sooner or later.
            durable.canceled.store(1, Ordering::Relaxed);
        }
    }

    /// Whether enough was logged since the last checkpoint for another one.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.inner.words.durable.as_ref().is_some_and(Durable::checkpoint_is_due)
    }

    /// Prepares files for the log to come, if there are none: called when there is time. Returns whether there was
    /// something to do.
    ///
    /// # Errors
    /// [`Error::Data`]; the database goes on.
    pub fn prepare_log(&self) -> Result<bool> {
        match &self.inner.words.durable {
            Some(durable) if !durable.log.has_failed() => {
                Ok(durable.log.prepare_spare(1 + durable.options.log.writers as usize)?)
            }
            _ => Ok(false),
        }
    }

    /// Writes all rows to an empty directory, which can be opened then. Nobody writes meanwhile.
    ///
    /// # Errors
    /// [`Error::Data`].
    pub fn export(&self, disk: &dyn Disk, host: &dyn Host<M>) -> Result<Checkpointed> {
        self.inner.base().export(disk, host)
    }
}

impl<M: Machine> Base<'_, M> {
    fn checkpoint(&self, host: &dyn Host<M>) -> Result<Checkpointed> {
        let durable = self.durable()?;
        let _turn = durable.copying.take();
        durable.check()?;
        let redo_after = durable.log.stable();
        let number = self.next_checkpoint(durable)?;
        let database = durable.manifest().database;
        let log_before = durable.log.written_bytes();
        let walkers =
            self.walkers(&*durable.disk, database, number, durable.options.checkpoint_effort);
        let written = walkers.finish(host)?;
        durable.disk.sync_names().map_err(LogError::io("syncing the names of a checkpoint"))?;
        let end = durable.log.appended();
        if !M::fault(&CHECKPOINT_TOO_EARLY) {
            while durable.log.durable() < end {
                durable.nap()?;
                if durable.is_canceled() {
                    return Err(Error::Canceled);
                }
            }
        }
        // Beyond the end the log is empty.
        let redo_after = if M::fault(&REDO_AFTER_THE_END) { end } else { redo_after.min(end) };
        debug_assert!(redo_after <= end, "what is replayed begins before the end");
        let incarnation = durable.log.incarnation();
        let info = CheckpointInfo { number, parts: written.parts, incarnation, redo_after, end };
        let first = durable.log.first_segments(redo_after);
        debug_assert!(first.len() == durable.options.log.writers as usize, "one for each writer");
        let (kept, dropped) = durable.retire(&first)?;
        let early = M::fault(&LOG_REMOVED_TOO_EARLY);
        if early {
            durable.release(&info, &kept, &dropped)?;
        }
        {
            let _turn = durable.changing.take();
            durable.change_manifest(|manifest| {
                debug_assert!(
                    manifest.checkpoint.is_none_or(|last| last.number < number),
                    "checkpoints count on"
                );
                manifest.checkpoint = Some(info);
                let current = manifest.incarnations.pop().map(|current| chiliad_log::Incarnation {
                    first_segments: first.clone(),
                    ..current
                });
                manifest.incarnations = current.into_iter().collect();
                manifest.kept = kept.clone();
            })?;
        }
        *durable.kept.lock() = kept.clone();
        durable.checkpointed_at.store(log_before, Ordering::Relaxed);
        durable.checkpoint_bytes.store(written.bytes, Ordering::Relaxed);
        M::mark("checkpoint published");
        let released = if early { 0 } else { durable.release(&info, &kept, &dropped)? };
        let mut made = Checkpointed::new(info, written.rows, written.bytes);
        made.released = released;
        Ok(made)
    }

    fn export(&self, disk: &dyn Disk, host: &dyn Host<M>) -> Result<Checkpointed> {
        if chiliad_log::Manifest::read(disk)?.is_some() {
            return Err(LogError::NotEmpty { place: disk.place() }.into());
        }
        let database = random_number::<M>();
        let written = self.walkers(disk, database, 1, 100).finish(host)?;
        disk.sync_names().map_err(LogError::io("syncing the names of a checkpoint"))?;
        let info = CheckpointInfo {
            number: 1,
            parts: written.parts,
            incarnation: 1,
            redo_after: 0,
            end: 0,
        };
        let manifest = chiliad_log::Manifest {
            format: chiliad_log::FORMAT_VERSION,
            database,
            generation: 1,
            checkpoint: Some(info),
            incarnations: vec![chiliad_log::Incarnation {
                number: 1,
                ended: Some(0),
                first_segments: Vec::new(),
                ends: Vec::new(),
                claims: false,
            }],
            catalog: self.catalog.blob().encode(),
            // The rows have no log, and whoever follows changes cannot begin before them.
            kept: KeptLog::nothing_before((1, 1)),
        };
        manifest.write::<M>(disk)?;
        Ok(Checkpointed::new(info, written.rows, written.bytes))
    }

    fn walkers<'a>(
        &'a self,
        disk: &'a dyn Disk,
        database: u128,
        number: u32,
        effort: u32,
    ) -> Walkers<'a, M> {
        debug_assert!((1..=100).contains(&effort), "a share in percent");
        debug_assert!(number > 0, "checkpoints count from one");
        let tables = self.catalog.walks();
        Walkers {
            disk,
            database,
            number,
            compress: self.durable.is_some_and(|it| it.options.log.compress),
            effort,
            durable: self.durable,
            catalog: self.catalog,
            heap: self.heap,
            read: crate::durable::recover::restore::stable_read,
            tables,
            next_part: Next::new(),
            result: Shared::new(Latch::new(Written::default())),
        }
    }

    /// A number that no file of an earlier checkpoint has, finished or not.
    fn next_checkpoint(&self, durable: &Durable<M>) -> Result<u32> {
        let names = durable.disk.names().map_err(LogError::io("listing"))?;
        let numbers = names.iter().filter_map(|name| match Name::parse(name) {
            Name::Part { checkpoint, .. } => Some(checkpoint),
            _ => None,
        });
        let published = durable.manifest().checkpoint.map_or(0, |it| it.number);
        Ok(numbers.max().unwrap_or(0).max(published) + 1)
    }
}

impl<M: Machine> Durable<M> {
    pub(in crate::durable) fn is_canceled(&self) -> bool {
        self.canceled.load(Ordering::Relaxed) != 0
    }

    /// Takes the segments before `first`, one for each writer, from what recovery needs. Returns what shall be kept of
    /// all log that it does not need, and the segments to be dropped once a manifest says so.
    fn retire(&self, first: &[u32]) -> Result<(KeptLog, Vec<SegmentId>)> {
        let mut kept = {
            // A reader finds each segment here or there.
            let mut kept = self.kept.lock();
            kept.keep(self.log.retire(first));
            kept.clone()
        };
        let bytes = |id: SegmentId| {
            let file = self.disk.open(&id.to_string(), Access::Read).and_then(|file| file.bytes());
            file.map_err(LogError::io(format!("opening {id}")))
        };
        let before = kept.dropped;
        let dropped = kept.trim(self.options.change_log_bytes, bytes)?;
        debug_assert!(kept.dropped >= before, "what has been dropped does not come back");
        debug_assert!(
            self.options.change_log_bytes > 0 || kept.segments.is_empty(),
            "nothing is kept that nobody asked for"
        );
        Ok((kept, dropped))
    }

    /// Gives up the files that a published checkpoint replaces, but for the log that is kept.
    fn release(
        &self,
        published: &CheckpointInfo,
        kept: &KeptLog,
        dropped: &[SegmentId],
    ) -> Result<usize> {
        let is_kept = |id: &SegmentId| kept.segments.iter().any(|it| it.id == *id);
        debug_assert!(!dropped.iter().any(is_kept), "what is dropped is not kept");
        let names = self.disk.names().map_err(LogError::io("listing"))?;
        let mut segments = Vec::new();
        let mut released = 0;
        for name in names {
            match Name::parse(&name) {
                Name::Segment(id)
                    if id.incarnation < published.incarnation && !is_kept(&id)
                        || dropped.contains(&id) =>
                {
                    segments.push(name);
                }
                Name::Part { checkpoint, .. } if checkpoint != published.number => {
                    self.disk.remove(&name).map_err(LogError::io(format!("removing {name}")))?;
                    released += 1;
                }
                _ => {}
            }
        }
        let spares = self.options.checkpoint_log_bytes / self.options.log.segment_bytes + 1;
        self.log.recycle(&segments, spares as usize)?;
        Ok(released + segments.len())
    }
}

impl<'a, M: Machine> Base<'a, M> {
    /// The directory's part.
    pub(in crate::durable) fn durable(&self) -> Result<&'a Durable<M>> {
        let without = || Error::InvalidOption("the database has no directory".into());
        self.durable.ok_or_else(without)
    }
}

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Waits until an epoch is durable, for ever if nobody ticks or nobody runs the writers.
    ///
    /// # Errors
    /// [`Error::LogFailed`].
    pub fn wait_durable(&self, epoch: u64) -> Result<()> {
        match &self.inner.words.durable {
            Some(durable) => durable.wait(epoch),
            None => Ok(()),
        }
    }
}
