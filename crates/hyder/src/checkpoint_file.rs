//! A checkpoint as a file: all rows of one state, and what else it takes to roll the log forward from there.
//!
//! ```text
//! start frame: u32 version | u64, u64 identity of the log | u64 label | u64 digest | u64 position | u32 checksum
//!              u64 joins | rules (rules.rs) | blob catalog | blob items seen | blob parts of intentions
//! data frames: rows in the order of tables and keys (chiliad_log::entry), each with its version
//! end frame:   u64 rows
//! ```
//!
//! The file is written under a name of its own, synced and only then given the name that says its label: a file of
//! such a name was whole, so what is unsound in it is damage.

use crate::rules::Rules;
use chiliad_log::codec::{Decoder, put_blob};
use chiliad_log::entry::{self, Write};
use chiliad_log::frame::{Framer, Identity, Kind};
use chiliad_log::{LogError, SegmentReader};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Blocks, Disk, DiskFile};
use chiliad_machine::shared_log::Position;

/// The version of the format.
const VERSION: u32 = 2;

/// Payload bytes after which a frame is written.
const FRAME_BYTES: usize = 1 << 20;

/// What a checkpoint says besides rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The identity of the log.
    pub log: u128,
    /// The number of the last item in it.
    pub label: u64,
    /// The digest of all verdicts up to it.
    pub digest: u64,
    /// Where the log goes on.
    pub position: Position,
    /// The checksum of the last record in it; zero where there is none.
    pub checksum: u32,
    /// Servers that have joined.
    pub joins: u64,
    /// By which its servers judge.
    pub rules: Rules,
    /// [`crate::catalog::Catalog::encode`].
    pub catalog: Vec<u8>,
    /// [`crate::seen::Seen::encode`].
    pub seen: Vec<u8>,
    /// [`crate::parts::Assembly::encode`].
    pub assembly: Vec<u8>,
}

impl Summary {
    fn encode(&self) -> Vec<u8> {
        let mut out = VERSION.to_le_bytes().to_vec();
        let log = [self.log as u64, (self.log >> 64) as u64];
        for number in log.into_iter().chain([self.label, self.digest, self.position]) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.checksum.to_le_bytes());
        out.extend_from_slice(&self.joins.to_le_bytes());
        self.rules.encode(&mut out);
        put_blob(&mut out, &self.catalog);
        put_blob(&mut out, &self.seen);
        put_blob(&mut out, &self.assembly);
        out
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let log = u128::from(from.u64()?) | u128::from(from.u64()?) << 64;
        let summary = Self {
            log,
            label: from.u64()?,
            digest: from.u64()?,
            position: from.u64()?,
            checksum: from.u32()?,
            joins: from.u64()?,
            rules: Rules::decode(from)?,
            catalog: from.blob()?.to_vec(),
            seen: from.blob()?.to_vec(),
            assembly: from.blob()?.to_vec(),
        };
        from.is_empty().then_some(summary)
    }
}

/// By what the frames of a checkpoint are known. It does not say which log: that a file is of another one is to be told
/// from damage.
fn identity(label: u64) -> Identity {
    Identity { database: 0, room: 6, numbers: [(label >> 32) as u32, label as u32, 0] }
}

/// Writes a checkpoint.
pub struct CheckpointWriter {
    name: String,
    file: Box<dyn DiskFile>,
    framer: Framer,
    payload: Vec<u8>,
    frames: Blocks,
    offset: u64,
    rows: u64,
}

impl CheckpointWriter {
    /// Creates the file `name`, of which nothing counts yet.
    ///
    /// # Errors
    /// The system's.
    pub fn create(disk: &dyn Disk, name: String, summary: &Summary) -> Result<Self, LogError> {
        let file = disk.create(&name, 0);
        let file = file.map_err(LogError::io(format!("creating {name} in {}", disk.place())))?;
        let framer = Framer::new(identity(summary.label), false);
        let (payload, frames) = (summary.encode(), Blocks::new());
        let mut writer = Self { name, file, framer, payload, frames, offset: 0, rows: 0 };
        writer.frame(Kind::Start)?;
        Ok(writer)
    }

    /// Adds a row, or a tombstone, of this version; writes what has come together if that is enough. Whether it was.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&mut self, version: u64, row: &Write<'_>) -> Result<bool, LogError> {
        entry::put_row(&mut self.payload, version, row);
        self.rows += 1;
        let is_full = self.payload.len() >= FRAME_BYTES;
        if is_full {
            self.frame(Kind::Data)?;
        }
        Ok(is_full)
    }

    fn frame(&mut self, kind: Kind) -> Result<(), LogError> {
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

    /// Ends the file and makes it durable, but for its name; returns its rows and bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(mut self) -> Result<(u64, u64), LogError> {
        if !self.payload.is_empty() {
            self.frame(Kind::Data)?;
        }
        self.payload.extend_from_slice(&self.rows.to_le_bytes());
        self.frame(Kind::End)?;
        self.file.sync().map_err(LogError::io(format!("syncing {}", self.name)))?;
        Ok((self.rows, self.offset))
    }
}

/// Reads a checkpoint.
pub struct CheckpointReader<M> {
    reader: SegmentReader<M>,
    rows: u64,
    has_ended: bool,
}

impl<M: Machine> CheckpointReader<M> {
    /// Opens the checkpoint of `label`, which is the file `name`.
    ///
    /// # Errors
    /// [`LogError::Damaged`], [`LogError::NewerFormat`]; the system's.
    pub fn open(disk: &dyn Disk, name: &str, label: u64) -> Result<(Summary, Self), LogError> {
        let mut reader = SegmentReader::open(disk, name, identity(label))?;
        let damaged = |what: &str| LogError::damaged(name, 0, what);
        let first = reader.next_frame()?.filter(|frame| frame.head.kind == Kind::Start);
        let first = first.ok_or_else(|| damaged("no checkpoint of this label begins here"))?;
        let mut from = Decoder::new(first.payload);
        let found = from.u32().ok_or_else(|| damaged("it does not say its format"))?;
        if found != VERSION {
            return Err(LogError::NewerFormat { file: name.into(), found, accepted: VERSION });
        }
        let summary = Summary::decode(&mut from).filter(|summary| summary.label == label);
        let summary = summary.ok_or_else(|| damaged("its first frame does not parse"))?;
        Ok((summary, Self { reader, rows: 0, has_ended: false }))
    }

    /// How far it was read, in bytes.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The next payload of rows; `None` once all were read.
    ///
    /// # Errors
    /// [`LogError::Damaged`]; the system's.
    pub fn next_rows(&mut self) -> Result<Option<&[u8]>, LogError> {
        if self.has_ended {
            return Ok(None);
        }
        let (name, offset) = (self.reader.name().to_owned(), self.reader.offset());
        let damaged = |what: &str| LogError::damaged(&name, offset, what);
        let Some(frame) = self.reader.next_frame()? else {
            return Err(damaged("no sound frame begins here"));
        };
        match frame.head.kind {
            Kind::Data => {
                for row in entry::rows(frame.payload) {
                    row.ok_or_else(|| damaged("a frame whose checksum fits does not parse"))?;
                    self.rows += 1;
                }
                Ok(Some(frame.payload))
            }
            Kind::End if frame.payload == self.rows.to_le_bytes() => {
                self.has_ended = true;
                Ok(None)
            }
            Kind::End => Err(damaged("the number of rows is another")),
            Kind::Start => Err(damaged("it begins again")),
        }
    }
}
