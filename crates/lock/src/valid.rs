//! Which locks of a segment are not done with: the hierarchical free list, latch-free
//! (Jung et al., 2014, 4.4, Figure 10).
//!
//! Each lock has a flag, cleared once no walk along its chain can reach the lock any more. The flags of a *leaf*
//! share a word, and each leaf has a flag in the word above. The caller that clears the last flag of a leaf clears
//! that; the caller that clears the last of those knows that the segment is empty.
//!
//! The paper's flags are bytes, and *flip-and-test* clears one and then reads the eight around it. Here they
//! are bits, cleared by `fetch_and`, which tests in the same step: accesses of different sizes to the same
//! memory have no meaning in Rust. Each leaf has a line of its own, since a leaf is what one transaction
//! takes its locks from.

use chiliad_machine::{Array, Line, Machine, Ordering, Word};

/// Locks of a leaf at most, and leaves of a segment.
pub(crate) const FLAGS_MAX: u32 = 64;

/// The flags of a segment.
pub(crate) struct Valid<M: Machine> {
    leaves: Array<M, Line<M::Word>>,
    top: Line<M::Word>,
    /// Locks of a leaf.
    locks: u32,
}

impl<M: Machine> Valid<M> {
    /// All set, in so many leaves of so many locks.
    pub fn new(leaves: u32, locks: u32) -> Self {
        assert!((1..=FLAGS_MAX).contains(&leaves) && (1..=FLAGS_MAX).contains(&locks));
        let full = || Line(M::Word::new(all(locks)));
        let top = Line(M::Word::new(all(leaves)));
        Self { leaves: Array::new(leaves as usize, full), top, locks }
    }

    /// Sets the flags of the leaves of a segment that nobody uses; those of the locks are set when the leaf is taken.
    pub fn reset(&self) {
        // Relaxed: the segment is published afterwards.
        self.top.0.store(all(self.leaves.count() as u32), Ordering::Relaxed);
    }

    /// Sets the flags of a leaf's locks; the session that takes the leaf calls it.
    #[inline]
    pub fn reset_leaf(&self, leaf: u32) {
        // Relaxed: nobody else clears one before its lock has been in a chain.
        self.leaves.get(leaf as usize).0.store(all(self.locks), Ordering::Relaxed);
    }

    /// Clears flags of a leaf: `locks` has a bit for each. Returns whether the segment is empty now: exactly one
    /// caller is told, and knows what all have done.
    #[inline]
    #[must_use]
    pub fn clear(&self, leaf: u32, locks: u64) -> bool {
        debug_assert!(locks != 0, "a lock is given back");
        debug_assert!(locks & !all(self.locks) == 0, "of those that there are");
        // Both pair with themselves, in the other callers that clear flags here: the one that finds the last flag
        // gone knows what all of them have done.
        let left = self.leaves.get(leaf as usize).0.fetch_and(!locks, Ordering::AcqRel) & !locks;
        left == 0 && self.top.0.fetch_and(!(1 << leaf), Ordering::AcqRel) == 1 << leaf
    }
}

/// So many ones.
fn all(count: u32) -> u64 {
    debug_assert!((1..=FLAGS_MAX).contains(&count), "a flag for each");
    u64::MAX >> (64 - count)
}
