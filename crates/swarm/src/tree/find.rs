//! Looking for a key.

use super::node::{
    AWAY, CHILDREN, Entries, FAR, Found, HEIGHT_MAX, Inner, Kind, LEAF_SLOTS, Leaf, MARK, NEAR,
    SLOTS, Slots, Sought, Tree, Way, compare, home, lines_from,
};
use crate::record::{KeySource, Place, Prefix};
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

    /// Whether entries of this line were passed on: `AWAY` or `FAR`.
    pub(super) fn is_marked(&self, which: usize) -> bool {
        self.rows[which].load(Ordering::Relaxed).tag() == MARK
    }

    /// The first bytes of an entry's key.
    pub(super) fn prefix(&self, slot: usize) -> Prefix {
        let [first, second] = &self.prefixes[slot];
        Prefix::of([first, second].map(|word| word.load(Ordering::Relaxed)))
    }

    /// The entry of this key.
    fn find(&self, key: &Sought<'_, M>) -> Option<usize> {
        let is_equal = |row: Place<M>| row.compare_key(key.key) == cmp::Ordering::Equal;
        (0..SLOTS)
            .find(|&slot| self.prefix(slot) == key.prefix && self.row(slot).is_some_and(is_equal))
    }
}

impl<'k, M: Machine> Sought<'k, M> {
    pub(super) fn new(key: KeySource<'k, M>) -> Self {
        Self { key, prefix: key.prefix(), home: home(key) }
    }

    /// The order of an entry and this key.
    pub(super) fn order(&self, entry: &Found<M>) -> cmp::Ordering {
        entry.0.cmp(&self.prefix).then_with(|| entry.1.compare_key(self.key))
    }
}

impl<M: Machine> Inner<M> {
    /// The child on the way to a key.
    fn child(&self, key: KeySource<'_, M>, side: Side) -> usize {
        M::work(Cost::InnerSearch, 1);
        let prefix = key.prefix().first();
        let passed = |at: usize| {
            let bound = self.prefixes[at].load(Ordering::Relaxed);
            let order = bound.cmp(&prefix).then_with(|| {
                let bound = Place::from_pointer(self.bounds[at].load(Ordering::Relaxed).pointer());
                bound.map_or(cmp::Ordering::Greater, |bound| bound.compare_key(key))
            });
            order == cmp::Ordering::Less || order == cmp::Ordering::Equal && side == Side::At
        };
        // The bounds below `low` are passed, those from `high` on are not.
        let (mut low, mut high) = (0, self.count().saturating_sub(1).min(CHILDREN - 1));
        while low < high {
            let middle = (low + high) / 2;
            if passed(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl<M: Machine> Leaf<M> {
    /// Line and slot of the entry of this key.
    pub(super) fn find(&self, key: &Sought<'_, M>) -> Option<(usize, usize)> {
        M::work(Cost::LeafSearch, 1);
        let home = &self.lines[key.home];
        for (passed, line) in lines_from(key.home).enumerate() {
            if passed == 1 && !home.is_marked(AWAY) || passed == NEAR && !home.is_marked(FAR) {
                break;
            }
            if let Some(slot) = self.lines[line].find(key) {
                return Some((line, slot));
            }
        }
        None
    }

    /// Gives all entries to `visit`, in no order.
    fn each(&self, mut visit: impl FnMut(Found<M>)) {
        for line in &self.lines {
            M::work(Cost::BucketSearch, 1);
            for slot in 0..SLOTS {
                if let Some(row) = line.row(slot) {
                    visit((line.prefix(slot), row));
                }
            }
        }
    }

    /// Takes the entry of this key out.
    pub(super) fn take(&self, key: KeySource<'_, M>) -> Option<Place<M>> {
        let (line, slot) = self.find(&Sought::new(key))?;
        let row = self.lines[line].row(slot)?;
        self.lines[line].clear(slot);
        M::work(Cost::IndexChange, 1);
        Some(row)
    }
}

impl<M: Machine> Entries<M> {
    pub(super) fn new() -> Self {
        Self { found: [None; LEAF_SLOTS], count: 0 }
    }

    /// Takes those of a leaf that are wanted, in no order, in the place of what was here.
    pub(super) fn fill(&mut self, leaf: &Leaf<M>, wanted: impl Fn(Found<M>) -> bool) {
        self.count = 0;
        leaf.each(|entry| {
            if wanted(entry) {
                self.add(entry);
            }
        });
    }

    /// Takes the first of those of a leaf that are wanted, or the last one, in the place of what was here.
    pub(super) fn fill_with_end(
        &mut self,
        leaf: &Leaf<M>,
        wanted: impl Fn(Found<M>) -> bool,
        last: bool,
    ) {
        let before = if last { cmp::Ordering::Greater } else { cmp::Ordering::Less };
        let mut end = None::<Found<M>>;
        leaf.each(|entry| {
            if wanted(entry) && end.is_none_or(|end| compare(&entry, &end) == before) {
                end = Some(entry);
            }
        });
        self.count = 0;
        end.into_iter().for_each(|entry| self.add(entry));
    }

    /// Takes those of a leaf whose keys are above a new one's. Returns how many the leaf has, and the last one below.
    pub(super) fn above(
        &mut self,
        leaf: &Leaf<M>,
        new: &Sought<'_, M>,
    ) -> (usize, Option<Found<M>>) {
        let (mut count, mut last) = (0, None::<Found<M>>);
        self.count = 0;
        leaf.each(|entry| {
            count += 1;
            if new.order(&entry) == cmp::Ordering::Greater {
                self.add(entry);
            } else if last.is_none_or(|last| compare(&entry, &last) == cmp::Ordering::Greater) {
                last = Some(entry);
            }
        });
        (count, last)
    }

    /// The first of them, by their keys.
    pub(super) fn first(&self) -> Option<Found<M>> {
        self.all().min_by(compare)
    }

    /// Whether those above a new key, which are here, are few of so many.
    pub(super) fn is_end(&self, count: usize) -> bool {
        self.count <= count / 4
    }

    fn add(&mut self, entry: Found<M>) {
        M::work(Cost::Entry, 1);
        self.found[self.count] = Some(entry);
        self.count += 1;
    }

    /// Those that there are.
    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = Found<M>> {
        self.found[..self.count].iter().copied().flatten()
    }

    /// Brings them into the order of their keys.
    pub(super) fn sort(&mut self) {
        self.found[..self.count].sort_unstable_by(in_order);
    }

    /// The one in the middle, by their keys, and the last one below it; they change their places.
    pub(super) fn middle(&mut self) -> Option<[Found<M>; 2]> {
        let middle = self.count / 2;
        let (below, first, _) = self.found[..self.count].select_nth_unstable_by(middle, in_order);
        let last = below.iter().copied().max_by(in_order)?;
        Some([last?, (*first)?])
    }
}

/// The order of two entries of which every one is in use.
fn in_order<M: Machine>(one: &Option<Found<M>>, two: &Option<Found<M>>) -> cmp::Ordering {
    match (one, two) {
        (Some(one), Some(two)) => compare(one, two),
        (one, two) => two.is_some().cmp(&one.is_some()),
    }
}

impl<'t, T: Lines> Tree<'t, T> {
    /// The row of a key.
    pub(crate) fn find(&self, key: KeySource<'_, T::Machine>) -> Option<Place<T::Machine>> {
        let (leaf, _) = self.descend(key, Side::At);
        let (line, slot) = leaf.find(&Sought::new(key))?;
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
