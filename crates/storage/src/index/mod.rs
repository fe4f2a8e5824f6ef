//! Indexes: from key bytes to records, and guards for what is not there.
//!
//! Two kinds, chosen per table: [`OrderedIndex`], a Masstree, and [`HashIndex`], for tables that
//! are only looked up. Both
//!
//! - answer readers who write nothing shared,
//! - insert only if absent, and unlink under a latch,
//! - carry a [`Guard`] per leaf (or bucket) whose count of membership changes lets a scheme notice
//!   that a key has come or gone (phantoms; thesis 4.3),
//! - offer look-ups as a [`Probe`] that advances by one dependent cache miss at a time, so that
//!   many look-ups, in different tables too, can have their misses in flight together.
//!
//! The caller is pinned (see [`crate::LocalHeap::pin`]) during every call, and from the beginning of
//! a probe to its end.

mod flight;
pub mod hash;
pub mod ordered;

pub use flight::Flight;
pub use hash::HashIndex;
pub use ordered::{OrderedIndex, Shape};

use crate::{LocalHeap, OutOfMemory, Record, RecordRef};
use chiliad_machine::{Link, Machine, Ordering, Word};
use core::ptr::NonNull;

/// The longest key in bytes.
pub const KEY_BYTES_MAX: usize = 4096;

/// The membership word of a guard whose leaf has left the tree: it never changes back to a value
/// that somebody has seen.
const DEAD: u64 = 1 << 63;

/// The two words that a scheme owns in each [`Guard`].
#[repr(C)]
pub struct Header<M: Machine> {
    /// Lock and flags, timestamps: the scheme says.
    pub word: M::Word,
    /// Waiting requests: the scheme says.
    pub link: M::Link<Record<M>>,
}

/// The bytes of a guard, at the beginning of a leaf or bucket.
pub(crate) const GUARD_BYTES: usize = 24;

/// Stands for the keys of one leaf or bucket, present and absent. It is the first thing in a leaf's
/// slot, and stays readable when the leaf is freed (see [`crate::Kind::Leaf`]).
///
/// `members` counts insertions, unlinkings, splits and layers: everything after which a reader of
/// the leaf might have seen other keys. It only grows, across lives of the slot too.
#[repr(C)]
pub struct Guard<M: Machine> {
    /// Two words for the scheme.
    pub header: Header<M>,
    members: M::Word,
}

impl<M: Machine> Guard<M> {
    /// A guard that the scheme has not touched.
    pub(crate) fn new(members: u64) -> Self {
        let link = M::Link::new(chiliad_machine::Tagged::null());
        Self { header: Header { word: M::Word::new(0), link }, members: M::Word::new(members) }
    }

    /// The count now.
    #[inline]
    pub fn members(&self) -> u64 {
        // Acquire: a validator that sees the count of a change also sees the change.
        self.members.load(Ordering::Acquire)
    }

    /// Whether a reader who saw `members` would still see the same keys.
    #[inline]
    pub fn is_unchanged(&self, members: u64) -> bool {
        self.members() == members
    }

    /// The count as a word, for leaves that use it as their version too.
    pub(crate) fn members_word(&self) -> &M::Word {
        &self.members
    }

    /// Counts a change. The caller holds the leaf's latch. Returns the count before and after.
    pub(crate) fn change(&self) -> (u64, u64) {
        let before = self.members.load(Ordering::Relaxed);
        // Release pairs with the acquire in `members`.
        self.members.store(before + 1, Ordering::Release);
        (before, before + 1)
    }

    /// The leaf leaves the tree. The caller holds its latch.
    pub(crate) fn kill(&self) {
        let before = self.members.load(Ordering::Relaxed);
        self.members.store((before + 1) | DEAD, Ordering::Release);
    }

    /// Whether the leaf has left the tree.
    pub(crate) fn is_dead(&self) -> bool {
        self.members.load(Ordering::Relaxed) & DEAD != 0
    }

    /// The slot becomes a new leaf, which nobody else has seen yet. Returns the count.
    pub(crate) fn revive(&self) -> u64 {
        let alive = (self.members.load(Ordering::Relaxed) & !DEAD) + 1;
        self.members.store(alive, Ordering::Release);
        alive
    }
}

/// A guard and the count at which a reader saw its keys. Valid as long as the heap lives.
pub struct Seen<M: Machine> {
    guard: NonNull<Guard<M>>,
    /// The count of membership changes.
    pub members: u64,
}

// SAFETY: a guard is words; it may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for Seen<M> where M::Word: Sync {}
// SAFETY: as above.
unsafe impl<M: Machine> Sync for Seen<M> where M::Word: Sync {}

impl<M: Machine> Clone for Seen<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Seen<M> {}

impl<M: Machine> Seen<M> {
    /// # Safety
    /// `guard` is the start of a leaf slot of a heap that outlives the value.
    #[inline]
    pub(crate) unsafe fn new(guard: NonNull<Guard<M>>, members: u64) -> Self {
        Self { guard, members }
    }

