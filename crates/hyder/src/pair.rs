//! Group meld: two intentions that follow each other are melded into one overlay, which is melded with the state once.
//!
//! Where only one of the two says anything, its own overlay is used as it is. Where both do, there is a node over both;
//! it can be grafted where both were built on the same part of the tree.

use crate::apply::{Entry, Stop, apply, check, grow, rebuild};
use crate::intention::bound_at;
use crate::item::{Item, Part};
use crate::maker::{Blocks, Maker, Mark};
use crate::node::{Key, Tree, ValueRef};
use crate::overlay::{NOTHING, Place};
use chiliad_machine::Machine;
use core::cmp::Ordering;
use core::ops::{Range, RangeBounds};

/// The entry of a pair for a part of a tree, by number.
type Spot = u32;

/// The entry of a pair for a part of a tree.
enum Both<M: Machine> {
    /// The entry of one of the two: which, and where.
    One(usize, Place),
    /// Both say something of the same node, or gap.
    Node(Over<M>),
    /// Both say something, and were built on different parts: the keys are gone through.
    Keys(Range<u32>),
}

struct Over<M: Machine> {
    /// The part that both were built on; `None`: they were built on different ones of one key.
    base: Option<Tree<M>>,
    after: Tree<M>,
    key: Tree<M>,
    entries: Range<u32>,
    own: Option<u32>,
    left: Spot,
    right: Spot,
    blocks: Range<Mark>,
    is_dead: bool,
}

/// The overlay of two intentions for one table.
pub struct PairOverlay<'b, M: Machine> {
    entries: Vec<Entry<'b, M>>,
    spots: Vec<Both<M>>,
    root: Spot,
    blocks: Blocks<M>,
    /// Values that the first writes and the second writes over.
    overwritten: Vec<ValueRef<M>>,
}

/// Whether the second of two intentions depends on what the first one writes.
pub fn is_in_conflict<M: Machine>(first: &Item<'_, M>, second: &Item<'_, M>) -> bool {
    for part in &first.parts {
        let written = || part.entries.iter().filter(|entry| entry.write.is_some());
        if let Some(other) = second.parts.iter().find(|other| other.table == part.table) {
            let depends = |key: Key<'_>| {
                let found = other.entries.binary_search_by(|entry| entry.key.cmp(&key));
                let base = found.ok().and_then(|at| other.entries[at].base);
                base.is_some_and(|base| base < first.label)
            };
            if written().any(|entry| depends(entry.key)) {
                return true;
            }
        }
        let ranges = second.intention.ranges.iter().filter(|range| range.table == part.table);
        for range in ranges {
            let low = bound_at(second.bytes, &range.low);
            let bounds = (low, bound_at(second.bytes, &range.high));
            if second.intention.snapshot < first.label
                && written().any(|entry| bounds.contains(entry.key.bytes()))
            {
                return true;
            }
        }
    }
    false
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
        let mut pair =
            Self { entries, spots: Vec::new(), root: NOTHING, blocks: Blocks::new(), overwritten };
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

    /// The outcome stands.
    pub fn settle(mut self, maker: &mut Maker<M>) {
        for spot in &self.spots {
            if let Both::Node(over) = spot {
                match over.is_dead {
                    true => maker.free_made(&mut self.blocks, over.blocks.clone()),
                    false => maker.take_replaced(&mut self.blocks, over.blocks.clone()),
                }
            }
        }
        self.overwritten.into_iter().for_each(|value| maker.replace_value(Some(value)));
    }

    /// Frees all that was made for it.
    pub fn free(mut self, maker: &mut Maker<M>) {
        let end = self.blocks.mark();
        maker.free_made(&mut self.blocks, Mark::START..end);
    }
}

type Merged<'b, M> = (Vec<Entry<'b, M>>, [Vec<u32>; 2], Vec<ValueRef<M>>);

