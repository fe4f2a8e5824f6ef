//! Collection of what no transaction can read any more: versions that a younger one replaced, tombstones,
//! placeholders of aborted transactions.
//!
//! Each worker queues what its own commits have made superfluous in the order of its timestamps, and handles some of
//! it after each transaction, up to the oldest active timestamp (`oldest_active.rs`). A record is claimed meanwhile,
//! so that nobody writes it.

use super::{Ordered, faults, gap, record};
use crate::collector::{self, Fate};
use crate::contract::{Context, IDLE_BUDGET, Tables};
use crate::garbage::{Due, Garbage};
use crate::record_word;
use crate::scheme::parts::install;
use crate::scheme::parts::unlink;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::Guard;

/// Transactions of a worker between two searches for the oldest active timestamp, which read the slots of all.
const LOOK_EVERY: u32 = 16;

impl<M: Machine, const VERSIONS: bool> Ordered<M, VERSIONS> {
    /// Handles up to `budget` items whose time has come.
    pub(super) fn collect_some(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        budget: usize,
    ) {
        let idle = budget >= IDLE_BUDGET;
        self.since += 1;
        if self.since >= LOOK_EVERY || idle {
            // A worker that has nothing else to do may not have drawn for long.
            let own = if idle { self.draw(cx) } else { self.now };
            let slots = &cx.heap.shared().slots;
            self.oldest_active =
                cx.shared.oldest_active.for_collection(slots, cx.heap.slot_number(), own);
            self.since = 0;
        }
        let due = Due { order: self.oldest_active, ..Due::ALL };
        collector::sweep(self, cx, tables, budget, due, |scheme, cx, garbage| {
            // Transactions that meet the collector's claim spin.
            M::enter_section();
            let done = match garbage.key.is_some() {
                true => Self::unlink(cx, tables, garbage),
                false => scheme.shorten(cx, garbage),
            };
            M::leave_section();
            if done { Fate::Gone } else { Fate::Later }
        });
    }

    /// Cuts the chain of older versions; returns whether nothing is left to do. If the slot holds another record
    /// by now, that one's chain may be cut just as well.
    fn shorten(&self, cx: &mut Context<'_, M, Self>, garbage: &Garbage<M>) -> bool {
        debug_assert!(!garbage.placeholder, "a placeholder has no older versions");
        let record = garbage.record;
        // Acquire pairs with `record_word::publish`, with the store in `begin_insert` and with the exchange in
        // `unlink::take_out_and`: a record that is found alive is not freed while we are pinned.
        let word = record.word().load(Ordering::Acquire);
        // A later writer has left garbage of its own.
        if word & record_word::DEAD != 0 || !record_word::same_order(word, garbage.order) {
            return true;
        }
        if !record::claim_for_collection(record) {
            return false;
        }
        install::shorten(cx.heap, record, self.oldest_active);
        record::release(record);
        true
    }

    /// Takes a tombstone or a placeholder out of its index; whether nothing is left to do.
    fn unlink(cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, garbage: &Garbage<M>) -> bool {
        let record = garbage.record;
        // Acquire pairs with `record_word::publish`, with the store in `begin_insert` and with the exchange in
        // `unlink::take_out_and`. A later writer of the record has left garbage of its own.
        if !record_word::is_absence(record.word().load(Ordering::Acquire), garbage.order) {
            return true;
        }
        let claimed =
            M::fault(&faults::COLLECTED_UNCLAIMED) || record::claim_for_collection(record);
        if !claimed {
            return false;
        }
        let found = record.word().load(Ordering::Relaxed);
        let due = record_word::is_absence(found, garbage.order);
        let words = [found, found | record_word::DEAD];
        // A key that was read as absent stays absent for its readers.
        let leave = |guard: &Guard<M>| gap::inherit(guard, record::last_read(record));
        if !due || !unlink::take_out_and(cx, tables, garbage, words, &leave) {
            record::release(record);
            return !due;
        }
        // SAFETY: it has left its index during this pin, by our hand alone.
        unsafe { install::retire_whole(cx.heap, record) };
        true
    }
}
