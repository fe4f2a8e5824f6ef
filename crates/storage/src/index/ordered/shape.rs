//! Walking the whole tree: checking its invariants, measuring it, giving its memory back.

use super::OrderedIndex;
use super::cell::Cell;
use super::node::{
    INNER_KEYS, Inner, KIND_CELL, KIND_LAYER, LEAF_SLOTS, Leaf, TAG_INNER, Target, inner_of,
    leaf_of, record_of,
};
use crate::{LocalHeap, RecordRef};
use chiliad_machine::{Link, Machine, Ordering, Tagged};

/// The counts of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Keys.
    pub keys: usize,
    /// Leaves of all layers.
    pub leaves: usize,
    /// Inner nodes of all layers.
    pub inners: usize,
    /// Keys whose rest is in a cell.
    pub cells: usize,
    /// Layers below the first.
    pub layers: usize,
    /// Leaves without entries: at most one, the root, when nobody is at work.
    pub empty_leaves: usize,
    /// Nodes on the longest way from the root to a leaf, through all layers.
    pub height: usize,
}

impl Shape {
    /// The share of the leaves' places that is taken, in per cent.
    #[must_use]
    pub fn leaf_fill_percent(&self) -> usize {
        (self.keys + self.layers) * 100 / (self.leaves.max(1) * LEAF_SLOTS)
    }
}

/// How far a tree has been taken apart: the nodes that are still to be given back, or `None` when
/// it stands.
#[derive(Default)]
pub struct Teardown(Option<Vec<Tagged<Target>>>);

// SAFETY: only a thread with exclusive access to the tree follows its links.
unsafe impl Send for Teardown {}

/// A node still to be visited: what leads to it, the slices that it may hold and its depth.
struct Visit {
    target: Tagged<Target>,
    above: Option<u64>,
    up_to: u64,
    depth: usize,
    layer: usize,
}

impl<M: Machine> OrderedIndex<M> {
    /// Walks the tree and checks its invariants. Nobody else may be changing it meanwhile.
    ///
    /// # Panics
    /// When one does not hold.
    #[must_use]
    pub fn check(&self, heap: &LocalHeap<M>) -> Shape {
        debug_assert!(heap.is_pinned());
        let mut shape = Shape::default();
        let root = self.anchor.root.load(Ordering::Relaxed);
        let mut open =
            vec![Visit { target: root, above: None, up_to: u64::MAX, depth: 1, layer: 0 }];
        while let Some(visit) = open.pop() {
            shape.height = shape.height.max(visit.depth);
            if visit.target.tag() == TAG_INNER {
                // SAFETY: a link of the tree, which the caller keeps still.
                check_inner::<M>(unsafe { inner_of(visit.target) }, &visit, &mut open);
                shape.inners += 1;
            } else {
                // SAFETY: a link of the tree, which the caller keeps still.
                check_leaf::<M>(unsafe { leaf_of(visit.target) }, &visit, &mut open, &mut shape);
            }
        }
        shape
    }

