//! The file that a writer writes to, and the next one.
//!
//! A segment begins with its head, a `Start` frame and its marks, and, once it is complete, ends with an
//! `End` frame. It is complete, and synced, before the next one begins; so only the last segment of a
//! writer can end in the middle of something. Files that are no longer needed become segments to come: their blocks
//! are allocated and written, so that a sync has nothing to tell the file system.

use crate::error::{LogError, Result};
use crate::faults;
use crate::frame::{Framer, Kind};
use crate::marks::{Lasts, LogEnd, MARKS_BYTES, Mark, Marks, SLOTS};
use crate::names::{Name, SegmentId};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk, DiskFile};
use std::io;
use std::sync::Arc;

/// Bytes of a spare that is worth using, at least.
pub(crate) const SPARE_BYTES_MIN: u64 = 64 << 10;

/// Durable writes after which the next one takes the mark in the head along.
const MARK_PASSED_BY_MAX: u32 = 15;

/// Bytes before the first frame of transactions.
pub(crate) const HEAD_BYTES: u64 = BLOCK_BYTES as u64 + MARKS_BYTES;

/// The end of a segment that has just begun, after `epoch`.
pub(crate) fn begun(sequence: u32, epoch: u64) -> LogEnd {
    LogEnd { sequence, bytes: HEAD_BYTES, epoch }
}

/// Files ready to become segments.
#[derive(Debug, Default)]
pub struct Spares {
    /// The numbers of those that are ready.
    ready: Vec<u32>,
    /// The next number.
    next: u32,
}

impl Spares {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ready.len()
    }

    /// A name for one more.
    pub(crate) fn name(&mut self) -> u32 {
        while self.ready.contains(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        debug_assert!(!self.ready.contains(&number), "a name that no spare has");
        self.next = number.wrapping_add(1);
        number
    }

    pub(crate) fn add(&mut self, number: u32) {
        debug_assert!(!self.ready.contains(&number), "a spare is ready once");
        // After the last number comes the first, whatever somebody has called a file.
        self.next = self.next.max(number.wrapping_add(1));
        self.ready.push(number);
    }

    pub(crate) fn take(&mut self) -> Option<u32> {
        self.ready.pop()
    }
}

/// The open end of one writer's log.
#[derive(Debug)]
pub(crate) struct Segment {
    pub id: SegmentId,
    file: Box<dyn DiskFile>,
    /// The file of the segment, for marks, which need not reach the device at once.
    head: Box<dyn DiskFile>,
    marks: Marks,
    /// Its end as it began.
    pub begun: LogEnd,
    /// Where the next frame goes.
    pub offset: u64,
    /// Bytes known to be durable.
    synced: u64,
    /// Writes that became durable since the head was synced.
    passed_by: u32,
    /// The newest epoch of a transaction in it.
    pub newest_epoch: u64,
    pub framer: Framer,
    /// Bytes whose blocks were written before, so that syncs have nothing to tell the file system; 0 where
    /// the file grows.
    prepared_bytes: u64,
}

impl Segment {
    /// Begins a segment, in the place of a spare file if there is one. Durable when it returns, name
    /// and all.
    pub fn begin<M: Machine>(
        disk: &Arc<dyn Disk>,
        spare: Option<u32>,
        id: SegmentId,
        database: u128,
        compress: bool,
        claimed: u64,
    ) -> Result<Self> {
        let name = id.to_string();
        let doing = |what| LogError::io(format!("{what} {name} in {}", disk.place()));
        let file = match spare {
            Some(number) => {
                let spare = Name::Spare(number).to_string();
                disk.rename(&spare, &name).map_err(doing("naming"))?;
                disk.open(&name, Access::Write).map_err(doing("opening"))?
            }
            None => disk.create(&name, 0).map_err(doing("creating"))?,
        };
        let framer = Framer::new(id.identity(database), compress);
        let bytes = match spare {
            Some(_) => file.bytes().map_err(doing("looking at"))?,
            None => 0,
        };
        // What is left of a spare that somebody cut short is of no use.
        let prepared_bytes = if bytes < SPARE_BYTES_MIN { 0 } else { bytes };
        let begun = begun(id.sequence, claimed);
        let first = Mark { end: begun, generation: 0 };
        let marks =
            Marks::new(BLOCK_BYTES as u64, id.identity_of_marks(database), id.writer, first);
        let mut segment = Self {
            id,
            file,
            head: disk.open_cached(&name).map_err(doing("opening"))?,
            marks,
            begun,
            offset: 0,
            synced: 0,
            passed_by: 0,
            newest_epoch: 0,
            framer,
            prepared_bytes,
        };
        let mut out = Blocks::new();
        segment.frame(&mut out, Kind::Start, claimed, |payload| payload.push(&[SLOTS as u8]));
        segment.marks.push_first(&mut out);
        debug_assert!(out.len() as u64 == HEAD_BYTES, "a frame and the marks");
        segment.write(&out)?;
        segment.sync()?;
        debug_assert!(segment.synced == HEAD_BYTES, "the beginning is durable");
        if !M::fault(&faults::SEGMENT_NAME_NOT_SYNCED) {
            disk.sync_names().map_err(LogError::io(format!("syncing {}", disk.place())))?;
        }
        Ok(segment)
    }

