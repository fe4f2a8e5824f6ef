//! Taking a key out, and what is then empty.
//!
//! An operation that takes the last entry out of a leaf takes the leaf out of the tree at once (it begins
//! again as often as others are in the way), the leftmost leaf of a tree like any other, so that a
//! queue whose left edge is deleted for ever stays as small as its content:
//!
//! - a leaf under an inner node goes; its range falls to its *heir*, the neighbouring leaf on the
//!   left, or on the right if it is the first child;
//! - an inner node that is left with one child is replaced by it in its own holder, so every inner
//!   node has two children or more, and subtrees may differ in height;
//! - the empty root of a layer goes with the layer's entry in the leaf above, which may then be
//!   empty itself;
//! - the root of the tree stays.
//!
//! The holder (for a collapse: its holder too), the leaf and the heir are latched together, each
//! tried and none waited for. The heir's latch keeps it from being divided while the scheme merges
//! the guards: below the latched holder, its edge next to the dying leaf belongs to it and to nobody
//! else. Nodes below half are not merged, as in Masstree (Mao et al., 2012, 4.6.5).

use super::cell::Cell;
use super::node::{Inner, KIND_CELL, Leaf, Spot, TAG_INNER, Target, inner_of, leaf_of, record_of};
use super::path::{Holder, Path, Place};
use super::slice::assert_length;
use super::version::Held;
use super::{OrderedIndex, faults};
use crate::{Guard, Hooks, LocalHeap, RecordRef};
use chiliad_machine::{Link, Machine, Ordering, Tagged};

/// Inner nodes on the way from a dying leaf's neighbour to the heir: trees are never this high.
const EDGE_MAX: usize = 24;

impl<M: Machine> OrderedIndex<M> {
    /// Takes `record` out from under `key` if it is there and `confirm`, called under the leaf's
    /// latch, agrees; an emptied leaf leaves the tree. Does not retire the record. Returns whether
    /// it was taken out.
    ///
    /// # Panics
    /// When the key is longer than [`crate::KEY_BYTES_MAX`].
    pub fn unlink(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        confirm: &mut dyn FnMut(&Guard<M>) -> bool,
    ) -> bool {
        debug_assert!(heap.is_pinned());
        assert_length(key);
        loop {
            let path = self.locate(key);
            let Some(unlinked) = Self::try_unlink(heap, &path, key, record, confirm) else {
                continue;
            };
            if unlinked && path.stamp.count() == 1 {
                self.prune(heap, key, hooks);
            }
            return unlinked;
        }
    }

    /// One attempt; `None` if somebody was in the way.
    fn try_unlink(
        heap: &mut LocalHeap<M>,
        path: &Path<'_, M>,
        key: &[u8],
        record: RecordRef<M>,
        confirm: &mut dyn FnMut(&Guard<M>) -> bool,
    ) -> Option<bool> {
        let leaf = path.leaf;
        let Spot::At(index, kind) = path.spot else {
            return leaf.version.holds(path.stamp).then_some(false);
        };
        let link = leaf.link(index).load(Ordering::Relaxed);
        if !leaf.version.holds(path.stamp) {
            return None;
        }
        // SAFETY: a cell entry of a state validated just now; we are pinned.
        let cell = (kind == KIND_CELL).then(|| unsafe { Cell::<M>::from_target(link) });
        let there = match cell {
            Some(cell) => cell.is(path.rest(key)) && cell.record() == record,
            // SAFETY: an inline entry of a state validated just now.
            None => record == unsafe { record_of(link) },
        };
        if !there {
            return Some(false);
        }
        let mut held = leaf.version.try_latch(path.stamp)?;
        if !confirm(&leaf.guard) {
            held.unchanged();
            return Some(false);
        }
        let count = held.count();
        leaf.remove(count, index);
        leaf.guard.change();
        held.set_count(count - 1);
        drop(held);
        if let Some(cell) = cell {
            cell.retire(heap);
        }
        Some(true)
    }

    /// Removes the leaf that `key` leads to if it is empty, and what that leaves empty.
    fn prune(&self, heap: &mut LocalHeap<M>, key: &[u8], hooks: &mut dyn Hooks<M>) {
        loop {
            let path = self.locate(key);
            if path.stamp.count() > 0 {
                // The search may have missed a layer's entry in a torn leaf.
                if path.leaf.version.holds(path.stamp) {
                    return;
                }
                continue;
            }
            // Whether or not the leaf went: look again, until what we find is not empty.
            match path.place.holder {
                Holder::Anchor(_) => return,
                Holder::Leaf(above, index) => Self::remove_layer(heap, &path, above, index, hooks),
                Holder::Inner(parent, index) => {
                    Self::remove_leaf(heap, &path, parent, index, hooks)
                }
            };
        }
    }

