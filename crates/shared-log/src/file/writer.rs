//! The open end of a log in files: groups of batches become frames of the newest segment.
//!
//! A frame is synced before the next one is written, and a segment before the next one begins; so only the last frame
//! of the last segment can be cut short by a crash.

use super::faults;
use super::head::LogHead;
use super::names::{create_anew, segment_identity, segment_name};
use super::payload;
use crate::batch::Batch;
use chiliad_log::frame::{Framer, Kind};
use chiliad_machine::Machine;
use chiliad_machine::disk::{BLOCK_BYTES, Blocks, Disk, DiskFile};
use chiliad_machine::shared_log::{Position, SharedLogError};
use std::io;
use std::sync::Arc;

/// The first frame of a segment: nothing that matters, but not what segments of other logs begin with.
const START: &[u8] = b"shared log";

/// Bytes by which a segment grows ahead of what is written, so that few syncs have a new length to tell the file
/// system: as many as it has, within these.
const GROWTH_BYTES: (u64, u64) = (64 << 10, 4 << 20);

/// Bytes of a buffer that is kept for the next frame.
const BUFFER_BYTES: usize = 4 << 20;

/// Why a group was not appended.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// There was no room; nothing was appended.
    Full(String),
    /// It may be there or not, and nothing more is appended.
    Broken(String),
}

impl Refusal {
    pub fn error(&self) -> SharedLogError {
        match self {
            Self::Full(what) => SharedLogError::Full(what.clone()),
            Self::Broken(what) => SharedLogError::Damaged(what.clone()),
        }
    }

    fn of(what: &str, error: &io::Error) -> Self {
        match SharedLogError::of_file(what, error) {
            SharedLogError::Full(what) => Self::Full(what),
            _ => Self::broken(what, error),
        }
    }

    fn broken(what: &str, error: &io::Error) -> Self {
        Self::Broken(format!("{what}: {error}; it takes no more records until it is opened anew"))
    }
}

/// The right to write, and the file.
#[derive(Debug)]
pub(super) struct Writer {
    pub head: LogHead,
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    /// The newest segment: its first position, and its file.
    pub segment: Position,
    file: Box<dyn DiskFile>,
    /// Where the next frame goes: everything before is durable.
    offset: u64,
    /// Bytes that the file has.
    pub prepared: u64,
    /// The position of the next record.
    next: Position,
    /// That is the first of another segment.
    is_complete: bool,
    framer: Framer,
    out: Blocks,
}

/// Where the writing of a segment goes on.
pub(super) struct Resumed {
    pub segment: Position,
    pub file: Box<dyn DiskFile>,
    pub offset: u64,
    pub prepared: u64,
    pub next: Position,
    /// Further records belong into the next one.
    pub is_complete: bool,
}

impl Writer {
    /// Goes on in a segment.
    pub fn resume(disk: Arc<dyn Disk>, head: LogHead, segment_bytes: u64, at: Resumed) -> Self {
        let framer = Framer::new(segment_identity(head.identity, at.segment), false);
        Self {
            head,
            disk,
            segment_bytes,
            segment: at.segment,
            file: at.file,
            offset: at.offset,
            prepared: at.prepared,
            next: at.next,
            is_complete: at.is_complete,
            framer,
            out: Blocks::new(),
        }
    }

    /// Begins a segment whose first record will be at `first`; durable when it returns, name and all.
    pub fn begin<M: Machine>(
        disk: &dyn Disk,
        log: u128,
        first: Position,
    ) -> Result<Resumed, Refusal> {
        let name = segment_name(first);
        let doing = |what: &'static str| {
            let what = format!("{what} {name} in {}", disk.place());
            move |error: io::Error| Refusal::of(&what, &error)
        };
        let mut out = Blocks::new();
        let start = Framer::begin(&mut out);
        out.push(START);
        let mut framer = Framer::new(segment_identity(log, first), false);
        framer.finish(&mut out, start, Kind::Start, first, 0, 0);
        let offset = out.len() as u64;
        let file = create_anew(disk, &name, 0).map_err(doing("creating"))?;
        // What there is of it after an error stays: no other segment may come to hold a record that is to be its first.
        file.write_at(0, &out).map_err(doing("writing"))?;
        let broken = |what: &str, error| Refusal::broken(&format!("{what} {name}"), &error);
        file.sync().map_err(|error| broken("syncing", error))?;
        if !M::fault(&faults::SEGMENT_NAME_NOT_SYNCED) {
            disk.sync_names().map_err(|error| broken("naming", error))?;
        }
        Ok(Resumed {
            segment: first,
            file,
            offset,
            prepared: offset,
            next: first,
            is_complete: false,
        })
    }

    /// Appends a group; durable when it returns.
    pub fn write<'a, M: Machine>(
        &mut self,
        group: impl Iterator<Item = &'a Batch>,
    ) -> Result<(), Refusal> {
        if self.is_complete || self.offset >= self.segment_bytes {
            self.is_complete = true;
            self.roll::<M>()?;
        }
        self.out.clear_to(BUFFER_BYTES);
        let start = Framer::begin(&mut self.out);
        let mut next = self.next;
        for batch in group {
            payload::push(&mut self.out, batch);
            next += batch.len() as Position;
        }
        self.framer.finish(&mut self.out, start, Kind::Data, self.next, self.offset, self.offset);
        self.prepare()?;
        let name = segment_name(self.segment);
        let doing = |what: &str| format!("{what} {name} in {}", self.disk.place());
        let written = self.file.write_at(self.offset, &self.out);
        written.map_err(|error| Refusal::of(&doing("writing"), &error))?;
        if !M::fault(&faults::ACKNOWLEDGED_BEFORE_SYNC) {
            let mut synced = self.file.sync();
            if synced.is_err() && M::fault(&faults::APPENDS_AFTER_A_FAILED_SYNC) {
                synced = self.file.sync();
            }
            synced.map_err(|error| Refusal::broken(&doing("syncing"), &error))?;
        }
        self.offset += self.out.len() as u64;
        self.prepared = self.prepared.max(self.offset);
        self.next = next;
        Ok(())
    }

    /// Makes the file long enough for what is in the buffer, and more. Where there is no room for more, what is written
    /// next may still have some.
    fn prepare(&mut self) -> Result<(), Refusal> {
        let end = self.offset + self.out.len() as u64;
        if end <= self.prepared {
            return Ok(());
        }
        let growth = self.prepared.clamp(GROWTH_BYTES.0, GROWTH_BYTES.1);
        let target = end.max((self.prepared + growth).min(self.segment_bytes));
        let zeros =
            Blocks::zeroed((target - self.prepared).next_multiple_of(BLOCK_BYTES as u64) as usize);
        match self.file.write_at(self.prepared, &zeros) {
            Ok(()) => {
                self.prepared += zeros.len() as u64;
                Ok(())
            }
            Err(error) => match Refusal::of(&segment_name(self.segment), &error) {
                Refusal::Full(_) => Ok(()),
                broken => Err(broken),
            },
        }
    }

    /// Begins the next segment.
    fn roll<M: Machine>(&mut self) -> Result<(), Refusal> {
        let begun = Self::begin::<M>(&*self.disk, self.head.identity, self.next)?;
        self.framer.turn_to(segment_identity(self.head.identity, begun.segment));
        (self.segment, self.file) = (begun.segment, begun.file);
        (self.offset, self.prepared) = (begun.offset, begun.prepared);
        self.is_complete = false;
        Ok(())
    }
}
