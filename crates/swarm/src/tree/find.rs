//! Looking for a key.

use super::node::{
    CHILDREN, Entries, Found, HEIGHT_MAX, Inner, Kind, LEAF_LINES, LEAF_SLOTS, Leaf, MARK, SLOTS,
    Slots, Tree, Way, compare, home,
};
use crate::record::{KeySource, Place};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{Cost, Link as _, Machine, Ordering, Word as _};
use core::cmp;

/// Which child of an inner node a way takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The one that has the key.
    At,
    /// The one that has the keys just below it.
    Below,
}

impl<M: Machine> Slots<M> {
    /// The row of an entry.
    pub(super) fn row(&self, slot: usize) -> Option<Place<M>> {
        Place::from_pointer(self.rows[slot].load(Ordering::Relaxed).pointer())
    }

    /// Whether entries were passed on to the next line.
    pub(super) fn is_marked(&self) -> bool {
        self.rows[0].load(Ordering::Relaxed).tag() == MARK
    }

    /// The entry of this key.
    fn find(&self, key: KeySource<'_, M>, prefix: u64) -> Option<usize> {
        (0..SLOTS).find(|&slot| {
            self.prefixes[slot].load(Ordering::Relaxed) == prefix
                && self.row(slot).is_some_and(|row| row.compare_key(key) == cmp::Ordering::Equal)
        })
    }
}

impl<M: Machine> Inner<M> {
    /// The child on the way to a key.
    fn child(&self, key: KeySource<'_, M>, side: Side) -> usize {
        M::work(Cost::InnerSearch, 1);
        let prefix = key.prefix();
        let last = self.count().saturating_sub(1).min(CHILDREN - 1);
        let passed = |at: &usize| {
            let bound = self.prefixes[*at].load(Ordering::Relaxed);
            let order = bound.cmp(&prefix).then_with(|| {
                let bound = Place::from_pointer(self.bounds[*at].load(Ordering::Relaxed).pointer());
                bound.map_or(cmp::Ordering::Greater, |bound| bound.compare_key(key))
            });
            order == cmp::Ordering::Less || order == cmp::Ordering::Equal && side == Side::At
        };
        (0..last).take_while(passed).count()
    }
}

impl<M: Machine> Leaf<M> {
    /// Line and slot of the entry of this key.
    pub(super) fn find(&self, key: KeySource<'_, M>) -> Option<(usize, usize)> {
        M::work(Cost::LeafSearch, 1);
        let (home, prefix) = (home(key), key.prefix());
        for line in (home..home + LEAF_LINES).map(|line| line % LEAF_LINES) {
            if let Some(slot) = self.lines[line].find(key, prefix) {
                return Some((line, slot));
            }
            if !self.lines[line].is_marked() {
                return None;
            }
        }
        None
    }

    /// All entries, in no order.
    pub(super) fn entries(&self) -> Entries<M> {
        let mut entries = Entries { found: [None; LEAF_SLOTS], count: 0 };
        for line in &self.lines {
            for slot in 0..SLOTS {
                if let Some(row) = line.row(slot) {
                    entries.found[entries.count] =
                        Some((line.prefixes[slot].load(Ordering::Relaxed), row));
                    entries.count += 1;
                }
            }
        }
        M::work(Cost::Entry, entries.count as u32);
        entries
    }
}

impl<M: Machine> Entries<M> {
    /// Forgets those that are not wanted.
    pub(super) fn keep(&mut self, wanted: impl Fn(Found<M>) -> bool) {
        let mut kept = 0;
        for at in 0..self.count {
            if self.found[at].is_some_and(&wanted) {
                self.found.swap(kept, at);
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Brings them into the order of their keys.
    pub(super) fn sorted(mut self) -> Self {
        // Every slot below the count is in use.
        let order = |one: &Option<_>, two: &Option<_>| match (one, two) {
            (Some(one), Some(two)) => compare(one, two),
            (one, two) => two.is_some().cmp(&one.is_some()),
        };
        self.found[..self.count].sort_unstable_by(order);
        self
    }
}

impl<'t, T: Lines> Tree<'t, T> {
    /// The row of a key.
    pub(crate) fn find(&self, key: KeySource<'_, T::Machine>) -> Option<Place<T::Machine>> {
        let (leaf, _) = self.descend(key, Side::At);
        let (line, slot) = leaf.find(key)?;
        leaf.lines[line].row(slot)
    }

    /// The leaf that has a key, or those just below it.
    pub(super) fn descend(
        &self,
        key: KeySource<'_, T::Machine>,
        side: Side,
    ) -> (&'t Leaf<T::Machine>, Way<'t, T::Machine>) {
        self.descend_by(&|inner| inner.child(key, side))
    }

    /// The leaf that has the last keys.
    pub(super) fn descend_last(&self) -> (&'t Leaf<T::Machine>, Way<'t, T::Machine>) {
        self.descend_by(&|inner| inner.count().saturating_sub(1))
    }

    /// The leaf at the end of the way that `choose` takes.
    fn descend_by(
        &self,
        choose: &dyn Fn(&Inner<T::Machine>) -> usize,
    ) -> (&'t Leaf<T::Machine>, Way<'t, T::Machine>) {
        T::Machine::work(Cost::Descend, 1);
        let mut way = Way { steps: [None; HEIGHT_MAX], depth: 0 };
        let mut link = self.root.link().load(Ordering::Relaxed);
        loop {
            let inner = match self.node(link) {
                Kind::Leaf(leaf) => return (leaf, way),
                Kind::Inner(inner) => inner,
            };
            if way.depth == HEIGHT_MAX {
                self.memory.trap("a way down that does not end");
            }
            let child = choose(inner);
            way.steps[way.depth] = Some((inner, child));
            way.depth += 1;
            link = inner.children[child].load(Ordering::Relaxed);
        }
    }
}
