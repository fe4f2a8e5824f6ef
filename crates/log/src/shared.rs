//! State of a log that workers, writers and waiters share.
//!
//! ```text
//! worker   append to its buffer, inside the commit window
//! ticker   advance(e): every window of epoch e and before has closed
//! writer   take the buffers, write, sync, claim e
//! waiter   durable(): the least claim
//! ```

use crate::buffer::{Buffer, BufferRef};
use crate::claims::Claims;
use crate::entry::Write;
use crate::error::{LogError, Result};
use crate::faults;
use crate::feed::Readable;
use crate::kept::KeptLog;
use crate::marks::LogEnd;
use crate::names::Name;
use crate::retired::Retired;
use crate::segment::{self, Spares};
use chiliad_machine::disk::{Access, Disk};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word, WorkerId};
use std::sync::Arc;

/// How a log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOptions {
    /// Writers, each with a file of its own.
    pub writers: u32,
    /// Bytes after which a segment is complete.
    pub segment_bytes: u64,
    /// Compress what is written.
    pub compress: bool,
    /// Bytes that a worker may have waiting before it has to wait itself: when it begins its next transaction, as
    /// long as that may last, and never while it commits.
    pub buffer_bytes_max: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { writers: 1, segment_bytes: 64 << 20, compress: false, buffer_bytes_max: 16 << 20 }
    }
}

/// Bytes of the first spares: with two of them and the rest of its files a database of a few rows takes less than half a
/// mebibyte. Ten doublings lead from here to segments of the usual size.
const SPARE_BYTES: u64 = 128 << 10;

/// One writer's part.
pub(crate) struct Lane<M: Machine> {
    /// The epoch through which everything of this writer is durable.
    pub durable: M::Word,
    /// The worker that runs the writer, plus one; zero: nobody yet.
    pub runner: M::Word,
    /// Calls of [`Log::hurry`], counted in the first writer's lane: it ends epochs for those that call.
    pub hurries: M::Word,
    /// Calls of [`Log::transaction_opened`] and of [`Log::transaction_closed`], counted in the first writer's lane as well.
    pub opened: M::Word,
    /// The argument of the last call of [`Log::rest_while_open`], in the first writer's lane as well.
    pub resting: M::Word,
    pub closed: M::Word,
    /// The sequence of the segment that it writes to.
    pub open: M::Word,
    /// Where its log ends that is durable, and claimed or about to be.
    pub end: Latch<M, LogEnd>,
    /// Buffers that the writer has not met yet.
    pub newcomers: Latch<M, Vec<BufferRef<M>>>,
}

/// The log of one incarnation of a database. Lives in the machine's memory.
pub struct Log<M: Machine> {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) database: u128,
    pub(crate) incarnation: u32,
    pub(crate) options: LogOptions,
    /// How far each writer's log is durable, for recovery.
    pub(crate) claims: Claims,
    /// The generation of the manifest in place, once it knows of this incarnation.
    pub(crate) generation: M::Word,
    /// Every commit window of this epoch and before has closed.
    pub(crate) stable: M::Word,
    /// Somebody waits for this epoch and does not want to wait for its natural end.
    urgent: M::Word,
    /// The newest epoch in which anything was appended.
    pub(crate) appended: M::Word,
    /// Not zero once a write or sync has failed.
    failed: M::Word,
    failure: Latch<M, Option<LogError>>,
    /// Bytes written in this incarnation.
    pub(crate) written: M::Word,
    /// Buffers given out, to deal them to writers in turn.
    dealt: M::Word,
    pub(crate) lanes: Vec<Shared<M, Lane<M>>>,
    pub(crate) spares: Latch<M, Spares>,
    /// Segments that are complete, oldest first.
    pub(crate) complete: Latch<M, Vec<Retired>>,
}

