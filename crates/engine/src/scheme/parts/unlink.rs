//! A tombstone, or the placeholder of an insertion that was given up, leaves its index.
//!
//! Its order stays behind as the leaf's floor (`floor.rs`), but where the scheme has other means, and in a
//! verified run its stamp in the graveyard.

use crate::contract::{Context, Garbage, Scheme, Tables};
use crate::record_word;
use crate::scheme::parts::floor;
use chiliad_api::stamp;
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Guard, Hooks, Kind as SlotKind, LocalHeap};
use std::collections::VecDeque;

/// Handles up to `budget` tombstones and placeholders of a scheme whose writers latch records; one that
/// is latched comes back later. Pinned.
pub fn sweep<M: Machine, S: Scheme<M>>(
    cx: &mut Context<'_, M, S>,
    tables: &dyn Tables<M>,
    budget: usize,
    all: &mut VecDeque<Garbage<M>>,
    hooks: &mut dyn Hooks<M>,
) {
    for _ in 0..budget.min(all.len()) {
        let Some(garbage) = all.pop_front() else { return };
        M::work(Cost::Collect, 1);
        // Acquire pairs with `record_word::publish`, and with the exchange in `take_out_and`.
        let found = garbage.record.word().load(Ordering::Acquire);
        // A table that was dropped takes its garbage along, and whoever has overwritten the record
        // since leaves garbage of their own.
        let over =
            !tables.contains(garbage.table) || !record_word::is_absence(found, garbage.order);
        let latched = found & record_word::LATCH != 0;
        if over || !latched && unlink(cx.heap, tables, &garbage, found, hooks) {
            cx.keys.give(garbage.key);
        } else {
            all.push_back(garbage);
        }
    }
}

/// Takes the record of `garbage`, whose word is `found` and an absence of no interest to anybody, out
/// of its index and frees it, unless the word has changed by then; whether it did. Pinned.
pub fn unlink<M: Machine>(
    heap: &mut LocalHeap<M>,
    tables: &dyn Tables<M>,
    garbage: &Garbage<M>,
    found: u64,
    hooks: &mut dyn Hooks<M>,
) -> bool {
    let gone = take_out(heap, tables, garbage, [found, found | record_word::DEAD], hooks);
    if gone {
        M::mark("record unlinked");
        // SAFETY: it has left its index during this pin, by our hand.
        unsafe { heap.retire_record(SlotKind::Record, garbage.record) };
    }
    gone
}

/// The same, but the record is the caller's to free. Its word goes from the one to the other.
pub fn take_out<M: Machine>(
    heap: &mut LocalHeap<M>,
    tables: &dyn Tables<M>,
    garbage: &Garbage<M>,
    words: [u64; 2],
    hooks: &mut dyn Hooks<M>,
) -> bool {
    let leave = |guard: &Guard<M>| floor::raise(guard, words[0] & !record_word::FLAGS);
    take_out_and(heap, tables, garbage, words, hooks, &leave)
}

/// The same; what stays behind in the leaf, which is latched, is up to `leave`.
pub fn take_out_and<M: Machine>(
    heap: &mut LocalHeap<M>,
    tables: &dyn Tables<M>,
    garbage: &Garbage<M>,
    [found, dead]: [u64; 2],
    hooks: &mut dyn Hooks<M>,
    leave: &dyn Fn(&Guard<M>),
) -> bool {
    let record = garbage.record;
    let key = garbage.key.as_deref().unwrap_or(&[]);
    let mut gone = false;
    tables.with_index(garbage.table, &mut |index, graveyard| {
        if let Some(graveyard) = graveyard.filter(|_| !garbage.placeholder) {
            let mut bytes = [0; stamp::STAMP_BYTES];
            record.read(&mut bytes[..record.length().min(stamp::STAMP_BYTES)]);
            graveyard.bury(key, found & !record_word::FLAGS, stamp::read_absent(&bytes));
        }
        let mut confirm = |guard: &Guard<M>| {
            // Release pairs with the acquire of whoever looks at the word, as `record_word::try_latch` or
            // `versioned_read::present` do: the record is seen to be dead. Acquire pairs with
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
        gone = index.unlink(heap, key, record, hooks, &mut confirm);
    });
    gone
}
