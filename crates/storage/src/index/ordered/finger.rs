//! Insertions that go on where the last one was, without a way down (finger search: Guibas et al., 1977).
//!
//! A transaction that inserts keys in order, such as the lines of an order, comes to one leaf again and again. It remembers the
//! leaf, the count of its guard and the slices that the leaf covers. Whatever takes keys away from a leaf changes that count:
//! an insertion, a removal, a split. So a leaf whose count is still the same covers the same slices, is in the tree, and
//! stays in its memory while the worker is pinned.

use super::insertion::Insertion;
use super::node::{Entry, LEAF_SLOTS, Leaf, Spot};
use super::path::Path;
use super::slice::{SLICE_BYTES, rank_at, slice_at};
use super::version::Stamp;
use super::{OrderedIndex, faults};
use crate::{Changes, Guard, Hooks, Inserted, LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::Machine;
use core::ptr::NonNull;

/// The place of a transaction's last insertion into an ordered index. It is of use only as long as that index is, and is
/// forgotten when the transaction ends.
pub struct Finger<M: Machine>(Option<Place<M>>);

struct Place<M: Machine> {
    index: NonNull<OrderedIndex<M>>,
    leaf: NonNull<Leaf<M>>,
    /// The count of the leaf's guard after the insertion.
    members: u64,
    /// Slices that the leaf covers: from that of the key inserted to the separator above.
    low: u64,
    high: u64,
}

// SAFETY: it names a leaf, whose words may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for Finger<M> where M::Word: Sync {}

impl<M: Machine> Default for Finger<M> {
    fn default() -> Self {
        Self(None)
    }
}

impl<M: Machine> Finger<M> {
    /// Forgets the place.
    #[inline]
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// The key of `path` has just been put into `leaf`, which covers slices up to `high` and whose count is `members` since
    /// then.
    #[inline]
    pub(super) fn follow(
        &mut self,
        index: &OrderedIndex<M>,
        path: &Path<'_, M>,
        leaf: &Leaf<M>,
        (members, high): (u64, u64),
    ) {
        // Layers have covers of their own, which nobody has looked at.
        if path.offset == 0 {
            self.point(index, leaf, members, (path.slice, high));
        } else {
            self.forget();
        }
    }

    /// A key has just been put into `leaf` of the tree's first layer, which covers the slices from `low` to `high` and
    /// whose count is `members` since then.
    #[inline]
    pub(super) fn point(
        &mut self,
        index: &OrderedIndex<M>,
        leaf: &Leaf<M>,
        members: u64,
        (low, high): (u64, u64),
    ) {
        let (index, leaf) = (NonNull::from(index), NonNull::from(leaf));
        self.0 = Some(Place { index, leaf, members, low, high });
    }

    /// The count of the leaf is this since another insertion there.
    #[inline]
    pub(super) fn stay(&mut self, members: u64) {
        if let Some(place) = &mut self.0 {
            place.members = members;
        }
    }

    /// The leaf as [`Finger::leaf`] finds it, in the state of a stamp, and the greatest slice that it covers.
    #[inline]
    pub(super) fn settled<'t>(
        &self,
        index: &'t OrderedIndex<M>,
        slice: u64,
    ) -> Option<(&'t Leaf<M>, Stamp, u64)> {
        let (leaf, members) = self.leaf(index, slice)?;
        let stamp = leaf.version.read();
        // Looked at again in the state of the stamp: that is the one that will be latched.
        if leaf.guard.members() != members && !M::fault(&faults::FINGER_NOT_CHECKED) {
            return None;
        }
        Some((leaf, stamp, self.0.as_ref()?.high))
    }

    /// The leaf, if it was one of `index` that covers `slice`, and is as it was left.
    #[inline]
    fn leaf<'t>(&self, index: &'t OrderedIndex<M>, slice: u64) -> Option<(&'t Leaf<M>, u64)> {
        let place = self.0.as_ref()?;
        if place.index != NonNull::from(index) || !(place.low..=place.high).contains(&slice) {
            return None;
        }
        // SAFETY: leaf slots are type-stable in their guard, which is their start, for the life of the heap.
        let guard = unsafe { place.leaf.cast::<Guard<M>>().as_ref() };
        if guard.members() != place.members && !M::fault(&faults::FINGER_NOT_CHECKED) {
            return None;
        }
        // SAFETY: its count shows that it is in the tree, so it is not freed before the caller's pin ends.
        Some((unsafe { place.leaf.as_ref() }, place.members))
    }
}

impl<M: Machine> OrderedIndex<M> {
    /// As [`OrderedIndex::insert`], of one among a transaction's insertions: each begins where `finger` says that the last one
    /// was, if the key may belong there.
    ///
    /// # Errors
    /// As for [`OrderedIndex::insert`]; and so are panics.
    #[inline]
    pub fn insert_near(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        (hooks, changes): (&mut dyn Hooks<M>, &mut Changes<M>),
        finger: &mut Finger<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        debug_assert!(heap.is_pinned());
        let mut insertion = Insertion { key, record, hooks, changes };
        if key.len() <= SLICE_BYTES && Self::try_near(self, &mut insertion, finger) {
            return Ok(Inserted::Yes);
        }
        self.insert_by_path(heap, &mut insertion, finger)
    }

    /// Inserts where the last insertion was; `false`: nothing has changed, and the way down is to be gone.
    #[inline]
    fn try_near(&self, insertion: &mut Insertion<'_, M>, finger: &mut Finger<M>) -> bool {
        let (slice, rank) = (slice_at(insertion.key, 0), rank_at(insertion.key, 0));
        let Some((leaf, stamp, _)) = finger.settled(self, slice) else { return false };
        let Spot::Before(index) = leaf.find(stamp, slice, rank) else { return false };
        if stamp.count() == LEAF_SLOTS {
            return false;
        }
        let entry = Entry::inline(slice, rank, insertion.record);
        let entries = (1, core::iter::once(entry));
        let inserted = Self::insert_entries(leaf, stamp, index, entries, insertion.changes);
        let Some(members) = inserted else { return false };
        M::mark("inserted near the last");
        finger.stay(members);
        true
    }
}