    /// The guard.
    #[must_use]
    #[inline]
    pub fn guard<'a>(&self) -> &'a Guard<M> {
        // SAFETY: leaf slots are type-stable in their guard for the life of the heap.
        unsafe { self.guard.as_ref() }
    }

    /// The guard's identity.
    #[must_use]
    #[inline]
    pub fn guard_ptr(&self) -> NonNull<Guard<M>> {
        self.guard
    }

    /// Whether nothing has changed since.
    #[must_use]
    #[inline]
    pub fn holds(&self) -> bool {
        self.guard().is_unchanged(self.members)
    }
}

/// What a look-up found.
pub enum Found<M: Machine> {
    /// The key has a record (which the scheme may consider absent).
    Record(RecordRef<M>),
    /// It has none, as the guard testifies.
    Absent(Seen<M>),
}

impl<M: Machine> Clone for Found<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Found<M> {}

/// What an insertion did.
pub enum Inserted<M: Machine> {
    /// The record is in the index.
    Yes,
    /// The key had a record already; nothing changed.
    Exists(RecordRef<M>),
}

/// A change of membership that an operation made, for the fix-up of the caller's own node set
/// (thesis 4.5): whoever had seen `before` may count as having seen `after`.
pub enum Change<M: Machine> {
    /// The count of `guard` went from `before` to `after`.
    Counted {
        /// The leaf as it is now.
        after: Seen<M>,
        /// Its count before.
        before: u64,
    },
    /// Some of the keys that `from` stood for are now covered by `to`, a new leaf.
    Handed {
        /// The leaf that was divided.
        from: NonNull<Guard<M>>,
        /// The new one.
        to: Seen<M>,
    },
}

// SAFETY: it names guards, which may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for Change<M> where M::Word: Sync {}

/// The changes of one operation, in order. Reused, so that steady state does not allocate.
pub type Changes<M> = Vec<Change<M>>;

/// A scheme's say in the reorganisation of leaves: called under the leaf latches, so these only
/// copy words, and when the old leaf's count has changed already (or shows that it is latched, for a
/// bucket). A scheme that validates counts needs none of them.
pub trait Hooks<M: Machine> {
    /// `new` takes over part of the keys of `old` (a split, or a layer made below it).
    fn hand_on(&mut self, old: &Guard<M>, new: &Guard<M>) {
        let _ = (old, new);
    }
    /// `dying` leaves the tree and `heir` takes over its key range.
    fn merge(&mut self, dying: &Guard<M>, heir: &Guard<M>) {
        let _ = (dying, heir);
    }
}

/// No scheme, or one that needs no hooks.
pub struct NoHooks;

impl<M: Machine> Hooks<M> for NoHooks {}

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// From low keys to high ones.
    #[default]
    Forward,
    /// From high keys to low ones.
    Reverse,
}

/// Where a scan stands. Owns its bounds, so that nothing is held between two leaves.
#[derive(Debug, Default)]
pub struct Cursor {
    /// The next key to look at lies at or beyond this one, as `inclusive` says. Forward scans move
    /// it up, reverse scans move it down; `None` is the end of the key space it started from.
    pub position: Option<Vec<u8>>,
    /// Whether `position` itself is still to be looked at.
    pub inclusive: bool,
    /// Where the scan ends: `None` is the end of the key space.
    pub end: Option<Vec<u8>>,
    /// Whether `end` itself belongs to the scan.
    pub end_inclusive: bool,
    /// Which way it goes.
    pub direction: Direction,
    /// Nothing is left.
    pub finished: bool,
    /// Room for the bytes of the layers above a leaf.
    pub(crate) prefix: Vec<u8>,
}

impl Clone for Cursor {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the room that there is.
    fn clone_from(&mut self, source: &Self) {
        let Self { position, inclusive, end, end_inclusive, direction, finished, prefix } = self;
        position.clone_from(&source.position);
        end.clone_from(&source.end);
        prefix.clone_from(&source.prefix);
        (*inclusive, *end_inclusive) = (source.inclusive, source.end_inclusive);
        (*direction, *finished) = (source.direction, source.finished);
    }
}

/// One leaf's worth of a scan, as it stood at one moment: the caller tracks `seen`, then reads the
/// records. Reused between leaves.
pub struct LeafRun<M: Machine> {
    /// The leaf, and its count at that moment.
    pub seen: Option<Seen<M>>,
    /// The records in scan order, with the end of each key in `keys`.
    pub records: Vec<(u32, RecordRef<M>)>,
    /// The keys, one behind the other.
    pub keys: Vec<u8>,
}

impl<M: Machine> Default for LeafRun<M> {
    fn default() -> Self {
        Self { seen: None, records: Vec::new(), keys: Vec::new() }
    }
}

impl<M: Machine> LeafRun<M> {
    /// Forgets the leaf, keeping the room.
    pub fn clear(&mut self) {
        self.seen = None;
        self.records.clear();
        self.keys.clear();
    }

    /// The records with their keys, in scan order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], RecordRef<M>)> {
        let mut start = 0;
        self.records.iter().map(move |&(end, record)| {
            let key = &self.keys[start..end as usize];
            start = end as usize;
            (key, record)
        })
    }
}

