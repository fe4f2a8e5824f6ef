//! Intentions: what a transaction read and writes, as it goes into the shared log, and back.
//!
//! ```text
//! u64 local number | u64 snapshot (the label of the state that was read) | u32 entries | u32 ranges
//! entry: u32 table | u8 flags (1 depends, 2 writes, 4 removes) | u16 key | key | if it writes: u32 value | value
//! range: u32 table | low | high, each: u8 kind (0 open, 1 included, 2 excluded) | u16 key | key
//! ```
//!
//! Entries ascend by table and key. Whatever is not of this form is malformed: every server leaves it out alike.

use chiliad_api::KEY_BYTES_MAX;
use chiliad_log::codec::Decoder;
use core::ops::{Bound, Range};

const DEPENDS: u8 = 1;
const WRITES: u8 = 2;
const REMOVES: u8 = 4;

/// Writes an intention's bytes.
pub struct Encoder {
    out: Vec<u8>,
    entries: u32,
    ranges: u32,
}

/// Where the counts are.
const COUNTS_AT: usize = 16;

/// The write of an intention to a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written<'a> {
    /// The row is removed.
    pub tombstone: bool,
    /// Its bytes; of a tombstone, its stamp.
    pub value: &'a [u8],
}

impl Encoder {
    /// An intention of this number that has read the state `snapshot`.
    pub fn new(local: u64, snapshot: u64) -> Self {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(&local.to_le_bytes());
        out.extend_from_slice(&snapshot.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        Self { out, entries: 0, ranges: 0 }
    }

    /// The next key; before all ranges.
    pub fn entry(&mut self, table: u32, key: &[u8], depends: bool, written: Option<Written<'_>>) {
        debug_assert!(self.ranges == 0, "entries come first");
        self.entries += 1;
        let writes = written.map_or(0, |it| if it.tombstone { WRITES | REMOVES } else { WRITES });
        self.out.extend_from_slice(&table.to_le_bytes());
        self.out.push(writes | if depends { DEPENDS } else { 0 });
        self.put_key(key);
        if let Some(written) = written {
            self.out.extend_from_slice(&(written.value.len() as u32).to_le_bytes());
            self.out.extend_from_slice(written.value);
        }
    }

    /// A range that was scanned.
    pub fn range(&mut self, table: u32, low: Bound<&[u8]>, high: Bound<&[u8]>) {
        self.ranges += 1;
        self.out.extend_from_slice(&table.to_le_bytes());
        for bound in [low, high] {
            let (kind, key): (u8, &[u8]) = match bound {
                Bound::Unbounded => (0, &[]),
                Bound::Included(key) => (1, key),
                Bound::Excluded(key) => (2, key),
            };
            self.out.push(kind);
            self.put_key(key);
        }
    }

    fn put_key(&mut self, key: &[u8]) {
        self.out.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.out.extend_from_slice(key);
    }

    /// Its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.out[COUNTS_AT..COUNTS_AT + 4].copy_from_slice(&self.entries.to_le_bytes());
        self.out[COUNTS_AT + 4..COUNTS_AT + 8].copy_from_slice(&self.ranges.to_le_bytes());
        self.out
    }
}

/// An intention, as places in its bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Intention {
    /// Its number among those of its server.
    pub local: u64,
    /// The label of the state that it has read.
    pub snapshot: u64,
    /// In the order of their tables and keys.
    pub entries: Vec<KeyEntry>,
    /// The ranges that were scanned.
    pub ranges: Vec<KeyRange>,
}

/// An entry, as places in the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyEntry {
    pub table: u32,
    pub key: Range<u32>,
    pub depends: bool,
    pub write: Option<WriteEntry>,
}

/// The write of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteEntry {
    pub tombstone: bool,
    pub value: Range<u32>,
}

/// A range, as places in the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    pub table: u32,
    pub low: Bound<Range<u32>>,
    pub high: Bound<Range<u32>>,
}

/// The bytes at a place.
#[inline]
pub fn at<'a>(bytes: &'a [u8], place: &Range<u32>) -> &'a [u8] {
    &bytes[place.start as usize..place.end as usize]
}

/// The bound at a place.
pub fn bound_at<'a>(bytes: &'a [u8], bound: &Bound<Range<u32>>) -> Bound<&'a [u8]> {
    bound.as_ref().map(|place| at(bytes, place))
}

/// Reads with the place of what it reads.
struct Places<'a> {
    from: Decoder<'a>,
    length: usize,
}

