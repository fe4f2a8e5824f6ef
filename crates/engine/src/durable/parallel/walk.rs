//! All records of a table, dealt out in small pieces on request: so that several workers share one table evenly,
//! however its keys are spread.
//!
//! Between two pieces nothing is held. A record that is there throughout is met exactly once; one
//! that comes or goes meanwhile is met at most once.

use chiliad_machine::{Latch, Machine, Ordering, Word};
use chiliad_storage::{Cursor, Index, LeafRun, LocalHeap};

/// Hash buckets of one piece.
const BUCKETS: u64 = 16;

/// Where a walk of one table stands. Lives in the machine's memory.
pub enum Walk<M: Machine> {
    Ordered(Latch<M, Cursor>),
    Hash { buckets: u64, next: M::Word },
}

impl<M: Machine> Walk<M> {
    /// A walk that has not begun.
    pub fn new(index: &Index<M>) -> Self {
        match index {
            Index::Ordered(_) => {
                use core::ops::Bound::Unbounded;
                let cursor = Cursor::new(Unbounded, Unbounded, Default::default());
                Self::Ordered(Latch::new(cursor))
            }
            Index::Hash(index) => Self::Hash { buckets: index.buckets(), next: M::Word::new(0) },
        }
    }

    /// Fills `run` with the next piece of `index`, which may be empty; `false` when nothing is left.
    /// Pinned.
    pub fn next(&self, heap: &LocalHeap<M>, index: &Index<M>, run: &mut LeafRun<M>) -> bool {
        run.clear();
        match (self, index) {
            (Self::Ordered(cursor), Index::Ordered(index)) => {
                let mut cursor = cursor.lock();
                if cursor.finished {
                    return false;
                }
                // Siblings that walk too spin for the cursor.
                let kept = M::keep_turn(true);
                index.next_leaf(heap, &mut cursor, run, usize::MAX);
                M::keep_turn(kept);
                true
            }
            (Self::Hash { buckets, next }, Index::Hash(index)) => {
                // Relaxed: only that each piece is dealt once.
                let start = next.fetch_add(BUCKETS, Ordering::Relaxed);
                debug_assert!(start.is_multiple_of(BUCKETS), "pieces do not overlap");
                let end = buckets.min(&(start + BUCKETS)).to_owned();
                if start >= end {
                    return false;
                }
                index.walk_buckets(heap, *buckets, start..end, |key, record| {
                    run.keys.extend_from_slice(key);
                    run.records.push((run.keys.len() as u32, record));
                });
                true
            }
            _ => false,
        }
    }
}