    /// Goes on with taking the tree apart until about `budget` nodes and entries are dealt with, and
    /// says whether nothing is left. Allocates nothing, so it cannot fail half-way.
    ///
    /// # Safety
    /// As for [`super::super::Index::dismantle_some`].
    pub(crate) unsafe fn dismantle_some(
        &self,
        heap: &mut LocalHeap<M>,
        teardown: &mut Teardown,
        budget: &mut usize,
        each: &mut dyn FnMut(&mut LocalHeap<M>, RecordRef<M>),
    ) -> bool {
        let root = || vec![self.anchor.root.load(Ordering::Relaxed)];
        let open = teardown.0.get_or_insert_with(root);
        while *budget > 0 {
            let Some(target) = open.pop() else {
                return true;
            };
            if target.tag() == TAG_INNER {
                // SAFETY: a link of a tree that is ours alone.
                let inner: &Inner<M> = unsafe { inner_of(target) };
                let count = inner.version.read().count();
                open.extend((0..=count).map(|at| inner.child(at).load(Ordering::Relaxed)));
                *budget = budget.saturating_sub(1);
                inner.free(heap);
                continue;
            }
            // SAFETY: a link of a tree that is ours alone.
            let leaf: &Leaf<M> = unsafe { leaf_of(target) };
            let count = leaf.version.read().count();
            *budget = budget.saturating_sub(1 + count);
            for entry in &leaf.copy_out(count)[..count] {
                match entry.kind {
                    KIND_LAYER => open.push(entry.link),
                    KIND_CELL => {
                        // SAFETY: a cell entry of a tree that is ours alone.
                        let cell = unsafe { Cell::<M>::from_target(entry.link) };
                        each(heap, cell.record());
                        cell.free(heap);
                    }
                    // SAFETY: an inline entry.
                    _ => each(heap, unsafe { record_of(entry.link) }),
                }
            }
            leaf.guard.kill();
            leaf.free(heap);
        }
        open.is_empty()
    }
}

fn check_inner<M: Machine>(inner: &Inner<M>, visit: &Visit, open: &mut Vec<Visit>) {
    let stamp = inner.version.read();
    assert!(!stamp.is_obsolete(), "an inner node that has left the tree is in it");
    let count = stamp.count();
    assert!((1..=INNER_KEYS).contains(&count), "an inner node with {count} separators");
    let (keys, children) = inner.copy_out();
    assert!(keys[count..].iter().all(|&key| key == u64::MAX), "stale separators");
    let mut above = visit.above;
    for at in 0..=count {
        let up_to = if at < count { keys[at] } else { visit.up_to };
        assert!(above.is_none_or(|above| above < up_to), "separators out of order");
        assert!(up_to <= visit.up_to, "a separator beyond the node's range");
        let target = children[at];
        open.push(Visit { target, above, up_to, depth: visit.depth + 1, layer: visit.layer });
        above = Some(up_to);
    }
}

fn check_leaf<M: Machine>(leaf: &Leaf<M>, visit: &Visit, open: &mut Vec<Visit>, shape: &mut Shape) {
    let stamp = leaf.version.read();
    assert!(!stamp.is_obsolete(), "a leaf that has left the tree is in it");
    assert!(!leaf.guard.is_dead(), "a leaf of the tree has a dead guard");
    let count = stamp.count();
    let all = leaf.copy_out(count);
    let entries = &all[..count];
    shape.leaves += 1;
    shape.empty_leaves += usize::from(count == 0);
    assert!(count > 0 || visit.depth == 1, "an empty leaf that is not the root");
    let places = || entries.iter().map(|entry| (entry.slice, entry.rank()));
    assert!(places().is_sorted_by(|one, other| one < other), "entries out of order");
    for entry in entries {
        assert!(visit.above.is_none_or(|above| above < entry.slice), "an entry below its leaf");
        assert!(entry.slice <= visit.up_to, "an entry above its leaf");
        assert!(entry.kind > 0 || visit.layer == 0, "an empty rest of a key in a layer");
        assert!(!entry.link.is_null(), "an entry that leads nowhere");
        match entry.kind {
            KIND_LAYER => {
                shape.layers += 1;
                open.push(Visit {
                    target: entry.link,
                    above: None,
                    up_to: u64::MAX,
                    depth: visit.depth + 1,
                    layer: visit.layer + 1,
                });
            }
            KIND_CELL => {
                shape.keys += 1;
                shape.cells += 1;
                // SAFETY: a cell entry of a tree that the caller keeps still.
                let cell = unsafe { Cell::<M>::from_target(entry.link) };
                assert!(cell.length() > 0, "a cell without a rest");
            }
            kind => {
                shape.keys += 1;
                let padding = (entry.slice as u128) << (8 * kind);
                assert!(padding as u64 == 0, "padding that is not zero");
            }
        }
    }
}
