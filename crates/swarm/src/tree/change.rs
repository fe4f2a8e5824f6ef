//! Insertions, and what makes room for them.

use super::find::Side;
use super::node::{
    CHILDREN, Found, INNER, Inner, LEAF_LINES, LEAF_SLOTS, Leaf, MARK, Node, SLOTS, Tree, Way, home,
};
use crate::memory::NoMemory;
use crate::record::{KeySource, Place, free_lines, line_of};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{Cost, Link as _, Machine, Ordering, Tagged, Word as _};

/// Lines, from a key's own on, where an entry is put as long as its leaf is less than half full or has room there.
const NEAR: usize = 4;

impl<M: Machine> Leaf<M> {
    /// Puts an entry, whose key is not there, into its line or one of the `reach` lines from there on. Says whether
    /// there was room.
    fn put(&self, (prefix, row): Found<M>, reach: usize) -> bool {
        let home = home(KeySource::Of(row));
        let lines = || (home..home + reach).map(|line| &self.lines[line % LEAF_LINES]);
        let room = lines().enumerate().find_map(|(passed, line)| {
            let slot = (0..SLOTS).find(|&slot| line.row(slot).is_none())?;
            Some((passed, line, slot))
        });
        let Some((passed, line, slot)) = room else { return false };
        for full in lines().take(passed).filter(|line| !line.is_marked()) {
            let first = full.rows[0].load(Ordering::Relaxed);
            full.rows[0].store(Tagged::new(first.pointer(), MARK), Ordering::Relaxed);
        }
        let tag = line.rows[slot].load(Ordering::Relaxed).tag();
        line.prefixes[slot].store(prefix, Ordering::Relaxed);
        line.rows[slot].store(Tagged::new(row.pointer(), tag), Ordering::Relaxed);
        M::work(Cost::IndexChange, 1);
        true
    }

    /// Makes it empty, without marks.
    fn clear(&self) {
        for line in &self.lines {
            line.rows.iter().for_each(|row| row.store(Tagged::null(), Ordering::Relaxed));
        }
    }
}

impl<M: Machine> Inner<M> {
    /// Moves child `from` and the bound in front of it to `to` in `target`.
    fn hand(&self, from: usize, target: &Self, to: usize) {
        let child = self.children[from].load(Ordering::Relaxed);
        target.children[to].store(child, Ordering::Relaxed);
        if let (Some(before), Some(at)) = (from.checked_sub(1), to.checked_sub(1)) {
            let prefix = self.prefixes[before].load(Ordering::Relaxed);
            let bound = self.bounds[before].load(Ordering::Relaxed);
            target.prefixes[at].store(prefix, Ordering::Relaxed);
            target.bounds[at].store(bound, Ordering::Relaxed);
        }
    }

    /// Inserts a child that has the keys from `bound` on as number `at`, which is not the first. There is room.
    fn insert(&self, at: usize, bound: Place<M>, child: Tagged<Node<M>>) {
        let count = self.count();
        for from in (at..count).rev() {
            self.hand(from, self, from + 1);
        }
        self.prefixes[at - 1].store(KeySource::Of(bound).prefix(), Ordering::Relaxed);
        self.bounds[at - 1].store(Tagged::new(bound.pointer(), 0), Ordering::Relaxed);
        self.children[at].store(child, Ordering::Relaxed);
        self.count.store(count as u64 + 1, Ordering::Relaxed);
        M::work(Cost::IndexChange, 1);
    }

    /// Takes child `at` out, with the bound that told it from the one before; the first one's is that after it.
    /// Returns the bound. There is more than one child.
    pub(super) fn remove(&self, at: usize) -> Option<Place<M>> {
        let bound = self.bounds[at.saturating_sub(1)].load(Ordering::Relaxed).pointer();
        let count = self.count();
        if at == 0 {
            let child = self.children[1].load(Ordering::Relaxed);
            self.children[0].store(child, Ordering::Relaxed);
        }
        for from in at.max(1) + 1..count {
            self.hand(from, self, from - 1);
        }
        self.children[count - 1].store(Tagged::null(), Ordering::Relaxed);
        self.bounds[count - 2].store(Tagged::null(), Ordering::Relaxed);
        self.count.store(count as u64 - 1, Ordering::Relaxed);
        M::work(Cost::IndexChange, 1);
        Place::from_pointer(bound)
    }
}

impl<'t, T: Lines> Tree<'t, T> {
    /// Inserts a row under its key; says whether that was free.
    ///
    /// # Errors
    /// No memory. The tree has what it had, divided otherwise perhaps.
    pub(crate) fn insert(&self, row: Place<T::Machine>) -> Result<bool, NoMemory> {
        let key = KeySource::Of(row);
        loop {
            let (leaf, way) = self.descend(key, Side::At);
            if leaf.find(key).is_some() {
                return Ok(false);
            }
            let entry = (key.prefix(), row);
            if leaf.put(entry, NEAR) {
                return Ok(true);
            }
            if leaf.entries().count < LEAF_SLOTS / 2 && leaf.put(entry, LEAF_LINES) {
                return Ok(true);
            }
            self.divide(leaf, &way)?;
        }
    }

    /// Puts `row` in the place of the one that has its key. There is one.
    pub(crate) fn exchange(&self, row: Place<T::Machine>) {
        let key = KeySource::Of(row);
        let (leaf, _) = self.descend(key, Side::At);
        let Some((line, slot)) = leaf.find(key) else {
            self.memory.trap("a row that is exchanged and is not there");
        };
        let link = &leaf.lines[line].rows[slot];
        let tag = link.load(Ordering::Relaxed).tag();
        link.store(Tagged::new(row.pointer(), tag), Ordering::Relaxed);
    }

