//! Records of the shared log: what one server appends at once.
//!
//! ```text
//! u32 magic "CHHY" | u32 CRC-32 of all that follows | u8 version of format and rules | u64 server
//! u64 newest label of its writer | u64 digest of that state | u32 items, each: u8 kind | u32 bytes | the bytes
//! ```
//!
//! Kinds: 0 a server joins, 1 an intention, 2 a change of the catalog, 3 a barrier, 4 a checkpoint, 5 a part of an
//! intention. Each item gets the
//! next number, in the order of the log, but for barriers and checkpoints, which change nothing, and for parts: their
//! intention has its number where the last of them lies.

use chiliad_log::codec::Decoder;

const MAGIC: u32 = u32::from_le_bytes(*b"CHHY");

/// The version of the format, and of the rules by which verdicts fall: a server that does not know a record's version
/// stops.
pub const VERSION: u8 = 2;

/// Bytes before the items.
pub const HEAD_BYTES: usize = 8 + 1 + 24 + 4;

/// Bytes before those of an item.
pub const ITEM_BYTES: usize = 5;

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A server joins: [`crate::rules::Joined`].
    Join,
    /// [`crate::intention`].
    Intention,
    /// [`crate::catalog`].
    Catalog,
    /// A reader asks what is in the log by now: the item's number among those of its server.
    Barrier,
    /// A server has a checkpoint: [`CheckpointNote`].
    Checkpoint,
    /// [`crate::parts::Part`].
    Part,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Join, Self::Intention, Self::Catalog, Self::Barrier, Self::Checkpoint, Self::Part];
}

/// What a server says of a checkpoint that is durable: its number among the items of the server, the label and digest of
/// the state, and the position from which a reader goes on; each 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointNote {
    pub local: u64,
    pub label: u64,
    pub digest: u64,
    pub position: u64,
}

impl CheckpointNote {
    /// Its bytes in an item.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.local, self.label, self.digest, self.position];
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// Reads what [`CheckpointNote::encode`] has written; `None` if the bytes are something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder::new(bytes);
        let (local, label) = (from.u64()?, from.u64()?);
        let note = Self { local, label, digest: from.u64()?, position: from.u64()? };
        from.is_empty().then_some(note)
    }
}

/// What a record says of its writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The number of the item by which it joined; zero for one that has not.
    pub server: u64,
    /// The newest state that it knew.
    pub label: u64,
    /// The digest of that.
    pub digest: u64,
}

/// Builds a record.
pub struct RecordWriter {
    out: Vec<u8>,
    items: u32,
}

impl RecordWriter {
    /// A record without items.
    pub fn new(head: Head) -> Self {
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.push(VERSION);
        for number in [head.server, head.label, head.digest] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&[0; 4]);
        Self { out, items: 0 }
    }

    /// Adds an item.
    pub fn item(&mut self, kind: Kind, bytes: &[u8]) {
        self.items += 1;
        self.out.push(kind as u8);
        self.out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.out.extend_from_slice(bytes);
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// The record.
    pub fn finish(mut self) -> Vec<u8> {
        self.out[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&self.items.to_le_bytes());
        let crc = crc32fast::hash(&self.out[8..]);
        self.out[4..8].copy_from_slice(&crc.to_le_bytes());
        self.out
    }
}

/// Why a record has no items for this server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// It is none of ours, or damaged: no server reads it.
    Malformed,
    /// It is of another version: this server must stop, as others may read it.
    Version(u8),
}

/// The items of a record.
#[derive(Clone)]
pub struct Items<'a> {
    from: Decoder<'a>,
    left: u32,
}

/// Reads a record's head, and the items after it.
///
/// # Errors
/// [`Unreadable`].
pub fn read(record: &[u8]) -> Result<(Head, Items<'_>), Unreadable> {
    let mut from = Decoder::new(record);
    let begun = from.u32().zip(from.u32()).zip(from.u8());
    let Some(((magic, crc), version)) = begun else { return Err(Unreadable::Malformed) };
    if magic != MAGIC || crc != crc32fast::hash(&record[8..]) {
        return Err(Unreadable::Malformed);
    }
    if version != VERSION {
        return Err(Unreadable::Version(version));
    }
    let numbers = from.u64().zip(from.u64()).zip(from.u64());
    let Some(((server, label), digest)) = numbers else {
        return Err(Unreadable::Malformed);
    };
    let items = items(record);
    if !items.are_whole() {
        return Err(Unreadable::Malformed);
    }
    Ok((Head { server, label, digest }, items))
}

/// The items of a record that [`read`] has accepted before: it is not checked again.
pub fn items(record: &[u8]) -> Items<'_> {
    let mut from = Decoder::new(record);
    let left = from.bytes(HEAD_BYTES - 4).and_then(|_| from.u32());
    Items { from, left: left.unwrap_or(u32::MAX) }
}

impl<'a> Items<'a> {
    /// Whether all of them are there and nothing else is.
    fn are_whole(&self) -> bool {
        let mut items = Self { ..*self };
        while items.next().is_some() {}
        items.left == 0 && items.from.is_empty()
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = (Kind, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left.checked_sub(1)?;
        let kind = *Kind::ALL.get(usize::from(self.from.u8()?))?;
        let bytes = self.from.blob()?;
        self.left = left;
        Some((kind, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_no_flipped_bit_goes_unnoticed() {
        let head = Head { server: 3, label: 4, digest: 5 };
        let mut writer = RecordWriter::new(head);
        writer.item(Kind::Intention, b"one");
        writer.item(Kind::Catalog, b"");
        assert_eq!(writer.len(), HEAD_BYTES + 2 * ITEM_BYTES + 3);
        let record = writer.finish();
        let (read_head, items) = read(&record).expect("a record");
        assert_eq!(read_head, head);
        let expected = [(Kind::Intention, &b"one"[..]), (Kind::Catalog, b"")];
        assert_eq!(items.collect::<Vec<_>>(), expected);
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 1 << (at % 8);
            assert_eq!(read(&damaged).err(), Some(Unreadable::Malformed), "{at}");
            assert!(read(&record[..at]).is_err());
        }
    }

    #[test]
    fn another_version_is_told_from_damage() {
        let head = Head { server: 0, label: 0, digest: 0 };
        let mut record = RecordWriter::new(head).finish();
        record[8] = VERSION + 1;
        let crc = crc32fast::hash(&record[8..]);
        record[4..8].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(read(&record).err(), Some(Unreadable::Version(VERSION + 1)));
    }
}
