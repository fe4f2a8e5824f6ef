//! The parts of a checkpoint: files of rows, written once.
//!
//! A part is a `Start` frame, `Data` frames of rows, and an `End` frame whose payload is the number of
//! rows (u64). It says nothing until the manifest names its checkpoint, and is whole from then on:
//! anything unsound in it is damage.

use crate::entry::{self, Write};
use crate::error::{LogError, Result};
use crate::faults;
use crate::frame::{Framer, Kind};
use crate::names::{Name, part_identity};
use crate::read::SegmentReader;
use chiliad_machine::Machine;
use chiliad_machine::disk::{Blocks, Disk, DiskFile};
use core::marker::PhantomData;

/// Payload bytes after which a frame is written.
const FRAME_BYTES: usize = 1 << 20;

/// Writes one part.
#[derive(Debug)]
pub struct PartWriter<M> {
    name: String,
    file: Box<dyn DiskFile>,
    framer: Framer,
    payload: Vec<u8>,
    frames: Blocks,
    offset: u64,
    rows: u64,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> PartWriter<M> {
    /// Creates a part.
    ///
    /// # Errors
    /// The system's.
    pub fn create(
        disk: &dyn Disk,
        database: u128,
        checkpoint: u32,
        part: u32,
        compress: bool,
    ) -> Result<Self> {
        let name = Name::Part { checkpoint, part }.to_string();
        let file = disk.create(&name, 0);
        let file = file.map_err(LogError::io(format!("creating {name} in {}", disk.place())))?;
        let framer = Framer::new(part_identity(database, checkpoint, part), compress);
        let (payload, frames) = (Vec::new(), Blocks::new());
        let mut writer =
            Self { name, file, framer, payload, frames, offset: 0, rows: 0, machine: PhantomData };
        writer.frame(Kind::Start)?;
        Ok(writer)
    }

    /// Adds a row, in memory; `order` is that of its version.
    #[inline]
    pub fn add(&mut self, order: u64, row: &Write<'_>) {
        entry::put_row(&mut self.payload, order, row);
        self.rows += 1;
    }

    /// Writes the rows in memory if there are enough of them.
    ///
    /// # Errors
    /// The system's.
    pub fn write_if_full(&mut self) -> Result<()> {
        if self.payload.len() >= FRAME_BYTES { self.frame(Kind::Data) } else { Ok(()) }
    }

    fn frame(&mut self, kind: Kind) -> Result<()> {
        debug_assert!((kind == Kind::Start) == (self.offset == 0), "the first frame, and no other");
        self.frames.clear();
        let start = Framer::begin(&mut self.frames);
        self.frames.push(&self.payload);
        self.framer.finish(&mut self.frames, start, kind, 0, 0, self.offset);
        self.payload.clear();
        let written = self.file.write_at(self.offset, &self.frames);
        written.map_err(LogError::io(format!("writing {}", self.name)))?;
        self.offset += self.frames.len() as u64;
        Ok(())
    }

    /// Ends the part and makes it durable, but for its name; returns its bytes and rows.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(mut self) -> Result<(u64, u64)> {
        if !self.payload.is_empty() {
            self.frame(Kind::Data)?;
        }
        debug_assert!(self.payload.is_empty(), "all rows are in frames");
        self.payload.extend_from_slice(&self.rows.to_le_bytes());
        self.frame(Kind::End)?;
        if !M::fault(&faults::CHECKPOINT_NOT_SYNCED) {
            self.file.sync().map_err(LogError::io(format!("syncing {}", self.name)))?;
        }
        Ok((self.offset, self.rows))
    }
}

/// Reads one part.
#[derive(Debug)]
pub struct PartReader<M> {
    reader: SegmentReader<M>,
    rows: u64,
    ended: bool,
}

impl<M: Machine> PartReader<M> {
    /// Opens a part.
    ///
    /// # Errors
    /// As for [`SegmentReader::open`].
    pub fn open(disk: &dyn Disk, database: u128, checkpoint: u32, part: u32) -> Result<Self> {
        let name = Name::Part { checkpoint, part }.to_string();
        let reader = SegmentReader::open(disk, &name, part_identity(database, checkpoint, part))?;
        Ok(Self { reader, rows: 0, ended: false })
    }

    /// The part's length in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.reader.bytes()
    }

    /// How far it was read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The next payload of rows; `None` once all were read.
    ///
    /// # Errors
    /// [`LogError::Damaged`]; the system's.
    pub fn next_rows(&mut self) -> Result<Option<&[u8]>> {
        if self.ended {
            return Ok(None);
        }
        let (name, offset) = (self.reader.name().to_owned(), self.reader.offset());
        let damaged = |what: &str| LogError::damaged(&name, offset, what);
        let Some(frame) = self.reader.next_frame()? else {
            return Err(damaged("no sound frame begins here"));
        };
        match frame.head.kind {
            Kind::Start | Kind::Data => {
                for row in entry::rows(frame.payload) {
                    row.ok_or_else(|| damaged("a frame whose checksum fits does not parse"))?;
                    self.rows += 1;
                }
                Ok(Some(frame.payload))
            }
            Kind::End => {
                self.ended = true;
                if frame.payload == self.rows.to_le_bytes() {
                    return Ok(None);
                }
                Err(damaged("the number of rows is another"))
            }
        }
    }
}
