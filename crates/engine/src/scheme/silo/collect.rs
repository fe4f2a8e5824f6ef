//! The collector (Tu, 2013, 4.8): old versions expire, tombstones leave their indexes.
//!
//! There is no tree walker: each worker queues what its own commits made superfluous and takes a
//! few items off the queue after each transaction, as soon as no snapshot can need them. The cost
//! is thus paid where the garbage is made, and space is bounded by what one or two snapshot epochs
//! overwrite.
//!
//! Old versions are freed by the segment, without a look at their records, which are in nobody's cache any more, or at the
//! versions themselves. The link that leads to it stays, and no reader follows it (`parts/chain.rs` says why).

use super::{Optimistic, drop_version, faults};
use crate::collector::{self, Fate};
use crate::contract::{Context, Tables};
use crate::garbage::{Due, Garbage};
use crate::record_word;
use crate::rows;
use crate::scheme::parts::unlink;
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Kind as SlotKind, RecordRef};

impl<M: Machine, const VARIANT: u8> Optimistic<M, VARIANT> {
    /// Collects what no snapshot needs.
    pub(super) fn collect_some(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        budget: usize,
    ) {
        let oldest = cx.epochs.oldest();
        expire(cx, oldest, budget);
        let due = Due { epoch: oldest, ..Due::ALL };
        collector::sweep(self, cx, tables, budget, due, |scheme, cx, garbage| {
            scheme.unlink(cx, tables, garbage)
        });
    }

    /// Takes a tombstone or an abandoned placeholder out of its index.
    fn unlink(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        garbage: &mut Garbage<M>,
    ) -> Fate {
        let record = garbage.record;
        // Acquire pairs with `record_word::publish`, and with the exchange in `unlink::take_out_and`.
        let found = record.word().load(Ordering::Acquire);
        // A later writer has left garbage of its own.
        if !record_word::is_absence(found, garbage.order) {
            return Fate::Gone;
        }
        if found & record_word::LATCH != 0 {
            return Fate::Blocked;
        }
        let removed = record_word::epoch(found);
        // The link's acquire pairs with the release in `RecordRef::write_before`.
        if removed >= cx.epochs.oldest() && record.value().next(Ordering::Acquire).is_some() {
            // The row has come back since and was removed again: snapshots may need what it was.
            M::mark("tombstone of a later removal left alone");
            garbage.epoch = removed;
            return Fate::Later;
        }
        let dead =
            if M::fault(&faults::UNLINK_NOT_DEAD) { found } else { found | record_word::DEAD };
        let words = [found, dead];
        let gone = unlink::take_out(cx, tables, garbage, words);
        if gone {
            self.retire(cx, garbage);
            return Fate::Gone;
        }
        // Reborn in between, or latched: the next look will tell.
        Fate::Blocked
    }

    /// Frees a record that has left its index. Its old versions expire by themselves.
    fn retire(&mut self, cx: &mut Context<'_, M, Self>, garbage: &Garbage<M>) {
        M::mark("record unlinked");
        let mut retire = |record: RecordRef<M>| {
            if let Some(block) = record.overflow() {
                // Release pairs with the acquire of the link in `versioned_read::snapshot`.
                record.set_next(None, Ordering::Release);
                drop_version(cx, block);
            }
            // SAFETY: the row has left its index during this pin, by our hand alone.
            unsafe { cx.heap.retire_record(SlotKind::Record, record) };
        };
        rows::retire_mates(garbage.record, &mut retire);
        retire(garbage.record);
    }
}

/// Frees up to `budget` segments of old versions that no snapshot at or above `oldest` reads, and as many of those versions that
/// have slots of their own. Pinned.
#[inline]
fn expire<M: Machine, const VARIANT: u8>(
    cx: &mut Context<'_, M, Optimistic<M, VARIANT>>,
    oldest: u64,
    budget: usize,
) {
    debug_assert!(cx.heap.is_pinned(), "whoever counts versions may be looking at them");
    for _ in 0..budget {
        // SAFETY: the segment is ours alone. Readers at `oldest` and above do not follow the links that still lead to its
        // versions (`parts/chain.rs`), and there are no others; whoever counts versions is pinned.
        if !unsafe { cx.garbage.segments.retire_below(cx.heap, oldest) } {
            break;
        }
        M::work(Cost::Collect, 1);
        M::mark("version expired");
    }
    for _ in 0..budget {
        let Some((home, block)) = cx.garbage.take_version(oldest) else { return };
        M::work(Cost::Collect, 1);
        M::mark("version expired");
        // SAFETY: a block in the queue is ours alone; readers and whoever counts versions do not come to it, as to a segment.
        unsafe { cx.heap.retire_to(home, block) };
    }
}
