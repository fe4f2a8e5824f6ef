//! Insertion and unlinking: search without a latch, latch at the version searched, write a few
//! words.

use super::bucket::{Bucket, Entry, Node, follow};
use super::cell::CellRef;
use super::digest::{CELL, Digest};
use super::spare::{Spare, retire_nodes};
use super::{HashIndex, Outcome, Search, faults, protocol};
use crate::guard::Guard;
use crate::index::contract::{Change, Changes, Hooks, Inserted, KEY_BYTES_MAX};
use crate::{LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::{Cost, Link, Machine, Ordering, Tagged, Word};
use core::ptr::NonNull;

impl<M: Machine> HashIndex<M> {
    /// Inserts `record` under `key` unless the key has one. Appends what it changed to `changes`.
    ///
    /// # Errors
    /// When there is no memory for a long key or an overflowing bucket; nothing is changed then.
    pub fn insert(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        changes: &mut Changes<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        debug_assert!(heap.is_pinned() && key.len() <= KEY_BYTES_MAX);
        let digest = self.digest(key);
        let mut spare = Spare::new();
        let done = self.insert_with(heap, key, record, &digest, &mut spare, changes);
        spare.free(heap);
        if matches!(done, Ok(Inserted::Yes)) && self.table.count_in(digest.hash) {
            self.grow(heap, hooks, changes);
        }
        done
    }

    fn insert_with(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        digest: &Digest,
        spare: &mut Spare<M>,
        changes: &mut Changes<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        loop {
            let Search { bucket, version, outcome } = self.search(digest, key);
            let mut walk = match outcome {
                Outcome::Found(_, found) => return Ok(Inserted::Exists(found)),
                Outcome::Absent(walk) => walk,
            };
            let overflows = walk.at == walk.entries.len();
            if overflows {
                spare.stock(heap, 1)?;
            }
            let link = if digest.tag == CELL {
                let cell = match spare.cell {
                    Some(cell) => cell,
                    None => *spare.cell.insert(CellRef::alloc(heap, key, record)?),
                };
                cell.to_link()
            } else {
                Tagged::new(record.as_ptr(), digest.tag)
            };
            if !latch(bucket, version) {
                continue;
            }
            if overflows {
                M::mark("bucket overflow");
            }
            M::work(Cost::IndexChange, 1);
            walk.next_or_extend(|| spare.take()).set(digest.word, link);
            spare.cell = None;
            let forgets = M::fault(&faults::INSERT_FORGETS_GUARD);
            let after = if forgets { version } else { version + protocol::STEP };
            protocol::unlatch::<M>(bucket.version(), after);
            changes.push(Change::Counted { after: bucket.seen(after), before: version });
            return Ok(Inserted::Yes);
        }
    }

    /// Takes `record` out from under `key` if it is there and `confirm`, called with the guard under the bucket's
    /// latch, agrees. Does not retire the record. Returns whether it was taken out.
    pub fn unlink(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        confirm: &mut dyn FnMut(&Guard<M>) -> bool,
    ) -> bool {
        // Buckets never merge.
        let _ = hooks;
        debug_assert!(heap.is_pinned());
        let digest = self.digest(key);
        loop {
            let Search { bucket, version, outcome } = self.search(&digest, key);
            let entry = match outcome {
                Outcome::Found(entry, found) if found == record => entry,
                _ => return false,
            };
            if !latch(bucket, version) {
                continue;
            }
            if !confirm(&bucket.guard) {
                // Nothing was written: readers that noted this version may go on.
                protocol::unlatch::<M>(bucket.version(), version);
                return false;
            }
            let link = entry.link();
            assert!(!link.is_null() && link.tag() == digest.tag, "an entry changed unlatched");
            M::work(Cost::IndexChange, 1);
            let emptied = take_out(bucket, entry);
            protocol::unlatch::<M>(bucket.version(), version + protocol::STEP);
            retire_nodes(heap, emptied);
            if digest.tag == CELL {
                // SAFETY: tagged so, and we are pinned since we found it.
                unsafe { CellRef::from_link(link) }.retire(heap);
            }
            self.table.count_out(digest.hash);
            return true;
        }
    }
}

fn latch<M: Machine>(bucket: &Bucket<M>, version: u64) -> bool {
    if M::fault(&faults::WRITER_SKIPS_VERSION) {
        return protocol::stable::<M>(bucket.version())
            .is_some_and(|now| protocol::latch_at::<M>(bucket.version(), now));
    }
    protocol::latch_at::<M>(bucket.version(), version)
}

/// Fills the place of `entry` with the last entry of its latched bucket, so that entries stay
/// packed; returns the node that this emptied.
fn take_out<M: Machine>(bucket: &Bucket<M>, entry: &Entry<M>) -> Option<NonNull<Node<M>>> {
    let (mut before, mut entries, mut chain) = (None, &bucket.entries[..], &bucket.chain);
    while let Some(node) = follow::<M>(chain) {
        (before, entries, chain) = (Some(chain), &node.entries, &node.chain);
    }
    let full = entries.iter().take_while(|it| !it.link().is_null()).count();
    debug_assert!(full > 0, "no node of a chain is empty");
    let last = &entries[full - 1];
    if !core::ptr::eq(last, entry) {
        entry.set(last.word.load(Ordering::Relaxed), last.link());
    }
    last.clear();
    let chain = before.filter(|_| full == 1)?;
    let emptied = NonNull::new(chain.load(Ordering::Relaxed).pointer());
    chain.store(Tagged::null(), Ordering::Relaxed);
    emptied
}
