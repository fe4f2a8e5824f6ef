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

use self::bucket::{Bucket, Chain, Entry, Node, Scan, Walk, follow, scan};
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

/// A look-up that has asked for its bucket.
pub(super) struct BucketProbe<M: Machine> {
    digest: Digest,
    /// The number of buckets when it began.
    buckets: u64,
    /// The one that the key belonged to then.
    bucket: NonNull<Bucket<M>>,
}

// SAFETY: it names a bucket, which may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for BucketProbe<M> where M::Word: Sync {}

/// A look-up in progress: see [`HashIndex::probe`].
pub struct HashProbe<M: Machine> {
    begun: BucketProbe<M>,
    stage: Stage<M>,
}

/// The outcome of one step of a look-up.
pub(super) enum Entered<M: Machine> {
    /// Its end.
    Found(Found<M>),
    /// It goes on, and the line that it looks at next is on its way.
    On(HashProbe<M>),
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
    pub(super) fn begin(&self, key: &[u8]) -> BucketProbe<M> {
        let digest = self.digest(key);
        let buckets = self.table.buckets();
        let bucket = NonNull::from(self.table.bucket(protocol::place(digest.hash, buckets)));
        M::prefetch(bucket.as_ptr().cast(), 2);
        BucketProbe { digest, buckets, bucket }
    }

    /// Begins a look-up that [`HashIndex::step`] advances.
    #[inline(always)]
    pub fn probe(&self, key: &[u8]) -> HashProbe<M> {
        HashProbe { begun: self.begin(key), stage: Stage::Bucket }
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
        let entered = match probe.stage {
            Stage::Bucket => self.enter(&probe.begun, key),
            Stage::Node(node, version) => self.enter_node(&probe.begun, key, node, version),
            Stage::Cell(cell) => self.enter_cell(&probe.begun, key, cell),
        };
        match entered {
            Entered::Found(found) => {
                if let Found::Record(record) = found {
                    record.prefetch(RECORD_AHEAD_BYTES);
                }
                Some(found)
            }
            Entered::On(on) => {
                *probe = on;
                None
            }
        }
    }

    /// Looks into the bucket that a look-up of `key` has asked for. The caller asks for the record that is found.
    #[inline(always)]
    pub(super) fn enter(&self, begun: &BucketProbe<M>, key: &[u8]) -> Entered<M> {
        // SAFETY: buckets live as long as the index.
        let bucket = unsafe { begun.bucket.as_ref() };
        let Some(version) = self.settled(bucket, begun.buckets, begun.digest.hash) else {
            return self.begin_again(&begun.digest, key);
        };
        M::work(Cost::BucketSearch, 1);
        self.look(begun, key, version, (&bucket.entries, &bucket.chain))
    }

    #[cold]
    fn enter_node(
        &self,
        begun: &BucketProbe<M>,
        key: &[u8],
        node: NonNull<Node<M>>,
        version: u64,
    ) -> Entered<M> {
        M::work(Cost::BucketSearch, 1);
        // SAFETY: the pin that the look-up began under keeps the node's slot.
        let node = unsafe { node.as_ref() };
        self.look(begun, key, version, (&node.entries, &node.chain))
    }

    fn enter_cell(&self, begun: &BucketProbe<M>, key: &[u8], cell: CellRef<M>) -> Entered<M> {
        Entered::Found(if cell.is_for(key) {
            Found::Record(cell.record())
        } else {
            M::mark("bucket hash collision");
            self.found(self.search(&begun.digest, key))
        })
    }

    /// Looks at part of a bucket: its entries, and the chain after them. It counts if the bucket is still at `version`.
    #[inline(always)]
    fn look<const N: usize>(
        &self,
        begun: &BucketProbe<M>,
        key: &[u8],
        version: u64,
        (entries, chain): (&[Entry<M>; N], &Chain<M>),
    ) -> Entered<M> {
        // SAFETY: buckets live as long as the index.
        let bucket = unsafe { begun.bucket.as_ref() };
        let is_at_version = || {
            protocol::unchanged::<M>(bucket.version(), version)
                || M::fault(&faults::READER_SKIPS_VERSION)
        };
        match scan(entries, begun.digest.word, begun.digest.tag) {
            Scan::Hit(link) => {
                if !is_at_version() {
                    return self.begin_again(&begun.digest, key);
                }
                if link.tag() == digest::CELL {
                    // SAFETY: tagged so, and the look-up is pinned.
                    let cell = unsafe { CellRef::from_link(link) };
                    M::prefetch(cell.as_ptr(), 1);
                    return Entered::On(begun.on(Stage::Cell(cell)));
                }
                Entered::Found(Found::Record(record_of(link)))
            }
            Scan::Miss => {
                // Only a miss that did not fill the bucket's own entries goes on.
                let next = follow::<M>(chain).map(NonNull::from);
                if !is_at_version() {
                    return self.begin_again(&begun.digest, key);
                }
                match next {
                    Some(node) => {
                        M::prefetch(node.as_ptr().cast(), 1);
                        Entered::On(begun.on(Stage::Node(node, version)))
                    }
                    None => Entered::Found(Found::Absent(bucket.seen(version))),
                }
            }
        }
    }

    /// A writer came between: searches without further steps.
    #[cold]
    fn begin_again(&self, digest: &Digest, key: &[u8]) -> Entered<M> {
        M::mark("bucket read again");
        Entered::Found(self.found(self.search(digest, key)))
    }

    fn found(&self, search: Search<'_, M>) -> Found<M> {
        match search.outcome {
            Outcome::Found(_, record) => Found::Record(record),
            Outcome::Absent(_) => Found::Absent(search.bucket.seen(search.version)),
        }
    }

    /// The version of `bucket`, where `hash` belonged when there were `noted` buckets, unless a writer is inside or the
    /// table has grown and it belongs there no longer.
    #[inline]
    fn settled(&self, bucket: &Bucket<M>, noted: u64, hash: u64) -> Option<u64> {
        if M::fault(&faults::READER_SKIPS_MAPPING) {
            return protocol::stable::<M>(bucket.version());
        }
        protocol::settled::<M>(bucket.version(), &self.table.root.buckets, noted, hash)
    }

    /// Searches `key`'s bucket, waiting for writers, until all it saw belongs together.
    fn search(&self, digest: &Digest, key: &[u8]) -> Search<'_, M> {
        let mut spin = Spin::<M>::new();
        loop {
            let buckets = self.table.buckets();
            let bucket = self.table.bucket(protocol::place(digest.hash, buckets));
            if let Some(version) = self.settled(bucket, buckets, digest.hash) {
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

impl<M: Machine> BucketProbe<M> {
    /// The look-up beyond its bucket.
    fn on(&self, stage: Stage<M>) -> HashProbe<M> {
        let Self { digest, buckets, bucket } = *self;
        HashProbe { begun: Self { digest, buckets, bucket }, stage }
    }
}

impl<M: Machine> HashProbe<M> {
    /// The memory that the next step looks at, and its lines.
    #[inline]
    fn awaited(&self) -> (*const u8, u32) {
        match &self.stage {
            Stage::Bucket => (self.begun.bucket.as_ptr().cast(), 2),
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
