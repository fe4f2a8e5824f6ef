//! Pairs: what two intentions that follow each other say of a table, as one overlay.
//!
//! Where only one of the two says anything, its own overlay is used as it is. Where both do, there is a node over both;
//! it can be grafted where both were built on the same part of the tree.

use crate::apply::{Entry, Stop, apply, check, grow, rebuild};
use crate::blocks::{Block, Blocks, Mark};
use crate::maker::Maker;
use crate::node::{NodeRef, Tree, ValueRef};
use crate::over::{NOTHING, Place};
use crate::overlay::Part;
use chiliad_machine::Machine;
use core::ops::Range;

/// The entry of a pair for a part of a tree.
#[derive(Clone, Copy)]
enum Spot {
    /// Neither of the two says anything of it.
    Nothing,
    /// The entry of one of the two: which, and where.
    One(u8, Place),
    /// Both say something: the number of the node over both.
    Both(u32),
}

/// A node over what both say of a part of a tree.
struct Over<M: Machine> {
    /// The root of the part, or a node of its key; `None`: a gap, or they were built on parts of different keys, and the
    /// entries are gone through.
    root: Option<NodeRef<M>>,
    /// Both were built on this very part, so it can be grafted.
    grafts: bool,
    /// The subtree that its part becomes, and whether anything is written there, if it can be grafted.
    after: Tree<M>,
    writes: bool,
    entries: Range<u32>,
    /// The entry of its own key, or [`NOTHING`].
    own: u32,
    left: Spot,
    right: Spot,
    /// How far the pair's change had come with it. What was made and replaced for it alone came after the node before.
    end: Mark,
    is_dead: bool,
}

/// The overlay of two intentions for one table.
pub struct PairOverlay<'b, M: Machine> {
    entries: Vec<Entry<'b, M>>,
    /// In the order in which they were built: children first.
    nodes: Vec<Over<M>>,
    root: Spot,
    blocks: Blocks<M>,
    /// Values that the first writes and the second writes over.
    overwritten: Vec<ValueRef<M>>,
}

/// Two parts at work.
struct Work<'w, 'b, M: Machine> {
    maker: &'w mut Maker<M>,
    pair: &'w mut PairOverlay<'b, M>,
    parts: [&'w mut Part<'b, M>; 2],
    /// Where each entry of the two is among those of both.
    moved: [Vec<u32>; 2],
}

impl<'b, M: Machine> PairOverlay<'b, M> {
    /// The overlay of what two intentions say of one table.
    ///
    /// # Errors
    /// [`Stop::OutOfMemory`].
    pub fn new(
        maker: &mut Maker<M>,
        first: &mut Part<'b, M>,
        second: &mut Part<'b, M>,
    ) -> Result<Self, Stop> {
        let (entries, moved, overwritten) = merge(&first.entries, &second.entries);
        let (nodes, blocks) = (Vec::with_capacity(4 * entries.len()), Blocks::new());
        let mut pair = Self { entries, nodes, root: Spot::Nothing, blocks, overwritten };
        let roots = [first.overlay.root, second.overlay.root];
        maker.exchange(&mut pair.blocks);
        let mut work = Work { maker, pair: &mut pair, parts: [first, second], moved };
        let built = work.build(roots);
        maker.exchange(&mut pair.blocks);
        match built {
            Ok(root) => {
                pair.root = root;
                Ok(pair)
            }
            Err(stop) => {
                pair.free(maker);
                Err(stop)
            }
        }
    }

    /// The tree after both.
    ///
    /// # Errors
    /// As for [`apply`]: one of the two does not commit.
    pub fn meld(
        &mut self,
        maker: &mut Maker<M>,
        first: &mut Part<'b, M>,
        second: &mut Part<'b, M>,
        tree: Tree<M>,
    ) -> Result<Tree<M>, Stop> {
        let root = self.root;
        let moved = [Vec::new(), Vec::new()];
        Work { maker, pair: self, parts: [first, second], moved }.meld(root, tree)
    }

