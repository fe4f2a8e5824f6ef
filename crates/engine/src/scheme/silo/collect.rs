//! The collector (Tu, 2013, 4.8): unneeded versions leave their chains, tombstones their indexes.
//!
//! There is no tree walker: each worker queues what its own commits made superfluous and takes a
//! few items off the queue after each transaction, as soon as no snapshot can need them. The cost
//! is thus paid where the garbage is made, and space is bounded by what one or two snapshot epochs
//! overwrite.

use super::{Optimistic, drop_version, faults};
use crate::collector::{self, Fate};
use crate::contract::{Context, Tables};
use crate::garbage::{Due, Garbage};
use crate::record_word;
use crate::scheme::parts::unlink;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::Kind as SlotKind;

impl<M: Machine, const VARIANT: u8> Optimistic<M, VARIANT> {
    /// Collects what no snapshot needs.
    pub(super) fn collect_some(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        budget: usize,
    ) {
        let due = Due { epoch: cx.epochs.oldest(), ..Due::ALL };
        collector::sweep(self, cx, tables, budget, due, |scheme, cx, garbage| {
            match garbage.key.is_some() {
                true => scheme.unlink(cx, tables, garbage),
                false => scheme.shorten(cx, garbage),
            }
        });
    }

    /// Cuts the chain of a record that was overwritten a snapshot epoch ago.
    fn shorten(&mut self, cx: &mut Context<'_, M, Self>, garbage: &Garbage<M>) -> Fate {
        debug_assert!(!garbage.placeholder, "a placeholder has no older versions");
        let record = garbage.record;
        let word = record.word();
        let found = match record_word::try_latch(word) {
            Ok(found) => found,
            // A dead record's chain goes with it.
            Err(found) if found & record_word::DEAD != 0 => return Fate::Gone,
            Err(_) => return Fate::Blocked,
        };
        M::enter_section();
        // If the slot holds another record by now, that one's chain may be cut just as well.
        // Readers may be on their way along the chain. Release pairs with the acquire fence of
        // `versioned_read::snapshot`: a reader that meets the link that is set below meets the latch.
        M::fence(Ordering::Release);
        let above = record.value();
        let first = self.cut(cx, above.next(Ordering::Relaxed), found);
        // Release pairs with the acquire of the link in `versioned_read::snapshot`.
        above.set_next(first, Ordering::Release);
        record_word::publish(word, found);
        M::leave_section();
        Fate::Gone
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

    /// Frees a record that has left its index, with all its versions.
    fn retire(&mut self, cx: &mut Context<'_, M, Self>, garbage: &Garbage<M>) {
        M::mark("record unlinked");
        let record = garbage.record;
        // Acquire pairs with the release in `RecordRef::write_before`, which has made the chain.
        let mut next = record.next(Ordering::Acquire);
        // Release pairs with the acquire of the link in `versioned_read::snapshot`.
        record.set_next(None, Ordering::Release);
        while let Some(block) = next {
            // Acquire pairs with the release in `chain::cut`.
            next = block.next(Ordering::Acquire);
            drop_version(cx, block);
        }
        // SAFETY: it has left its index during this pin, by our hand alone.
        unsafe { cx.heap.retire_record(SlotKind::Record, record) };
    }
}