    /// Appends a frame to `out`, whose bytes will be written next.
    pub fn frame(
        &mut self,
        out: &mut Blocks,
        kind: Kind,
        epoch: u64,
        payload: impl FnOnce(&mut Blocks),
    ) {
        debug_assert!(self.offset.is_multiple_of(BLOCK_BYTES as u64), "frames end with a block");
        let start = Framer::begin(out);
        payload(out);
        let position = self.offset + start as u64;
        self.framer.finish(out, start, kind, epoch, self.synced, position);
    }

    /// Writes frames behind those there are.
    pub fn write(&mut self, frames: &Blocks) -> Result<()> {
        self.append(frames, |file, at| file.write_at(at, frames))
    }

    /// Appends frames, which `write` writes at the end.
    fn append(
        &mut self,
        frames: &Blocks,
        write: impl FnOnce(&dyn DiskFile, u64) -> io::Result<()>,
    ) -> Result<()> {
        debug_assert!(!frames.is_empty(), "a write has a frame");
        debug_assert!(frames.len().is_multiple_of(BLOCK_BYTES), "frames end with a block");
        let doing = LogError::io(format!("writing {}", self.id));
        write(&*self.file, self.offset).map_err(doing)?;
        self.offset += frames.len() as u64;
        Ok(())
    }

    /// As [`Segment::write`], and all that was written is durable when it returns. Mostly it is these frames that are made
    /// durable and not the head's mark, which would be a second write of the device at each sync.
    pub fn write_durably(&mut self, frames: &Blocks) -> Result<()> {
        if self.synced < self.offset || self.passed_by == MARK_PASSED_BY_MAX {
            self.write(frames)?;
            return self.sync();
        }
        self.append(frames, |file, at| file.write_durably_at(at, frames))?;
        self.synced = self.offset;
        self.passed_by += 1;
        Ok(())
    }

    /// Makes what was written durable, with the mark in the head.
    pub fn sync(&mut self) -> Result<()> {
        debug_assert!(self.synced <= self.offset, "only what was written is durable");
        self.file.sync().map_err(LogError::io(format!("syncing {}", self.id)))?;
        self.synced = self.offset;
        self.passed_by = 0;
        Ok(())
    }

    /// Notes in its head how far it is durable.
    pub fn note(&mut self, mark: Mark, lasts: Lasts) -> Result<()> {
        debug_assert!(mark.end.sequence == self.id.sequence, "marks are of their segment");
        debug_assert!(mark.end.bytes <= self.offset, "of what was written");
        let doing = LogError::io(format!("writing {}", self.id));
        self.marks.note(&*self.head, mark, lasts).map_err(doing)
    }

    /// Ends the segment, of which `claimed` is the last epoch that is complete.
    pub fn end(&mut self, claimed: u64) -> Result<()> {
        let mut out = Blocks::new();
        self.frame(&mut out, Kind::End, claimed, |_| {});
        self.write(&out)?;
        self.sync()
    }

    /// How far it is durable; `epoch` is that of the last frame there.
    pub fn durable_end(&self, epoch: u64) -> LogEnd {
        debug_assert!(self.synced >= HEAD_BYTES, "the beginning is durable");
        LogEnd { sequence: self.id.sequence, bytes: self.synced, epoch }
    }

    /// Whether `bytes` more, and the end, fit into what was prepared; or into `limit`, if nothing was.
    pub fn has_room(&self, bytes: u64, limit: u64) -> bool {
        let limit = if self.is_prepared() { self.prepared_bytes.min(limit) } else { limit };
        self.offset + bytes + BLOCK_BYTES as u64 <= limit
    }

    /// Whether its blocks were written before.
    pub fn is_prepared(&self) -> bool {
        self.prepared_bytes > 0
    }

    /// Whether it holds more than its beginning.
    pub fn has_content(&self) -> bool {
        self.offset > HEAD_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::Spares;

    #[test]
    fn the_last_number_is_followed_by_one_that_is_free() {
        let mut spares = Spares::default();
        for number in [0, 1, u32::MAX] {
            spares.add(number);
        }
        assert_eq!(spares.name(), 2);
        let mut late = Spares { ready: vec![u32::MAX, 0], next: u32::MAX };
        assert_eq!(late.name(), 1);
    }
}