impl<M: Machine> Log<M> {
    /// The log of an incarnation, with a file of claims and no writers yet. `spares` are what is left of
    /// the spare files once each writer has one.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        database: u128,
        incarnation: u32,
        options: LogOptions,
        spares: Spares,
    ) -> Result<Self> {
        debug_assert!(options.writers > 0, "a log has a writer");
        let lane = || Lane {
            durable: M::Word::new(0),
            runner: M::Word::new(0),
            hurries: M::Word::new(0),
            opened: M::Word::new(0),
            resting: M::Word::new(0),
            closed: M::Word::new(0),
            open: M::Word::new(0),
            end: Latch::new(segment::begun(0, 0)),
            newcomers: Latch::new(Vec::new()),
        };
        let claims = Claims::create(&*disk, database, incarnation, options.writers)?;
        Ok(Self {
            claims,
            generation: M::Word::new(0),
            disk,
            database,
            incarnation,
            options,
            stable: M::Word::new(0),
            urgent: M::Word::new(0),
            appended: M::Word::new(0),
            failed: M::Word::new(0),
            failure: Latch::new(None),
            written: M::Word::new(0),
            dealt: M::Word::new(0),
            lanes: (0..options.writers).map(|_| Shared::new(lane())).collect(),
            spares: Latch::new(spares),
            complete: Latch::new(Vec::new()),
        })
    }

    /// The manifest that names this incarnation is in place, durably. The log may not be in the machine's
    /// memory yet.
    pub fn is_named_by(&mut self, generation: u64) {
        debug_assert!(generation > 0, "zero stands for no manifest");
        self.generation = M::Word::new(generation);
    }

    /// A manifest of this generation is in place, durably.
    pub fn manifest_is(&self, generation: u64) {
        debug_assert!(generation > 0, "zero stands for no manifest");
        // Release pairs with the acquire in `LogWriter::note`.
        self.generation.store(generation, Ordering::Release);
    }

    /// Which incarnation.
    #[must_use]
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// A buffer for a worker.
    #[must_use]
    pub fn buffer(&self) -> BufferRef<M> {
        let buffer = Arc::new(Shared::new(Buffer::new()));
        // Relaxed: only that they take turns.
        let turn = self.dealt.fetch_add(1, Ordering::Relaxed) as usize;
        let lane = &self.lanes[turn % self.lanes.len()];
        lane.newcomers.lock().push(Arc::clone(&buffer));
        buffer
    }

    /// Appends a committed transaction. The caller is in its commit window, and excludes those that
    /// conflict with it.
    #[inline]
    pub fn append<'a>(
        &self,
        buffer: &Buffer<M>,
        epoch: u64,
        order: u64,
        writes: impl Iterator<Item = Write<'a>>,
    ) {
        buffer.append(epoch, order, writes);
        if self.appended.load(Ordering::Relaxed) < epoch {
            // Relaxed: read after the epoch is stable, which comes with the closed windows.
            self.appended.fetch_max(epoch, Ordering::Relaxed);
        }
    }

    /// Whether a worker may go on filling its buffer.
    #[must_use]
    #[inline]
    pub fn has_room(&self, buffer: &Buffer<M>) -> bool {
        buffer.pending() < self.options.buffer_bytes_max
    }

    /// Every commit window of `stable` and before has closed: writers may make it durable.
    pub fn advance(&self, stable: u64) {
        // Release pairs with the acquire in `LogWriter::step`: what was appended in these epochs is
        // in the buffers.
        self.stable.fetch_max(stable, Ordering::Release);
        self.wake();
    }

    /// Asks for the end of an epoch: see [`Log::is_urgent`].
    pub fn hurry(&self, epoch: u64) {
        // Relaxed: a guess at how many wait.
        self.lanes[0].hurries.fetch_add(1, Ordering::Relaxed);
        // Release pairs with the acquire in `is_urgent`, and the writers are woken to look: by the first who asks for the
        // epoch. One that rests looks afterwards. AcqRel pairs with that in `rest_while_open`: of this call and the end of the
        // rest the later one sees the earlier.
        let is_first = self.urgent.fetch_max(epoch, Ordering::AcqRel) < epoch;
        if is_first && self.lanes[0].resting.fetch_or(0, Ordering::AcqRel) == 0 {
            self.wake();
        }
    }

    /// The writer that ends epochs rests while at least so many transactions are open, for a time that it sets itself: calls of
    /// [`Log::hurry`] do not wake it, but a transaction does whose end leaves fewer, unless it ends just now. Zero: it has
    /// ended its rest, and asks [`Log::is_urgent`] next.
    pub fn rest_while_open(&self, least: u64) {
        let runner = self.lanes[0].runner.load(Ordering::Relaxed);
        debug_assert!(runner != 0, "whoever rests runs the writer, and can be woken");
        // AcqRel pairs with that in `hurry`. Both change the word, so that one of them comes after the other.
        self.lanes[0].resting.swap(least, Ordering::AcqRel);
    }

    /// A transaction is open whose owner comes back to it, until [`Log::transaction_closed`]: it may soon call [`Log::hurry`].
    pub fn transaction_opened(&self) {
        // Relaxed, here and below: a guess at how many will hurry.
        self.lanes[0].opened.fetch_add(1, Ordering::Relaxed);
    }

    /// Such a transaction is over.
    pub fn transaction_closed(&self) {
        self.lanes[0].closed.fetch_add(1, Ordering::Relaxed);
        // Relaxed: a writer that is not woken rests for its time.
        let least = self.lanes[0].resting.load(Ordering::Relaxed);
        if least > 0 && self.opened() < least {
            self.wake();
        }
    }

    /// Transactions that are open.
    #[must_use]
    pub fn opened(&self) -> u64 {
        let closed = self.lanes[0].closed.load(Ordering::Relaxed);
        self.lanes[0].opened.load(Ordering::Relaxed).saturating_sub(closed)
    }

    /// Calls of [`Log::hurry`] so far.
    #[must_use]
    pub fn hurries(&self) -> u64 {
        self.lanes[0].hurries.load(Ordering::Relaxed)
    }

    /// Whether somebody waits for an epoch that is not stable yet: a tick would help. Once it is stable,
    /// the writers see to it without more ticks.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        // Acquire pairs with the release in `hurry`.
        self.urgent.load(Ordering::Acquire) > self.stable() && !self.has_failed()
    }

    /// Wakes the writers.
    pub fn wake(&self) {
        for lane in &self.lanes {
            let runner = lane.runner.load(Ordering::Relaxed);
            if runner != 0 {
                M::unpark(WorkerId(runner as u32 - 1));
            }
        }
    }

    /// The newest epoch whose windows have all closed, as far as the log was told.
    #[must_use]
    pub fn stable(&self) -> u64 {
        // Acquire pairs with the release in `advance`.
        self.stable.load(Ordering::Acquire)
    }

    /// The newest epoch in which anything was appended, as far as the caller has seen its effects. Once
    /// it is durable, the files of all writers say so.
    #[must_use]
    pub fn appended(&self) -> u64 {
        // Relaxed: a worker appends before its effects can be seen.
        self.appended.load(Ordering::Relaxed)
    }

    /// The newest epoch that is durable: so is every transaction of it and before.
    #[must_use]
    #[inline]
    pub fn durable(&self) -> u64 {
        // Acquire pairs with the release of the claim.
        let claims = self.lanes.iter().map(|lane| lane.durable.load(Ordering::Acquire));
        let durable =
            if M::fault(&faults::PAST_A_LAGGING_WRITER) { claims.max() } else { claims.min() };
        durable.unwrap_or(0)
    }

    /// Bytes written in this incarnation.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Whether nothing more will become durable.
    #[must_use]
    #[inline]
    pub fn has_failed(&self) -> bool {
        // Acquire pairs with the release in `fail`.
        self.failed.load(Ordering::Acquire) != 0
    }

    /// Why not.
    #[must_use]
    pub fn failure(&self) -> Option<LogError> {
        if self.has_failed() { self.failure.lock().clone() } else { None }
    }

    /// Nothing more will become durable.
    pub fn fail(&self, error: LogError) {
        self.failure.lock().get_or_insert(error);
        // Release pairs with the acquire in `has_failed`.
        self.failed.store(1, Ordering::Release);
    }

    /// For each writer the first segment that recovery needs beside a checkpoint with this `redo_after`.
    #[must_use]
    pub fn first_segments(&self, redo_after: u64) -> Vec<u32> {
        let complete = self.complete.lock();
        let first = |(writer, lane): (usize, &Shared<M, Lane<M>>)| {
            let mut own = complete.iter().filter(|it| it.id.writer as usize == writer);
            let needed = own.find(|it| it.newest_epoch > redo_after);
            // Relaxed: a segment that is completed meanwhile stands in the list, and is needed.
            needed.map_or_else(|| lane.open.load(Ordering::Relaxed) as u32, |it| it.id.sequence)
        };
        self.lanes.iter().enumerate().map(first).collect()
    }

    /// Forgets the complete segments before `first`, one number for each writer, and returns them:
    /// they are the caller's to keep or to remove.
    pub fn retire(&self, first: &[u32]) -> Vec<Retired> {
        debug_assert!(first.len() == self.lanes.len(), "a number for each writer");
        let mut retired = Vec::new();
        self.complete.lock().retain(|it| {
            let needed = it.id.sequence >= first[it.id.writer as usize];
            if !needed {
                retired.push(*it);
            }
            needed
        });
        retired
    }

    /// What can be read of all logs, this one and those before it that are `kept`. The caller keeps `kept` as it is
    /// meanwhile.
    #[must_use]
    pub fn readable(&self, kept: &KeptLog) -> Readable {
        // In this order: what is durable lies before the ends, and each segment before an end is in the list.
        let durable = self.durable();
        let ends = self.lanes.iter().map(|lane| *lane.end.lock()).collect();
        let mut segments = kept.segments.clone();
        segments.extend(self.complete.lock().iter().copied());
        segments.sort_unstable_by_key(|it| it.id);
        Readable {
            database: self.database,
            dropped: kept.dropped,
            ended: kept.ended.clone(),
            segments,
            incarnation: self.incarnation,
            durable,
            ends,
        }
    }

    /// Makes the files of segments that are no longer needed, of whatever incarnation, spares, until
    /// there are `spares_max`, and removes the others, and those that are smaller than a new one would be.
    ///
    /// # Errors
    /// The system's; the log goes on.
    pub fn recycle(&self, names: &[String], spares_max: usize) -> Result<()> {
        let useful = self.spare_bytes();
        for name in names {
            let file = self.disk.open(name, Access::Read).and_then(|file| file.bytes());
            let bytes = file.map_err(LogError::io(format!("opening {name}")))?;
            let spare = {
                let mut spares = self.spares.lock();
                (bytes >= useful && spares.count() < spares_max).then(|| spares.name())
            };
            let Some(number) = spare else {
                self.disk.remove(name).map_err(LogError::io(format!("removing {name}")))?;
                continue;
            };
            let to = Name::Spare(number).to_string();
            self.disk.rename(name, &to).map_err(LogError::io(format!("renaming {name}")))?;
            self.spares.lock().add(number);
        }
        self.disk.sync_names().map_err(LogError::io(format!("syncing {}", self.disk.place())))
    }

    /// Bytes of a spare that is made now: as many as were written so far, so that a small database has
    /// small files, and a log that fills them fast soon has large ones.
    fn spare_bytes(&self) -> u64 {
        let written = self.written_bytes().checked_next_power_of_two().unwrap_or(u64::MAX);
        written.max(SPARE_BYTES).min(self.options.segment_bytes)
    }

    /// Makes one more spare, if there are fewer than `wanted`; whether it did.
    ///
    /// # Errors
    /// The system's; the log goes on.
    pub fn prepare_spare(&self, wanted: usize) -> Result<bool> {
        let number = {
            let mut spares = self.spares.lock();
            (spares.count() < wanted).then(|| spares.name())
        };
        let Some(number) = number else {
            return Ok(false);
        };
        let name = Name::Spare(number).to_string();
        let made = self.disk.create(&name, self.spare_bytes()).and_then(|it| it.sync());
        if let Err(error) = made {
            // What there is of it is of no use, and may be what fills the disk.
            let _ = self.disk.remove(&name);
            return Err(LogError::io(format!("creating {name}"))(error));
        }
        self.spares.lock().add(number);
        Ok(true)
    }
}
