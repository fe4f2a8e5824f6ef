//! What the writers of an incarnation have claimed, in a small file beside their logs: so that the end
//! of a log cannot go missing without a word.
//!
//! A log alone cannot tell its end from one that was cut off: what would say so is cut off as well. So
//! each writer notes, when a sync has returned, how far its log is durable: a *mark*. Recovery demands
//! what the marks say, and takes for torn only what lies behind them.
//!
//! ```text
//! three blocks for each writer, each empty or a mark:
//!   +0   u32  magic "CHLC"
//!   +4   u32  CRC-32 of the identity and of bytes 8 to 48
//!   +8   u32  writer
//!   +12  u32  segment of that writer
//!   +16  u64  bytes of the segment that are durable
//!   +24  u64  epoch of the last frame in them
//!   +32  u64  generation of the manifest that was in place; 0: none of this incarnation yet
//!   +40  u64  marks of this writer before this one
//! ```
//!
//! The identity is that of frames, with 2 for the room and the numbers incarnation, writer, 0. Two of
//! the blocks are written in turn and synced each time, so that one of them is always whole: when a
//! segment begins and when the writer runs out of work. The third is written after each other sync of the log
//! and not synced: it outlives the process, and the power once the system has written it.

use crate::codec::Decoder;
use crate::error::{LogError, Result};
use crate::frame::Identity;
use crate::names::{Name, SegmentId};
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk, DiskFile};

const MAGIC: u32 = u32::from_le_bytes(*b"CHLC");
const MARK_BYTES: usize = 48;
/// Where the checksummed part begins.
const CHECKED_FROM: usize = 8;
/// Blocks of a writer that are written in turn and synced.
const SYNCED_SLOTS: u64 = 2;
/// All blocks of a writer.
const SLOTS: u64 = SYNCED_SLOTS + 1;
/// More writers than any log has; a file that is longer is not read to its end.
const WRITERS_MAX: u64 = 64;

/// Where the log of a writer ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LogEnd {
    /// Its last segment.
    pub sequence: u32,
    /// Bytes of that segment.
    pub bytes: u64,
    /// The epoch of the last frame in them.
    pub epoch: u64,
}

/// What a writer has noted last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Its log is durable up to here, at least.
    pub end: LogEnd,
    /// The manifest that was in place; 0: none that knows of the incarnation.
    pub generation: u64,
}

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
        let name = Name::Claims(incarnation).to_string();
        let doing = |what| LogError::io(format!("{what} {name} in {}", disk.place()));
        let bytes = u64::from(writers) * SLOTS * BLOCK_BYTES as u64;
        let file = disk.create_cached(&name, bytes).map_err(doing("creating"))?;
        let claims = Self { name: name.clone(), file, database, incarnation };
        let end = LogEnd { sequence: 0, bytes: BLOCK_BYTES as u64, epoch: 0 };
        for writer in 0..writers {
            claims.write(writer, 0, 0, Mark { end, generation: 0 })?;
        }
        claims.sync()?;
        disk.sync_names().map_err(LogError::io(format!("syncing {}", disk.place())))?;
        Ok(claims)
    }

    /// Notes a mark, the `count`th of its writer, for good.
    pub fn note_synced(&self, writer: u32, count: u64, mark: Mark) -> Result<()> {
        // Whichever of the two is the older one: the other stays whole if power is lost.
        self.write(writer, count % SYNCED_SLOTS, count, mark)?;
        self.sync()
    }

    /// Notes a mark that a loss of power may take.
    pub fn note(&self, writer: u32, count: u64, mark: Mark) -> Result<()> {
        self.write(writer, SYNCED_SLOTS, count, mark)
    }

    fn write(&self, writer: u32, slot: u64, count: u64, mark: Mark) -> Result<()> {
        let mut block = Blocks::new();
        let identity = identity(self.database, self.incarnation, writer);
        block.push(&encode(&identity, writer, count, mark));
        block.pad();
        let offset = (u64::from(writer) * SLOTS + slot) * BLOCK_BYTES as u64;
        let doing = LogError::io(format!("writing {}", self.name));
        self.file.write_at(offset, &block).map_err(doing)
    }

    fn sync(&self) -> Result<()> {
        self.file.sync().map_err(LogError::io(format!("syncing {}", self.name)))
    }
}

fn identity(database: u128, incarnation: u32, writer: u32) -> Identity {
    Identity { database, room: 2, numbers: [incarnation, writer, 0] }
}

