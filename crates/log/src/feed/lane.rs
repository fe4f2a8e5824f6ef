//! The files of one writer, one after the other.

use super::readable::Readable;
use crate::entry::{self, Transaction};
use crate::error::{LogError, Result};
use crate::frame::Kind;
use crate::marks::LogEnd;
use crate::names::SegmentId;
use crate::read::SegmentReader;
use chiliad_machine::Machine;
use chiliad_machine::disk::Disk;

/// The outcome of reading a frame.
pub enum Read {
    /// A frame.
    Frame,
    /// All has been read that may be.
    End,
    /// A segment that is missing, or does not go on as it should, where it was durable.
    Unsound(SegmentId, LogError),
}

/// One writer of one incarnation.
#[derive(Debug)]
pub struct Lane<M> {
    incarnation: u32,
    writer: u32,
    /// The segment that is being read.
    reader: Option<(SegmentId, SegmentReader<M>)>,
    /// The first segment that has not been begun.
    next: u32,
    /// How far it may read.
    end: LogEnd,
    /// Everything of this epoch and before has been read.
    through: u64,
    at_end: bool,
}

impl<M: Machine> Lane<M> {
    pub fn new(incarnation: u32, writer: u32) -> Self {
        let end = LogEnd { sequence: 0, bytes: 0, epoch: 0 };
        Self { incarnation, writer, reader: None, next: 0, end, through: 0, at_end: false }
    }

    /// The log is durable up to here.
    pub fn may_read_to(&mut self, end: LogEnd) {
        self.at_end &= end == self.end;
        self.end = end;
        if let Some((id, reader)) = &mut self.reader
            && id.sequence == end.sequence
        {
            reader.stop_at(end.bytes);
        } else if let Some((_, reader)) = &mut self.reader {
            reader.stop_at(u64::MAX);
        }
    }

    /// Everything of this epoch and before has been read; at the end, all that there is.
    pub fn through(&self) -> u64 {
        if self.at_end { u64::MAX } else { self.through }
    }

    /// Whether it has been read as far as it may be.
    pub fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Reads a frame, and gives the transactions in it from the epoch `from` on to `take`, which returns whether one
    /// is sound.
    pub fn read(
        &mut self,
        disk: &dyn Disk,
        known: &Readable,
        from: u64,
        mut take: impl FnMut(Transaction<'_>, u32) -> bool,
    ) -> Result<Read> {
        if self.reader.is_none() {
            let Some(id) = self.segment_to_read(known, from) else {
                self.at_end = true;
                return Ok(Read::End);
            };
            self.next = id.sequence + 1;
            match self.open(disk, known, id) {
                Err(error @ LogError::Damaged { .. }) => return Ok(Read::Unsound(id, error)),
                opened => self.reader = Some((id, opened?)),
            }
        }
        let Some((id, reader)) = &mut self.reader else { return Ok(Read::End) };
        let (id, begun) = (*id, reader.offset());
        if id.sequence == self.end.sequence && begun >= self.end.bytes {
            self.at_end = true;
            return Ok(Read::End);
        }
        let what = "what was durable here is not what is here";
        let Some(frame) = reader.next_frame()? else {
            let error = LogError::damaged(reader.name(), begun, what);
            self.reader = None;
            return Ok(Read::Unsound(id, error));
        };
        let (kind, through) = (frame.head.kind, frame.head.epoch);
        let sound = entry::transactions(frame.payload).all(|transaction| match transaction {
            Some(transaction) if transaction.epoch < from => true,
            Some(transaction) => take(transaction, id.writer),
            None => false,
        });
        if !sound {
            return Err(LogError::damaged(reader.name(), begun, what));
        }
        self.through = self.through.max(through);
        if kind == Kind::End {
            self.reader = None;
        }
        Ok(Read::Frame)
    }

    /// The next segment with something of the epoch `from` or later; the one at the end always counts.
    fn segment_to_read(&self, known: &Readable, from: u64) -> Option<SegmentId> {
        let own = |id: SegmentId| (id.incarnation, id.writer) == (self.incarnation, self.writer);
        let listed = known
            .segments
            .iter()
            .find(|it| own(it.id) && it.id.sequence >= self.next && it.newest_epoch >= from);
        let listed = listed.map(|it| it.id);
        let open = SegmentId {
            incarnation: self.incarnation,
            writer: self.writer,
            sequence: self.end.sequence,
        };
        let is_open = known.incarnation == self.incarnation && open.sequence >= self.next;
        listed.or(is_open.then_some(open))
    }

    fn open(&self, disk: &dyn Disk, known: &Readable, id: SegmentId) -> Result<SegmentReader<M>> {
        let identity = id.identity(known.database);
        let mut reader = SegmentReader::open(disk, &id.to_string(), identity)?;
        if id.sequence == self.end.sequence {
            reader.stop_at(self.end.bytes);
        }
        Ok(reader)
    }
}