    /// Removes a layer whose root is an empty leaf. `None` if somebody was in the way.
    fn remove_layer(
        heap: &mut LocalHeap<M>,
        path: &Path<'_, M>,
        above: &Leaf<M>,
        index: usize,
        hooks: &mut dyn Hooks<M>,
    ) -> Option<()> {
        debug_assert!(path.stamp.count() == 0, "an empty leaf goes");
        let mut held_above = path.place.try_latch()?;
        let Some(held) = path.leaf.version.try_latch(path.stamp) else {
            held_above.unchanged();
            return None;
        };
        M::mark("layer removed");
        let count = held_above.count();
        above.remove(count, index);
        held_above.set_count(count - 1);
        close_leaf(path.leaf, held, &above.guard, hooks);
        drop(held_above);
        path.leaf.retire(heap);
        Some(())
    }

    /// Removes an empty leaf that is child `index` of `parent`. `None` if somebody was in the way.
    fn remove_leaf(
        heap: &mut LocalHeap<M>,
        path: &Path<'_, M>,
        parent: &Inner<M>,
        index: usize,
        hooks: &mut dyn Hooks<M>,
    ) -> Option<()> {
        debug_assert!(path.stamp.count() == 0, "an empty leaf goes");
        debug_assert!(index <= path.place.stamp.count(), "a child of its parent");
        let collapses = path.place.stamp.count() == 1;
        let above = if collapses { path.above } else { None };
        let mut held_above = Undo::of(above.as_ref(), Place::try_latch)?;
        let mut held_parent = Undo::of(Some(&path.place), Place::try_latch)?;
        let mut held = Undo::of(Some(path), |path| path.leaf.version.try_latch(path.stamp))?;
        let neighbour = if index > 0 { index - 1 } else { 1 };
        let next_to = parent.child(neighbour).load(Ordering::Relaxed);
        let heir = Heir::latch(next_to, index > 0)?;
        M::mark("leaf removed");
        if let (Some(above), Some(held_above)) = (above, held_above.take()) {
            M::mark("inner collapsed");
            above.link().store(next_to, Ordering::Relaxed);
            if let Some(mut held_parent) = held_parent.take() {
                held_parent.set_obsolete();
            }
            drop(held_above);
        } else if let Some(mut held_parent) = held_parent.take() {
            let count = held_parent.count();
            parent.remove(count, index);
            held_parent.set_count(count - 1);
        }
        if let Some(held) = held.take() {
            close_leaf(path.leaf, held, &heir.leaf.guard, hooks);
        }
        drop(heir);
        path.leaf.retire(heap);
        if collapses {
            parent.retire(heap);
        }
        Some(())
    }
}

/// The leaf's last rites, under the latches of the leaf and of the heir.
///
/// That the last entry went was counted already, and nothing else has come. But between the two
/// latchings the leaf stood empty in the tree, and a reader that missed a key in it then, or scanned it, noted that
/// later count. The keys are the heir's from now on, whose count such a reader need not have
/// noted, and an insertion among them changes the heir's: the dying guard must fail by itself.
fn close_leaf<M: Machine>(
    leaf: &Leaf<M>,
    mut held: Held<'_, M>,
    heir: &crate::Guard<M>,
    hooks: &mut dyn Hooks<M>,
) {
    debug_assert!(held.count() == 0, "nothing is lost");
    if !M::fault(&faults::REMOVAL_FORGETS_GUARD) {
        leaf.guard.kill();
    }
    hooks.merge(&leaf.guard, heir);
    held.set_obsolete();
}

/// A latch that is given back unchanged unless it is taken.
struct Undo<'t, M: Machine>(Option<Held<'t, M>>);

impl<'t, M: Machine> Undo<'t, M> {
    /// Latches `what`, if it is anything; `None` if that fails.
    fn of<T>(what: Option<&T>, latch: impl FnOnce(&T) -> Option<Held<'t, M>>) -> Option<Self> {
        match what {
            None => Some(Self(None)),
            Some(what) => latch(what).map(|held| Self(Some(held))),
        }
    }

    fn take(&mut self) -> Option<Held<'t, M>> {
        self.0.take()
    }
}

impl<M: Machine> Drop for Undo<'_, M> {
    fn drop(&mut self) {
        if let Some(held) = self.0.take() {
            held.unchanged();
        }
    }
}

/// The leaf next to a dying one, latched together with the inner nodes on the way to it.
struct Heir<'t, M: Machine> {
    leaf: &'t Leaf<M>,
    _held: [Undo<'t, M>; EDGE_MAX],
}

impl<'t, M: Machine> Heir<'t, M> {
    /// Latches the rightmost or leftmost leaf below `target`, a child of a node that the caller
    /// has latched.
    fn latch(mut target: Tagged<Target>, rightmost: bool) -> Option<Self> {
        let mut path = core::array::from_fn(|_| Undo(None));
        for held in &mut path {
            if target.tag() != TAG_INNER {
                // SAFETY: a child of a latched node; we are pinned.
                let leaf: &'t Leaf<M> = unsafe { leaf_of(target) };
                *held = Undo(Some(leaf.version.try_latch_now()?));
                return Some(Self { leaf, _held: path });
            }
            // SAFETY: a child of a node that was latched just now, or by the caller; we are pinned.
            let inner: &'t Inner<M> = unsafe { inner_of(target) };
            let latched = inner.version.try_latch_now()?;
            let child = if rightmost { latched.count() } else { 0 };
            *held = Undo(Some(latched));
            target = inner.child(child).load(Ordering::Relaxed);
        }
        None
    }
}
