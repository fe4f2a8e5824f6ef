//! State that an insertion carries down the tree and reports: shared by all operations that make room for a key.

use super::cell::Cell;
use super::get::seen;
use super::node::{INNER_KEYS, Inner, LEAF_SLOTS, Leaf};
use crate::index::contract::{Change, Changes, Hooks};
use crate::{LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::Machine;
use core::ptr::NonNull;

const _: () = assert!(INNER_KEYS < 16 && LEAF_SLOTS < 16, "counts are nibbles");

/// Unshared nodes and a cell, obtained before latching.
pub(super) struct Supplies<'t, M: Machine> {
    leaf: Option<&'t Leaf<M>>,
    inner: Option<&'t Inner<M>>,
    root: Option<&'t Inner<M>>,
    cell: Option<Cell<M>>,
}

impl<'t, M: Machine> Supplies<'t, M> {
    pub(super) fn none() -> Self {
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
    pub(super) fn cell(
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
        debug_assert!(self.leaf.is_some(), "it was stocked");
        self.leaf = None;
    }

    /// The inner node is in the tree.
    pub(super) fn used_inner(&mut self) {
        debug_assert!(self.inner.is_some(), "it was stocked");
        self.inner = None;
    }

    /// The root is in the tree.
    pub(super) fn used_root(&mut self) {
        debug_assert!(self.root.is_some(), "it was stocked");
        self.root = None;
    }

    /// The cell is in the tree.
    pub(super) fn used_cell(&mut self) {
        debug_assert!(self.cell.is_some(), "it was stocked");
        self.cell = None;
    }

    /// Frees what was not used.
    #[inline]
    pub(super) fn give_back(self, heap: &mut LocalHeap<M>) {
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

/// State that an insertion carries down, and the hooks that it reports to.
pub(super) struct Insertion<'a, M: Machine> {
    pub(super) key: &'a [u8],
    pub(super) record: RecordRef<M>,
    pub(super) hooks: &'a mut dyn Hooks<M>,
    pub(super) changes: &'a mut Changes<M>,
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
    let from = NonNull::from(&from.guard);
    insertion.changes.push(Change::Handed { from, to: seen(to) });
}
