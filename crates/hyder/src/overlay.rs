//! What an intention says of a table, in the shape of the tree that it was built on.
//!
//! An overlay has a node for each node of its *base* tree on the paths to the intention's keys, and a *gap* where a path
//! ends and keys would be inserted. Each node knows the tree that its part of the base becomes (`after`): made when the
//! overlay is, long before its turn comes. Where the tree that it is melded with has the very subtree that the overlay
//! was built on, that is grafted as it is; only where others have written in between are the two gone through together.
//!
//! Verdicts depend on versions of keys alone, never on shapes: whatever state an overlay is built on, and however
//! often it is built again on a later one, the outcome is that of `apply.rs`.

use crate::apply::{Entry, Stop, apply, check, grow, rebuild, split};
use crate::blocks::{Block, Mark};
use crate::faults::GRAFTED_ON_EQUAL_KEY;
use crate::maker::Maker;
use crate::node::{NodeRef, Tree};
use crate::over::{NOTHING, Nodes, Over, Place};
use chiliad_machine::Machine;
use core::ops::Range;

/// An overlay of one table.
pub struct Overlay<M: Machine> {
    nodes: Nodes<M>,
    pub root: Place,
    /// How many of its nodes had gone when it was built.
    dead_when_built: usize,
}

/// The part of an intention about one table.
pub struct Part<'b, M: Machine> {
    pub table: u32,
    pub entries: Vec<Entry<'b, M>>,
    pub overlay: Overlay<M>,
}

/// A stage at work on an overlay: builds and melds with the blocks of its maker, or of the overlay.
pub struct Work<'w, 'a, M: Machine> {
    pub maker: &'w mut Maker<M>,
    pub overlay: &'w mut Overlay<M>,
    pub entries: &'w [Entry<'a, M>],
}

impl<M: Machine> Overlay<M> {
    /// An overlay that says nothing.
    pub fn new(maker: &mut Maker<M>) -> Self {
        Self { nodes: maker.nodes(), root: NOTHING, dead_when_built: 0 }
    }