fn checksum(identity: &Identity, mark: &[u8]) -> u32 {
    let mut hasher = identity.hasher();
    hasher.update(&mark[CHECKED_FROM..MARK_BYTES]);
    hasher.finalize()
}

fn encode(identity: &Identity, writer: u32, count: u64, mark: Mark) -> [u8; MARK_BYTES] {
    let mut out = [0; MARK_BYTES];
    out[..4].copy_from_slice(&MAGIC.to_le_bytes());
    out[8..12].copy_from_slice(&writer.to_le_bytes());
    out[12..16].copy_from_slice(&mark.end.sequence.to_le_bytes());
    out[16..24].copy_from_slice(&mark.end.bytes.to_le_bytes());
    out[24..32].copy_from_slice(&mark.end.epoch.to_le_bytes());
    out[32..40].copy_from_slice(&mark.generation.to_le_bytes());
    out[40..48].copy_from_slice(&count.to_le_bytes());
    let crc = checksum(identity, &out);
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The mark in a block and its count; `None` if none that is sound is there. The checksum is looked
/// at where an identity is given.
fn decode(block: &[u8], identity: Option<&Identity>) -> Option<(u64, Mark)> {
    let mut from = Decoder::new(block.get(..MARK_BYTES)?);
    if from.u32()? != MAGIC {
        return None;
    }
    let crc = from.u32()?;
    let writer = from.u32()?;
    let (sequence, bytes, epoch) = (from.u32()?, from.u64()?, from.u64()?);
    let (generation, count) = (from.u64()?, from.u64()?);
    let fits = identity.is_none_or(|it| crc == checksum(it, block) && writer == it.numbers[1]);
    let mark = Mark { end: LogEnd { sequence, bytes, epoch }, generation };
    fits.then_some((count, mark))
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
        let first = u64::from(writer) * SLOTS * BLOCK_BYTES as u64;
        let slot = |slot: u64| {
            let at = (first + slot * BLOCK_BYTES as u64) as usize;
            content.bytes().get(at..).and_then(|block| decode(block, Some(&identity)))
        };
        let synced = (0..SYNCED_SLOTS).filter_map(slot).max_by_key(|(count, _)| *count);
        let nothing = || LogError::damaged(&name, first, "no mark of this writer is sound");
        let last = slot(SYNCED_SLOTS).into_iter().chain([synced.ok_or_else(nothing)?]);
        Ok(last.max_by_key(|(count, _)| *count).map(|(_, mark)| mark).expect("one at least"))
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
    let marks = content.bytes().chunks(BLOCK_BYTES).filter_map(|block| decode(block, None));
    Ok(marks.map(|(_, mark)| mark.generation).max().unwrap_or(0))
}

fn content(disk: &dyn Disk, name: &str) -> Result<Blocks> {
    let doing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => LogError::damaged(name, 0, "the file is missing"),
        _ => LogError::io(format!("reading {name} in {}", disk.place()))(error),
    };
    let file = disk.open(name, Access::Read).map_err(doing)?;
    let bytes = file.bytes().map_err(doing)?.min(WRITERS_MAX * SLOTS * BLOCK_BYTES as u64);
    let mut content = Blocks::new();
    let wanted = (bytes as usize).next_multiple_of(BLOCK_BYTES);
    file.read_at(0, wanted, &mut content).map_err(doing)?;
    Ok(content)
}

/// What is known of the end of a log beside its own files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Nothing: an incarnation of a format that had no marks.
    Nothing,
    /// It is durable up to here, and may go on.
    AtLeast(LogEnd),
    /// It ends here: its end was pinned by whoever closed the database, or opened it next.
    Exactly(LogEnd),
}

impl Promise {
    /// The same where nobody has pinned the end.
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

    /// Whether a segment may be needed.
    pub(crate) fn allows(&self, id: SegmentId) -> bool {
        !matches!(self, Self::Exactly(end) if id.sequence > end.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_to_its_writer_only() {
        let end = LogEnd { sequence: 3, bytes: 8192, epoch: 77 };
        let mark = Mark { end, generation: 5 };
        let own = identity(9, 2, 1);
        let bytes = encode(&own, 1, 40, mark);
        assert_eq!(decode(&bytes, Some(&own)), Some((40, mark)));
        for other in [identity(8, 2, 1), identity(9, 3, 1), identity(9, 2, 0)] {
            assert_eq!(decode(&bytes, Some(&other)), None);
        }
        for at in 0..MARK_BYTES {
            let mut damaged = bytes;
            damaged[at] ^= 1;
            assert_eq!(decode(&damaged, Some(&own)), None, "byte {at}");
        }
    }
}
