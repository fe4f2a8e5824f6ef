//! One writer of the log: takes buffers, writes frames, syncs, claims epochs.
//!
//! The owner calls [`LogWriter::step`] whenever epochs have advanced, and now and then between, so that little is
//! left to write when an epoch ends.
//!
//! A claim of epoch `e` means: whatever this writer has of epochs up to `e` is in frames that
//! are synced, and the last of them says so. An exception keeps an idle database quiet: where nothing
//! at all was appended since the writer's last frame on the disk, the claim stands in memory alone.
//! Recovery then finds an earlier epoch to be the last, and between the two there is nothing to lose.
//!
//! In the head of its segment the writer notes how far the log is durable (`marks`): so that damage to the
//! end is not taken for a write that a crash cut short. The note follows the claim, and delays no waiter; it precedes
//! the next frame. Segments that have begun are noted beside them (`claims`).

use crate::buffer::BufferRef;
use crate::error::Result;
use crate::faults;
use crate::frame::Kind;
use crate::marks::{Lasts, LogEnd, Mark, Marks};
use crate::names::SegmentId;
use crate::retired::Retired;
use crate::segment::{Segment, Spares};
use crate::shared::{Log, LogOptions};
use chiliad_machine::disk::{BLOCK_BYTES, Blocks, Disk};
use chiliad_machine::{Machine, Ordering, Word};
use std::sync::Arc;

/// Bytes waiting in buffers that are worth writing before their epoch ends.
const EARLY_BYTES: u64 = 1 << 20;
/// Payload bytes after which a frame is closed.
const FRAME_BYTES: usize = 4 << 20;
/// Memory kept for frames between two steps, in bytes.
const KEPT_BYTES: usize = 32 << 20;

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stepped {
    /// There was nothing to do.
    Idle,
    /// Something was written, and nothing claimed.
    Wrote,
    /// An epoch was claimed.
    Claimed,
    /// The log has failed, now or earlier.
    Failed,
}

/// A buffer, and room to take its content into.
struct Source<M: Machine> {
    buffer: BufferRef<M>,
    taken: Vec<u8>,
    closed: bool,
}

/// One writer. Run by one worker at a time.
pub struct LogWriter<M: Machine> {
    number: u32,
    segment: Segment,
    sources: Vec<Source<M>>,
    frames: Blocks,
    /// The newest epoch in what was taken and not written yet.
    newest_taken: u64,
    /// The epoch claimed last.
    claimed: u64,
    /// The epoch of the last frame that is synced.
    marked: u64,
    /// Its notes in the file of claims.
    claims: Marks,
}

impl<M: Machine> Log<M> {
    /// Begins the log of an incarnation, with a file of claims and a durable first segment for each writer. The
    /// caller runs the writers. `spares` are the numbers of spare files that are left from before.
    ///
    /// # Errors
    /// The system's.
    pub fn begin(
        disk: Arc<dyn Disk>,
        database: u128,
        incarnation: u32,
        options: LogOptions,
        spares: impl IntoIterator<Item = u32>,
    ) -> Result<(Self, Vec<LogWriter<M>>)> {
        debug_assert!(options.writers > 0, "a log has a writer");
        let mut ready = Spares::default();
        spares.into_iter().for_each(|number| ready.add(number));
        let first: Vec<Option<u32>> = (0..options.writers).map(|_| ready.take()).collect();
        let log = Self::new(disk, database, incarnation, options, ready)?;
        let writers = (0..).zip(first).map(|(number, spare)| LogWriter::begin(&log, number, spare));
        let writers = writers.collect::<Result<Vec<_>>>()?;
        Ok((log, writers))
    }
}

impl<M: Machine> LogWriter<M> {
    /// A writer and its first segment; `log` may not be in the machine's memory yet.
    fn begin(log: &Log<M>, number: u32, spare: Option<u32>) -> Result<Self> {
        debug_assert!((number as usize) < log.lanes.len(), "each writer has its lane");
        let id = SegmentId { incarnation: log.incarnation, writer: number, sequence: 0 };
        let compress = log.options.compress;
        let segment = Segment::begin::<M>(&log.disk, spare, id, log.database, compress, 0)?;
        Ok(Self {
            number,
            segment,
            sources: Vec::new(),
            frames: Blocks::new(),
            newest_taken: 0,
            claimed: 0,
            marked: 0,
            claims: log.claims.of(number),
        })
    }

