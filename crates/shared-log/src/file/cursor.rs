//! Reading a segment from front to back. A reader that reads on continues where it stopped.

use super::names::{segment_identity, segment_name};
use super::payload;
use chiliad_log::frame::Kind;
use chiliad_log::{LogError, SegmentReader};
use chiliad_machine::Machine;
use chiliad_machine::disk::Disk;
use chiliad_machine::shared_log::{Position, SharedLogError};

/// A place between two frames of a segment.
pub(super) struct Cursor<M> {
    segment: Position,
    reader: SegmentReader<M>,
    /// The position of the first record of the next frame.
    next: Position,
    /// Where the frame before that begins, in bytes from the start of the segment.
    last_offset: u64,
    /// Nothing was read of the file before the caller asked for what is read now.
    fresh: bool,
}

/// The records that a reader has asked for, and how many of them were handed over.
pub(super) struct Wanted<'a> {
    /// The next record to hand over.
    pub next: Position,
    /// The first record that is not wanted.
    pub end: Position,
    /// Bytes that are still wanted; more are where a record is larger.
    pub bytes: usize,
    pub take: &'a mut dyn FnMut(Position, &[u8]),
    /// Records handed over.
    pub handed: u64,
}

impl Wanted<'_> {
    /// Whether it was all, or enough.
    pub fn is_met(&self) -> bool {
        self.next >= self.end || (self.handed > 0 && self.bytes == 0)
    }

    fn hand(&mut self, record: &[u8]) {
        (self.take)(self.next, record);
        self.next += 1;
        self.handed += 1;
        self.bytes = self.bytes.saturating_sub(record.len());
    }
}

pub(super) fn error_of(error: &LogError) -> SharedLogError {
    SharedLogError::Damaged(error.to_string())
}

impl<M: Machine> Cursor<M> {
    /// The beginning of a segment.
    pub fn open(disk: &dyn Disk, log: u128, segment: Position) -> Result<Self, LogError> {
        let identity = segment_identity(log, segment);
        let reader = SegmentReader::open(disk, &segment_name(segment), identity)?;
        Ok(Self { segment, reader, next: segment, last_offset: 0, fresh: true })
    }

    /// Goes on where another one stopped, with a new look at the file.
    pub fn reopen(&self, disk: &dyn Disk, log: u128) -> Result<Self, LogError> {
        let mut cursor = Self::open(disk, log, self.segment)?;
        cursor.reader.seek(self.reader.offset());
        cursor.next = self.next;
        Ok(cursor)
    }

    /// The segment's first position.
    pub fn segment(&self) -> Position {
        self.segment
    }

    /// The position of the first record of the next frame.
    pub fn next(&self) -> Position {
        self.next
    }

    /// Where the next frame should be, in bytes from the start of the segment.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// Where the last frame begins that was read.
    pub fn last_offset(&self) -> u64 {
        self.last_offset
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.reader.name()
    }

    /// Whether the file was looked at for the call that reads now.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// The bytes read of the file may be old from now on.
    pub fn grow_old(&mut self) {
        self.fresh = false;
    }

    /// The segment's reader, to judge where it stopped.
    pub fn reader(&mut self) -> &mut SegmentReader<M> {
        &mut self.reader
    }

    /// Hands over what is wanted; `false`: the next frame is not there.
    ///
    /// # Errors
    /// The system's, and [`SharedLogError::Damaged`] where sound frames hold what they should not.
    pub fn hand_over(&mut self, wanted: &mut Wanted<'_>) -> Result<bool, SharedLogError> {
        while !wanted.is_met() {
            let offset = self.reader.offset();
            let damaged = |what: &str| {
                error_of(&LogError::damaged(&segment_name(self.segment), offset, what))
            };
            let Some(frame) = self.reader.next_frame().map_err(|error| error_of(&error))? else {
                return Ok(false);
            };
            if frame.head.epoch != self.next {
                return Err(damaged("its records have other positions"));
            }
            if frame.head.kind != Kind::Data {
                continue;
            }
            let records = payload::records(frame.payload).ok_or_else(|| damaged("no records"))?;
            let end = self.next + records.len() as Position;
            let skipped = wanted.next.saturating_sub(self.next).min(records.len() as Position);
            for record in &records[skipped as usize..] {
                if wanted.is_met() {
                    break;
                }
                wanted.hand(record);
            }
            if wanted.next < end {
                // A reader that reads on needs the rest of the frame.
                self.reader.seek(offset);
                return Ok(true);
            }
            (self.next, self.last_offset) = (end, offset);
        }
        Ok(true)
    }
}
