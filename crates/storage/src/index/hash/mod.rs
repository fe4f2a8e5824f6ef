//! A hash index, for tables that are only looked up: one cache miss to the bucket, one to the
//! record.
//!
//! A growing array of buckets by linear hashing (Litwin 1980): growth divides one bucket at a time,
//! so no operation ever waits for a rehash, and readers write nothing shared. A bucket is two
//! adjacent lines with a [`crate::Guard`] and six entries; what does not fit goes to a chain of
//! nodes for which the bucket's guard stands as well. Keys of up to eight bytes are stored in the
//! bucket itself; longer ones in a cell between the bucket and the record, a third dependent miss:
//! point tables do well to keep their keys to eight bytes.
//!
//! Invariants:
//!
//! - `protocol`: how readers, writers and growth agree;
//! - an operation that latches a bucket has allocated before, waits for nothing inside and leaves within
//!   instructions; two buckets are latched together only by a division, whose new one is private;
//! - nothing is left latched when memory runs out; growth that finds none is put off, for the table
//!   is correct at any load;
//! - buckets live until the index is taken apart or dropped; a [`crate::Seen`] of one must not be
//!   looked at after that.
//!
//! The table does not shrink, but nodes and cells are given back as keys go.

mod bucket;
mod cell;
mod change;
mod digest;
pub mod faults;
mod measure;
#[cfg(test)]
mod models;
mod protocol;
mod spare;
mod split;
mod table;
mod walk;

pub use self::walk::Teardown;

use self::bucket::{Bucket, Entry, Node, Scan, Walk, follow, scan};
use self::cell::CellRef;
use self::digest::Digest;
use self::table::Table;
use crate::index::contract::Found;
use crate::{Heap, LocalHeap, OutOfMemory, Record, RecordRef};
use chiliad_machine::{Cost, Machine, Ordering, Shared, Spin, Tagged, Word};
use core::ptr::NonNull;
use std::sync::Arc;

/// Payload bytes of a record that a look-up asks for when it has found it: with the header, the two
/// lines of a small record.
const RECORD_AHEAD_BYTES: usize = 100;
/// The lines of a record with its head.
const RECORD_LINES: u32 = 2;
/// Buckets that, with their records, a core's private cache keeps: not worth waiting for.
const BUCKETS_CACHED: u64 = 1024;

/// A table's keys, hashed.
pub struct HashIndex<M: Machine> {
    table: Table<M>,
    seed: u64,
}

/// A look-up in progress: see [`HashIndex::probe`].
pub struct HashProbe<M: Machine> {
    digest: Digest,
    /// The bucket that the key belonged to when the look-up began or last looked.
    index: u64,
    bucket: NonNull<Bucket<M>>,
    stage: Stage<M>,
}

/// The target of the next step of a look-up.
enum Stage<M: Machine> {
    Bucket,
    /// A node of the chain of the bucket, which was at this version.
    Node(NonNull<Node<M>>, u64),
    /// A key that hashes like ours.
    Cell(CellRef<M>),
}

/// The result of a consistent search of a bucket.
struct Search<'a, M: Machine> {
    bucket: &'a Bucket<M>,
    /// The version of the bucket at which all of this holds.
    version: u64,
    outcome: Outcome<'a, M>,
}

