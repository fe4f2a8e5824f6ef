//! Nodes of overlays, and the memory that they take.

use crate::blocks::{Blocks, Mark};
use crate::node::{NodeRef, Tree};
use chiliad_machine::Machine;
use core::ops::Range;

/// A node of an overlay, by number.
pub type Place = u32;

/// No node: nothing is said of this part of the tree.
pub const NOTHING: Place = u32::MAX;

/// A node of an overlay, or a gap: one cache line, as the last stage waits for each that it looks at.
#[repr(align(64))]
pub struct Over<M: Machine> {
    /// The root of the part of the base that it stands for; `None`: a gap, in which the base has nothing.
    pub base: Option<NodeRef<M>>,
    /// The subtree that replaces its part of the base.
    pub after: Tree<M>,
    /// The entries of its part.
    pub entries: Range<u32>,
    /// The one of its own key, or [`NOTHING`].
    pub own: u32,
    pub left: Place,
    pub right: Place,
    /// How far the overlay's change had come with it. What was made and replaced for it alone came after the node
    /// before.
    pub end: Mark,
    /// Whether any of its entries writes.
    pub writes: bool,
}

impl<M: Machine> Over<M> {
    /// Whether it stands for a node of the same key.
    pub fn is_of(&self, node: NodeRef<M>) -> bool {
        self.base.is_some_and(|base| base == node || base.has_key_of(node))
    }
}

/// The nodes of an overlay.
pub struct Nodes<M: Machine> {
    /// In the order in which they were built: children first.
    pub built: Vec<Over<M>>,
    /// The blocks that were made for all of them, and those that they replace.
    pub blocks: Blocks<M>,
    /// Those that are no part of the overlay any more: what was made for them is part of no state.
    pub dead: Vec<Place>,
}

impl<M: Machine> Default for Nodes<M> {
    fn default() -> Self {
        Self { built: Vec::new(), blocks: Blocks::new(), dead: Vec::new() }
    }
}

impl<M: Machine> Nodes<M> {
    /// Forgets them all, and keeps their memory.
    pub fn clear(&mut self) {
        self.built.clear();
        self.blocks.clear();
        self.dead.clear();
    }
}
