//! All records of a table, and its end.

use super::bucket::Bucket;
use super::cell::CellRef;
use super::digest::{CELL, unpack};
use super::{HashIndex, protocol, record_of};
use crate::{LocalHeap, Record, RecordRef};
use chiliad_machine::{Machine, Ordering, Spin, Tagged, Word};

/// What was read of one entry.
type Raw<M> = (u64, Tagged<Record<M>>);

impl<M: Machine> HashIndex<M> {
    /// Calls `each` with every key and its record. Every bucket is read as it was at one moment,
    /// the buckets at different moments; a key that stays is seen once, however the table grows.
    pub fn walk(&self, heap: &LocalHeap<M>, mut each: impl FnMut(&[u8], RecordRef<M>)) {
        debug_assert!(heap.is_pinned());
        // What belonged to one bucket when the walk began is read together, wherever growth has
        // moved it since.
        let begun = self.table.buckets();
        let (mut entries, mut versions, mut key) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..begun {
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

    /// Takes the index apart: calls `each` with every key and record, which are the caller's then,
    /// and gives nodes and cells back to the heap. Nobody else looks at the index any more.
    pub fn dismantle(self, heap: &mut LocalHeap<M>, mut each: impl FnMut(&[u8], RecordRef<M>)) {
        let mut key = Vec::new();
        for index in 0..self.table.buckets() {
            let bucket = self.table.bucket(index);
            for entry in bucket.walk() {
                let link = entry.link();
                if !link.is_null() {
                    emit(entry.word.load(Ordering::Relaxed), link, &mut key, &mut each);
                    if link.tag() == CELL {
                        // SAFETY: tagged so, and the caller is alone with the index.
                        unsafe { CellRef::from_link(link) }.free(heap);
                    }
                }
            }
            super::change::free_nodes(heap, bucket);
        }
    }
}

/// Appends the entries of `bucket`; what they are worth shows when versions are compared.
fn read_bucket<M: Machine>(bucket: &Bucket<M>, version: u64, entries: &mut Vec<Raw<M>>) {
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