    /// Counts the writers of a log from 0.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Writes what is due. The calling worker is woken by [`Log::advance`] from then on.
    pub fn step(&mut self, log: &Log<M>) -> Stepped {
        let lane = &log.lanes[self.number as usize];
        // Relaxed: a wake-up that misses the change of runner costs one poll.
        lane.runner.store(u64::from(M::worker().0) + 1, Ordering::Relaxed);
        if log.has_failed() {
            return Stepped::Failed;
        }
        self.try_step(log).unwrap_or_else(|error| {
            if M::fault(&faults::SYNC_RETRIED) {
                return Stepped::Wrote;
            }
            log.fail(error);
            Stepped::Failed
        })
    }

    fn try_step(&mut self, log: &Log<M>) -> Result<Stepped> {
        let lane = &log.lanes[self.number as usize];
        if M::fault(&faults::DRAINED_TOO_EARLY) {
            self.meet(log);
            self.take();
        }
        // Acquire pairs with the release in `advance`: what is taken after this has all of it.
        let stable = log.stable.load(Ordering::Acquire);
        debug_assert!(stable >= self.claimed, "the stable epoch never falls");
        debug_assert!(self.marked <= self.claimed, "what frames say is claimed");
        let due = stable > self.claimed;
        self.meet(log);
        let pending: u64 = self.sources.iter().map(|source| source.buffer.pending()).sum();
        if !due && pending < EARLY_BYTES {
            return Ok(Stepped::Idle);
        }
        if !M::fault(&faults::DRAINED_TOO_EARLY) {
            self.take();
        }
        let content = self.sources.iter().any(|source| !source.taken.is_empty());
        // Relaxed: what was appended up to the stable epoch is seen with it.
        let quiet = !content && log.appended.load(Ordering::Relaxed) <= self.marked;
        if !quiet {
            self.frame(log, stable)?;
            if due {
                self.write_durably(stable)?;
                self.marked = stable;
            } else {
                self.segment.write(&self.frames)?;
            }
            self.written(log);
        }
        if !due {
            return Ok(Stepped::Wrote);
        }
        debug_assert!(self.newest_taken == 0, "nothing that was taken is left to write");
        self.claimed = stable;
        if !quiet {
            *lane.end.lock() = self.segment.durable_end(self.marked);
        }
        // Release pairs with the acquire in `durable`.
        lane.durable.store(stable, Ordering::Release);
        if quiet {
            self.note(log, Lasts::Power)?;
        } else if !M::fault(&faults::FRAME_NOT_NOTED) {
            self.note(log, Lasts::Process)?;
        }
        Ok(Stepped::Claimed)
    }

    /// Notes how far the log is durable.
    fn note(&mut self, log: &Log<M>, lasts: Lasts) -> Result<()> {
        // Acquire pairs with the release in `Log::manifest_is`: that manifest is in place.
        let generation = log.generation.load(Ordering::Acquire);
        let end = self.segment.durable_end(self.marked);
        self.segment.note(Mark { end, generation }, lasts)?;
        let begun = Mark { end: self.segment.begun, generation };
        log.claims.note(&mut self.claims, begun)
    }

    /// Ends the segment, and notes that it has.
    fn end(&mut self, log: &Log<M>, lasts: Lasts) -> Result<()> {
        self.segment.end(self.marked)?;
        self.note(log, lasts)
    }

    /// Takes newcomers among the buffers on.
    fn meet(&mut self, log: &Log<M>) {
        let mut newcomers = log.lanes[self.number as usize].newcomers.lock();
        let sources = newcomers.drain(..);
        self.sources.extend(sources.map(|buffer| Source {
            buffer,
            taken: Vec::new(),
            closed: false,
        }));
    }

    /// Takes what is in the buffers.
    fn take(&mut self) {
        for source in self.sources.iter_mut().filter(|source| source.taken.is_empty()) {
            let taken = source.buffer.take(&mut source.taken);
            source.closed = taken.closed;
            self.newest_taken = self.newest_taken.max(taken.epoch);
        }
    }

