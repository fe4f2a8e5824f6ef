//! Growth: the division of one bucket into two.

use super::bucket::{Bucket, Walk, follow};
use super::spare::{Spare, retire_nodes};
use super::table::Table;
use super::{HashIndex, digest, faults, protocol};
use crate::index::contract::{Change, Changes, Hooks};
use crate::{LocalHeap, OutOfMemory};
use chiliad_machine::{Machine, Ordering, Word};
use core::ptr::NonNull;

/// Attempts at a bucket that others are changing: the next insertion tries again.
const ATTEMPTS: u32 = 4;

impl<M: Machine> HashIndex<M> {
    /// Divides buckets while the table is crowded, a few at most. Leaves it to others when they are
    /// at it, to a later insertion when there is no memory.
    #[cold]
    pub(super) fn grow(
        &self,
        heap: &mut LocalHeap<M>,
        hooks: &mut dyn Hooks<M>,
        changes: &mut Changes<M>,
    ) {
        let Some(_growing) = self.table.try_grow() else {
            return;
        };
        for _ in 0..Table::<M>::divisions_max() {
            if !self.table.is_crowded() {
                return;
            }
            let mut spare = Spare::new();
            let divided = self.divide(heap, &mut spare, hooks, changes);
            spare.free(heap);
            if divided != Ok(true) {
                M::mark("bucket growth put off");
                return;
            }
        }
    }

    /// Divides the next bucket. The caller has the right to grow.
    fn divide(
        &self,
        heap: &mut LocalHeap<M>,
        spare: &mut Spare<M>,
        hooks: &mut dyn Hooks<M>,
        changes: &mut Changes<M>,
    ) -> Result<bool, OutOfMemory> {
        let buckets = self.table.buckets();
        let old = self.table.bucket(buckets - (1 << buckets.ilog2()));
        let new = self.table.prepare(buckets)?;
        let Some(version) = latch_stocked(heap, old, spare)? else {
            return Ok(false);
        };
        // The new bucket's: both are unlatched below.
        M::enter_section();
        M::mark("bucket split");
        let rest = self.distribute(old, new, buckets, spare);
        hooks.hand_on(&old.guard, &new.guard);
        self.table.publish(buckets + 1);
        protocol::unlatch::<M>(new.version(), protocol::STEP);
        let forgets = M::fault(&faults::SPLIT_FORGETS_GUARD);
        let after = if forgets { version } else { version + protocol::STEP };
        protocol::unlatch::<M>(old.version(), after);
        retire_nodes(heap, rest);
        changes.push(Change::Counted { after: old.seen(after), before: version });
        let to = new.seen(protocol::STEP);
        changes.push(Change::Handed { from: NonNull::from(&old.guard), to });
        Ok(true)
    }

    /// Moves what belongs to bucket `buckets` there and packs what stays; returns the nodes that
    /// this emptied. Both buckets are latched.
    fn distribute(
        &self,
        old: &Bucket<M>,
        new: &Bucket<M>,
        buckets: u64,
        spare: &mut Spare<M>,
    ) -> Option<NonNull<super::Node<M>>> {
        let (mut stay, mut go): (Walk<'_, M>, _) = (old.walk(), new.walk());
        for entry in old.walk() {
            let link = entry.link();
            if link.is_null() {
                break;
            }
            let word = entry.word.load(Ordering::Relaxed);
            let hash = digest::hash_of(word, link.tag(), self.seed);
            if protocol::place(hash, buckets + 1) == buckets {
                go.next_or_extend(|| spare.take()).set(word, link);
            } else if let Some(target) = stay.next().filter(|&it| !core::ptr::eq(it, entry)) {
                target.set(word, link);
            }
        }
        stay.cut()
    }
}

/// Latches `bucket` with as many spare nodes at hand as it has itself: more than one half of it can
/// need. `None` when others are changing it.
fn latch_stocked<M: Machine>(
    heap: &mut LocalHeap<M>,
    bucket: &Bucket<M>,
    spare: &mut Spare<M>,
) -> Result<Option<u64>, OutOfMemory> {
    for _ in 0..ATTEMPTS {
        let Some(version) = protocol::stable::<M>(bucket.version()) else {
            return Ok(None);
        };
        let mut nodes = 0;
        let mut chain = &bucket.chain;
        while let Some(node) = follow::<M>(chain) {
            nodes += 1;
            chain = &node.chain;
            if !protocol::unchanged::<M>(bucket.version(), version) {
                break;
            }
        }
        spare.stock(heap, nodes)?;
        if protocol::latch_at::<M>(bucket.version(), version) {
            return Ok(Some(version));
        }
    }
    Ok(None)
}
