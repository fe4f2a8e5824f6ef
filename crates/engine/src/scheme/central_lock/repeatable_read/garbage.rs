//! Collection of what no snapshot can show any more, as under `mvcc` (`timestamp/garbage.rs`): versions that a
//! younger one replaced, tombstones, placeholders of cancelled insertions.
//!
//! A chain is cut under the record's latch, for which writers and readers spin. A record leaves its index under its
//! lock, so that no writer loses it; where the lock is not available at once the record stays until later.

use super::{CANCELLED, RepeatableRead};
use crate::collector::{self, Fate};
use crate::contract::{Context, Tables};
use crate::garbage::{Due, Garbage};
use crate::record_word;
use crate::scheme::parts::install;
use crate::scheme::parts::unlink;
use chiliad_machine::{Machine, Ordering, Word};

/// Transactions of a worker between two searches for the oldest active number, which read the slots of all.
const LOOK_EVERY: u32 = 16;

impl<M: Machine> RepeatableRead<M> {
    /// Handles up to `budget` items whose time has come. The worker's snapshot is not in use any more.
    pub(super) fn collect_some(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        budget: usize,
    ) {
        self.since += 1;
        if self.since >= LOOK_EVERY || budget == usize::MAX {
            let (slots, slot) = (&cx.heap.shared().slots, cx.heap.slot_number());
            self.oldest_active =
                cx.shared.oldest_active.for_collection(slots, slot, cx.shared.next());
            self.since = 0;
        }
        let due = Due { order: self.oldest_active, ..Due::ALL };
        collector::sweep(self, cx, tables, budget, due, |scheme, cx, garbage| {
            let done = match garbage.key.is_some() {
                true => scheme.unlink(cx, tables, garbage),
                false => scheme.shorten(cx, garbage),
            };
            if done { Fate::Gone } else { Fate::Later }
        });
    }

    /// Cuts the chain behind a version; whether nothing is left to do. If the slot holds another record by
    /// now, the word is another one.
    fn shorten(&mut self, cx: &mut Context<'_, M, Self>, garbage: &Garbage<M>) -> bool {
        debug_assert!(!garbage.placeholder, "a placeholder has no older versions");
        let word = garbage.record.word();
        // Acquire pairs with `record_word::publish` and with the exchange in `unlink::take_out_and`: a record
        // that is found alive is not freed while we are pinned.
        let found = word.load(Ordering::Acquire);
        // A later writer of the record has left garbage of its own.
        if found & record_word::DEAD != 0 || !record_word::same_order(found, garbage.order) {
            return true;
        }
        if found & record_word::LATCH != 0 {
            return false;
        }
        // Transactions that meet the latch spin.
        M::enter_section();
        // Acquire pairs with the release of the latch's previous holder.
        let latched = word
            .compare_exchange(
                found,
                found | record_word::LATCH,
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .is_ok();
        if latched {
            install::shorten(cx.heap, garbage.record, self.oldest_active);
            record_word::publish(word, found);
        }
        M::leave_section();
        latched
    }

    /// Takes a tombstone or a placeholder out of its index; whether nothing is left to do.
    fn unlink(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        garbage: &Garbage<M>,
    ) -> bool {
        let record = garbage.record;
        let order = if garbage.placeholder { CANCELLED } else { garbage.order };
        // Acquire pairs with `record_word::publish` and with the exchange in `unlink::take_out_and`: a record that is
        // found alive is not freed while we are pinned. A later writer of it has left garbage of its own.
        if !record_word::is_absence(record.word().load(Ordering::Acquire), order) {
            return true;
        }
        if !self.client.can_lock(garbage.table, record) {
            return false;
        }
        let found = record.word().load(Ordering::Relaxed);
        if !record_word::is_absence(found, order) {
            return true;
        }
        // Somebody may be at its chain, before the word is looked at here or after it.
        let words = [found & !record_word::LATCH, found | record_word::DEAD];
        // Orders come from one counter, so those of the key's next record are above this one's.
        let nothing = |_: &_| {};
        let gone = found & record_word::LATCH == 0
            && unlink::take_out_and(cx, tables, garbage, words, &nothing);
        if gone {
            // SAFETY: it has left its index during this pin, by our hand alone.
            unsafe { install::retire_whole(cx.heap, record) };
        }
        gone
    }
}
