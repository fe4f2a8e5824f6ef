//! Inserting a key unless it is there.
//!
//! The way down writes nothing; the leaf is then latched in the state in which it was searched. What
//! memory an insertion may need is obtained before anything is latched and kept across attempts
//! ([`Supplies`]), so that a heap that refuses leaves nothing half done.
//!
//! Membership (see the index's head): the leaf's guard counts the insertion under the latch, and the
//! caller hears the count before and after, so that a transaction that has seen the leaf itself can
//! tell its own change from a stranger's.

use super::cell::Cell;
use super::finger::Finger;
use super::insertion::{Insertion, Supplies, count_change};
use super::node::{Entry, KIND_CELL, KIND_LAYER, LEAF_SLOTS, Leaf, Spot, record_of};
use super::path::Path;
use super::slice::{RANK_LONGER, assert_length};
use super::split::order_of;
use super::version::Stamp;
use super::{OrderedIndex, faults};
use crate::{Changes, Hooks, Inserted, LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::{Link, Machine, Ordering};

impl<M: Machine> OrderedIndex<M> {
    /// Inserts `record` under `key` unless the key has one. Appends what it changed to `changes`.
    ///
    /// # Errors
    /// When there is no memory for a node; the key is then not inserted (nodes may have been split).
    ///
    /// # Panics
    /// When the key is longer than [`crate::KEY_BYTES_MAX`].
    pub fn insert(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        changes: &mut Changes<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        let mut insertion = Insertion { key, record, hooks, changes };
        self.insert_by_path(heap, &mut insertion, &mut Finger::default())
    }

    /// Inserts by a way down, and has `finger` point there.
    pub(super) fn insert_by_path(
        &self,
        heap: &mut LocalHeap<M>,
        insertion: &mut Insertion<'_, M>,
        finger: &mut Finger<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        debug_assert!(heap.is_pinned());
        assert_length(insertion.key);
        finger.forget();
        let mut supplies = Supplies::none();
        let inserted = loop {
            match self.try_insert(heap, &mut supplies, insertion, finger) {
                Ok(None) => {}
                Ok(Some(inserted)) => break Ok(inserted),
                Err(refused) => break Err(refused),
            }
        };
        supplies.give_back(heap);
        inserted
    }

    /// One attempt; `None` means that it made room, or that somebody was in the way.
    fn try_insert<'t>(
        &'t self,
        heap: &mut LocalHeap<M>,
        supplies: &mut Supplies<'t, M>,
        insertion: &mut Insertion<'_, M>,
        finger: &mut Finger<M>,
    ) -> Result<Option<Inserted<M>>, OutOfMemory> {
        let path = self.locate(insertion.key);
        match path.spot {
            Spot::At(index, kind) => {
                debug_assert!(kind != KIND_LAYER);
                let link = path.leaf.link(index).load(Ordering::Relaxed);
                if !path.leaf.version.holds(path.stamp) {
                    return Ok(None);
                }
                if kind < KIND_CELL {
                    // SAFETY: an inline entry of a state validated just now.
                    return Ok(Some(Inserted::Exists(unsafe { record_of(link) })));
                }
                // SAFETY: a cell entry of a state validated just now; we are pinned.
                let cell = unsafe { Cell::<M>::from_target(link) };
                if cell.is(path.rest(insertion.key)) {
                    return Ok(Some(Inserted::Exists(cell.record())));
                }
                debug_assert!(index < path.stamp.count(), "an entry of the leaf");
                let made = Self::make_layer(heap, &path, index, cell, insertion)?;
                Ok(made.then_some(Inserted::Yes))
            }
            Spot::Before(index) => {
                if path.stamp.count() == LEAF_SLOTS
                    && let Some(full) = &path.full
                {
                    let in_order = order_of(path.leaf.hint(), index).is_some();
                    Self::split_inner(heap, supplies, full, path.slice, in_order)?;
                    return Ok(None);
                }
                let entry = Self::entry(heap, supplies, &path, insertion)?;
                let done = if path.stamp.count() < LEAF_SLOTS {
                    let (leaf, entries) = (path.leaf, (1, core::iter::once(entry)));
                    let changes = &mut *insertion.changes;
                    let inserted = Self::insert_entries(leaf, path.stamp, index, entries, changes);
                    if let Some(members) = inserted {
                        finger.follow(self, &path, path.leaf, (members, path.high));
                    }
                    inserted.is_some()
                } else {
                    self.split_leaf(heap, supplies, &path, index, entry, (insertion, finger))?
                };
                if done && entry.kind == KIND_CELL {
                    supplies.used_cell();
                }
                Ok(done.then_some(Inserted::Yes))
            }
        }
    }

    /// The entry that the key becomes in the path's leaf.
    fn entry<'t>(
        heap: &mut LocalHeap<M>,
        supplies: &mut Supplies<'t, M>,
        path: &Path<'t, M>,
        insertion: &Insertion<'_, M>,
    ) -> Result<Entry, OutOfMemory> {
        if path.rank < RANK_LONGER {
            return Ok(Entry::inline(path.slice, path.rank, insertion.record));
        }
        let cell = supplies.cell(heap, insertion.record, path.rest(insertion.key))?;
        Ok(Entry { slice: path.slice, kind: KIND_CELL, link: cell.target() })
    }

    /// Puts so many entries, which follow each other, into a leaf with room, if that is still as `stamp` says. Returns the count
    /// of its guard since then; `None`: somebody was in the way.
    #[inline]
    pub(super) fn insert_entries(
        leaf: &Leaf<M>,
        stamp: Stamp,
        index: usize,
        (length, entries): (usize, impl Iterator<Item = Entry>),
        changes: &mut Changes<M>,
    ) -> Option<u64> {
        let mut held = leaf.version.try_latch(stamp)?;
        if M::fault(&faults::LATCHED_WHILE_WAITING) {
            M::await_line(core::ptr::from_ref(leaf).cast(), 1);
        }
        let count = held.count();
        leaf.insert(count, index, length, entries);
        held.set_count(count + length);
        if !M::fault(&faults::INSERT_FORGETS_GUARD) {
            count_change(leaf, changes);
        }
        Some(leaf.guard.members())
    }
}
