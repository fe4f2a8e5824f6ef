//! The two protocols that readers of a growing table rely on, on bare words.
//!
//! **Version.** The membership count of a bucket's guard is the bucket's version and its latch: bit
//! 0 says that a writer is inside, every change adds [`STEP`]. A reader notes an even value, reads,
//! and compares; a writer reads without a latch too, and then latches *at the version it noted*, so
//! that what it found still stands. One word thus serves the retry of readers, the latch and the
//! guard. A validator that meets the latch counts it as a change: the writer inside is about to
//! make one.
//!
//! **Mapping.** Linear hashing: with `b` buckets, `2^l <= b < 2^(l+1)`, a hash belongs to its
//! `l + 1` low bits, or to its `l` low bits where that bucket does not exist yet. Growing by one
//! divides one bucket; the number of buckets is published while both halves are latched. A reader
//! looks at the number again *after* it noted the version: a noted version from after the division
//! implies the new number, one from before it fails the comparison at the end.

use chiliad_machine::{Machine, Ordering, Word};

/// The step by which a change raises a version.
pub(super) const STEP: u64 = 2;

/// The version of a bucket that is made under its writer's latch.
pub(super) const LATCHED: u64 = 1;

/// The bucket, of `buckets`, that `hash` belongs to.
#[inline]
pub(super) fn place(hash: u64, buckets: u64) -> u64 {
    debug_assert!(buckets > 0);
    let low = 1 << buckets.ilog2();
    let index = hash & (2 * low - 1);
    if index < buckets { index } else { index - low }
}

/// The version, unless a writer is inside.
#[inline]
pub(super) fn stable<M: Machine>(version: &M::Word) -> Option<u64> {
    // Acquire pairs with the release in `unlatch`: we see what the last writer wrote, and the
    // number of buckets that it published.
    let seen = version.load(Ordering::Acquire);
    (seen & LATCHED == 0).then_some(seen)
}

/// The version of the bucket that `hash` belonged to when there were `noted` buckets, unless a writer is inside or the
/// table has grown since, and it belongs there no longer.
#[inline]
pub(super) fn settled<M: Machine>(
    version: &M::Word,
    buckets: &M::Word,
    noted: u64,
    hash: u64,
) -> Option<u64> {
    let seen = stable::<M>(version)?;
    // Relaxed, for the acquire in `stable` orders it: a division of the bucket before `seen` published the number
    // first.
    let buckets = buckets.load(Ordering::Relaxed);
    (buckets == noted || place(hash, buckets) == place(hash, noted)).then_some(seen)
}

/// Whether everything read since [`stable`] returned `seen` belongs together.
#[inline]
pub(super) fn unchanged<M: Machine>(version: &M::Word, seen: u64) -> bool {
    // Pairs with the release fence in `latch_at`: had we read a word that a writer wrote after it
    // latched, we should now see its latch or a later version.
    M::fence(Ordering::Acquire);
    version.load(Ordering::Relaxed) == seen
}

/// Latches the bucket if its version is still `seen`.
#[inline]
pub(super) fn latch_at<M: Machine>(version: &M::Word, seen: u64) -> bool {
    debug_assert!(seen & LATCHED == 0);
    // Acquire pairs with the release in `unlatch`.
    let latched = version
        .compare_exchange(seen, seen | LATCHED, Ordering::Acquire, Ordering::Relaxed)
        .is_ok();
    if latched {
        M::enter_section();
        // Pairs with the acquire fence in `unchanged`.
        M::fence(Ordering::Release);
    }
    latched
}

/// Gives the latch back and sets the version.
#[inline]
pub(super) fn unlatch<M: Machine>(version: &M::Word, count: u64) {
    debug_assert!(count & LATCHED == 0);
    // Release pairs with the acquires in `stable` and `latch_at`.
    version.store(count, Ordering::Release);
    M::leave_section();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_by_one_moves_hashes_of_one_bucket_only() {
        for buckets in 1_u64..200 {
            let divided = buckets - (1 << buckets.ilog2());
            for hash in (0..2000_u64).map(|it| it.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                let (before, after) = (place(hash, buckets), place(hash, buckets + 1));
                assert!(before < buckets);
                assert!(after == before || (before == divided && after == buckets));
            }
        }
    }
}