    /// Builds an overlay of `entries` on `tree`.
    ///
    /// # Errors
    /// As for [`apply`]; the overlay is then to be dropped by [`Overlay::free`].
    pub fn build(
        &mut self,
        maker: &mut Maker<M>,
        entries: &[Entry<'_, M>],
        tree: Tree<M>,
    ) -> Result<(), Stop> {
        maker.exchange(&mut self.nodes.blocks);
        let mut work = Work { maker, overlay: self, entries };
        let built = work.build(0..entries.len() as u32, tree);
        maker.exchange(&mut self.nodes.blocks);
        self.root = built?;
        Ok(())
    }

    /// Premeld: builds the overlay again on a later state, where that differs from the one it was built on.
    ///
    /// # Errors
    /// As for [`Overlay::build`]: the verdict is final then, as versions only grow.
    pub fn rebase(
        &mut self,
        maker: &mut Maker<M>,
        entries: &[Entry<'_, M>],
        tree: Tree<M>,
    ) -> Result<(), Stop> {
        maker.exchange(&mut self.nodes.blocks);
        let root = self.root;
        let mut work = Work { maker, overlay: self, entries };
        let rebased = work.rebase(root, tree);
        maker.exchange(&mut self.nodes.blocks);
        self.root = rebased?;
        self.dead_when_built = self.nodes.dead.len();
        Ok(())
    }

    /// Final meld: the tree after the overlay's entries. What is made on the way is the maker's own.
    ///
    /// # Errors
    /// As for [`apply`].
    pub fn meld(
        &mut self,
        maker: &mut Maker<M>,
        entries: &[Entry<'_, M>],
        tree: Tree<M>,
    ) -> Result<Tree<M>, Stop> {
        let root = self.root;
        self.meld_part(maker, entries, root, tree)
    }

    /// The same for a part of it, and of the tree.
    ///
    /// # Errors
    /// As for [`apply`].
    pub fn meld_part(
        &mut self,
        maker: &mut Maker<M>,
        entries: &[Entry<'_, M>],
        place: Place,
        tree: Tree<M>,
    ) -> Result<Tree<M>, Stop> {
        Work { maker, overlay: self, entries }.meld(place, tree)
    }

    /// The overlay was melded, and the outcome stands: what was grafted of it is part of the tree. Frees the rest, and
    /// appends what was replaced to `replaced`.
    pub fn settle(self, maker: &mut Maker<M>, replaced: &mut Vec<Block<M>>) {
        let Nodes { built, blocks, dead } = &self.nodes;
        let mut is_dead = vec![false; built.len()];
        dead.iter().for_each(|&place| is_dead[place as usize] = true);
        let mut start = Mark::START;
        for (node, is_dead) in built.iter().zip(is_dead) {
            if node.end != start {
                let of = start..node.end;
                match is_dead {
                    true => maker.free_made(blocks, of),
                    false => replaced.extend_from_slice(blocks.replaced(of)),
                }
                start = node.end;
            }
        }
        maker.keep(self.nodes);
    }

    /// Frees all that was made for it: no part of it was grafted for good.
    pub fn free(self, maker: &mut Maker<M>) {
        let blocks = &self.nodes.blocks;
        maker.free_made(blocks, Mark::START..blocks.mark());
        maker.keep(self.nodes);
    }

    /// Nothing of this node is part of the overlay any more.
    pub fn kill(&mut self, place: Place) {
        self.nodes.dead.push(place);
    }

    /// The same for all nodes of this part.
    pub fn kill_all(&mut self, place: Place) {
        if let Some(node) = self.nodes.built.get(place as usize) {
            let (left, right) = (node.left, node.right);
            self.kill(place);
            self.kill_all(left);
            self.kill_all(right);
        }
    }

    /// The nodes that have gone since it was built are part of the overlay again.
    pub fn revive(&mut self) {
        self.nodes.dead.truncate(self.dead_when_built);
    }

    /// A node, if there is one at this place.
    pub fn node(&self, place: Place) -> Option<&Over<M>> {
        self.nodes.built.get(place as usize)
    }
}

impl<'a, M: Machine> Work<'_, 'a, M> {
    fn slice(&self, range: &Range<u32>) -> &[Entry<'a, M>] {
        &self.entries[range.start as usize..range.end as usize]
    }

    fn push(&mut self, node: Over<M>) -> Place {
        self.overlay.nodes.built.push(node);
        self.overlay.nodes.built.len() as Place - 1
    }

    fn build(&mut self, range: Range<u32>, tree: Tree<M>) -> Result<Place, Stop> {
        if range.is_empty() {
            return Ok(NOTHING);
        }
        let Some(node) = tree.root else { return self.gap(range) };
        self.maker.visit();
        let (lesser, own, _) = split(self.slice(&range), node);
        check(own, node)?;
        let middle = range.start + lesser.len() as u32;
        let is_there = own.is_some();
        let left = self.build(range.start..middle, node.left())?;
        let right = self.build(middle + u32::from(is_there)..range.end, node.right())?;
        self.over(tree, node, range, if is_there { middle } else { NOTHING }, left, right)
    }

    /// Keys that the base does not have.
    fn gap(&mut self, range: Range<u32>) -> Result<Place, Stop> {
        let entries = &self.entries[range.start as usize..range.end as usize];
        let after = grow(self.maker, entries)?;
        Ok(self.push(Over {
            base: None,
            after,
            entries: range,
            own: NOTHING,
            left: NOTHING,
            right: NOTHING,
            end: self.maker.mark(),
            writes: after.root.is_some(),
        }))
    }

    /// The node over a node of the base, with these parts on both sides.
    fn over(
        &mut self,
        base: Tree<M>,
        node: NodeRef<M>,
        entries: Range<u32>,
        own: u32,
        left: Place,
        right: Place,
    ) -> Result<Place, Stop> {
        let part = |place: Place| self.overlay.nodes.built.get(place as usize);
        let write = self.entries.get(own as usize).and_then(|own| own.write);
        let writes = |place| part(place).is_some_and(|it| it.writes);
        let writes = write.is_some() || writes(left) || writes(right);
        let left_tree = part(left).map_or_else(|| node.left(), |it| it.after);
        let right_tree = part(right).map_or_else(|| node.right(), |it| it.after);
        let after = match writes {
            true => rebuild(self.maker, base, node, write, left_tree, right_tree)?,
            false => base,
        };
        let (base, end) = (Some(node), self.maker.mark());
        Ok(self.push(Over { base, after, entries, own, left, right, end, writes }))
    }

    fn rebase(&mut self, place: Place, tree: Tree<M>) -> Result<Place, Stop> {
        let Some(over) = self.overlay.nodes.built.get(place as usize) else { return Ok(NOTHING) };
        if over.base == tree.root {
            return Ok(place);
        }
        let (entries, own, left, right) = (over.entries.clone(), over.own, over.left, over.right);
        let Some(node) = tree.root.filter(|node| over.is_of(*node)) else {
            self.overlay.kill_all(place);
            return self.build(entries, tree);
        };
        self.maker.visit();
        self.overlay.kill(place);
        check(self.entries.get(own as usize), node)?;
        let left = self.rebase(left, node.left())?;
        let right = self.rebase(right, node.right())?;
        self.over(tree, node, entries, own, left, right)
    }

    fn meld(&mut self, place: Place, tree: Tree<M>) -> Result<Tree<M>, Stop> {
        let Some(over) = self.overlay.nodes.built.get(place as usize) else { return Ok(tree) };
        let is_like = |node| M::fault(&GRAFTED_ON_EQUAL_KEY) && over.is_of(node);
        if over.base == tree.root || tree.root.is_some_and(is_like) {
            return Ok(over.after);
        }
        let (own, left, right) = (over.own, over.left, over.right);
        let Some(node) = tree.root.filter(|node| over.is_of(*node)) else {
            let entries = over.entries.start as usize..over.entries.end as usize;
            self.overlay.kill_all(place);
            return apply(self.maker, &self.entries[entries], tree);
        };
        self.maker.visit();
        self.overlay.kill(place);
        let own = self.entries.get(own as usize);
        check(own, node)?;
        let left = self.meld(left, node.left())?;
        let right = self.meld(right, node.right())?;
        rebuild(self.maker, tree, node, own.and_then(|own| own.write), left, right)
    }
}