enum Outcome<'a, M: Machine> {
    /// The entry of the key, and its record.
    Found(&'a Entry<M>, RecordRef<M>),
    /// The key is not there; it belongs at the next place of the walk.
    Absent(Walk<'a, M>),
}

impl<M: Machine> HashIndex<M> {
    /// An empty index with room for `expected_keys` before it has to grow.
    ///
    /// # Errors
    /// When the memory limit leaves no room for the buckets.
    pub fn new(heap: &Arc<Shared<M, Heap<M>>>, expected_keys: usize) -> Result<Self, OutOfMemory> {
        Self::with_seed(heap, expected_keys, 0)
    }

    /// As [`HashIndex::new`], with another hash function for each `seed`.
    ///
    /// # Errors
    /// When the memory limit leaves no room for the buckets.
    pub fn with_seed(
        heap: &Arc<Shared<M, Heap<M>>>,
        expected_keys: usize,
        seed: u64,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self { table: Table::new(heap, expected_keys)?, seed })
    }

    /// The number of buckets now, for statistics.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.table.buckets()
    }

    /// The number of keys, estimated from a sample.
    #[must_use]
    pub fn keys_estimated(&self) -> u64 {
        self.table.keys()
    }

    fn digest(&self, key: &[u8]) -> Digest {
        M::work(Cost::Hash, 1);
        Digest::of(key, self.seed)
    }

    /// Finds `key`'s record, and waits for its first lines.
    #[inline]
    pub fn get(&self, heap: &LocalHeap<M>, key: &[u8]) -> Found<M> {
        let mut probe = self.probe(key);
        // In simulation everything is waited for, as in the ordered index.
        let waits = M::explores() || self.table.buckets() > BUCKETS_CACHED;
        loop {
            if waits {
                let (start, lines) = probe.awaited();
                M::await_line(start, lines);
            }
            let Some(found) = self.step(heap, &mut probe, key) else { continue };
            if waits && let Found::Record(record) = found {
                M::await_line(record.as_ptr().cast_const().cast(), RECORD_LINES);
            }
            return found;
        }
    }

    /// Begins a look-up and asks for the bucket. In line always, so that it is made in its place among the others.
    #[inline(always)]
    pub fn probe(&self, key: &[u8]) -> HashProbe<M> {
        let digest = self.digest(key);
        let index = protocol::place(digest.hash, self.table.buckets());
        let bucket = NonNull::from(self.table.bucket(index));
        M::prefetch(bucket.as_ptr().cast(), 2);
        HashProbe { digest, index, bucket, stage: Stage::Bucket }
    }

    /// Advances a look-up of `key`: `None` means that the next line is on its way. A record that is
    /// found is on its way too.
    #[inline(always)]
    pub fn step(
        &self,
        heap: &LocalHeap<M>,
        probe: &mut HashProbe<M>,
        key: &[u8],
    ) -> Option<Found<M>> {
        debug_assert!(heap.is_pinned());
        match probe.stage {
            Stage::Bucket => self.step_bucket(probe, key),
            Stage::Node(node, version) => self.step_node(probe, key, node, version),
            Stage::Cell(cell) => Some(if cell.is_for(key) {
                let record = cell.record();
                record.prefetch(RECORD_AHEAD_BYTES);
                Found::Record(record)
            } else {
                M::mark("bucket hash collision");
                self.found(self.search(&probe.digest, key))
            }),
        }
    }

    #[inline(always)]
    fn step_bucket(&self, probe: &mut HashProbe<M>, key: &[u8]) -> Option<Found<M>> {
        // SAFETY: buckets live as long as the index.
        let bucket = unsafe { probe.bucket.as_ref() };
        let Some(version) = self.settled(bucket, probe.index, probe.digest.hash) else {
            return self.begin_again(probe, key);
        };
        M::work(Cost::BucketSearch, 1);
        let found = scan(&bucket.entries, probe.digest.word, probe.digest.tag);
        // Only a miss that did not fill the bucket's own entries goes on.
        let next = follow::<M>(&bucket.chain).map(NonNull::from);
        self.conclude(probe, key, version, found, next)
    }

    #[cold]
    fn step_node(
        &self,
        probe: &mut HashProbe<M>,
        key: &[u8],
        node: NonNull<Node<M>>,
        version: u64,
    ) -> Option<Found<M>> {
        M::work(Cost::BucketSearch, 1);
        // SAFETY: the pin that the look-up began under keeps the node's slot.
        let node = unsafe { node.as_ref() };
        let found = scan(&node.entries, probe.digest.word, probe.digest.tag);
        let next = follow::<M>(&node.chain).map(NonNull::from);
        self.conclude(probe, key, version, found, next)
    }

    /// Evaluates a look at part of a bucket, if the bucket is still at `version`.
    #[inline(always)]
    fn conclude(
        &self,
        probe: &mut HashProbe<M>,
        key: &[u8],
        version: u64,
        found: Scan<M>,
        next: Option<NonNull<Node<M>>>,
    ) -> Option<Found<M>> {
        // SAFETY: buckets live as long as the index.
        let bucket = unsafe { probe.bucket.as_ref() };
        if !protocol::unchanged::<M>(bucket.version(), version)
            && !M::fault(&faults::READER_SKIPS_VERSION)
        {
            return self.begin_again(probe, key);
        }
        match (found, next) {
            (Scan::Hit(link), _) if link.tag() == digest::CELL => {
                // SAFETY: tagged so, and the look-up is pinned.
                let cell = unsafe { CellRef::from_link(link) };
                M::prefetch(cell.as_ptr(), 1);
                probe.stage = Stage::Cell(cell);
                None
            }
            (Scan::Hit(link), _) => {
                let record = record_of(link);
                record.prefetch(RECORD_AHEAD_BYTES);
                Some(Found::Record(record))
            }
            (Scan::Miss, Some(node)) => {
                M::prefetch(node.as_ptr().cast(), 1);
                probe.stage = Stage::Node(node, version);
                None
            }
            (Scan::Miss, None) => Some(Found::Absent(bucket.seen(version))),
        }
    }

    /// A writer came between: searches without further steps.
    #[cold]
    fn begin_again(&self, probe: &mut HashProbe<M>, key: &[u8]) -> Option<Found<M>> {
        M::mark("bucket read again");
        Some(self.found(self.search(&probe.digest, key)))
    }

    fn found(&self, search: Search<'_, M>) -> Found<M> {
        match search.outcome {
            Outcome::Found(_, record) => {
                record.prefetch(RECORD_AHEAD_BYTES);
                Found::Record(record)
            }
            Outcome::Absent(_) => Found::Absent(search.bucket.seen(search.version)),
        }
    }

    /// The version of `bucket`, at `index`, unless a writer is inside or the table has grown and
    /// `hash` no longer belongs there.
    #[inline]
    fn settled(&self, bucket: &Bucket<M>, index: u64, hash: u64) -> Option<u64> {
        if M::fault(&faults::READER_SKIPS_MAPPING) {
            return protocol::stable::<M>(bucket.version());
        }
        protocol::settled::<M>(bucket.version(), &self.table.root.buckets, index, hash)
    }

    /// Searches `key`'s bucket, waiting for writers, until all it saw belongs together.
    fn search(&self, digest: &Digest, key: &[u8]) -> Search<'_, M> {
        let mut spin = Spin::<M>::new();
        loop {
            let index = protocol::place(digest.hash, self.table.buckets());
            let bucket = self.table.bucket(index);
            if let Some(version) = self.settled(bucket, index, digest.hash) {
                M::work(Cost::BucketSearch, 1);
                if let Some(outcome) = self.search_bucket(bucket, version, digest, key) {
                    return Search { bucket, version, outcome };
                }
            }
            spin.wait();
        }
    }

    /// `None` when the bucket does not stay at `version`.
    fn search_bucket<'a>(
        &self,
        bucket: &'a Bucket<M>,
        version: u64,
        digest: &Digest,
        key: &[u8],
    ) -> Option<Outcome<'a, M>> {
        let unchanged = || protocol::unchanged::<M>(bucket.version(), version);
        let mut walk = bucket.walk();
        loop {
            let here = walk;
            let Some(entry) = walk.next() else {
                return unchanged().then_some(Outcome::Absent(here));
            };
            let link = entry.link();
            if link.is_null() {
                return unchanged().then_some(Outcome::Absent(here));
            }
            if entry.word.load(Ordering::Relaxed) != digest.word || link.tag() != digest.tag {
                // A chain that writers keep changing might lead on for ever.
                if walk.at == 1 && !unchanged() {
                    return None;
                }
                continue;
            }
            if !unchanged() {
                return None;
            }
            if digest.tag != digest::CELL {
                return Some(Outcome::Found(entry, record_of(link)));
            }
            // SAFETY: tagged so, and the caller is pinned.
            let cell = unsafe { CellRef::from_link(link) };
            if cell.is_for(key) {
                return Some(Outcome::Found(entry, cell.record()));
            }
        }
    }
}

impl<M: Machine> HashProbe<M> {
    /// The memory that the next step looks at, and its lines.
    #[inline]
    fn awaited(&self) -> (*const u8, u32) {
        match &self.stage {
            Stage::Bucket => (self.bucket.as_ptr().cast(), 2),
            Stage::Node(node, _) => (node.as_ptr().cast(), 1),
            Stage::Cell(cell) => (cell.as_ptr(), 1),
        }
    }
}

/// The record that an entry of a short key leads to.
#[inline]
fn record_of<M: Machine>(link: Tagged<Record<M>>) -> RecordRef<M> {
    debug_assert!(link.tag() != digest::CELL && !link.is_null());
    // SAFETY: entries that are not empty lead to records of the heap.
    unsafe { RecordRef::from_raw(NonNull::new_unchecked(link.pointer())) }
}