/// The entries of both, in the order of their keys.
fn merge<'b, M: Machine>(first: &[Entry<'b, M>], second: &[Entry<'b, M>]) -> Merged<'b, M> {
    let mut entries: Vec<Entry<'b, M>> = Vec::with_capacity(first.len() + second.len());
    let mut moved = [Vec::new(), Vec::new()];
    let mut overwritten = Vec::new();
    let (mut one, mut other) = (first.iter().peekable(), second.iter().peekable());
    loop {
        let order = match (one.peek(), other.peek()) {
            (None, None) => return (entries, moved, overwritten),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.key.cmp(&other.key),
        };
        let place = entries.len() as u32;
        let before = if order.is_le() { one.next() } else { None };
        let after = if order.is_ge() { other.next() } else { None };
        moved[0].extend(before.map(|_| place));
        moved[1].extend(after.map(|_| place));
        let Some(key) = before.or(after).map(|entry| entry.key) else { continue };
        let writes = [before, after].map(|entry| entry.and_then(|entry| entry.write));
        if let [Some(gone), Some(_)] = writes {
            overwritten.extend(gone.value);
        }
        let bases = [before, after].map(|entry| entry.and_then(|entry| entry.base));
        let base = bases.into_iter().flatten().min();
        entries.push(Entry { key, base, write: writes[1].or(writes[0]) });
    }
}

impl<M: Machine> Work<'_, '_, M> {
    fn push(&mut self, spot: Both<M>) -> Spot {
        self.pair.spots.push(spot);
        self.pair.spots.len() as Spot - 1
    }

    /// The tree that a spot's part becomes, if anything is said of it, and whether anything is written there.
    fn after(&self, spot: Spot) -> Option<(Tree<M>, bool)> {
        match self.pair.spots.get(spot as usize)? {
            Both::One(member, place) => {
                let over = self.parts[*member].overlay.node(*place)?;
                Some((over.after, over.writes))
            }
            Both::Node(over) => Some((over.after, over.base.is_none_or(|it| !it.is(over.after)))),
            Both::Keys(_) => None,
        }
    }

    /// Whether a spot can be part of something that is grafted.
    fn grafts(&self, spot: Spot) -> bool {
        match self.pair.spots.get(spot as usize) {
            None | Some(Both::One(..)) => true,
            Some(Both::Node(over)) => over.base.is_some(),
            Some(Both::Keys(_)) => false,
        }
    }

    fn build(&mut self, places: [Place; 2]) -> Result<Spot, Stop> {
        match places {
            [NOTHING, NOTHING] => return Ok(NOTHING),
            [place, NOTHING] => return Ok(self.push(Both::One(0, place))),
            [NOTHING, place] => return Ok(self.push(Both::One(1, place))),
            _ => {}
        }
        let [Some(one), Some(other)] = [0, 1].map(|at| self.parts[at].overlay.node(places[at]))
        else {
            return Ok(NOTHING);
        };
        let entries = self.union([one.entries.clone(), other.entries.clone()]);
        let bases = [one.base, other.base];
        let children = [[one.left, other.left], [one.right, other.right]];
        let is_same = match bases.map(|base| base.root) {
            [None, None] => true,
            [Some(_), Some(node)] => one.is_of(node),
            _ => false,
        };
        if !is_same {
            for (part, place) in self.parts.iter_mut().zip(places) {
                part.overlay.kill_all(place);
            }
            return Ok(self.push(Both::Keys(entries)));
        }
        for (part, place) in self.parts.iter_mut().zip(places) {
            part.overlay.kill(place);
        }
        let left = self.build(children[0])?;
        let right = self.build(children[1])?;
        let base = Some(bases[0]).filter(|base| base.is(bases[1]));
        let base = base.filter(|_| self.grafts(left) && self.grafts(right));
        self.over(base, bases[0], entries, left, right)
    }

    /// The node over a node that both say something of, or over a gap.
    fn over(
        &mut self,
        base: Option<Tree<M>>,
        key: Tree<M>,
        entries: Range<u32>,
        left: Spot,
        right: Spot,
    ) -> Result<Spot, Stop> {
        let slice = &self.pair.entries[entries.start as usize..entries.end as usize];
        let own = key.root.and_then(|node| {
            let at = slice.binary_search_by(|entry| node.compare(entry.key)).ok()?;
            Some(entries.start + at as u32)
        });
        let start = self.maker.mark();
        let after = match (base, key.root) {
            (None, _) => key,
            (Some(_), None) => grow(self.maker, slice)?,
            (Some(base), Some(node)) => {
                let write = own.and_then(|own| self.pair.entries[own as usize].write);
                let (left, right) = (self.after(left), self.after(right));
                let writes = write.is_some()
                    || left.is_some_and(|left| left.1)
                    || right.is_some_and(|right| right.1);
                let left = left.map_or_else(|| node.left(), |left| left.0);
                let right = right.map_or_else(|| node.right(), |right| right.0);
                match writes {
                    true => rebuild(self.maker, base, node, write, left, right)?,
                    false => base,
                }
            }
        };
        let (blocks, is_dead) = (start..self.maker.mark(), false);
        let over = Over { base, after, key, entries, own, left, right, blocks, is_dead };
        Ok(self.push(Both::Node(over)))
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
        let over = match self.pair.spots.get_mut(spot as usize) {
            None => return Ok(tree),
            Some(Both::One(member, place)) => {
                let Part { overlay, entries, .. } = &mut *self.parts[*member];
                return overlay.meld_part(self.maker, entries, *place, tree);
            }
            Some(Both::Keys(entries)) => {
                let entries = entries.start as usize..entries.end as usize;
                return apply(self.maker, &self.pair.entries[entries], tree);
            }
            Some(Both::Node(over)) => over,
        };
        if over.base.is_some_and(|base| base.is(tree)) {
            return Ok(over.after);
        }
        over.is_dead = true;
        let (entries, own, left, right) = (over.entries.clone(), over.own, over.left, over.right);
        let is_of = |node| over.key.root.is_some_and(|key| key == node || key.has_key_of(node));
        let Some(node) = tree.root.filter(|node| is_of(*node)) else {
            self.kill_below(left);
            self.kill_below(right);
            let entries = entries.start as usize..entries.end as usize;
            return apply(self.maker, &self.pair.entries[entries], tree);
        };
        self.maker.visit();
        check(own.map(|own| &self.pair.entries[own as usize]), node)?;
        let left = self.meld(left, node.left())?;
        let right = self.meld(right, node.right())?;
        let write = own.and_then(|own| self.pair.entries[own as usize].write);
        rebuild(self.maker, tree, node, write, left, right)
    }

    /// Nothing of this part is grafted.
    fn kill_below(&mut self, spot: Spot) {
        let children = match self.pair.spots.get_mut(spot as usize) {
            None | Some(Both::Keys(_)) => return,
            Some(Both::One(member, place)) => {
                return self.parts[*member].overlay.kill_all(*place);
            }
            Some(Both::Node(over)) => {
                over.is_dead = true;
                [over.left, over.right]
            }
        };
        children.into_iter().for_each(|child| self.kill_below(child));
    }
}
