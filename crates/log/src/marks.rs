//! Marks: how far a writer's log is durable.
//!
//! A log alone cannot tell its end from one that was cut off: what would say so is cut off as well. So
//! each writer notes, when a sync has returned, how far its log is durable, in the head of the segment:
//! recovery demands what the newest sound mark says, and takes for torn only what comes after it. A copy
//! that reads the file from its start has the mark before the frames, so it has at least what its mark says,
//! though the file grew meanwhile.
//!
//! ```text
//! three blocks, in each a mark:
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
//! The identity is that of frames, with a room of its own. The last two blocks are written in turn and synced
//! each time, so that one of them is always whole: when the writer runs out of work. The first is
//! written after each other sync of the log and not synced: it outlives the process, and the power once
//! the system has written it. It is the first so that a file that was cut short, or overwritten from
//! somewhere on, has it or has none.

use crate::codec::Decoder;
use crate::frame::Identity;
use chiliad_machine::disk::{BLOCK_BYTES, Blocks, DiskFile};
use std::io;

const MAGIC: u32 = u32::from_le_bytes(*b"CHLC");
const MARK_BYTES: usize = 48;
/// Where the checksummed part begins.
const CHECKED_FROM: usize = 8;
/// Blocks that are written in turn and synced.
const SYNCED_SLOTS: u64 = 2;
/// All blocks of a writer.
pub(crate) const SLOTS: u64 = SYNCED_SLOTS + 1;
/// Their bytes.
pub(crate) const MARKS_BYTES: u64 = SLOTS * BLOCK_BYTES as u64;

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

/// The last note of a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Its log is durable up to here, at least.
    pub end: LogEnd,
    /// The manifest that was in place; 0: none that knows of the incarnation.
    pub generation: u64,
}

/// How long a mark lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lasts {
    /// Beyond the process.
    Process,
    /// Beyond a loss of power: it is synced.
    Power,
}

/// Three blocks of a file for the marks of one writer.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    /// Where they are in the file.
    at: u64,
    identity: Identity,
    writer: u32,
    /// Marks that were noted, and those of them that were synced.
    noted: u64,
    synced: u64,
    /// The newest, and the newest that was synced.
    newest: Mark,
    lasting: Mark,
}

impl Marks {
    /// Blocks at `at`, of which `first` is in all.
    pub fn new(at: u64, identity: Identity, writer: u32, first: Mark) -> Self {
        debug_assert!(at.is_multiple_of(BLOCK_BYTES as u64), "marks have blocks of their own");
        debug_assert!(identity.numbers[1] == writer, "a reader asks for the writer's marks");
        Self { at, identity, writer, noted: 0, synced: 0, newest: first, lasting: first }
    }

    /// Appends the blocks as they are at first.
    pub fn push_first(&self, out: &mut Blocks) {
        debug_assert!(self.noted == 0, "nothing is noted yet");
        for _ in 0..SLOTS {
            out.push(&encode(&self.identity, self.writer, 0, self.newest));
            out.pad();
        }
    }

    /// Notes a mark in `file`, unless it is there already.
    pub fn note(&mut self, file: &dyn DiskFile, mark: Mark, lasts: Lasts) -> io::Result<()> {
        debug_assert!(mark.end >= self.newest.end, "a log does not become shorter");
        debug_assert!(self.synced <= self.noted, "what lasts was noted");
        let known = if lasts == Lasts::Power { self.lasting } else { self.newest };
        if known == mark {
            return Ok(());
        }
        self.noted += 1;
        // Of the two that are synced the older one: the other stays whole if power is lost.
        let slot = if lasts == Lasts::Power { 1 + self.synced % SYNCED_SLOTS } else { 0 };
        debug_assert!(slot < SLOTS, "a block of the writer");
        let mut block = Blocks::new();
        block.push(&encode(&self.identity, self.writer, self.noted, mark));
        block.pad();
        file.write_at(self.at + slot * BLOCK_BYTES as u64, &block)?;
        self.newest = mark;
        if lasts == Lasts::Power {
            file.sync()?;
            self.synced += 1;
            self.lasting = mark;
        }
        Ok(())
    }
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
pub(crate) fn decode(block: &[u8], identity: Option<&Identity>) -> Option<(u64, Mark)> {
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

/// The newest sound mark in the blocks of a writer; `None` if there is none, or not all of the blocks.
pub(crate) fn newest(blocks: &[u8], identity: &Identity) -> Option<Mark> {
    let blocks = blocks.get(..MARKS_BYTES as usize)?;
    let sound = blocks.chunks(BLOCK_BYTES).filter_map(|block| decode(block, Some(identity)));
    sound.max_by_key(|(count, _)| *count).map(|(_, mark)| mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(database: u128, incarnation: u32, writer: u32) -> Identity {
        Identity { database, room: 2, numbers: [incarnation, writer, 0] }
    }

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