/// A table's index.
pub enum Index<M: Machine> {
    /// Ordered: scans, and any key.
    Ordered(OrderedIndex<M>),
    /// Hashed: single keys only.
    Hash(HashIndex<M>),
}

/// How far an index has been taken apart, a portion at a time: see [`Index::dismantle_some`].
pub enum Demolition {
    /// An ordered index.
    Ordered(ordered::Demolition),
    /// A hash index.
    Hash(hash::Demolition),
}

/// A look-up in progress. Each step looks at memory that the step before asked for.
pub enum Probe<M: Machine> {
    /// In an ordered index.
    Ordered(ordered::OrderedProbe<M>),
    /// In a hash index.
    Hash(hash::HashProbe<M>),
}

// SAFETY: it names nodes, which may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for Probe<M> where M::Word: Sync {}

impl<M: Machine> Index<M> {
    /// Finds `key`'s record.
    #[inline]
    pub fn get(&self, heap: &LocalHeap<M>, key: &[u8]) -> Found<M> {
        match self {
            Self::Ordered(index) => index.get(heap, key),
            Self::Hash(index) => index.get(heap, key),
        }
    }

    /// Begins a look-up and asks for the first line it needs.
    #[inline]
    pub fn probe(&self, key: &[u8]) -> Probe<M> {
        match self {
            Self::Ordered(index) => Probe::Ordered(index.probe(key)),
            Self::Hash(index) => Probe::Hash(index.probe(key)),
        }
    }

    /// Advances a look-up that [`Index::probe`] began with the same key; `None` means: ask again,
    /// the next line is on its way.
    #[inline]
    pub fn step(&self, heap: &LocalHeap<M>, probe: &mut Probe<M>, key: &[u8]) -> Option<Found<M>> {
        match (self, probe) {
            (Self::Ordered(index), Probe::Ordered(probe)) => index.step(heap, probe, key),
            (Self::Hash(index), Probe::Hash(probe)) => index.step(heap, probe, key),
            _ => unreachable!("a probe of another index"),
        }
    }

    /// Inserts `record` under `key` unless the key has one. Appends what it changed to `changes`.
    ///
    /// # Errors
    /// When there is no memory for a node; nothing is changed then (splits may have happened).
    pub fn insert(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        changes: &mut Changes<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        match self {
            Self::Ordered(index) => index.insert(heap, key, record, hooks, changes),
            Self::Hash(index) => index.insert(heap, key, record, hooks, changes),
        }
    }

    /// Takes `record` out from under `key` if it is there and `confirm`, called under the leaf's
    /// latch, agrees; an emptied leaf leaves the tree. Does not retire the record. Returns whether
    /// it was taken out.
    pub fn unlink(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        confirm: &mut dyn FnMut(&Guard<M>) -> bool,
    ) -> bool {
        match self {
            Self::Ordered(index) => index.unlink(heap, key, record, hooks, confirm),
            Self::Hash(index) => index.unlink(heap, key, record, hooks, confirm),
        }
    }

    /// Takes the index apart: gives its memory back and hands each record to `each`, whose it is
    /// then.
    pub fn dismantle(
        self,
        heap: &mut LocalHeap<M>,
        each: &mut dyn FnMut(&mut LocalHeap<M>, RecordRef<M>),
    ) {
        let (mut demolition, mut budget) = (self.demolition(), usize::MAX);
        // SAFETY: the index is ours alone, and goes.
        let done = unsafe { self.dismantle_some(heap, &mut demolition, &mut budget, each) };
        debug_assert!(done);
    }

    /// Nothing of the index is taken apart yet.
    #[must_use]
    pub fn demolition(&self) -> Demolition {
        match self {
            Self::Ordered(_) => Demolition::Ordered(ordered::Demolition::default()),
            Self::Hash(_) => Demolition::Hash(hash::Demolition::default()),
        }
    }

    /// Goes on with taking the index apart where `demolition` stands, until `budget`, counted in
    /// nodes and entries, is used up, give or take a node. Hands each record to `each`, whose it is
    /// then. Returns whether nothing is left. What is given back may be used again at once.
    ///
    /// # Safety
    /// `demolition` began with this index. From then on nobody looks at anything in it, through
    /// whatever was kept from before either, but one caller of this function at a time; the index
    /// itself may be dropped by whoever shares it. (What is type-stable, the words of records and of
    /// leaves' guards, stays readable as ever.)
    pub unsafe fn dismantle_some(
        &self,
        heap: &mut LocalHeap<M>,
        demolition: &mut Demolition,
        budget: &mut usize,
        each: &mut dyn FnMut(&mut LocalHeap<M>, RecordRef<M>),
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match (self, demolition) {
                (Self::Ordered(index), Demolition::Ordered(demolition)) => {
                    index.dismantle_some(heap, demolition, budget, each)
                }
                (Self::Hash(index), Demolition::Hash(demolition)) => {
                    index.dismantle_some(heap, demolition, budget, each)
                }
                _ => unreachable!("the demolition of another index"),
            }
        }
    }
}
