//! Measuring a hash index while others use it: its buckets, nodes and key cells, a bucket at a time.

use super::bucket::{BUCKET_ENTRIES, NODE_ENTRIES, Node};
use super::cell::{CellRef, bytes_of};
use super::digest::CELL;
use super::walk::read_bucket;
use super::{HashIndex, protocol, record_of};
use crate::LocalHeap;
use crate::classes::slot_bytes_for;
use crate::index::contract::{IndexMemory, LeafRun};
use chiliad_machine::{Machine, Spin};

/// Buckets of one piece.
const BUCKETS: u64 = 16;

impl<M: Machine> HashIndex<M> {
    /// Puts the records of the buckets from `next` on into `run`, without their keys, adds what they take in the index to
    /// `memory`, and moves `next` on. `false` when nothing was left. The array of buckets is counted with the
    /// first piece. Pinned.
    ///
    /// While nobody changes the index all is counted once; a bucket that is divided meanwhile may be counted
    /// without what has moved, or with it twice.
    pub fn measure_piece(
        &self,
        heap: &LocalHeap<M>,
        next: &mut u64,
        run: &mut LeafRun<M>,
        memory: &mut IndexMemory,
    ) -> bool {
        debug_assert!(heap.is_pinned());
        run.clear();
        let buckets = self.table.buckets();
        if *next >= buckets {
            return false;
        }
        if *next == 0 {
            memory.node_bytes += self.table.bytes();
        }
        let end = buckets.min(*next + BUCKETS);
        let mut entries = Vec::new();
        for index in *next..end {
            let bucket = self.table.bucket(index);
            let mut spin = Spin::<M>::new();
            loop {
                entries.clear();
                if let Some(version) = protocol::stable::<M>(bucket.version()) {
                    read_bucket(bucket, version, &mut entries);
                    if protocol::unchanged::<M>(bucket.version(), version) {
                        break;
                    }
                }
                spin.wait();
            }
            // Entries are packed, and no node is empty.
            let nodes = entries.len().saturating_sub(BUCKET_ENTRIES).div_ceil(NODE_ENTRIES);
            memory.node_bytes += nodes as u64 * slot_bytes_for(size_of::<Node<M>>());
            for &(_, link) in &entries {
                let record = if link.tag() == CELL {
                    // SAFETY: tagged so, in a validated state; the caller is pinned.
                    let cell = unsafe { CellRef::<M>::from_link(link) };
                    memory.key_bytes += slot_bytes_for(bytes_of(cell.length()));
                    cell.record()
                } else {
                    record_of(link)
                };
                run.records.push((0, record));
            }
        }
        *next = end;
        true
    }
}
