//! Keys as small numbers: every (table, key) of a history, stored once.
//!
//! Invariants: ids are dense, in order of first appearance; the bytes of id `i` lie in
//! `arena[ends[i - 1]..ends[i]]`; each slot holds a 32-bit hash beside the id, so that a probe
//! touches the arena only for a likely match. Growth moves slots by the stored hash, without
//! reading a key again.

/// A dense number for a (table, key).
pub(crate) type KeyId = u32;

/// No key.
pub(crate) const NO_KEY: KeyId = u32::MAX;

/// The interned keys of a history.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    arena: Vec<u8>,
    ends: Vec<u64>,
    tables: Vec<u32>,
    /// `hash << 32 | id + 1`; zero is free. The length is zero or a power of two.
    slots: Vec<u64>,
}

impl Keys {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The table of a key.
    pub(crate) fn table(&self, key: KeyId) -> u32 {
        self.tables[key as usize]
    }

    /// The tables of all keys, by id.
    pub(crate) fn tables(&self) -> &[u32] {
        &self.tables
    }

    /// The bytes of a key.
    pub(crate) fn bytes(&self, key: KeyId) -> &[u8] {
        let key = key as usize;
        let start = if key == 0 { 0 } else { self.ends[key - 1] as usize };
        &self.arena[start..self.ends[key] as usize]
    }

    /// The id of a key, made at its first appearance. `None` once the ids are used up.
    pub(crate) fn intern(&mut self, table: u32, bytes: &[u8]) -> Option<KeyId> {
        // At most five slots in eight are taken: short probes at twelve bytes a key or so.
        if self.len() * 8 >= self.slots.len() * 5 {
            self.grow();
        }
        let hash = hash(table, bytes);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            if (slot >> 32) as u32 == hash {
                let id = slot as u32 - 1;
                if self.table(id) == table && self.bytes(id) == bytes {
                    return Some(id);
                }
            }
            at = (at + 1) & mask;
        }
        let id = u32::try_from(self.len()).ok().filter(|&id| id < NO_KEY - 1)?;
        self.arena.extend_from_slice(bytes);
        self.ends.push(self.arena.len() as u64);
        self.tables.push(table);
        self.slots[at] = u64::from(hash) << 32 | u64::from(id + 1);
        Some(id)
    }

    /// Gives back the memory that only a growing set needs. No key is interned afterwards.
    pub(crate) fn seal(&mut self) {
        self.arena.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.tables.shrink_to_fit();
        self.slots = Vec::new();
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            let mut at = (slot >> 32) as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}

/// Multiply and fold, eight bytes a step. Keys are often tuples of small big-endian integers, so
/// every step must carry the high bytes down: hence the rotation.
fn hash(table: u32, bytes: &[u8]) -> u32 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = (u64::from(table) << 32 | bytes.len() as u64).wrapping_mul(K);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes"));
        h = (h ^ word).wrapping_mul(K).rotate_left(29);
    }
    let mut tail = [0; 8];
    tail[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    h = (h ^ u64::from_le_bytes(tail)).wrapping_mul(K);
    h ^= h >> 32;
    (h.wrapping_mul(K) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_and_stable() {
        let mut keys = Keys::default();
        for round in 0..2 {
            for i in 0..10_000_u32 {
                let (table, bytes) = (i % 3, (i / 3).to_be_bytes());
                assert_eq!(keys.intern(table, &bytes), Some(i), "round {round}");
            }
        }
        assert_eq!(keys.len(), 10_000);
        assert_eq!((keys.table(5), keys.bytes(5)), (2, &1_u32.to_be_bytes()[..]));
    }

    #[test]
    fn the_empty_key_is_a_key_and_length_counts() {
        let mut keys = Keys::default();
        assert_eq!(keys.intern(0, b""), Some(0));
        assert_eq!(keys.intern(0, b"\0"), Some(1));
        assert_eq!(keys.intern(0, b"\0\0"), Some(2));
        assert_eq!(keys.intern(1, b""), Some(3));
        assert_eq!(keys.intern(0, b""), Some(0));
    }
}
