//! The way down, as a writer remembers it: what it needs to latch.
//!
//! The *holder* of a node is where the link to it is: the tree's anchor, an inner node, or the leaf
//! above, for the root of a layer. The descent goes hand over hand without writing anything: the
//! child's stamp is read, then the holder's is checked once more. So, at the moment of that check,
//! the child was where the holder says, in the state of its stamp. Every operation that takes keys
//! away from a node (split, removal) latches its holder too, hence a child whose stamp still holds
//! at a later moment still covers all keys that led to it.

use super::node::{
    INNER_KEYS, Inner, KIND_LAYER, Leaf, Spot, TAG_INNER, Target, inner_of, leaf_of, prefetch_node,
};
use super::slice::{RANK_LONGER, SLICE_BYTES, rank_at, slice_at};
use super::version::{Held, NodeVersion, Stamp};
use super::{Anchor, OrderedIndex};
use chiliad_machine::{Cost, Link, Machine, Ordering};

/// Where a link to a node is.
pub(super) enum Holder<'t, M: Machine> {
    /// The root of the tree hangs here.
    Anchor(&'t Anchor<M>),
    /// An inner node, and the child's number.
    Inner(&'t Inner<M>, usize),
    /// A leaf whose entry is a layer, and the entry's number.
    Leaf(&'t Leaf<M>, usize),
}

impl<M: Machine> Clone for Holder<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Holder<'_, M> {}

/// A holder in the state of a stamp.
pub(super) struct Place<'t, M: Machine> {
    pub(super) holder: Holder<'t, M>,
    pub(super) stamp: Stamp,
}

impl<M: Machine> Clone for Place<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Place<'_, M> {}

impl<'t, M: Machine> Place<'t, M> {
    fn version(&self) -> &'t NodeVersion<M> {
        match self.holder {
            Holder::Anchor(anchor) => &anchor.version,
            Holder::Inner(inner, _) => &inner.version,
            Holder::Leaf(leaf, _) => &leaf.version,
        }
    }

    /// The link to the node.
    pub(super) fn link(&self) -> &'t M::Link<Target> {
        match self.holder {
            Holder::Anchor(anchor) => &anchor.root,
            Holder::Inner(inner, index) => inner.child(index),
            Holder::Leaf(leaf, index) => leaf.link(index),
        }
    }

    /// Latches the holder if it is still as it was.
    pub(super) fn try_latch(&self) -> Option<Held<'t, M>> {
        self.version().try_latch(self.stamp)
    }
}

/// A full inner node and its holder.
pub(super) struct Full<'t, M: Machine> {
    pub(super) place: Place<'t, M>,
    pub(super) node: &'t Inner<M>,
    pub(super) stamp: Stamp,
}

/// The way to the leaf where a key is or would be.
pub(super) struct Path<'t, M: Machine> {
    /// The holder of the inner node that holds the leaf; `None` if no inner node does.
    pub(super) above: Option<Place<'t, M>>,
    /// The holder of the leaf.
    pub(super) place: Place<'t, M>,
    /// The leaf.
    pub(super) leaf: &'t Leaf<M>,
    pub(super) stamp: Stamp,
    /// Where the key is in the leaf, if the leaf is still as it was.
    pub(super) spot: Spot,
    /// The key's slice and rank in the leaf's layer, and where in the key the slice begins.
    pub(super) slice: u64,
    pub(super) rank: u64,
    pub(super) offset: usize,
    /// The highest of the full inner nodes right above the leaf, if its holder in the layer is one:
    /// the first to split when the leaf must be.
    pub(super) full: Option<Full<'t, M>>,
    /// The greatest slice that the leaf covers, as the nodes above it in the layer say.
    pub(super) high: u64,
}

impl<M: Machine> Path<'_, M> {
    /// The bytes of `key` after the slice.
    pub(super) fn rest<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        debug_assert!(self.rank == RANK_LONGER, "the key goes on");
        &key[self.offset + SLICE_BYTES..]
    }
}

impl<M: Machine> OrderedIndex<M> {
    /// Finds the leaf for `key` and the way to it.
    pub(super) fn locate<'t>(&'t self, key: &[u8]) -> Path<'t, M> {
        loop {
            if let Some(path) = self.try_locate(key) {
                return path;
            }
        }
    }

    #[inline(always)]
    fn try_locate<'t>(&'t self, key: &[u8]) -> Option<Path<'t, M>> {
        M::work(Cost::Descend, 1);
        let anchor: &'t Anchor<M> = &self.anchor;
        let mut place = Place { holder: Holder::Anchor(anchor), stamp: anchor.version.read() };
        let mut offset = 0;
        let (mut slice, mut rank) = (slice_at(key, 0), rank_at(key, 0));
        loop {
            let (mut above, mut full, mut high) = (None, None, u64::MAX);
            // Those of `place`, without a look at what kind of holder it is.
            let mut version = place.version();
            let mut child = place.link().load(Ordering::Relaxed);
            prefetch_node::<M>(child);
            if !version.holds(place.stamp) {
                return None;
            }
            while child.tag() == TAG_INNER {
                // SAFETY: the holder was validated after the link was read; we are pinned.
                let node: &'t Inner<M> = unsafe { inner_of(child) };
                let stamp = node.version.read();
                if !version.holds(place.stamp) {
                    return None;
                }
                if stamp.count() < INNER_KEYS {
                    full = None;
                } else if full.is_none() {
                    full = Some(Full { place, node, stamp });
                }
                above = Some(place);
                let index = node.search(slice);
                place = Place { holder: Holder::Inner(node, index), stamp };
                version = &node.version;
                high = high.min(node.key_above(index));
                child = node.child(index).load(Ordering::Relaxed);
                prefetch_node::<M>(child);
                if !version.holds(stamp) {
                    return None;
                }
            }
            // SAFETY: the holder was validated after the link was read; we are pinned.
            let leaf: &'t Leaf<M> = unsafe { leaf_of(child) };
            let stamp = leaf.version.read();
            if !version.holds(place.stamp) {
                return None;
            }
            let spot = leaf.find(stamp, slice, rank);
            let Spot::At(index, KIND_LAYER) = spot else {
                return Some(Path {
                    above,
                    place,
                    leaf,
                    stamp,
                    spot,
                    slice,
                    rank,
                    offset,
                    full,
                    high,
                });
            };
            place = Place { holder: Holder::Leaf(leaf, index), stamp };
            // The rank was that of keys that go on, so there are more bytes.
            offset += SLICE_BYTES;
            (slice, rank) = (slice_at(key, offset), rank_at(key, offset));
        }
    }
}
