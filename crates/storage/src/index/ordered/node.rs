//! The two kinds of node, each four cache lines.
//!
//! ```text
//!   leaf                                            inner node
//!   +0    guard    (see `Guard`), 3 words           +0    version
//!   +24   version                                   +8    separators, 15
//!   +32   kinds    13 nibbles, and a hint           +128  children, 16
//!   +40   slices   13 and a sentinel
//!   +152  links    13
//! ```
//!
//! Invariants, for a state that a reader has validated:
//!
//! - entries are sorted by (slice, kind), with a cell and a layer ranking alike; a slice has at most
//!   one entry per rank, so ten entries, and all of them are in one leaf of their layer;
//! - slices and separators beyond the count are `u64::MAX`, so that a search need not know it;
//! - child `i` of an inner node covers the slices above separator `i - 1` and up to separator `i`
//!   inclusive; a node has at least two children;
//! - links beyond the count are stale and never followed.
//!
//! Departures from Masstree (Mao et al., 2012, 4.2): entries are kept sorted instead of under a permutation
//! word, because here an insertion makes readers of the leaf retry anyway; 13 entries instead of 15
//! make four lines instead of five; there are no parent and no sibling pointers, because a
//! writer latches what it came by; and subtrees of one node may differ in height (see `remove`).

use super::version::{NodeVersion, Stamp};
use crate::{Guard, Kind, LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::{Cost, LINE_BYTES, Link, Machine, Ordering, Tagged, Word};
use core::ptr::NonNull;

/// Entries of a leaf. More than [`SLICE_KEYS_MAX`], so that a full leaf can be split.
pub(super) const LEAF_SLOTS: usize = 13;
/// Entries that share a slice: ranks 0 to 9.
const SLICE_KEYS_MAX: usize = 10;
/// Separators of an inner node.
pub(super) const INNER_KEYS: usize = 15;

/// Entry kinds 0 to 8: the key ends after so many bytes of the slice, the link is its record.
pub(super) const KIND_INLINE_MAX: u64 = 8;
/// The key goes on in a [`super::cell::Cell`].
pub(super) const KIND_CELL: u64 = 9;
/// Keys go on in a layer, whose root the link is.
pub(super) const KIND_LAYER: u64 = 10;
const NIBBLE: u64 = 0xf;
const HINT_SHIFT: u32 = 52;
/// No insertion to remember.
const HINT_NONE: u64 = NIBBLE;

/// Tag of a link to an inner node; a leaf has tag 0.
pub(super) const TAG_INNER: usize = 1;
/// Lines of a node of either kind.
pub(super) const NODE_LINES: u32 = 4;
/// Levels below the root that are not worth waiting for: the first hold some 1, 10 and 100 nodes, which
/// a core's private cache keeps (and the records of a tree of that height). By measurement.
const LEVELS_CACHED: u32 = 3;

/// Whether a node of this depth, or what hangs on it, is worth waiting for. In simulation all are:
/// every place where a sibling could run is one where it does.
#[inline]
pub(super) fn is_awaited<M: Machine>(depth: u32) -> bool {
    M::explores() || depth >= LEVELS_CACHED
}

/// The target of a link: a node, a cell or a record, as its tag and its entry's kind say.
pub(super) struct Target;

/// A leaf.
#[repr(C, align(64))]
pub(super) struct Leaf<M: Machine> {
    pub(super) guard: Guard<M>,
    pub(super) version: NodeVersion<M>,
    /// Nibble `i` is the kind of entry `i`; the one at [`HINT_SHIFT`] is where the last insertion
    /// went.
    kinds: M::Word,
    slices: [M::Word; LEAF_SLOTS + 1],
    links: [M::Link<Target>; LEAF_SLOTS],
}

/// An inner node.
#[repr(C, align(64))]
pub(super) struct Inner<M: Machine> {
    pub(super) version: NodeVersion<M>,
    keys: [M::Word; INNER_KEYS],
    children: [M::Link<Target>; INNER_KEYS + 1],
}

const _: () = {
    use chiliad_machine::Native;
    assert!(size_of::<Leaf<Native>>() == NODE_LINES as usize * LINE_BYTES);
    assert!(size_of::<Inner<Native>>() == NODE_LINES as usize * LINE_BYTES);
    assert!(LEAF_SLOTS > SLICE_KEYS_MAX);
};

/// An entry of a leaf, by value.
pub(super) struct Entry {
    pub(super) slice: u64,
    pub(super) kind: u64,
    pub(super) link: Tagged<Target>,
}

impl Clone for Entry {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Entry {}

/// The kinds of a leaf's entries, four bits each.
#[derive(Clone, Copy)]
pub(super) struct Kinds(u64);

impl Kinds {
    /// The kind of entry `index`.
    #[inline]
    pub(super) fn of(self, index: usize) -> u64 {
        self.0 >> (4 * index) & NIBBLE
    }

    /// Those of the first `count` entries that lead to a cell.
    #[inline]
    pub(super) fn cells(self, count: usize) -> impl Iterator<Item = usize> {
        debug_assert!(count <= LEAF_SLOTS, "entries of a leaf");
        // Above eight: the highest bit, and one of the others.
        let low = !0 / NIBBLE * (NIBBLE >> 1);
        let mut above = self.0 & ((self.0 & low) + low) & !low & ((1 << (4 * count)) - 1);
        core::iter::from_fn(move || {
            while above != 0 {
                let index = (above.trailing_zeros() / 4) as usize;
                above &= above - 1;
                if self.of(index) == KIND_CELL {
                    return Some(index);
                }
            }
            None
        })
    }
}

impl Entry {
    /// An entry for a key that ends in its slice.
    pub(super) fn inline<M: Machine>(slice: u64, rank: u64, record: RecordRef<M>) -> Self {
        debug_assert!(rank <= KIND_INLINE_MAX);
        Self { slice, kind: rank, link: Tagged::new(record.as_ptr().cast(), 0) }
    }

    /// Where it sorts among entries of its slice.
    pub(super) fn rank(&self) -> u64 {
        self.kind.min(KIND_CELL)
    }
}

/// The record that an inline entry's link leads to.
///
/// # Safety
/// `target` was read from an inline entry in a state that was validated.
#[inline]
pub(super) unsafe fn record_of<M: Machine>(target: Tagged<Target>) -> RecordRef<M> {
    // SAFETY: such entries are made from records, which are never null.
    unsafe { RecordRef::from_raw(NonNull::new_unchecked(target.pointer().cast())) }
}

/// The leaf that a link with tag 0 leads to.
///
/// # Safety
/// `target` was read from a link to a node in a state that was validated, and the caller stays
/// pinned for `'t`.
#[inline]
pub(super) unsafe fn leaf_of<'t, M: Machine>(target: Tagged<Target>) -> &'t Leaf<M> {
    debug_assert!(target.tag() == 0);
    // SAFETY: such links lead to living nodes, whose words are all atomic.
    unsafe { &*target.pointer().cast() }
}

/// The inner node that a link with [`TAG_INNER`] leads to.
///
/// # Safety
/// As for [`leaf_of`].
#[inline]
pub(super) unsafe fn inner_of<'t, M: Machine>(target: Tagged<Target>) -> &'t Inner<M> {
    debug_assert!(target.tag() == TAG_INNER);
    // SAFETY: such links lead to living nodes, whose words are all atomic.
    unsafe { &*target.pointer().cast() }
}

/// Starts loading the node that a link, validated or not, may lead to.
#[inline]
pub(super) fn prefetch_node<M: Machine>(target: Tagged<Target>) {
    M::prefetch(target.pointer().cast_const().cast(), NODE_LINES);
}

/// Where a search in a leaf ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// An entry has the slice and the rank; this is its place and its kind.
    At(usize, u64),
    /// None has; an insertion would go here.
    Before(usize),
}

impl<M: Machine> Leaf<M> {
    /// A leaf with these entries, in order and at most [`LEAF_SLOTS`], that nobody else has seen.
    /// Its guard is revived.
    pub(super) fn create<'t>(
        heap: &mut LocalHeap<M>,
        entries: &[Entry],
    ) -> Result<&'t Self, OutOfMemory> {
        debug_assert!(entries.len() <= LEAF_SLOTS, "a leaf has room");
        let place = heap.alloc(Kind::Leaf, size_of::<Self>())?.cast::<Self>();
        let leaf = place.as_ptr();
        // SAFETY: the slot is ours alone but for the guard, whose words others may still load; so
        // the guard is left as it is (constructed by the heap) and all else is constructed anew.
        let leaf = unsafe {
            (&raw mut (*leaf).version).write(NodeVersion::new(0));
            (&raw mut (*leaf).kinds).write(M::Word::new(HINT_NONE << HINT_SHIFT));
            for index in 0..=LEAF_SLOTS {
                (&raw mut (*leaf).slices[index]).write(M::Word::new(u64::MAX));
            }
            for index in 0..LEAF_SLOTS {
                (&raw mut (*leaf).links[index]).write(M::Link::new(Tagged::null()));
            }
            &*leaf
        };
        leaf.refill(entries);
        leaf.guard.revive();
        Ok(leaf)
    }

    /// The value of a link to this leaf.
    pub(super) fn target(&self) -> Tagged<Target> {
        Tagged::new(NonNull::from(self).as_ptr().cast(), 0)
    }

    /// Gives a new leaf its content and its count.
    ///
    /// Only for a leaf that is not shared yet: a shared one gets its count from its latch.
    pub(super) fn refill(&self, entries: &[Entry]) {
        self.overwrite(entries);
        // Nobody else sees the leaf, so the latch cannot fail; nothing is lost if it does.
        if let Some(mut held) = self.version.try_latch_now() {
            held.set_count(entries.len());
        }
    }

    /// The number of slices below `slice`, without a branch: four comparisons find the block of
    /// three, two the place in it.
    #[inline]
    fn slices_below(&self, slice: u64) -> usize {
        let below = |index: usize| usize::from(self.slices[index].load(Ordering::Relaxed) < slice);
        let block = 3 * (below(2) + below(5) + below(8) + below(11));
        block + below(block) + below(block + 1)
    }

    /// The kinds of all entries.
    #[inline]
    pub(super) fn kinds(&self) -> Kinds {
        Kinds(self.kinds.load(Ordering::Relaxed))
    }

    /// Searches. What it returns holds only if `stamp` still does.
    #[inline]
    pub(super) fn find(&self, stamp: Stamp, slice: u64, rank: u64) -> Spot {
        M::work(Cost::LeafSearch, 1);
        let count = stamp.count();
        let mut index = self.slices_below(slice);
        let kinds = self.kinds();
        while index < count && self.slices[index].load(Ordering::Relaxed) == slice {
            let kind = kinds.of(index);
            let found = kind.min(KIND_CELL);
            if found == rank {
                return Spot::At(index, kind);
            }
            if found > rank {
                break;
            }
            index += 1;
        }
        Spot::Before(index)
    }

    /// The slice of entry `index`, or, beyond the last one, the greatest that there is.
    #[inline]
    pub(super) fn slice(&self, index: usize) -> u64 {
        self.slices[index].load(Ordering::Relaxed)
    }

    /// The link of entry `index`.
    #[inline]
    pub(super) fn link(&self, index: usize) -> &M::Link<Target> {
        &self.links[index]
    }

    /// Copies the entries out; what arrives holds only if the stamp with this count still does.
    #[inline]
    pub(super) fn copy_out(&self, count: usize) -> [Entry; LEAF_SLOTS] {
        M::work(Cost::LeafSearch, 1);
        let kinds = self.kinds();
        let mut entries = [Entry { slice: 0, kind: 0, link: Tagged::null() }; LEAF_SLOTS];
        for (index, entry) in entries[..count.min(LEAF_SLOTS)].iter_mut().enumerate() {
            entry.slice = self.slices[index].load(Ordering::Relaxed);
            entry.kind = kinds.of(index);
            entry.link = self.links[index].load(Ordering::Relaxed);
        }
        entries
    }

    /// Where the last insertion went, if that is known.
    pub(super) fn hint(&self) -> Option<usize> {
        let hint = self.kinds.load(Ordering::Relaxed) >> HINT_SHIFT & NIBBLE;
        (hint != HINT_NONE).then_some(hint as usize)
    }

    /// Remembers where the last insertion went. The caller holds the latch.
    pub(super) fn set_hint(&self, index: usize) {
        debug_assert!(index < LEAF_SLOTS, "a slot of the leaf");
        let kinds = self.kinds.load(Ordering::Relaxed) & !(NIBBLE << HINT_SHIFT);
        self.kinds.store(kinds | (index as u64) << HINT_SHIFT, Ordering::Relaxed);
    }

    /// Replaces all entries. The caller holds the latch and sets the count.
    pub(super) fn overwrite(&self, entries: &[Entry]) {
        debug_assert!(entries.len() <= LEAF_SLOTS, "a leaf has room");
        let place = |entry: &Entry| (entry.slice, entry.rank());
        debug_assert!(entries.is_sorted_by(|a, b| place(a) < place(b)), "keys are in order");
        M::work(Cost::Entry, entries.len() as u32);
        let mut kinds = HINT_NONE << HINT_SHIFT;
        for (index, entry) in entries.iter().enumerate() {
            kinds |= entry.kind << (4 * index);
            self.slices[index].store(entry.slice, Ordering::Relaxed);
            self.links[index].store(entry.link, Ordering::Relaxed);
        }
        for slice in &self.slices[entries.len()..] {
            slice.store(u64::MAX, Ordering::Relaxed);
        }
        self.kinds.store(kinds, Ordering::Relaxed);
    }

    /// Puts so many `entries`, in order, before entry `index`. The caller holds the latch and sets the count.
    #[inline]
    pub(super) fn insert(
        &self,
        count: usize,
        index: usize,
        length: usize,
        entries: impl Iterator<Item = Entry>,
    ) {
        debug_assert!(index <= count && count + length <= LEAF_SLOTS, "a leaf has room");
        M::work(Cost::IndexChange, length as u32);
        for from in (index..count).rev() {
            let to = from + length;
            self.slices[to].store(self.slices[from].load(Ordering::Relaxed), Ordering::Relaxed);
            self.links[to].store(self.links[from].load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let (mut at, mut new) = (index, 0);
        for entry in entries {
            debug_assert!(entry.kind <= KIND_LAYER, "kinds are few");
            self.slices[at].store(entry.slice, Ordering::Relaxed);
            self.links[at].store(entry.link, Ordering::Relaxed);
            new |= entry.kind << (4 * at);
            at += 1;
        }
        debug_assert!(at == index + length, "as many as there is room for");
        let kinds = self.kinds.load(Ordering::Relaxed) & ((1 << HINT_SHIFT) - 1);
        let below = kinds & ((1 << (4 * index)) - 1);
        let above = (kinds - below) << (4 * length);
        let hint = (at as u64 - 1) << HINT_SHIFT;
        self.kinds.store(hint | above | new | below, Ordering::Relaxed);
    }

    /// Takes entry `index` out. The caller holds the latch and sets the count.
    pub(super) fn remove(&self, count: usize, index: usize) {
        debug_assert!(index < count && count <= LEAF_SLOTS, "an entry of the leaf");
        M::work(Cost::IndexChange, 1);
        for to in index..count - 1 {
            self.slices[to].store(self.slices[to + 1].load(Ordering::Relaxed), Ordering::Relaxed);
            self.links[to].store(self.links[to + 1].load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.slices[count - 1].store(u64::MAX, Ordering::Relaxed);
        let kinds = self.kinds.load(Ordering::Relaxed) & ((1 << HINT_SHIFT) - 1);
        let below = kinds & ((1 << (4 * index)) - 1);
        let above = kinds >> (4 * (index + 1)) << (4 * index);
        self.kinds.store(HINT_NONE << HINT_SHIFT | above | below, Ordering::Relaxed);
    }

    /// Makes entry `index` the root of a layer. The caller holds the latch.
    pub(super) fn set_layer(&self, index: usize, root: Tagged<Target>) {
        debug_assert!(index < LEAF_SLOTS && !root.is_null(), "a layer has a root");
        self.links[index].store(root, Ordering::Relaxed);
        let kinds = self.kinds.load(Ordering::Relaxed) & !(NIBBLE << (4 * index));
        self.kinds.store(kinds | KIND_LAYER << (4 * index), Ordering::Relaxed);
    }

    /// Frees a leaf that nobody else has seen, or whose tree is being taken apart.
    pub(super) fn free(&self, heap: &mut LocalHeap<M>) {
        // SAFETY: made by `create`; the caller says that nobody else will look at it.
        unsafe { heap.free(Kind::Leaf, size_of::<Self>(), NonNull::from(self).cast()) };
    }

    /// Frees a leaf that the caller has just taken out of the tree, once nobody looks at it.
    pub(super) fn retire(&self, heap: &mut LocalHeap<M>) {
        // SAFETY: made by `create`, unlinked under the latches of its holder during this pin.
        unsafe { heap.retire(Kind::Leaf, size_of::<Self>(), NonNull::from(self).cast()) };
    }
}

impl<M: Machine> Inner<M> {
    /// A node without children that nobody else has seen.
    pub(super) fn create<'t>(heap: &mut LocalHeap<M>) -> Result<&'t Self, OutOfMemory> {
        let place = heap.alloc(Kind::Inner, size_of::<Self>())?.cast::<Self>();
        // SAFETY: the slot is ours alone, and nothing in it outlives a freed node.
        unsafe {
            place.write(Self {
                version: NodeVersion::new(0),
                keys: core::array::from_fn(|_| M::Word::new(u64::MAX)),
                children: core::array::from_fn(|_| M::Link::new(Tagged::null())),
            });
            Ok(place.as_ref())
        }
    }

    /// The value of a link to this node.
    pub(super) fn target(&self) -> Tagged<Target> {
        Tagged::new(NonNull::from(self).as_ptr().cast(), TAG_INNER)
    }

    /// The child that covers `slice`: the number of separators below it, without a branch.
    #[inline]
    pub(super) fn search(&self, slice: u64) -> usize {
        M::work(Cost::InnerSearch, 1);
        let below = |index: usize| usize::from(self.keys[index].load(Ordering::Relaxed) < slice);
        let block = 4 * (below(3) + below(7) + below(11));
        block + below(block) + below(block + 1) + below(block + 2)
    }

    /// The link to child `index`.
    #[inline]
    pub(super) fn child(&self, index: usize) -> &M::Link<Target> {
        &self.children[index]
    }

    /// Separator `index`.
    #[inline]
    pub(super) fn key(&self, index: usize) -> u64 {
        self.keys[index].load(Ordering::Relaxed)
    }

    /// The greatest slice that child `index` may cover as far as this node says.
    #[inline]
    pub(super) fn key_above(&self, index: usize) -> u64 {
        self.keys.get(index).map_or(u64::MAX, |key| key.load(Ordering::Relaxed))
    }

    /// Gives a node its children and the separators between them. The caller holds the latch, or
    /// nobody else has seen the node; it sets the count.
    pub(super) fn overwrite(&self, keys: &[u64], children: &[Tagged<Target>]) {
        debug_assert!(keys.len() + 1 == children.len() && !keys.is_empty());
        debug_assert!(keys.len() <= INNER_KEYS, "a node has room");
        debug_assert!(keys.is_sorted_by(|a, b| a < b), "separators are in order");
        debug_assert!(children.iter().all(|child| !child.is_null()), "each leads to a node");
        for (word, key) in self.keys.iter().zip(keys) {
            word.store(*key, Ordering::Relaxed);
        }
        for (link, child) in self.children.iter().zip(children) {
            link.store(*child, Ordering::Relaxed);
        }
        for word in &self.keys[keys.len()..] {
            word.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// Gives a node its content and its count, before anybody else has seen it.
    pub(super) fn refill(&self, keys: &[u64], children: &[Tagged<Target>]) {
        self.overwrite(keys, children);
        // As in `Leaf::refill`.
        if let Some(mut held) = self.version.try_latch_now() {
            held.set_count(keys.len());
        }
    }

    /// Copies separators and children out. The caller holds the latch or validates.
    pub(super) fn copy_out(&self) -> ([u64; INNER_KEYS], [Tagged<Target>; INNER_KEYS + 1]) {
        let keys = core::array::from_fn(|index| self.key(index));
        let children = core::array::from_fn(|index| self.child(index).load(Ordering::Relaxed));
        (keys, children)
    }

    /// Inserts `child` after child `index`, divided from it by `key`. The caller holds the latch and
    /// sets the count.
    pub(super) fn insert(&self, count: usize, index: usize, key: u64, child: Tagged<Target>) {
        debug_assert!(index <= count && count < INNER_KEYS, "a node has room");
        debug_assert!(!child.is_null(), "a separator is beside a node");
        for to in (index + 1..=count).rev() {
            self.keys[to].store(self.keys[to - 1].load(Ordering::Relaxed), Ordering::Relaxed);
            let moved = self.children[to].load(Ordering::Relaxed);
            self.children[to + 1].store(moved, Ordering::Relaxed);
        }
        self.keys[index].store(key, Ordering::Relaxed);
        self.children[index + 1].store(child, Ordering::Relaxed);
    }

    /// Takes child `index` out; its range goes to the child on its left, or on its right if it is
    /// the first. The caller holds the latch and sets the count.
    pub(super) fn remove(&self, count: usize, index: usize) {
        debug_assert!(index <= count && count > 1, "a node keeps a separator");
        for to in index.saturating_sub(1)..count - 1 {
            self.keys[to].store(self.keys[to + 1].load(Ordering::Relaxed), Ordering::Relaxed);
        }
        for to in index..count {
            let moved = self.children[to + 1].load(Ordering::Relaxed);
            self.children[to].store(moved, Ordering::Relaxed);
        }
        self.keys[count - 1].store(u64::MAX, Ordering::Relaxed);
    }

    /// Frees a node that nobody else has seen, or whose tree is being taken apart.
    pub(super) fn free(&self, heap: &mut LocalHeap<M>) {
        // SAFETY: made by `create`; the caller says that nobody else will look at it.
        unsafe { heap.free(Kind::Inner, size_of::<Self>(), NonNull::from(self).cast()) };
    }

    /// Frees a node that the caller has just taken out of the tree, once nobody looks at it.
    pub(super) fn retire(&self, heap: &mut LocalHeap<M>) {
        // SAFETY: made by `create`, unlinked under the latches of its holder during this pin.
        unsafe { heap.retire(Kind::Inner, size_of::<Self>(), NonNull::from(self).cast()) };
    }
}