    /// The outcome stands: appends what was replaced to `replaced`, and frees what is no part of the tree.
    pub fn settle(self, maker: &mut Maker<M>, replaced: &mut Vec<Block<M>>) {
        let mut start = Mark::START;
        for node in &self.nodes {
            let of = start..node.end;
            match node.is_dead {
                true => maker.free_made(&self.blocks, of),
                false => replaced.extend_from_slice(self.blocks.replaced(of)),
            }
            start = node.end;
        }
        replaced.extend(self.overwritten.into_iter().map(Block::Value));
    }

    /// Frees all that was made for it.
    pub fn free(self, maker: &mut Maker<M>) {
        maker.free_made(&self.blocks, Mark::START..self.blocks.mark());
    }
}

type Merged<'b, M> = (Vec<Entry<'b, M>>, [Vec<u32>; 2], Vec<ValueRef<M>>);

/// The entries of both, in the order of their keys; where each is among them; and the values that are written over.
fn merge<'b, M: Machine>(first: &[Entry<'b, M>], second: &[Entry<'b, M>]) -> Merged<'b, M> {
    let mut entries: Vec<Entry<'b, M>> = Vec::with_capacity(first.len() + second.len());
    let mut moved = [first, second].map(|of| Vec::with_capacity(of.len()));
    let mut overwritten = Vec::new();
    loop {
        let place = entries.len() as u32;
        let rest = [&first[moved[0].len()..], &second[moved[1].len()..]];
        let entry = match rest {
            [[one, ..], [other, ..]] if one.key == other.key => {
                if let (Some(gone), Some(_)) = (one.write, other.write) {
                    overwritten.extend(gone.value);
                }
                let base = [one.base, other.base].into_iter().flatten().min();
                moved[1].push(place);
                moved[0].push(place);
                Entry { key: one.key, base, write: other.write.or(one.write) }
            }
            [[one, ..], [other, ..]] if one.key < other.key => {
                moved[0].push(place);
                *one
            }
            [_, [other, ..]] => {
                moved[1].push(place);
                *other
            }
            [[one, ..], []] => {
                moved[0].push(place);
                *one
            }
            [[], []] => return (entries, moved, overwritten),
        };
        entries.push(entry);
    }
}

impl<M: Machine> Work<'_, '_, M> {
    fn push(&mut self, node: Over<M>) -> Spot {
        self.pair.nodes.push(node);
        Spot::Both(self.pair.nodes.len() as u32 - 1)
    }

    /// The tree that a spot's part becomes, if anything is said of it, and whether anything is written there.
    fn after(&self, spot: Spot) -> Option<(Tree<M>, bool)> {
        match spot {
            Spot::Nothing => None,
            Spot::One(member, place) => {
                let over = self.parts[member as usize].overlay.node(place)?;
                Some((over.after, over.writes))
            }
            Spot::Both(node) => {
                let over = &self.pair.nodes[node as usize];
                Some((over.after, over.writes))
            }
        }
    }

    /// Whether a spot can be part of something that is grafted.
    fn grafts(&self, spot: Spot) -> bool {
        match spot {
            Spot::Nothing | Spot::One(..) => true,
            Spot::Both(node) => self.pair.nodes[node as usize].grafts,
        }
    }

    fn build(&mut self, places: [Place; 2]) -> Result<Spot, Stop> {
        match places {
            [NOTHING, NOTHING] => return Ok(Spot::Nothing),
            [place, NOTHING] => return Ok(Spot::One(0, place)),
            [NOTHING, place] => return Ok(Spot::One(1, place)),
            _ => {}
        }
        let [Some(one), Some(other)] = [0, 1].map(|at| self.parts[at].overlay.node(places[at]))
        else {
            return Ok(Spot::Nothing);
        };
        let entries = self.union([one.entries.clone(), other.entries.clone()]);
        let root = one.base;
        let is_one_part = root == other.base;
        let children = [[one.left, other.left], [one.right, other.right]];
        if !is_one_part && !other.base.is_some_and(|node| root.is_some() && one.is_of(node)) {
            for (part, place) in self.parts.iter_mut().zip(places) {
                part.overlay.kill_all(place);
            }
            return self.over(None, false, entries, [Spot::Nothing; 2]);
        }
        for (part, place) in self.parts.iter_mut().zip(places) {
            part.overlay.kill(place);
        }
        let children = [self.build(children[0])?, self.build(children[1])?];
        let grafts = is_one_part && children.iter().all(|&child| self.grafts(child));
        self.over(root, grafts, entries, children)
    }

    /// The node over a node that both say something of, or over a gap.
    fn over(
        &mut self,
        root: Option<NodeRef<M>>,
        grafts: bool,
        entries: Range<u32>,
        [left, right]: [Spot; 2],
    ) -> Result<Spot, Stop> {
        let slice = &self.pair.entries[entries.start as usize..entries.end as usize];
        let own = root.and_then(|node| {
            let at = slice.binary_search_by(|entry| node.compare(entry.key)).ok()?;
            Some(entries.start + at as u32)
        });
        let write = own.and_then(|own| self.pair.entries[own as usize].write);
        let parts = [left, right].map(|spot| self.after(spot));
        let writes = write.is_some() || parts.iter().flatten().any(|part| part.1);
        let (after, writes) = match root {
            _ if !grafts => (Tree::EMPTY, false),
            None => {
                let grown = grow(self.maker, slice)?;
                (grown, grown.root.is_some())
            }
            Some(node) if writes => {
                let left = parts[0].map_or_else(|| node.left(), |part| part.0);
                let right = parts[1].map_or_else(|| node.right(), |part| part.0);
                (rebuild(self.maker, Tree::of(root), node, write, left, right)?, true)
            }
            Some(_) => (Tree::of(root), false),
        };
        let (own, end) = (own.unwrap_or(NOTHING), self.maker.mark());
        let is_dead = false;
        let over = Over { root, grafts, after, writes, entries, own, left, right, end, is_dead };
        Ok(self.push(over))
    }

    /// Where the entries of both are.
    fn union(&self, of: [Range<u32>; 2]) -> Range<u32> {
        let ends = |at: usize| {
            let moved = &self.moved[at];
            let range = &of[at];
            let last = moved.get(range.end.wrapping_sub(1) as usize)?;
            Some((*moved.get(range.start as usize)?, last + 1))
        };
        match (ends(0), ends(1)) {
            (Some(one), Some(other)) => one.0.min(other.0)..one.1.max(other.1),
            (Some(one), None) | (None, Some(one)) => one.0..one.1,
            (None, None) => 0..0,
        }
    }

    fn meld(&mut self, spot: Spot, tree: Tree<M>) -> Result<Tree<M>, Stop> {
        let over = match spot {
            Spot::Nothing => return Ok(tree),
            Spot::One(member, place) => {
                let Part { overlay, entries, .. } = &mut *self.parts[member as usize];
                return overlay.meld_part(self.maker, entries, place, tree);
            }
            Spot::Both(node) => &mut self.pair.nodes[node as usize],
        };
        if over.grafts && over.root == tree.root {
            return Ok(over.after);
        }
        over.is_dead = true;
        let (own, left, right) = (over.own, over.left, over.right);
        let is_of = |node| over.root.is_some_and(|root| root == node || root.has_key_of(node));
        let Some(node) = tree.root.filter(|node| is_of(*node)) else {
            let entries = over.entries.start as usize..over.entries.end as usize;
            self.kill_below(left);
            self.kill_below(right);
            return apply(self.maker, &self.pair.entries[entries], tree);
        };
        self.maker.visit();
        check(self.pair.entries.get(own as usize), node)?;
        let left = self.meld(left, node.left())?;
        let right = self.meld(right, node.right())?;
        let write = self.pair.entries.get(own as usize).and_then(|own| own.write);
        rebuild(self.maker, tree, node, write, left, right)
    }

    /// Nothing of this part is grafted.
    fn kill_below(&mut self, spot: Spot) {
        let children = match spot {
            Spot::Nothing => return,
            Spot::One(member, place) => {
                return self.parts[member as usize].overlay.kill_all(place);
            }
            Spot::Both(node) => {
                let over = &mut self.pair.nodes[node as usize];
                over.is_dead = true;
                [over.left, over.right]
            }
        };
        children.into_iter().for_each(|child| self.kill_below(child));
    }
}
