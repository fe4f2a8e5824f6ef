//! Intentions that are larger than a record of the log: parts of them in several records, put together again.
//!
//! ```text
//! part: u64 local number | u32 number of the part | u32 parts | bytes of the intention
//! ```
//!
//! An intention gets its number in the log where its last missing part lies. All servers put parts together by position
//! alone, so all of them come to the same numbers. Parts that lie too far apart are forgotten: their server died
//! between two of them, or appends all of them again.

use crate::options::INTENTION_BYTES_MAX;
use chiliad_log::codec::{Decoder, put_blob};
use chiliad_machine::shared_log::Position;
use std::collections::BTreeMap;

/// Bytes of a part before those of the intention.
pub const PART_HEAD_BYTES: usize = 8 + 4 + 4;

/// Records between the first part and the last, at most.
const RECORDS_APART: Position = 1 << 16;

/// A part of an intention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    pub local: u64,
    pub number: u32,
    pub parts: u32,
    pub bytes: &'a [u8],
}

impl<'a> Part<'a> {
    /// Its bytes in an item.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PART_HEAD_BYTES + self.bytes.len());
        out.extend_from_slice(&self.local.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.parts.to_le_bytes());
        out.extend_from_slice(self.bytes);
        out
    }

    /// Reads what [`Part::encode`] has written; `None` if the bytes are something else.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut from = Decoder::new(bytes);
        let (local, number, parts) = (from.u64()?, from.u32()?, from.u32()?);
        let part = Self { local, number, parts, bytes: from.bytes(from.left())? };
        (number < parts && !part.bytes.is_empty()).then_some(part)
    }

    /// The parts of an intention, of so many bytes each.
    pub fn split(local: u64, intention: &'a [u8], bytes: usize) -> impl Iterator<Item = Self> {
        let parts = intention.len().div_ceil(bytes) as u32;
        (0..).zip(intention.chunks(bytes)).map(move |(number, bytes)| Self {
            local,
            number,
            parts,
            bytes,
        })
    }
}

/// The parts of an intention that are there.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Partial {
    /// Where the first of them lies.
    begun: Position,
    parts: u32,
    bytes: usize,
    there: BTreeMap<u32, Vec<u8>>,
}

/// Intentions of which parts are missing.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Assembly {
    /// By server and number among the items of the server.
    partials: BTreeMap<(u64, u64), Partial>,
}

impl Assembly {
    /// Takes a part that lies at `position`; the whole intention, if it was the last one missing.
    pub fn add(&mut self, position: Position, server: u64, part: Part<'_>) -> Option<Vec<u8>> {
        self.partials.retain(|_, partial| position - partial.begun <= RECORDS_APART);
        let name = (server, part.local);
        let partial = self.partials.entry(name).or_insert_with(|| Partial {
            begun: position,
            parts: part.parts,
            bytes: 0,
            there: BTreeMap::new(),
        });
        let bytes = partial.bytes + part.bytes.len();
        if partial.parts != part.parts || bytes > INTENTION_BYTES_MAX {
            // No server of ours appends that.
            self.partials.remove(&name);
            return None;
        }
        if let std::collections::btree_map::Entry::Vacant(place) = partial.there.entry(part.number)
        {
            place.insert(part.bytes.to_vec());
            partial.bytes = bytes;
        }
        if partial.there.len() < partial.parts as usize {
            return None;
        }
        let whole = self.partials.remove(&name)?;
        Some(whole.there.into_values().flatten().collect())
    }

    /// All of it, for a checkpoint:
    ///
    /// ```text
    /// u32 intentions, each: u64 server | u64 local number | u64 position | u32 parts | u32 parts that are there, each:
    ///                       u32 number | blob bytes
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let mut out = (self.partials.len() as u32).to_le_bytes().to_vec();
        for ((server, local), partial) in &self.partials {
            for number in [*server, *local, partial.begun] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.extend_from_slice(&partial.parts.to_le_bytes());
            out.extend_from_slice(&(partial.there.len() as u32).to_le_bytes());
            for (number, bytes) in &partial.there {
                out.extend_from_slice(&number.to_le_bytes());
                put_blob(&mut out, bytes);
            }
        }
        out
    }

    /// Reads what [`Assembly::encode`] has written; `None` if the bytes are something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder::new(bytes);
        let mut assembly = Self::default();
        for _ in 0..from.u32()? {
            let name = (from.u64()?, from.u64()?);
            let (begun, parts) = (from.u64()?, from.u32()?);
            let mut partial = Partial { begun, parts, bytes: 0, there: BTreeMap::new() };
            for _ in 0..from.u32()? {
                let (number, bytes) = (from.u32()?, from.blob()?);
                partial.bytes += bytes.len();
                partial.there.insert(number, bytes.to_vec());
            }
            assembly.partials.insert(name, partial);
        }
        from.is_empty().then_some(assembly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_any_order_and_twice_make_one_intention() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut parts: Vec<_> = Part::split(7, &bytes, 30).collect();
        assert_eq!(parts.len(), 4);
        parts.reverse();
        let mut assembly = Assembly::default();
        for (position, &part) in (1..).zip(&parts[..3]) {
            let encoded = part.encode();
            assert_eq!(Part::decode(&encoded), Some(part));
            assert_eq!(assembly.add(position, 3, part), None);
            assert_eq!(assembly.add(position, 3, part), None, "once more");
            assert_eq!(assembly.add(position, 4, part), None, "of another server");
        }
        let restored = Assembly::decode(&assembly.encode()).expect("whole");
        assert_eq!(restored, assembly);
        assert_eq!(assembly.add(9, 3, parts[3]), Some(bytes));
        assert_eq!(assembly.partials.len(), 1, "that of the other server");
        let encoded = assembly.encode();
        for end in 0..encoded.len() {
            assert_eq!(Assembly::decode(&encoded[..end]), None, "{end}");
        }
    }

    #[test]
    fn what_is_never_completed_is_forgotten() {
        let part = |local, number| Part { local, number, parts: 2, bytes: b"x" };
        let mut assembly = Assembly::default();
        assert_eq!(assembly.add(1, 1, part(1, 0)), None);
        assert_eq!(assembly.add(2 + RECORDS_APART, 1, part(2, 0)), None);
        assert_eq!(assembly.partials.len(), 1);
        assert_eq!(assembly.add(3 + RECORDS_APART, 1, part(1, 1)), None, "its first part is gone");
        // A server of ours appends all parts again.
        let whole = assembly.add(4 + RECORDS_APART, 1, part(1, 0));
        assert_eq!(whole.as_deref(), Some(&b"xx"[..]));
    }

    #[test]
    fn what_no_server_appends_takes_no_memory() {
        let mut assembly = Assembly::default();
        let large = vec![0; INTENTION_BYTES_MAX / 2 + 1];
        let part = |number, parts| Part { local: 1, number, parts, bytes: &large };
        assert_eq!(assembly.add(1, 1, part(0, u32::MAX)), None);
        assert_eq!(assembly.add(2, 1, part(1, u32::MAX)), None);
        assert!(assembly.partials.is_empty());
        assert_eq!(Part::decode(&part(2, 2).encode()), None, "a number that it does not have");
    }
}
