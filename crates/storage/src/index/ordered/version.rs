//! The version word of a node: what an optimistic reader checks and a writer latches.
//!
//! ```text
//!   bit 0      latched: a writer is at work, readers wait
//!   bit 1      obsolete: the node has left the tree
//!   bits 4..8  count: entries of a leaf, separators of an inner node
//!   bits 8..   changes: counts every latching that may have changed the node
//! ```
//!
//! The protocol is a sequence lock whose writer enters by compare-and-swap from a [`Stamp`] that it
//! read before, so that entering also proves that nothing has changed since. Invariants:
//!
//! - a reader that finds the word equal to its stamp before and after has read one state;
//! - the count in the word is the count of that state, so a search needs no further line for it;
//! - nobody spins while it holds a node: latching is only ever tried.
//!
//! Silo (Tu, 2013, 5) and Masstree (Mao et al., 2012, 4.5) keep separate counters for
//! insertions and splits and a bit for each, so that a reader may stay in a node that only gained a
//! key. Here a node of four lines is read again instead, and there is one counter.

use chiliad_machine::{Machine, Ordering, Spin, Word};

const LATCHED: u64 = 1;
const OBSOLETE: u64 = 1 << 1;
const COUNT_SHIFT: u32 = 4;
const COUNT_MASK: u64 = 0xf << COUNT_SHIFT;
const CHANGE_ONE: u64 = 1 << 8;

/// The word of an unlatched node, as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// Entries of a leaf, or separators of an inner node.
    #[inline]
    pub(super) fn count(self) -> usize {
        ((self.0 & COUNT_MASK) >> COUNT_SHIFT) as usize
    }

    /// Whether the node has left the tree.
    pub(super) fn is_obsolete(self) -> bool {
        self.0 & OBSOLETE != 0
    }
}

/// The word.
#[repr(transparent)]
pub(super) struct NodeVersion<M: Machine> {
    word: M::Word,
}

impl<M: Machine> NodeVersion<M> {
    /// The version of a new node.
    pub(super) fn new(count: usize) -> Self {
        debug_assert!(count < 16, "a count is a nibble");
        Self { word: M::Word::new((count as u64) << COUNT_SHIFT) }
    }

    /// Waits until no writer is at work and says what the word then held.
    #[inline]
    pub(super) fn read(&self) -> Stamp {
        // Acquire pairs with the release in `Held::drop`: we see what the last writer wrote.
        let word = self.word.load(Ordering::Acquire);
        if word & LATCHED == 0 { Stamp(word) } else { self.read_slowly() }
    }

    #[cold]
    #[inline(never)]
    fn read_slowly(&self) -> Stamp {
        let mut spin = Spin::<M>::new();
        loop {
            spin.wait();
            // Acquire pairs with the release in `Held::drop`, as in `read`.
            let word = self.word.load(Ordering::Acquire);
            if word & LATCHED == 0 {
                return Stamp(word);
            }
        }
    }

    /// Whether everything read since `stamp` was read from one state.
    #[inline]
    pub(super) fn holds(&self, stamp: Stamp) -> bool {
        // Pairs with the release fence in `try_latch`: if one of our reads saw a writer's store,
        // the load below sees that writer's latch or something later.
        M::fence(Ordering::Acquire);
        self.word.load(Ordering::Relaxed) == stamp.0
    }

    /// Latches the node if it is still as `stamp` says.
    #[inline]
    pub(super) fn try_latch(&self, stamp: Stamp) -> Option<Held<'_, M>> {
        debug_assert!(stamp.0 & LATCHED == 0, "a stamp is of a node at rest");
        debug_assert!(!stamp.is_obsolete(), "a node that has left the tree does not change");
        // Acquire pairs with the release in `Held::drop`.
        self.word
            .compare_exchange(stamp.0, stamp.0 | LATCHED, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        M::enter_section();
        // Pairs with the acquire fence in `holds`: the latch is visible before what follows.
        M::fence(Ordering::Release);
        Some(Held { version: self, next: stamp.0 })
    }

    /// Latches the node, in whatever state it is, unless somebody else has it.
    pub(super) fn try_latch_now(&self) -> Option<Held<'_, M>> {
        let word = self.word.load(Ordering::Relaxed);
        if word & LATCHED == 0 { self.try_latch(Stamp(word)) } else { None }
    }
}

/// A latched node. Dropping it counts a change and lets readers in.
pub(super) struct Held<'a, M: Machine> {
    version: &'a NodeVersion<M>,
    next: u64,
}

impl<M: Machine> Held<'_, M> {
    /// The number of entries or separators, as [`Held::set_count`] left it.
    pub(super) fn count(&self) -> usize {
        Stamp(self.next).count()
    }

    /// Sets the number of entries or separators that readers will see.
    #[inline]
    pub(super) fn set_count(&mut self, count: usize) {
        debug_assert!(count < 16);
        self.next = self.next & !COUNT_MASK | (count as u64) << COUNT_SHIFT;
    }

    /// Says that the node leaves the tree.
    pub(super) fn set_obsolete(&mut self) {
        debug_assert!(self.next & OBSOLETE == 0, "a node leaves the tree once");
        self.next |= OBSOLETE;
    }

    /// Gives the latch back without a change: readers notice nothing.
    pub(super) fn unchanged(self) {
        debug_assert!(self.next & LATCHED == 0, "it is unlatched");
        // Release pairs with the acquire in `try_latch` of the next writer.
        self.version.word.store(self.next, Ordering::Release);
        M::leave_section();
        core::mem::forget(self);
    }
}

impl<M: Machine> Drop for Held<'_, M> {
    #[inline]
    fn drop(&mut self) {
        debug_assert!(self.next & LATCHED == 0, "it is unlatched");
        // Release pairs with the acquire in `read` and `try_latch`.
        self.version.word.store(self.next.wrapping_add(CHANGE_ONE), Ordering::Release);
        M::leave_section();
    }
}
