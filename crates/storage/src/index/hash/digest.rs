//! The digest of a key that a bucket stores, and the hash that chooses the bucket.
//!
//! | key | word | tag of the entry's link | link leads to |
//! | --- | --- | --- | --- |
//! | 0 to 7 bytes | the bytes, zeroes, the length in the last byte | [`SHORT`] | the record |
//! | 8 bytes | the bytes | [`EIGHT`] | the record |
//! | more | the hash | [`CELL`] | a key cell, which leads to the record |
//!
//! For the first two the word *is* the key: a match needs no further look. The hash of an entry
//! follows from word and tag, so a division of a bucket touches nothing but the bucket.
//!
//! The hash is deterministic: it depends on the key and the table's seed only.

/// The key is shorter than a word.
pub(super) const SHORT: usize = 0;
/// The key is one word.
pub(super) const EIGHT: usize = 1;
/// The key is elsewhere.
pub(super) const CELL: usize = 2;

// Odd, with as many ones as zeroes and no pattern: digits of pi and of the golden ratio.
const MIX_A: u64 = 0x9e37_79b9_7f4a_7c15;
const MIX_B: u64 = 0x243f_6a88_85a3_08d3;
const MIX_C: u64 = 0x1319_8a2e_0370_7345;

/// A key, prepared for look-ups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Digest {
    pub hash: u64,
    pub word: u64,
    pub tag: usize,
}

/// Multiplies to 128 bits and folds: every bit of either factor reaches the low bits.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of an entry, from what the bucket stores of it.
#[inline]
pub(super) fn hash_of(word: u64, tag: usize, seed: u64) -> u64 {
    if tag == CELL {
        return word;
    }
    let mixed = fold(word ^ seed, MIX_A);
    (mixed ^ (mixed >> 32)).wrapping_mul(MIX_C.wrapping_add(2 * tag as u64)) ^ (mixed >> 29)
}

/// Eight bytes at `at`, little-endian.
#[inline]
fn eight(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Packs fewer than eight bytes and their number. Overlapping reads: no loop, no copy of a length
/// unknown to the compiler.
#[inline]
fn pack(key: &[u8]) -> u64 {
    debug_assert!(key.len() < 8, "the last byte is its length");
    let length = key.len();
    // Most keys have four bytes at least.
    let low = if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        u64::from(first) | u64::from(last) << (8 * (length - 4))
    } else {
        match length {
            0 => 0,
            1 => u64::from(key[0]),
            _ => {
                let first = u64::from(u16::from_le_bytes([key[0], key[1]]));
                first | u64::from(key[length - 1]) << (8 * (length - 1))
            }
        }
    };
    low | (length as u64) << 56
}

/// The hash of a key longer than a word.
fn hash_long(key: &[u8], seed: u64) -> u64 {
    debug_assert!(key.len() > 8, "a shorter key is a word");
    let mut state = seed ^ fold(key.len() as u64 ^ MIX_B, MIX_A);
    let mut rest = key;
    while rest.len() > 16 {
        state = fold(eight(rest, 0) ^ MIX_B, eight(rest, 8) ^ state);
        rest = &rest[16..];
    }
    // The last one or two words, overlapping what went before: the key has nine bytes at least.
    let end = key.len();
    let (first, last) = if rest.len() > 8 {
        (eight(rest, 0), eight(key, end - 8))
    } else {
        (eight(key, end - 8), rest.len() as u64)
    };
    let mixed = fold(first ^ MIX_C, last ^ state);
    (mixed ^ (mixed >> 32)).wrapping_mul(MIX_A) ^ (mixed >> 29)
}

impl Digest {
    /// Prepares `key`.
    #[inline]
    pub(super) fn of(key: &[u8], seed: u64) -> Self {
        let (word, tag) = match key.len() {
            8 => (eight(key, 0), EIGHT),
            0..8 => (pack(key), SHORT),
            _ => (hash_long(key, seed), CELL),
        };
        Self { hash: hash_of(word, tag, seed), word, tag }
    }
}

/// The key that a word stands for, where it does: the bytes, and how many of them count.
pub(super) fn unpack(word: u64, tag: usize) -> ([u8; 8], usize) {
    let bytes = word.to_le_bytes();
    let length = if tag == EIGHT { 8 } else { usize::from(bytes[7]) };
    (bytes, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn short_keys_unpack_to_themselves() {
        for length in 0..=8 {
            let key: Vec<u8> = (0..length).map(|it| 0xf0 + it).collect();
            let digest = Digest::of(&key, 7);
            let (bytes, count) = unpack(digest.word, digest.tag);
            assert_eq!(&bytes[..count], key);
        }
    }

    #[test]
    fn every_byte_of_every_length_counts() {
        let mut seen = HashSet::new();
        for length in 0..80 {
            let mut key = vec![0_u8; length];
            assert!(seen.insert(Digest::of(&key, 3).hash));
            for at in 0..length {
                for bit in 0..8 {
                    key[at] = 1 << bit;
                    assert!(seen.insert(Digest::of(&key, 3).hash), "length {length} byte {at}");
                }
                key[at] = 0;
            }
        }
    }

    /// The variance of bucket loads over that of random ones, for keys made by `key`.
    fn dispersion(key: impl Fn(u64) -> Vec<u8>) -> f64 {
        const BUCKETS: usize = 4096;
        const KEYS: u64 = 5 * BUCKETS as u64;
        let mut loads = vec![0_u32; BUCKETS];
        for number in 0..KEYS {
            loads[Digest::of(&key(number), 1).hash as usize % BUCKETS] += 1;
        }
        let mean = KEYS as f64 / BUCKETS as f64;
        let squares: f64 = loads.iter().map(|&it| (f64::from(it) - mean).powi(2)).sum();
        squares / BUCKETS as f64 / mean
    }

    #[test]
    fn integer_keys_spread_like_random_ones() {
        let spread = [
            dispersion(|it| it.to_be_bytes().to_vec()),
            dispersion(|it| it.to_le_bytes().to_vec()),
            dispersion(|it| (it << 20).to_be_bytes().to_vec()),
            dispersion(|it| (it as u32).to_be_bytes().to_vec()),
            dispersion(|it| [(it / 3000) as u8, 7, ((it % 3000) >> 8) as u8, it as u8].to_vec()),
            dispersion(|it| format!("user{it:012}").into_bytes()),
            dispersion(|it| [it / 100, it % 100, 5].map(u64::to_be_bytes).concat()),
            dispersion(|it| [[0; 32].as_slice(), &it.to_be_bytes()].concat()),
        ];
        for (number, dispersion) in spread.into_iter().enumerate() {
            assert!(dispersion < 1.15, "keys of kind {number}: {dispersion:.3}");
        }
    }
}
