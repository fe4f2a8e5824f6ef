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
use super::get::seen;
use super::node::{
    Entry, INNER_KEYS, Inner, KIND_CELL, KIND_LAYER, LEAF_SLOTS, Leaf, Spot, record_of,
};
use super::path::Path;
use super::slice::{RANK_LONGER, assert_length};
use super::split::order_of;
use super::{OrderedIndex, faults};
use crate::{Change, Changes, Hooks, Inserted, LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::{Link, Machine, Ordering};

/// Unshared nodes and a cell, obtained before latching.
pub(super) struct Supplies<'t, M: Machine> {
    leaf: Option<&'t Leaf<M>>,
    inner: Option<&'t Inner<M>>,
    root: Option<&'t Inner<M>>,
    cell: Option<Cell<M>>,
}

impl<'t, M: Machine> Supplies<'t, M> {
    fn none() -> Self {
        Self { leaf: None, inner: None, root: None, cell: None }
    }

    /// A leaf for the right half of a split.
    pub(super) fn leaf(&mut self, heap: &mut LocalHeap<M>) -> Result<&'t Leaf<M>, OutOfMemory> {
        let leaf = self.leaf.take().map_or_else(|| Leaf::create(heap, &[]), Ok)?;
        Ok(*self.leaf.insert(leaf))
    }

    /// An inner node for the right half of a split.
    pub(super) fn inner(&mut self, heap: &mut LocalHeap<M>) -> Result<&'t Inner<M>, OutOfMemory> {
        let inner = self.inner.take().map_or_else(|| Inner::create(heap), Ok)?;
        Ok(*self.inner.insert(inner))
    }

    /// An inner node for a new root.
    pub(super) fn root(&mut self, heap: &mut LocalHeap<M>) -> Result<&'t Inner<M>, OutOfMemory> {
        let root = self.root.take().map_or_else(|| Inner::create(heap), Ok)?;
        Ok(*self.root.insert(root))
    }

    /// A cell for the rest of the key. Its length tells whether an earlier one still fits, since
    /// the key is always the same.
    fn cell(
        &mut self,
        heap: &mut LocalHeap<M>,
        record: RecordRef<M>,
        rest: &[u8],
    ) -> Result<Cell<M>, OutOfMemory> {
        let kept = self.cell.take();
        let cell = match kept {
            Some(cell) if cell.length() == rest.len() => cell,
            other => {
                if let Some(cell) = other {
                    cell.free(heap);
                }
                Cell::new(heap, record, rest)?
            }
        };
        Ok(*self.cell.insert(cell))
    }

    /// The leaf is in the tree.
    pub(super) fn used_leaf(&mut self) {
        self.leaf = None;
    }

    /// The inner node is in the tree.
    pub(super) fn used_inner(&mut self) {
        self.inner = None;
    }

    /// The root is in the tree.
    pub(super) fn used_root(&mut self) {
        self.root = None;
    }

    /// The cell is in the tree.
    fn used_cell(&mut self) {
        self.cell = None;
    }

    fn give_back(self, heap: &mut LocalHeap<M>) {
        if let Some(leaf) = self.leaf {
            leaf.free(heap);
        }
        for inner in [self.inner, self.root].into_iter().flatten() {
            inner.free(heap);
        }
        if let Some(cell) = self.cell {
            cell.free(heap);
        }
    }
}

/// What an insertion carries down and reports to.
pub(super) struct Insertion<'a, M: Machine> {
    pub(super) key: &'a [u8],
    pub(super) record: RecordRef<M>,
    pub(super) hooks: &'a mut dyn Hooks<M>,
    pub(super) changes: &'a mut Changes<M>,
}

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
        debug_assert!(heap.is_pinned());
        assert_length(key);
        let mut supplies = Supplies::none();
        let mut insertion = Insertion { key, record, hooks, changes };
        let inserted = loop {
            match self.try_insert(heap, &mut supplies, &mut insertion) {
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
                    Self::insert_entry(&path, index, entry, insertion)
                } else {
                    Self::split_leaf(heap, supplies, &path, index, entry, insertion)?
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

    /// Puts the entry into a leaf with room.
    fn insert_entry(
        path: &Path<'_, M>,
        index: usize,
        entry: Entry,
        insertion: &mut Insertion<'_, M>,
    ) -> bool {
        let leaf = path.leaf;
        let Some(mut held) = leaf.version.try_latch(path.stamp) else {
            return false;
        };
        if M::fault(&faults::LATCHED_WHILE_WAITING) {
            M::await_line(core::ptr::from_ref(leaf).cast(), 1);
        }
        let count = held.count();
        leaf.insert(count, index, entry);
        held.set_count(count + 1);
        if !M::fault(&faults::INSERT_FORGETS_GUARD) {
            count_change(leaf, insertion.changes);
        }
        true
    }
}

/// Counts a change of the leaf's membership and reports it. The caller holds the latch.
pub(super) fn count_change<M: Machine>(leaf: &Leaf<M>, changes: &mut Changes<M>) {
    let (before, _) = leaf.guard.change();
    changes.push(Change::Counted { after: seen(leaf), before });
}

/// Reports that `to` covers some of what `from` did. The caller holds the latch of `from`, and
/// nobody else has seen `to`.
pub(super) fn hand_on<M: Machine>(from: &Leaf<M>, to: &Leaf<M>, insertion: &mut Insertion<'_, M>) {
    insertion.hooks.hand_on(&from.guard, &to.guard);
    let from = core::ptr::NonNull::from(&from.guard);
    insertion.changes.push(Change::Handed { from, to: seen(to) });
}

const _: () = assert!(INNER_KEYS < 16 && LEAF_SLOTS < 16, "counts are nibbles");
