//! Guards: what stands for the keys of a leaf or bucket that are *not* there.
//!
//! A guard begins each leaf and bucket. A scheme owns its two header words; its count of membership
//! changes tells a transaction that a key has come or gone since it looked (phantoms; Tu, 2013, 4.3).
//! The heap keeps guards readable when their leaves are freed, so this lies beneath both the heap and
//! the indexes.

use crate::record::Record;
use chiliad_machine::{Link, Machine, Ordering, Tagged, Word};
use core::ptr::NonNull;

/// The membership word of a guard whose leaf has left the tree: it never changes back to a value
/// that somebody has seen.
const DEAD: u64 = 1 << 63;

/// The two words that a scheme owns in each [`Guard`].
#[repr(C)]
pub struct Header<M: Machine> {
    /// Lock and flags, timestamps: the scheme says.
    pub word: M::Word,
    /// Waiting requests: the scheme says.
    pub link: M::Link<Record<M>>,
}

/// The bytes of a guard, at the beginning of a leaf or bucket.
pub(crate) const GUARD_BYTES: usize = 24;

/// Stands for the keys of one leaf or bucket, present and absent. It is the first thing in a leaf's
/// slot, and stays readable when the leaf is freed (see [`crate::Kind::Leaf`]).
///
/// `members` counts insertions, unlinkings, splits and layers: everything after which a reader of
/// the leaf might have seen other keys. It only grows, across lives of the slot too.
#[repr(C)]
pub struct Guard<M: Machine> {
    /// Two words for the scheme.
    pub header: Header<M>,
    members: M::Word,
}

impl<M: Machine> Guard<M> {
    /// A guard that the scheme has not touched.
    pub(crate) fn new(members: u64) -> Self {
        let link = M::Link::new(Tagged::null());
        Self { header: Header { word: M::Word::new(0), link }, members: M::Word::new(members) }
    }

    /// The count now.
    #[inline]
    pub fn members(&self) -> u64 {
        // Acquire pairs with the releases in `change`, `kill` and `revive`: a validator that sees the count
        // of a change also sees the change.
        self.members.load(Ordering::Acquire)
    }

    /// Whether a reader that saw `members` would still see the same keys.
    #[inline]
    pub fn is_unchanged(&self, members: u64) -> bool {
        self.members() == members
    }

    /// The count as a word, for leaves that use it as their version too.
    pub(crate) fn members_word(&self) -> &M::Word {
        &self.members
    }

    /// Counts a change. The caller holds the leaf's latch. Returns the count before and after.
    pub(crate) fn change(&self) -> (u64, u64) {
        let before = self.members.load(Ordering::Relaxed);
        debug_assert!(before & DEAD == 0, "a leaf that has left its index does not change");
        // Release pairs with the acquire in `members`.
        self.members.store(before + 1, Ordering::Release);
        (before, before + 1)
    }

    /// The leaf leaves the tree. The caller holds its latch.
    pub(crate) fn kill(&self) {
        let before = self.members.load(Ordering::Relaxed);
        debug_assert!(before & DEAD == 0, "a leaf leaves its index once");
        // Release pairs with the acquire in `members`: a reader that sees the leaf dead also sees what was done
        // before.
        self.members.store((before + 1) | DEAD, Ordering::Release);
    }

    /// Whether the leaf has left the tree.
    pub(crate) fn is_dead(&self) -> bool {
        self.members.load(Ordering::Relaxed) & DEAD != 0
    }

    /// The slot becomes a new leaf, which nobody else has seen yet. Returns the count.
    pub(crate) fn revive(&self) -> u64 {
        let alive = (self.members.load(Ordering::Relaxed) & !DEAD) + 1;
        debug_assert!(alive & DEAD == 0, "a life's first count is no mark of death");
        // Release pairs with the acquire in `members`: a reader that kept the guard of the slot's last life sees it
        // changed.
        self.members.store(alive, Ordering::Release);
        alive
    }
}

/// A guard and the count at which a reader saw its keys. Valid as long as the heap lives.
pub struct Seen<M: Machine> {
    guard: NonNull<Guard<M>>,
    /// The count of membership changes.
    pub members: u64,
}

// SAFETY: a guard is words; it may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for Seen<M> where M::Word: Sync {}
// SAFETY: its methods only load and compare words, which may be done from several threads at once.
unsafe impl<M: Machine> Sync for Seen<M> where M::Word: Sync {}

impl<M: Machine> Clone for Seen<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Seen<M> {}

impl<M: Machine> Seen<M> {
    /// # Safety
    /// `guard` is the start of a leaf slot of a heap that outlives the value.
    #[inline]
    pub(crate) unsafe fn new(guard: NonNull<Guard<M>>, members: u64) -> Self {
        Self { guard, members }
    }

    /// The guard.
    #[must_use]
    #[inline]
    pub fn guard<'a>(&self) -> &'a Guard<M> {
        // SAFETY: leaf slots are type-stable in their guard for the life of the heap.
        unsafe { self.guard.as_ref() }
    }

    /// The guard's identity.
    #[must_use]
    #[inline]
    pub fn guard_ptr(&self) -> NonNull<Guard<M>> {
        self.guard
    }

    /// Whether nothing has changed since.
    #[must_use]
    #[inline]
    pub fn holds(&self) -> bool {
        self.guard().is_unchanged(self.members)
    }
}
