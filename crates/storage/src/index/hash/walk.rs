//! All records of a table, and its end.

use super::bucket::{Bucket, Entry};
use super::cell::CellRef;
use super::digest::{CELL, unpack};
use super::{HashIndex, protocol, record_of};
use crate::{LocalHeap, Record, RecordRef};
use chiliad_machine::{Machine, Ordering, Spin, Tagged, Word};

/// One entry as it was read.
pub(super) type Raw<M> = (u64, Tagged<Record<M>>);

impl<M: Machine> HashIndex<M> {
    /// Calls `each` with every key and its record. Every bucket is read as it was at one moment,
    /// the buckets at different moments; a key that stays is seen once, however the table grows.
    pub fn walk(&self, heap: &LocalHeap<M>, each: impl FnMut(&[u8], RecordRef<M>)) {
        let begun = self.buckets();
        self.walk_buckets(heap, begun, 0..begun, each);
    }

    /// The piece of a [`HashIndex::walk`] that covers the buckets `piece` of those that there were
    /// when the walk began, `begun`.
    pub fn walk_buckets(
        &self,
        heap: &LocalHeap<M>,
        begun: u64,
        piece: core::ops::Range<u64>,
        mut each: impl FnMut(&[u8], RecordRef<M>),
    ) {
        debug_assert!(heap.is_pinned());
        debug_assert!(piece.end <= begun, "buckets that were there when it began");
        // What belonged to one bucket when the walk began is read together, wherever growth has
        // moved it since.
        let (mut entries, mut versions, mut key) = (Vec::new(), Vec::new(), Vec::new());
        for index in piece {
            let mut spin = Spin::<M>::new();
            while !self.read_family(index, begun, &mut entries, &mut versions) {
                spin.wait();
            }
            for &(word, link) in &entries {
                emit(word, link, &mut key, &mut each);
            }
        }
    }

    /// Reads the buckets that hold what belonged to bucket `index` of `begun`; whether no writer
    /// came between.
    fn read_family(
        &self,
        index: u64,
        begun: u64,
        entries: &mut Vec<Raw<M>>,
        versions: &mut Vec<(u64, u64)>,
    ) -> bool {
        entries.clear();
        versions.clear();
        debug_assert!(index < begun, "a bucket that was there when it began");
        let low = 1_u64 << begun.ilog2();
        let divided = index >= low || index < begun - low;
        let step = if divided { 2 * low } else { low };
        let mut member = index;
        while member < self.table.buckets() {
            let bucket = self.table.bucket(member);
            let Some(version) = protocol::stable::<M>(bucket.version()) else {
                return false;
            };
            read_bucket(bucket, version, entries);
            versions.push((member, version));
            member += step;
        }
        // A division in the family changes the version of one that was read.
        versions.iter().all(|&(member, version)| {
            protocol::unchanged::<M>(self.table.bucket(member).version(), version)
        })
    }

    /// Goes on with taking the index apart until about `budget` buckets and entries are dealt with,
    /// and says whether nothing is left: then the array of buckets is gone too. Allocates nothing,
    /// so it cannot fail half-way.
    ///
    /// # Safety
    /// As for [`super::super::Index::dismantle_some`].
    pub(crate) unsafe fn dismantle_some(
        &self,
        heap: &mut LocalHeap<M>,
        teardown: &mut Teardown,
        budget: &mut usize,
        each: &mut dyn FnMut(&mut LocalHeap<M>, RecordRef<M>),
    ) -> bool {
        while *budget > 0 && teardown.0 < self.table.buckets() {
            let bucket = self.table.bucket(teardown.0);
            let mut entries = 0;
            for link in bucket.walk().map(Entry::link).take_while(|link| !link.is_null()) {
                entries += 1;
                if link.tag() == CELL {
                    // SAFETY: tagged so, and the caller is alone with the index.
                    let cell = unsafe { CellRef::from_link(link) };
                    each(heap, cell.record());
                    cell.free(heap);
                } else {
                    each(heap, record_of(link));
                }
            }
            super::spare::free_nodes(heap, bucket);
            teardown.0 += 1;
            *budget = budget.saturating_sub(1 + entries);
        }
        let done = teardown.0 == self.table.buckets();
        if done {
            // SAFETY: the caller is alone with the index, and nobody will look at a bucket again.
            unsafe { self.table.free_pieces() };
        }
        done
    }
}

/// How far an index has been taken apart: the buckets that have been emptied.
#[derive(Default)]
pub struct Teardown(u64);

/// Appends the entries of `bucket`; what they are worth shows when versions are compared.
pub(super) fn read_bucket<M: Machine>(bucket: &Bucket<M>, version: u64, entries: &mut Vec<Raw<M>>) {
    for (count, entry) in bucket.walk().enumerate() {
        let link = entry.link();
        // A chain that writers keep changing might lead on for ever.
        if link.is_null()
            || (count % 8 == 7 && !protocol::unchanged::<M>(bucket.version(), version))
        {
            return;
        }
        entries.push((entry.word.load(Ordering::Relaxed), link));
    }
}

fn emit<M: Machine>(
    word: u64,
    link: Tagged<Record<M>>,
    key: &mut Vec<u8>,
    each: &mut impl FnMut(&[u8], RecordRef<M>),
) {
    if link.tag() == CELL {
        // SAFETY: tagged so, and the caller is pinned or alone.
        let cell = unsafe { CellRef::from_link(link) };
        key.clear();
        cell.append_key(key);
        each(key, cell.record());
    } else {
        let (bytes, length) = unpack(word, link.tag());
        each(&bytes[..length], record_of(link));
    }
}
