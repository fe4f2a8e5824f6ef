//! Insertions, and what makes room for them.

use super::find::Side;
use super::node::{
    AWAY, CHILDREN, Entries, FAR, INNER, Inner, LEAF_LINES, LEAF_SLOTS, Leaf, MARK, NEAR, Node,
    SLOTS, Slots, Sought, Tree, Way, lines_from,
};
use crate::memory::NoMemory;
use crate::record::{KeySource, Place, Prefix, Row, free_lines, line_of};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{Cost, Link as _, Machine, Ordering, Tagged, Word as _};
use core::cmp;

/// A leaf that is full for a key and has fewer entries is not divided: its keys have much the same ends.
const SPREAD: usize = LEAF_SLOTS / 4;

impl<M: Machine> Leaf<M> {
    /// Puts a row whose key is not there into the key's line or one of the `reach` lines from there on. Says whether there
    /// was room.
    fn put(&self, key: &Sought<'_, M>, row: Place<M>, reach: usize) -> bool {
        let lines = || lines_from(key.home).take(reach).map(|line| &self.lines[line]);
        let room = lines().enumerate().find_map(|(passed, line)| {
            let slot = (0..SLOTS).find(|&slot| line.row(slot).is_none())?;
            Some((passed, line, slot))
        });
        let Some((passed, line, slot)) = room else { return false };
        if passed > 0 {
            self.lines[key.home].mark(AWAY);
        }
        if passed >= NEAR {
            self.lines[key.home].mark(FAR);
        }
        line.set(slot, key.prefix, row);
        M::work(Cost::IndexChange, 1);
        true
    }

    /// Whether an entry finds room in its own line, so that those which are inserted beside it do not meet it in another.
    fn has_room(&self, home: usize) -> bool {
        M::work(Cost::BucketSearch, 1);
        (0..SLOTS).any(|slot| self.lines[home % LEAF_LINES].row(slot).is_none())
    }

    /// Moves the entries that are not before `first` to the same lines of another leaf, which is empty. Marks are
    /// handed on: neither leaf tells where an entry that was passed on has come from.
    fn hand(&self, target: &Self, first: &Sought<'_, M>) {
        for (line, to) in self.lines.iter().zip(&target.lines) {
            M::work(Cost::BucketSearch, 1);
            for slot in 0..SLOTS {
                let Some(row) = line.row(slot) else { continue };
                let prefix = line.prefix(slot);
                if first.order(&(prefix, row)) != cmp::Ordering::Less {
                    line.clear(slot);
                    to.set(slot, prefix, row);
                    M::work(Cost::Entry, 1);
                }
            }
            for mark in [AWAY, FAR].into_iter().filter(|&mark| line.is_marked(mark)) {
                to.mark(mark);
            }
        }
    }
}

impl<M: Machine> Slots<M> {
    /// Notes that entries were passed on to another line, or farther away.
    fn mark(&self, which: usize) {
        let row = self.rows[which].load(Ordering::Relaxed);
        if row.tag() != MARK {
            self.rows[which].store(Tagged::new(row.pointer(), MARK), Ordering::Relaxed);
        }
    }

