//! Keys cut into slices: eight bytes, big-endian, the last one padded with zeroes.
//!
//! Slices order as the bytes do. Keys that share a slice and end in it are told apart by their
//! *rank*: the number of bytes they have in the slice, with [`RANK_LONGER`] for all that go on.
//! (slice, rank) orders as the keys do, but for the longer ones among themselves.

use crate::index::contract::KEY_BYTES_MAX;

/// Bytes of a slice.
pub(super) const SLICE_BYTES: usize = 8;

/// The rank of keys that do not end in the slice.
pub(super) const RANK_LONGER: u64 = 9;

/// The slice of `key` at `offset`, which is at most the key's length.
#[inline]
pub(super) fn slice_at(key: &[u8], offset: usize) -> u64 {
    debug_assert!(offset <= key.len(), "a key has ended before");
    let rest = &key[offset..];
    match rest.first_chunk::<SLICE_BYTES>() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => short_slice(rest),
    }
}

#[inline]
fn short_slice(rest: &[u8]) -> u64 {
    let length = rest.len();
    debug_assert!(length < SLICE_BYTES, "a whole slice needs no padding");
    // Overlapping reads, as keys of these lengths are many: no loop.
    match (rest.first_chunk(), rest.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            u64::from(first) << 32 | u64::from(last) << (8 * (SLICE_BYTES - length))
        }
        _ => rest
            .iter()
            .zip(1..)
            .fold(0, |slice, (&byte, at)| slice | u64::from(byte) << (8 * (SLICE_BYTES - at))),
    }
}

/// The rank of `key` in the slice at `offset`.
#[inline]
pub(super) fn rank_at(key: &[u8], offset: usize) -> u64 {
    debug_assert!(offset <= key.len(), "a key has ended before");
    ((key.len() - offset) as u64).min(RANK_LONGER)
}

/// The bytes of a slice without the zeroes at its end: the least key that has this slice.
pub(super) fn least_of(slice: u64, target: &mut Vec<u8>) {
    let kept = SLICE_BYTES - (slice.trailing_zeros() / 8) as usize;
    target.extend_from_slice(&slice.to_be_bytes()[..kept]);
}

/// Turns `prefix` into the least key above all keys that begin with it; `false` if there is none.
pub(super) fn step_over(prefix: &mut Vec<u8>) -> bool {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return true;
        }
    }
    false
}

/// # Panics
/// When the key is longer than a key may be; the engine refuses such keys with a typed error.
#[inline]
pub(super) fn assert_length(key: &[u8]) {
    assert!(key.len() <= KEY_BYTES_MAX, "a key of {} bytes", key.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_and_ranks_order_as_keys_do() {
        let keys: [&[u8]; 9] = [
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0",
            b"a\0\0\0\0\0\0\0",
            b"a\0\0\0\0\0\0\0\0",
            b"b",
            b"\xff",
        ];
        let places: Vec<_> = keys.iter().map(|key| (slice_at(key, 0), rank_at(key, 0))).collect();
        assert!(places.is_sorted());
        assert_eq!(slice_at(b"abcdefgh", 8), 0);
        assert_eq!(slice_at(b"abcdefghij", 8), 0x696a << 48);
    }

    #[test]
    fn the_least_key_of_a_slice_has_that_slice() {
        for slice in [0, 1, 0x100, 0x61 << 56, u64::MAX] {
            let mut key = Vec::new();
            least_of(slice, &mut key);
            assert_eq!(slice_at(&key, 0), slice);
            assert!(key.last() != Some(&0));
        }
    }

    #[test]
    fn stepping_over_a_prefix_carries() {
        let mut prefix = b"ab\xff\xff".to_vec();
        assert!(step_over(&mut prefix));
        assert_eq!(prefix, b"ac");
        assert!(!step_over(&mut vec![0xff; 8]));
    }
}