impl Places<'_> {
    fn take(&mut self, bytes: usize) -> Option<Range<u32>> {
        let start = (self.length - self.from.left()) as u32;
        self.from.bytes(bytes)?;
        Some(start..start + bytes as u32)
    }

    fn key(&mut self) -> Option<Range<u32>> {
        let bytes = usize::from(self.from.u16()?);
        if bytes > KEY_BYTES_MAX {
            return None;
        }
        self.take(bytes)
    }

    fn bound(&mut self) -> Option<Bound<Range<u32>>> {
        let kind = self.from.u8()?;
        let key = self.key()?;
        match kind {
            0 if key.is_empty() => Some(Bound::Unbounded),
            1 => Some(Bound::Included(key)),
            2 => Some(Bound::Excluded(key)),
            _ => None,
        }
    }
}

impl Intention {
    /// Reads an intention; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        u32::try_from(bytes.len()).ok()?;
        let mut from = Places { from: Decoder::new(bytes), length: bytes.len() };
        let (local, snapshot) = (from.from.u64()?, from.from.u64()?);
        let (entries, ranges) = (from.from.u32()?, from.from.u32()?);
        let mut intention = Self { local, snapshot, ..Self::default() };
        for _ in 0..entries {
            let entry = take_entry(&mut from)?;
            if let Some(last) = intention.entries.last() {
                let order =
                    (last.table, at(bytes, &last.key)) < (entry.table, at(bytes, &entry.key));
                order.then_some(())?;
            }
            intention.entries.push(entry);
        }
        for _ in 0..ranges {
            let table = from.from.u32()?;
            let (low, high) = (from.bound()?, from.bound()?);
            intention.ranges.push(KeyRange { table, low, high });
        }
        from.from.is_empty().then_some(intention)
    }
}

fn take_entry(from: &mut Places<'_>) -> Option<KeyEntry> {
    let table = from.from.u32()?;
    let flags = from.from.u8()?;
    let key = from.key()?;
    let (depends, tombstone) = (flags & DEPENDS != 0, flags & REMOVES != 0);
    let write = if flags & WRITES != 0 {
        let bytes = from.from.u32()?;
        Some(WriteEntry { tombstone, value: from.take(bytes as usize)? })
    } else {
        None
    };
    let is_known = flags <= DEPENDS | WRITES | REMOVES && (write.is_some() || !tombstone);
    is_known.then_some(KeyEntry { table, key, depends, write })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<u8> {
        let mut encoder = Encoder::new(7, 3);
        encoder.entry(1, b"a", true, None);
        encoder.entry(1, b"ab", true, Some(Written { tombstone: false, value: b"value" }));
        encoder.entry(2, b"", false, Some(Written { tombstone: true, value: b"" }));
        encoder.range(1, Bound::Included(b"a"), Bound::Unbounded);
        encoder.range(1, Bound::Unbounded, Bound::Excluded(b"b"));
        encoder.finish()
    }

    #[test]
    fn it_comes_back() {
        let bytes = some();
        let read = Intention::decode(&bytes).expect("an intention");
        assert_eq!((read.local, read.snapshot), (7, 3));
        let keys: Vec<_> = read.entries.iter().map(|it| (it.table, at(&bytes, &it.key))).collect();
        assert_eq!(keys, [(1, &b"a"[..]), (1, b"ab"), (2, b"")]);
        let written = read.entries[1].write.as_ref().expect("a write");
        assert_eq!((at(&bytes, &written.value), written.tombstone), (&b"value"[..], false));
        assert_eq!(bound_at(&bytes, &read.ranges[0].low), Bound::Included(&b"a"[..]));
        assert_eq!(bound_at(&bytes, &read.ranges[1].high), Bound::Excluded(&b"b"[..]));
    }

    #[test]
    fn what_is_cut_short_or_out_of_order_is_none() {
        let bytes = some();
        for length in 0..bytes.len() {
            assert_eq!(Intention::decode(&bytes[..length]), None, "{length}");
        }
        for (first, second) in [(b"b", b"a"), (b"a", b"a")] {
            let mut encoder = Encoder::new(1, 0);
            encoder.entry(1, first, true, None);
            encoder.entry(1, second, true, None);
            assert_eq!(Intention::decode(&encoder.finish()), None);
        }
        assert_eq!(Intention::decode(&[&bytes[..], &[0]].concat()), None);
    }
}