    /// Fills a slot.
    pub(super) fn set(&self, slot: usize, prefix: Prefix, row: Place<M>) {
        for (word, value) in self.prefixes[slot].iter().zip(prefix.words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.link(slot, row.pointer());
    }

    /// Empties one.
    pub(super) fn clear(&self, slot: usize) {
        self.link(slot, core::ptr::null_mut());
    }

    /// Lets a slot lead elsewhere; a mark stays.
    pub(super) fn link(&self, slot: usize, row: *mut Row<M>) {
        let tag = self.rows[slot].load(Ordering::Relaxed).tag();
        self.rows[slot].store(Tagged::new(row, tag), Ordering::Relaxed);
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
        self.prefixes[at - 1].store(KeySource::Of(bound).prefix().first(), Ordering::Relaxed);
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
        let key = Sought::new(KeySource::Of(row));
        loop {
            let (leaf, way) = self.descend(key.key, Side::At);
            if leaf.find(&key).is_some() {
                return Ok(false);
            }
            if leaf.put(&key, row, NEAR) {
                return Ok(true);
            }
            if self.divide_inner_on(&way)? {
                continue;
            }
            let mut entries = Entries::new();
            let (count, last) = entries.above(leaf, &key);
            if count < SPREAD && leaf.put(&key, row, LEAF_LINES) {
                return Ok(true);
            }
            let parent = way.parent();
            match last.filter(|_| entries.is_end(count)) {
                Some((_, last)) => {
                    let bound = (key.key, last.shared_with(key.key) + 1);
                    self.divide_leaf(leaf, parent, bound, entries.count > 0)?;
                }
                None => {
                    entries.fill(leaf, |_| true);
                    let Some([(_, last), (_, first)]) = entries.middle() else {
                        self.memory.trap("a leaf without entries is divided");
                    };
                    let first = KeySource::Of(first);
                    self.divide_leaf(leaf, parent, (first, last.shared_with(first) + 1), true)?;
                }
            }
        }
    }

    /// Makes room for a key that is about to come, and for some that differ from it in the last byte only, which is one
    /// greater for each: where their leaf has none, and they belong at its end.
    ///
    /// A division reads the whole leaf, and writes the node above. Of sibling tasks that insert side by side each would take
    /// back those that were quicker. One that comes before all of them makes room while none has begun.
    ///
    /// # Errors
    /// No memory; as for [`Tree::insert`].
    pub(crate) fn make_room(
        &self,
        key: KeySource<'_, T::Machine>,
        keys: usize,
    ) -> Result<(), NoMemory> {
        let key = Sought::new(key);
        loop {
            let (leaf, way) = self.descend(key.key, Side::At);
            if (key.home..key.home + keys).all(|home| leaf.has_room(home)) {
                return Ok(());
            }
            if self.divide_inner_on(&way)? {
                continue;
            }
            let mut entries = Entries::new();
            let (_, last) = entries.above(leaf, &key);
            let parent = way.parent();
            match (entries.first(), last) {
                // What comes after the keys goes first, so that the leaf ends where they belong.
                (Some((_, first)), _) => {
                    let bound = (KeySource::Of(first), first.shared_with(key.key) + 1);
                    self.divide_leaf(leaf, parent, bound, true)?;
                }
                (None, Some((_, last))) => {
                    let shared = last.shared_with(key.key);
                    // The key itself is there already: the rows do not come as they were announced.
                    if shared == key.key.length() {
                        return Ok(());
                    }
                    return self.divide_leaf(leaf, parent, (key.key, shared + 1), false);
                }
                (None, None) => return Ok(()),
            }
        }
    }

    /// Puts `row` in the place of the one that has its key. There is one.
    pub(crate) fn exchange(&self, row: Place<T::Machine>) {
        let key = Sought::new(KeySource::Of(row));
        let (leaf, _) = self.descend(key.key, Side::At);
        let Some((line, slot)) = leaf.find(&key) else {
            self.memory.trap("a row that is exchanged and is not there");
        };
        leaf.lines[line].link(slot, row.pointer());
    }

    /// Divides the highest of the full nodes just above a leaf, whose parent has room; says whether there is one. Each
    /// step leaves a whole tree, and takes its memory first.
    fn divide_inner_on(&self, way: &Way<'t, T::Machine>) -> Result<bool, NoMemory> {
        let is_full = |step: &Option<(&Inner<T::Machine>, usize)>| {
            step.is_some_and(|(inner, _)| inner.count() == CHILDREN)
        };
        let full = way.steps[..way.depth].iter().rev().take_while(|step| is_full(step)).count();
        let parent = way.steps[..way.depth - full].last().copied().flatten();
        match way.steps[way.depth - full..way.depth].first().copied().flatten() {
            Some(highest) => self.divide_inner(highest, parent).map(|()| true),
            None => Ok(false),
        }
    }

    /// The link by which a parent, or the root, leads to a node on the way.
    fn link_to(&self, parent: Option<(&'t Inner<T::Machine>, usize)>) -> Tagged<Node<T::Machine>> {
        match parent {
            Some((parent, at)) => parent.children[at].load(Ordering::Relaxed),
            None => self.root.link().load(Ordering::Relaxed),
        }
    }

    /// Divides a leaf at a bound, which is the first bytes of a key; `moves`: it has entries from there on.
    ///
    /// Keys that come in their order find their leaf full at its end, again and again. So such a leaf is divided where the
    /// new key belongs, and keeps what it has: it is not written, and is full for good.
    fn divide_leaf(
        &self,
        leaf: &'t Leaf<T::Machine>,
        parent: Option<(&'t Inner<T::Machine>, usize)>,
        bound: (KeySource<'_, T::Machine>, usize),
        moves: bool,
    ) -> Result<(), NoMemory> {
        let made = line_of::<T, Leaf<T::Machine>>(self.memory, Leaf::new)?;
        let (left, right) = (self.link_to(parent), Tagged::new(made.as_ptr().cast(), 0));
        if let Err(none) = self.link_right(left, parent, bound, right) {
            // SAFETY: made here, and known to nobody.
            unsafe { free_lines(self.memory, made) };
            return Err(none);
        }
        if moves {
            // SAFETY: just made, of this type.
            leaf.hand(unsafe { made.as_ref() }, &Sought::new(bound.0));
        }
        Ok(())
    }

    /// Divides a node on the way to one of its children; at its end, if that is the last one, as leaves are.
    fn divide_inner(
        &self,
        (inner, child): (&'t Inner<T::Machine>, usize),
        parent: Option<(&'t Inner<T::Machine>, usize)>,
    ) -> Result<(), NoMemory> {
        let middle = if child == CHILDREN - 1 { CHILDREN - 2 } else { CHILDREN / 2 };
        let bound = Place::from_pointer(inner.bounds[middle - 1].load(Ordering::Relaxed).pointer());
        let Some(bound) = bound else { self.memory.trap("a child without a bound") };
        let made = line_of::<T, Inner<T::Machine>>(self.memory, Inner::new)?;
        let (left, right) = (self.link_to(parent), Tagged::new(made.as_ptr().cast(), INNER));
        if let Err(none) =
            self.link_right(left, parent, (KeySource::Of(bound), bound.key_bytes()), right)
        {
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

    /// Makes `right`, which begins with the first bytes of a key, the neighbour of `left`: in the parent, which has
    /// room, or under a new root.
    fn link_right(
        &self,
        left: Tagged<Node<T::Machine>>,
        parent: Option<(&'t Inner<T::Machine>, usize)>,
        (first, bytes): (KeySource<'_, T::Machine>, usize),
        right: Tagged<Node<T::Machine>>,
    ) -> Result<(), NoMemory> {
        let bound = first.separator(self.memory, bytes)?;
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
