//! Stamps: in a verified run each version, tombstones included, ends in sixteen bytes that name its
//! writer, written above the scheme and read from the bytes that the caller gets.
//!
//! ```text
//!   value bytes | stamp (8) | check (8): a hash of stamp and value
//! ```
//!
//! The check covers of a value what exists of it (`Options::kept_payload`).
//!
//! A copy torn by a scheme that forgot to validate has a check that does not fit and is reported as
//! a version that nobody wrote.

use crate::recorder::Stamp;
use chiliad_machine::{Latch, Machine};
use std::collections::BTreeMap;

/// Bytes that a stamp adds to each version.
pub const STAMP_BYTES: usize = 16;

/// Reported for bytes that no transaction wrote as they are.
pub const TORN: Stamp = u64::MAX;

/// Enters the check of a tombstone, so that a half-written version is not taken for one.
const ABSENT_SALT: u64 = 0x5bd1_e995_9d1c_4e6b;

/// How many bytes of a value a check covers.
pub fn reach(kept_payload: Option<usize>) -> usize {
    kept_payload.unwrap_or(usize::MAX)
}

/// Never zero. The stamp goes through the mixing too: half of one version beside half of another must
/// not fit, however like each other the two are.
fn check(stamp: Stamp, value: &[u8], reach: usize, absent: bool) -> u64 {
    let mix = |hash: u64| {
        let hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^ hash >> 32
    };
    let salt = if absent { ABSENT_SALT } else { 0x9e37_79b9_7f4a_7c15 };
    let mut hash = mix(stamp ^ salt) ^ value.len() as u64;
    for chunk in value[..value.len().min(reach)].chunks(8) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(bytes));
    }
    hash | 1
}

/// The stamp of `value`, to be appended to it.
pub fn make(stamp: Stamp, value: &[u8], reach: usize) -> [u8; STAMP_BYTES] {
    encode(stamp, check(stamp, value, reach, false))
}

/// The stamp of a tombstone, which is all there is of it.
pub fn make_absent(stamp: Stamp) -> [u8; STAMP_BYTES] {
    encode(stamp, check(stamp, &[], 0, true))
}

fn encode(stamp: Stamp, check: u64) -> [u8; STAMP_BYTES] {
    let mut bytes = [0; STAMP_BYTES];
    bytes[..8].copy_from_slice(&stamp.to_le_bytes());
    bytes[8..].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// Reads the stamp off the end of a version's `bytes`; [`TORN`] if it does not fit what is before
/// it, as far as `reach`, or if it is not of the kind that `absent` says.
pub fn read(bytes: &[u8], reach: usize, absent: bool) -> Stamp {
    let Some(split) = bytes.len().checked_sub(STAMP_BYTES) else {
        return TORN;
    };
    let (value, stamp) = bytes.split_at(split);
    let word = |range: core::ops::Range<usize>| {
        u64::from_le_bytes(stamp[range].try_into().expect("eight bytes"))
    };
    let found = word(0..8);
    if word(8..16) == check(found, value, reach, absent) { found } else { TORN }
}

/// Reads the stamp of a tombstone, which is all there is of it; [`TORN`] if it is none.
pub fn read_absent(bytes: &[u8]) -> Stamp {
    read(bytes, 0, true)
}

/// Order and stamp of the last tombstone, by key.
type Stones = BTreeMap<Box<[u8]>, (u64, Stamp)>;

/// The stamps of tombstones that have left their index, so that a later look-up can still say which
/// version of nothing it saw. Kept in verified runs only, by key.
pub struct TombstoneStamps<M: Machine> {
    stones: Latch<M, Stones>,
}

impl<M: Machine> Default for TombstoneStamps<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Machine> TombstoneStamps<M> {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self { stones: Latch::new(BTreeMap::new()) }
    }

    /// A tombstone of `order` is about to leave; an older one never replaces a newer one.
    pub fn record(&self, key: &[u8], order: u64, stamp: Stamp) {
        let mut stones = self.stones.lock();
        let entry = stones.entry(key.into()).or_insert((0, 0));
        if order > entry.0 {
            *entry = (order, stamp);
        }
    }

    /// The newest tombstone of `key` that has left, or zero.
    pub fn stamp(&self, key: &[u8]) -> Stamp {
        self.stones.lock().get(key).map_or(0, |stone| stone.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_one_stamp_does_not_fit_half_of_another() {
        let mut stamps: Vec<[u8; STAMP_BYTES]> = (0..64).map(make_absent).collect();
        stamps.extend((0..64).map(|stamp| make(stamp, &[], usize::MAX)));
        stamps.extend((0..64).map(|stamp| make(stamp, b"value", usize::MAX)));
        for (at, one) in stamps.iter().enumerate() {
            for (beside, other) in stamps.iter().enumerate() {
                let torn = [&one[..8], &other[8..]].concat();
                let fits = read_absent(&torn) != TORN;
                assert_eq!(fits, at % 64 == beside % 64 && beside < 64, "{at} {beside}");
            }
        }
    }

    #[test]
    fn what_does_not_exist_is_not_checked() {
        let value = *b"exists, and this does not";
        let stamp = make(7, &value, 8);
        let seen = [&value[..8], &[0; 17], &stamp[..]].concat();
        assert_eq!(read(&seen, 8, false), 7);
        assert_eq!(read(&seen, reach(None), false), TORN);
        let shorter = [&value[..8], &[0; 16], &stamp[..]].concat();
        assert_eq!(read(&shorter, 8, false), TORN, "the length counts");
        let other = [&value[..7], &[0; 18], &stamp[..]].concat();
        assert_eq!(read(&other, 8, false), TORN, "what exists counts");
    }
}