    /// Makes frames of what was taken, of which the last says that `stable` is complete.
    fn frame(&mut self, log: &Log<M>, stable: u64) -> Result<()> {
        debug_assert!(stable >= self.marked, "frames speak for ever later epochs");
        let content: usize = self.sources.iter().map(|source| source.taken.len()).sum();
        // Each source may cost a frame's head and padding.
        let bytes = content + (self.sources.len() + 1) * 2 * BLOCK_BYTES;
        let limit = log.options.segment_bytes;
        let full = !self.segment.has_room(bytes as u64, limit);
        // A file that grows makes every sync dear: it is left as soon as there is another.
        let poor = !self.segment.is_prepared() && log.spares.lock().count() > 0;
        if (full || poor) && self.segment.has_content() {
            self.rotate(log)?;
        }
        self.frames.clear();
        let mut left = content;
        let mut sources = self.sources.iter().filter(|source| !source.taken.is_empty()).peekable();
        loop {
            let mut taken = Vec::new();
            let mut length = 0;
            while length < FRAME_BYTES
                && let Some(source) = sources.next()
            {
                length += source.taken.len();
                taken.push(source.taken.as_slice());
            }
            debug_assert!(length <= left, "each source is framed once");
            left -= length;
            // An earlier frame must not speak for later ones, which a crash may take.
            let epoch = if left == 0 { stable } else { self.marked };
            self.segment.frame(&mut self.frames, Kind::Data, epoch, |out| {
                taken.iter().for_each(|bytes| out.push(bytes));
            });
            if left == 0 {
                break;
            }
        }
        debug_assert!(sources.next().is_none(), "all that was taken is framed");
        Ok(())
    }

    /// Writes the frames, and makes durable whatever was written.
    fn write_durably(&mut self, stable: u64) -> Result<()> {
        if M::fault(&faults::ACKNOWLEDGED_BEFORE_SYNC) {
            return self.segment.write(&self.frames);
        }
        if M::fault(&faults::NOTED_BEFORE_SYNC) {
            self.segment.write(&self.frames)?;
            let end = LogEnd { bytes: self.segment.offset, ..self.segment.durable_end(stable) };
            self.segment.note(Mark { end, generation: 0 }, Lasts::Process)?;
            return self.segment.sync();
        }
        self.segment.write_durably(&self.frames)
    }

    /// The frames are written: what they were made of is not needed any more.
    fn written(&mut self, log: &Log<M>) {
        // Relaxed: a statistic.
        log.written.fetch_add(self.frames.len() as u64, Ordering::Relaxed);
        if self.frames.len() > KEPT_BYTES {
            self.frames.clear_to(KEPT_BYTES);
        }
        let segment = &mut self.segment;
        segment.newest_epoch = segment.newest_epoch.max(core::mem::take(&mut self.newest_taken));
        self.sources.retain_mut(|source| {
            source.taken.clear();
            !source.closed
        });
    }

    /// Completes the segment and begins the next.
    fn rotate(&mut self, log: &Log<M>) -> Result<()> {
        debug_assert!(self.segment.has_content(), "an empty segment is not left");
        M::mark("log segment completed");
        self.end(log, Lasts::Process)?;
        let id = self.segment.id;
        {
            let mut complete = log.complete.lock();
            let own = |it: &&Retired| it.id.writer == id.writer;
            debug_assert!(complete.iter().rfind(own).is_none_or(|it| it.id < id), "oldest first");
            complete.push(Retired { id, newest_epoch: self.segment.newest_epoch });
        }
        let next = SegmentId { sequence: id.sequence + 1, ..id };
        let spare = log.spares.lock().take();
        let compress = log.options.compress;
        self.segment =
            Segment::begin::<M>(&log.disk, spare, next, log.database, compress, self.marked)?;
        // Relaxed: until it is seen, one segment more counts as needed.
        log.lanes[self.number as usize].open.store(next.sequence.into(), Ordering::Relaxed);
        if M::fault(&faults::SEGMENT_NOT_NOTED) {
            return Ok(());
        }
        self.note(log, Lasts::Power)
    }

    /// Makes everything durable that has been appended, and completes the segment: nobody appends
    /// any more, and [`Log::advance`] has been told. Returns where the log ends; `None`: it has failed.
    pub fn finish(mut self, log: &Log<M>) -> Option<LogEnd> {
        if self.step(log) == Stepped::Failed {
            return None;
        }
        match self.end(log, Lasts::Power) {
            Ok(()) => Some(self.segment.durable_end(self.marked)),
            Err(error) => {
                log.fail(error);
                None
            }
        }
    }
}
