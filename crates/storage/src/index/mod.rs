//! Indexes: from key bytes to records, and guards for what is not there.
//!
//! Two kinds, chosen per table: [`OrderedIndex`], a Masstree, and [`HashIndex`], for tables that
//! are only looked up. Both
//!
//! - answer readers that write nothing shared,
//! - insert only if absent, and unlink under a latch,
//! - carry a [`Guard`] per leaf (or bucket) whose count of membership changes lets a scheme notice
//!   that a key has come or gone (phantoms; Tu, 2013, 4.3),
//! - offer look-ups as a [`Probe`] that advances by one dependent cache miss at a time, so that
//!   many look-ups, in different tables too, can have their misses in flight together.
//!
//! The caller is pinned (see [`crate::LocalHeap::pin`]) during every call, and from the beginning of
//! a probe to its end.

mod contract;
pub mod hash;
mod lookup_batch;
pub mod ordered;

pub use contract::{
    Change, Changes, Cursor, Direction, Found, Hooks, IndexMemory, Inserted, KEY_BYTES_MAX,
    LeafRun, NoHooks,
};
pub use hash::HashIndex;
pub use lookup_batch::LookupBatch;
pub use ordered::{Finger, OrderedIndex, Run, Shape};

use crate::guard::Guard;
use crate::{LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::Machine;

/// A table's index.
pub enum Index<M: Machine> {
    /// Ordered: scans, and any key.
    Ordered(OrderedIndex<M>),
    /// Hashed: single keys only.
    Hash(HashIndex<M>),
}

/// How far an index has been taken apart, a portion at a time: see [`Index::dismantle_some`].
pub enum Teardown {
    /// An ordered index.
    Ordered(ordered::Teardown),
    /// A hash index.
    Hash(hash::Teardown),
}

/// How far an index has been measured: see [`Index::measure_some`].
pub enum Measuring {
    /// An ordered index.
    Ordered(Cursor),
    /// A hash index: the next bucket.
    Hash(u64),
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
    #[inline(always)]
    pub fn probe(&self, key: &[u8]) -> Probe<M> {
        match self {
            Self::Ordered(index) => Probe::Ordered(index.probe(key)),
            Self::Hash(index) => Probe::Hash(index.probe(key)),
        }
    }

    /// Advances a look-up that [`Index::probe`] began with the same key; `None` means: ask again,
    /// the next line is on its way. In line always, as a group's look-ups take turns at it.
    #[inline(always)]
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

    /// As [`Index::insert`], of one among a transaction's insertions: in an ordered index each begins where `finger` says that the
    /// last one was, if the key may belong there.
    ///
    /// # Errors
    /// As for [`Index::insert`].
    #[inline]
    pub fn insert_near(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        (hooks, changes): (&mut dyn Hooks<M>, &mut Changes<M>),
        finger: &mut Finger<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        match self {
            Self::Ordered(index) => index.insert_near(heap, key, record, (hooks, changes), finger),
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

    /// Nothing of the index is measured yet.
    #[must_use]
    pub fn measuring(&self) -> Measuring {
        use core::ops::Bound::Unbounded;
        match self {
            Self::Ordered(_) => {
                Measuring::Ordered(Cursor::new(Unbounded, Unbounded, Direction::Forward))
            }
            Self::Hash(_) => Measuring::Hash(0),
        }
    }

    /// Measures the next leaf or buckets where `measuring`, which began with this index, stands: adds what they take to
    /// `memory` and leaves their records, without keys, in `run`. `false` when nothing was left.
    ///
    /// Others may use the index meanwhile. Of what stands still everything is measured once; what moves may be missed, or
    /// measured twice.
    ///
    /// # Panics
    /// When `measuring` began with an index of the other kind.
    pub fn measure_some(
        &self,
        heap: &LocalHeap<M>,
        measuring: &mut Measuring,
        run: &mut LeafRun<M>,
        memory: &mut IndexMemory,
    ) -> bool {
        match (self, measuring) {
            (Self::Ordered(index), Measuring::Ordered(cursor)) => {
                index.measure_piece(heap, cursor, run, memory)
            }
            (Self::Hash(index), Measuring::Hash(next)) => {
                index.measure_piece(heap, next, run, memory)
            }
            _ => unreachable!("the measuring of another index"),
        }
    }

    /// Takes the index apart: gives its memory back and hands each record to `each`, whose it is
    /// then.
    pub fn dismantle(
        self,
        heap: &mut LocalHeap<M>,
        each: &mut dyn FnMut(&mut LocalHeap<M>, RecordRef<M>),
    ) {
        let (mut teardown, mut budget) = (self.teardown(), usize::MAX);
        // SAFETY: the index is ours alone, and goes.
        let done = unsafe { self.dismantle_some(heap, &mut teardown, &mut budget, each) };
        debug_assert!(done);
    }

    /// Nothing of the index is taken apart yet.
    #[must_use]
    pub fn teardown(&self) -> Teardown {
        match self {
            Self::Ordered(_) => Teardown::Ordered(ordered::Teardown::default()),
            Self::Hash(_) => Teardown::Hash(hash::Teardown::default()),
        }
    }

    /// Goes on with taking the index apart where `teardown` stands, until `budget`, counted in
    /// nodes and entries, is used up, give or take a node. Hands each record to `each`, whose it is
    /// then. Returns whether nothing is left. What is given back may be used again at once.
    ///
    /// # Safety
    /// `teardown` began with this index. From then on nobody looks at anything in it, through
    /// whatever was kept from before either, but one caller of this function at a time; the index
    /// itself may be dropped by whoever shares it. (What is type-stable, the words of records and of
    /// leaves' guards, stays readable as ever.)
    pub unsafe fn dismantle_some(
        &self,
        heap: &mut LocalHeap<M>,
        teardown: &mut Teardown,
        budget: &mut usize,
        each: &mut dyn FnMut(&mut LocalHeap<M>, RecordRef<M>),
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match (self, teardown) {
                (Self::Ordered(index), Teardown::Ordered(teardown)) => {
                    index.dismantle_some(heap, teardown, budget, each)
                }
                (Self::Hash(index), Teardown::Hash(teardown)) => {
                    index.dismantle_some(heap, teardown, budget, each)
                }
                _ => unreachable!("the teardown of another index"),
            }
        }
    }
}
