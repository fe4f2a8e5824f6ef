//! Which segments the writers of an incarnation have begun, in a small file beside their logs: what a
//! segment says of itself ([`crate::marks`]) is gone with the file.
//!
//! ```text
//! three blocks for each writer: marks, of the end of the head of the newest segment
//! ```
//!
//! The identity is that of frames, with 2 for the room and the numbers incarnation, writer, 0. A mark is synced
//! when a segment has begun, before anything else is written to it, and when there is a new manifest.

use crate::error::{LogError, Result};
use crate::frame::Identity;
use crate::marks::{self, Lasts, LogEnd, MARKS_BYTES, Mark, Marks};
use crate::names::{Name, SegmentId};
use crate::segment;
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk, DiskFile};

/// More writers than any log has; a file that is longer is not read to its end.
const WRITERS_MAX: u64 = 64;

/// The file, for the writers of its incarnation.
#[derive(Debug)]
pub(crate) struct Claims {
    name: String,
    file: Box<dyn DiskFile>,
    database: u128,
    incarnation: u32,
}

impl Claims {
    /// Creates the file, durably with its name: every writer has a first segment that begins.
    pub fn create(disk: &dyn Disk, database: u128, incarnation: u32, writers: u32) -> Result<Self> {
        debug_assert!(u64::from(writers) <= WRITERS_MAX, "a reader finds all of them");
        let name = Name::Claims(incarnation).to_string();
        let doing = |what| LogError::io(format!("{what} {name} in {}", disk.place()));
        let bytes = u64::from(writers) * MARKS_BYTES;
        let file = disk.create_cached(&name, bytes).map_err(doing("creating"))?;
        let claims = Self { name: name.clone(), file, database, incarnation };
        let mut blocks = Blocks::new();
        for writer in 0..writers {
            claims.of(writer).push_first(&mut blocks);
        }
        debug_assert!(blocks.len() as u64 == bytes, "three blocks for each writer");
        claims.file.write_at(0, &blocks).map_err(doing("writing"))?;
        claims.file.sync().map_err(doing("syncing"))?;
        disk.sync_names().map_err(LogError::io(format!("syncing {}", disk.place())))?;
        Ok(claims)
    }

    /// A writer's marks, as they are at first.
    pub fn of(&self, writer: u32) -> Marks {
        let end = segment::begun(0, 0);
        let identity = identity(self.database, self.incarnation, writer);
        let first = Mark { end, generation: 0 };
        Marks::new(u64::from(writer) * MARKS_BYTES, identity, writer, first)
    }

    /// Notes that a segment has begun, for good.
    pub fn note(&self, marks: &mut Marks, mark: Mark) -> Result<()> {
        debug_assert!(mark.end.bytes == segment::HEAD_BYTES, "the end of a segment's head");
        let doing = LogError::io(format!("writing {}", self.name));
        marks.note(&*self.file, mark, Lasts::Power).map_err(doing)
    }
}

fn identity(database: u128, incarnation: u32, writer: u32) -> Identity {
    Identity { database, room: 2, numbers: [incarnation, writer, 0] }
}

/// The marks of an incarnation's writers.
///
/// # Errors
/// [`LogError::Damaged`] when the file is missing or a writer has no mark in it; the system's.
pub fn read_marks(
    disk: &dyn Disk,
    database: u128,
    incarnation: u32,
    writers: u32,
) -> Result<Vec<Mark>> {
    let name = Name::Claims(incarnation).to_string();
    let content = content(disk, &name)?;
    let mark = |writer: u32| {
        let identity = identity(database, incarnation, writer);
        let first = u64::from(writer) * MARKS_BYTES;
        let blocks = content.bytes().get(first as usize..).unwrap_or_default();
        let nothing = || LogError::damaged(&name, first, "no mark of this writer is sound");
        marks::newest(blocks, &identity).ok_or_else(nothing)
    };
    (0..writers).map(mark).collect()
}

/// The newest generation of a manifest that the marks of an incarnation name, which may be of another
/// database.
///
/// # Errors
/// The system's.
pub fn newest_generation(disk: &dyn Disk, name: &str) -> Result<u64> {
    let content = content(disk, name)?;
    let blocks = content.bytes().chunks(BLOCK_BYTES);
    let marks = blocks.filter_map(|block| marks::decode(block, None));
    Ok(marks.map(|(_, mark)| mark.generation).max().unwrap_or(0))
}

fn content(disk: &dyn Disk, name: &str) -> Result<Blocks> {
    let doing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => LogError::damaged(name, 0, "the file is missing"),
        _ => LogError::io(format!("reading {name} in {}", disk.place()))(error),
    };
    let file = disk.open(name, Access::Read).map_err(doing)?;
    let bytes = file.bytes().map_err(doing)?.min(WRITERS_MAX * MARKS_BYTES);
    let mut content = Blocks::new();
    let wanted = (bytes as usize).next_multiple_of(BLOCK_BYTES);
    file.read_at(0, wanted, &mut content).map_err(doing)?;
    Ok(content)
}

/// The end of a log, as far as files beside the log's own promise it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Nothing: an incarnation of a format that had no marks.
    Nothing,
    /// This segment has begun, and says itself how far it is durable.
    AtLeast(LogEnd),
    /// It ends here: its end was pinned when the database was closed, or opened next.
    Exactly(LogEnd),
}

impl Promise {
    /// This promise where the end was never pinned.
    pub(crate) fn unsealed(self) -> Self {
        if matches!(self, Self::Exactly(_)) { Self::Nothing } else { self }
    }

    /// The least that must be there.
    pub(crate) fn least(&self) -> Option<LogEnd> {
        match *self {
            Self::Nothing => None,
            Self::AtLeast(end) | Self::Exactly(end) => Some(end),
        }
    }

    /// Whether writers note which segments have begun, and this one is not noted.
    pub(crate) fn names_before(&self, id: SegmentId) -> bool {
        matches!(self, Self::AtLeast(end) if end.sequence < id.sequence)
    }

    /// Whether a segment may be needed.
    pub(crate) fn allows(&self, id: SegmentId) -> bool {
        !matches!(self, Self::Exactly(end) if id.sequence > end.sequence)
    }
}
