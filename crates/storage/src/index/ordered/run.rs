//! Insertions of several keys, in order, into one leaf under one latch.
//!
//! A transaction that inserts keys in order, such as the lines of an order, has room for several in the leaf where the first
//! belongs. [`OrderedIndex::plan_run`] tells how many; [`OrderedIndex::insert_run`] puts the records of so many there, which were
//! obtained in between, if the leaf is still as it was. All else goes by [`OrderedIndex::insert_near`].

use super::finger::Finger;
use super::node::{Entry, LEAF_SLOTS, Leaf, Spot};
use super::path::Path;
use super::slice::{SLICE_BYTES, rank_at, slice_at};
use super::version::Stamp;
use super::{OrderedIndex, faults};
use crate::{Changes, LocalHeap, RecordRef};
use chiliad_machine::Machine;

/// Keys that belong into one leaf, one after the other: see [`OrderedIndex::plan_run`]. It is of use only within the pin in
/// which it was planned.
pub struct Run<'t, M: Machine> {
    leaf: &'t Leaf<M>,
    stamp: Stamp,
    /// Where the first of them goes.
    index: usize,
    length: usize,
    /// The slices that the leaf covers, from the first key's on, if a way down has led there.
    cover: Option<(u64, u64)>,
}

impl<M: Machine> Run<'_, M> {
    /// How many keys, one at least.
    #[must_use]
    #[inline]
    pub fn length(&self) -> usize {
        debug_assert!((1..=LEAF_SLOTS).contains(&self.length), "a leaf has room for them");
        self.length
    }
}

impl<M: Machine> OrderedIndex<M> {
    /// How many of `keys`, from the first on, may be inserted together where `finger` says that the last insertion was, or
    /// else where a way down leads: those that ascend, are not in the leaf, and follow each other there. `None`: not even
    /// the first.
    #[inline]
    pub fn plan_run<'t, 'k>(
        &'t self,
        heap: &LocalHeap<M>,
        mut keys: impl Iterator<Item = &'k [u8]>,
        finger: &Finger<M>,
    ) -> Option<Run<'t, M>> {
        debug_assert!(heap.is_pinned());
        let first = keys.next().filter(|key| key.len() <= SLICE_BYTES)?;
        let (mut slice, mut rank) = (slice_at(first, 0), rank_at(first, 0));
        let (leaf, stamp, high, spot, cover) = match finger.settled(self, slice) {
            Some((leaf, stamp, high)) => (leaf, stamp, high, leaf.find(stamp, slice, rank), None),
            None => {
                let Path { leaf, stamp, high, spot, .. } = self.locate(first);
                (leaf, stamp, high, spot, Some((slice, high)))
            }
        };
        let Spot::Before(index) = spot else { return None };
        let room = LEAF_SLOTS - stamp.count();
        if room == 0 {
            return None;
        }
        // Those that follow must not reach the leaf's next key, nor share its slice.
        let next = leaf.slice(index);
        let mut length = 1;
        for key in keys.take(room - 1).take_while(|key| key.len() <= SLICE_BYTES) {
            let above = (slice_at(key, 0), rank_at(key, 0));
            let is_free = above.0 < next || M::fault(&faults::RUN_PAST_NEIGHBOUR);
            if above <= (slice, rank) || above.0 > high || !is_free {
                break;
            }
            (slice, rank) = above;
            length += 1;
        }
        Some(Run { leaf, stamp, index, length, cover })
    }

    /// Inserts `records` under `keys`, as many as the run has, and appends the change of the leaf to `changes`. `false`: the
    /// leaf has changed since the run was planned, and nothing is inserted.
    ///
    /// # Panics
    /// When there are fewer keys or records than the run has.
    #[inline]
    pub fn insert_run<'k>(
        &self,
        run: &Run<'_, M>,
        keys: impl Iterator<Item = &'k [u8]>,
        records: &[RecordRef<M>],
        changes: &mut Changes<M>,
        finger: &mut Finger<M>,
    ) -> bool {
        let &Run { leaf, stamp, index, length, cover } = run;
        let entries = keys
            .zip(&records[..length])
            .map(|(key, &record)| Entry::inline(slice_at(key, 0), rank_at(key, 0), record));
        let inserted = Self::insert_entries(leaf, stamp, index, (length, entries), changes);
        let Some(members) = inserted else { return false };
        match cover {
            Some(cover) => finger.point(self, leaf, members, cover),
            None => finger.stay(members),
        }
        M::mark("run inserted");
        true
    }
}
