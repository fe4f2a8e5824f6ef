//! The head of a log in files: which log it is, of which format, and where it begins.
//!
//! Two blocks, which are written in turn, each a frame whose epoch is its generation: the newest sound one holds. So
//! a full disk can still be trimmed, and a write that is cut short leaves the one before.

use super::names::{HEAD_NAME, create_anew, head_identity};
use chiliad_log::codec::Decoder;
use chiliad_log::frame::{Framer, HEAD_BYTES, Head, Kind};
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk, DiskFile};
use chiliad_machine::shared_log::{Position, SharedLogError};

/// The format that this program writes, and the only one so far.
const FORMAT_VERSION: u32 = 1;

const SLOTS: u64 = 2;

/// The head, open.
#[derive(Debug)]
pub(super) struct LogHead {
    file: Box<dyn DiskFile>,
    /// The block that holds, durably.
    slot: u64,
    generation: u64,
    /// The log's.
    pub identity: u128,
    /// The first position that can be read.
    pub first: Position,
}

/// The contents of a block.
struct Said {
    slot: u64,
    generation: u64,
    version: u32,
    identity: u128,
    first: Position,
}

fn failed(what: &str) -> impl FnOnce(std::io::Error) -> SharedLogError {
    move |error| SharedLogError::of_file(&format!("{what} {HEAD_NAME}"), &error)
}

impl LogHead {
    /// That of a new log; durable when it returns.
    pub fn create(disk: &dyn Disk, identity: u128) -> Result<Self, SharedLogError> {
        let created = create_anew(disk, HEAD_NAME, SLOTS * BLOCK_BYTES as u64);
        let file = created.map_err(failed("creating"))?;
        let head = Self { file, slot: 0, generation: 1, identity, first: 1 };
        head.write(0, 1, 1)?;
        disk.sync_names().map_err(failed("naming"))?;
        Ok(head)
    }

    /// The one that is there, written again and synced, for the process that wrote it may have been killed before its
    /// sync; `None`: none was ever finished.
    pub fn open(disk: &dyn Disk) -> Result<Option<Self>, SharedLogError> {
        let mut blocks = Blocks::new();
        let reader = match disk.open(HEAD_NAME, Access::Read) {
            Ok(reader) => reader,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("opening")(error)),
        };
        let bytes = BLOCK_BYTES * SLOTS as usize;
        reader.read_at(0, bytes, &mut blocks).map_err(failed("reading"))?;
        let blocks = blocks.bytes().chunks_exact(BLOCK_BYTES);
        let sound = (0..SLOTS).zip(blocks).filter_map(|(slot, block)| decode(slot, block));
        let Some(newest) = sound.max_by_key(|it| it.generation) else { return Ok(None) };
        if newest.version != FORMAT_VERSION {
            let found = newest.version;
            return Err(SharedLogError::Damaged(format!(
                "{HEAD_NAME} in {} has format version {found}; accepted: {FORMAT_VERSION}",
                disk.place()
            )));
        }
        let Said { slot, generation, identity, first, .. } = newest;
        let file = disk.open(HEAD_NAME, Access::Write).map_err(failed("opening"))?;
        let head = Self { file, slot, generation, identity, first };
        head.write(slot, generation, first)?;
        Ok(Some(head))
    }

    /// The log begins at `first` from now on, durably. After an error it does so or not.
    pub fn remember(&mut self, first: Position) -> Result<(), SharedLogError> {
        debug_assert!(first >= self.first, "a log forgets its beginning");
        let (slot, generation) = ((self.slot + 1) % SLOTS, self.generation + 1);
        self.write(slot, generation, first)?;
        (self.slot, self.generation, self.first) = (slot, generation, first);
        Ok(())
    }

    fn write(&self, slot: u64, generation: u64, first: Position) -> Result<(), SharedLogError> {
        let position = slot * BLOCK_BYTES as u64;
        let mut out = Blocks::new();
        let start = Framer::begin(&mut out);
        out.push(&FORMAT_VERSION.to_le_bytes());
        out.push(&self.identity.to_le_bytes());
        out.push(&first.to_le_bytes());
        let mut framer = Framer::new(head_identity(), false);
        framer.finish(&mut out, start, Kind::Data, generation, 0, position);
        debug_assert!(out.len() == BLOCK_BYTES, "one block");
        self.file.write_at(position, &out).map_err(failed("writing"))?;
        self.file.sync().map_err(failed("syncing"))
    }
}

/// The contents of a block, if it is sound.
fn decode(slot: u64, block: &[u8]) -> Option<Said> {
    let head = Head::decode(block)?;
    let stored = block.get(HEAD_BYTES..HEAD_BYTES + head.stored_bytes())?;
    let own = head.position == slot * BLOCK_BYTES as u64;
    if !own || !head.fits(&head_identity(), block, stored) {
        return None;
    }
    let mut from = Decoder::new(stored);
    let version = from.u32()?;
    let identity = u128::from(from.u64()?) | u128::from(from.u64()?) << 64;
    Some(Said { slot, generation: head.epoch, version, identity, first: from.u64()? })
}
