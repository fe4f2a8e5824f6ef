//! Takes a tombstone, or the placeholder of a cancelled insertion, out of its index.
//!
//! Its order stays in the leaf as the minimum insert TID (`min_insert_tid.rs`), unless the scheme has other means,
//! and in a verified run its stamp stays beside the table.

use crate::collector::{self, Fate};
use crate::contract::{Context, Scheme, Tables};
use crate::garbage::{Due, Garbage};
use crate::record_word;
use crate::rows;
use crate::scheme::parts::min_insert_tid;
use chiliad_api::stamp;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{Guard, Kind as SlotKind};

/// Collects tombstones and placeholders of a scheme whose writers latch records; one that is latched comes back
/// later. Pinned.
pub fn sweep<M: Machine, S: Scheme<M>>(
    scheme: &mut S,
    cx: &mut Context<'_, M, S>,
    tables: &dyn Tables<M>,
    budget: usize,
) {
    collector::sweep(scheme, cx, tables, budget, Due::ALL, |_, cx, garbage| {
        // Acquire pairs with `record_word::publish`, and with the exchange in `take_out_and`.
        let found = garbage.record.word().load(Ordering::Acquire);
        // A later writer of the record has left garbage of its own.
        let over = !record_word::is_absence(found, garbage.order);
        let latched = found & record_word::LATCH != 0;
        match over || !latched && unlink(cx, tables, garbage, found) {
            true => Fate::Gone,
            false => Fate::Later,
        }
    });
}

/// Takes the record of `garbage`, whose word is `found` and an absence of no interest to anybody, out
/// of its index and frees it, unless the word has changed by then; whether it did. Pinned.
pub fn unlink<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    tables: &dyn Tables<M>,
    garbage: &Garbage<M>,
    found: u64,
) -> bool {
    debug_assert!(record_word::is_absence(found, garbage.order), "only what is absent leaves");
    let gone = take_out(cx, tables, garbage, [found, found | record_word::DEAD]);
    if gone {
        M::mark("record unlinked");
        let heap = &mut *cx.heap;
        // SAFETY: the row has left its index during this pin, by our hand; a tombstone has no block.
        let mut retire = |record| unsafe { heap.retire_record(SlotKind::Record, record) };
        rows::retire_mates(garbage.record, &mut retire);
        retire(garbage.record);
    }
    gone
}

/// As `unlink`, but the record is the caller's to free. Its word goes from the one to the other.
pub fn take_out<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    tables: &dyn Tables<M>,
    garbage: &Garbage<M>,
    words: [u64; 2],
) -> bool {
    let leave = |guard: &Guard<M>| min_insert_tid::raise(guard, words[0] & !record_word::FLAGS);
    take_out_and(cx, tables, garbage, words, &leave)
}

/// As `take_out`; `leave` decides what remains in the leaf, which is latched.
pub fn take_out_and<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    tables: &dyn Tables<M>,
    garbage: &Garbage<M>,
    [found, dead]: [u64; 2],
    leave: &dyn Fn(&Guard<M>),
) -> bool {
    debug_assert!(garbage.key.is_some(), "what is in an index has a key");
    debug_assert!(cx.heap.is_pinned(), "the record stays until it has left");
    let record = garbage.record;
    let key = garbage.key.as_deref().unwrap_or(&[]);
    let mut gone = false;
    tables.with_index(garbage.table, &mut |index, tombstone_stamps| {
        if let Some(tombstone_stamps) = tombstone_stamps.filter(|_| !garbage.placeholder) {
            let mut bytes = [0; stamp::STAMP_BYTES];
            record.read(&mut bytes[..record.length().min(stamp::STAMP_BYTES)]);
            tombstone_stamps.record(key, found & !record_word::FLAGS, stamp::read_absent(&bytes));
        }
        let mut confirm = |guard: &Guard<M>| {
            // Release pairs with the acquire of readers of the word, as `record_word::try_latch` or
            // `versioned_read::present`: the record is seen to be dead. Acquire pairs with
            // `record_word::publish`, which has made it absent. Fails if the record was reborn or latched.
            let died = record
                .word()
                .compare_exchange(found, dead, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
            if died {
                leave(guard);
            }
            died
        };
        gone = index.unlink(cx.heap, key, record, cx.leaf_hooks, &mut confirm);
    });
    gone
}