    /// Divides the leaf, or the highest of the full nodes that lead to it, whose parent has room. Each step leaves a
    /// whole tree, and takes its memory first.
    fn divide(
        &self,
        leaf: &'t Leaf<T::Machine>,
        way: &Way<'t, T::Machine>,
    ) -> Result<(), NoMemory> {
        let is_full = |step: &Option<(&Inner<T::Machine>, usize)>| {
            step.is_some_and(|(inner, _)| inner.count() == CHILDREN)
        };
        let full = way.steps[..way.depth].iter().rev().take_while(|step| is_full(step)).count();
        let parent = way.steps[..way.depth - full].last().copied().flatten();
        match way.steps[way.depth - full..way.depth].first().copied().flatten() {
            Some((inner, _)) => self.divide_inner(inner, parent),
            None => self.divide_leaf(leaf, parent),
        }
    }

    /// The link by which a parent, or the root, leads to a node on the way.
    fn link_to(&self, parent: Option<(&'t Inner<T::Machine>, usize)>) -> Tagged<Node<T::Machine>> {
        match parent {
            Some((parent, at)) => parent.children[at].load(Ordering::Relaxed),
            None => self.root.link().load(Ordering::Relaxed),
        }
    }

    fn divide_leaf(
        &self,
        leaf: &'t Leaf<T::Machine>,
        parent: Option<(&'t Inner<T::Machine>, usize)>,
    ) -> Result<(), NoMemory> {
        let entries = leaf.entries().sorted();
        let middle = entries.count / 2;
        let Some((_, first)) = entries.found[middle] else {
            self.memory.trap("a leaf without entries is divided");
        };
        let made = line_of::<T, Leaf<T::Machine>>(self.memory, Leaf::new)?;
        let (left, right) = (self.link_to(parent), Tagged::new(made.as_ptr().cast(), 0));
        if let Err(none) = self.link_right(left, parent, first, right) {
            // SAFETY: made here, and known to nobody.
            unsafe { free_lines(self.memory, made) };
            return Err(none);
        }
        leaf.clear();
        // SAFETY: just made, of this type.
        let right = unsafe { made.as_ref() };
        for (at, entry) in entries.found[..entries.count].iter().enumerate() {
            let half = if at < middle { leaf } else { right };
            // Half of the entries have room in a whole leaf.
            let is_put = entry.is_none_or(|entry| half.put(entry, LEAF_LINES));
            debug_assert!(is_put, "half a leaf");
        }
        Ok(())
    }

    fn divide_inner(
        &self,
        inner: &'t Inner<T::Machine>,
        parent: Option<(&'t Inner<T::Machine>, usize)>,
    ) -> Result<(), NoMemory> {
        let middle = CHILDREN / 2;
        let bound = Place::from_pointer(inner.bounds[middle - 1].load(Ordering::Relaxed).pointer());
        let Some(bound) = bound else { self.memory.trap("a child without a bound") };
        let made = line_of::<T, Inner<T::Machine>>(self.memory, Inner::new)?;
        let (left, right) = (self.link_to(parent), Tagged::new(made.as_ptr().cast(), INNER));
        if let Err(none) = self.link_right(left, parent, bound, right) {
            // SAFETY: made here, and known to nobody.
            unsafe { free_lines(self.memory, made) };
            return Err(none);
        }
        // SAFETY: just made, of this type.
        let right = unsafe { made.as_ref() };
        for from in middle..CHILDREN {
            inner.hand(from, right, from - middle);
            inner.children[from].store(Tagged::null(), Ordering::Relaxed);
            inner.bounds[from - 1].store(Tagged::null(), Ordering::Relaxed);
        }
        right.count.store((CHILDREN - middle) as u64, Ordering::Relaxed);
        inner.count.store(middle as u64, Ordering::Relaxed);
        // SAFETY: a separator with this key stands above, and nothing leads to this one any more.
        unsafe { bound.free(self.memory) };
        Ok(())
    }

    /// Makes `right`, which begins with the key of `first`, the neighbour of `left`: in the parent, which has room, or under
    /// a new root.
    fn link_right(
        &self,
        left: Tagged<Node<T::Machine>>,
        parent: Option<(&'t Inner<T::Machine>, usize)>,
        first: Place<T::Machine>,
        right: Tagged<Node<T::Machine>>,
    ) -> Result<(), NoMemory> {
        let bound = first.copy_key(self.memory)?;
        let (parent, at) = match parent {
            Some(parent) => parent,
            None => match self.raise(left) {
                Ok(root) => (root, 0),
                Err(none) => {
                    // SAFETY: made here, and known to nobody.
                    unsafe { bound.free(self.memory) };
                    return Err(none);
                }
            },
        };
        parent.insert(at + 1, bound, right);
        Ok(())
    }

    /// Puts a root with one child above the old one.
    fn raise(&self, old: Tagged<Node<T::Machine>>) -> Result<&'t Inner<T::Machine>, NoMemory> {
        let root = line_of::<T, Inner<T::Machine>>(self.memory, Inner::new)?;
        // SAFETY: just made, of this type.
        let inner = unsafe { root.as_ref() };
        inner.children[0].store(old, Ordering::Relaxed);
        inner.count.store(1, Ordering::Relaxed);
        self.root.link().store(Tagged::new(root.as_ptr().cast(), INNER), Ordering::Relaxed);
        Ok(inner)
    }
}
