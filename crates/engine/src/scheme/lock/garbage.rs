//! Tombstones and abandoned placeholders leave their indexes, each under its lock.

use super::{Locking, faults, word};
use crate::scheme::{Context, Garbage, Tables, floor, tid};
use crate::stamp;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{Guard, Kind as SlotKind};

impl<M: Machine, const POLICY: u8> Locking<M, POLICY> {
    /// Handles up to `budget` items; one that is locked comes back later.
    pub(super) fn collect_some(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        budget: usize,
    ) {
        for _ in 0..budget.min(self.garbage.len()) {
            let Some(garbage) = self.garbage.pop_front() else { return };
            // A table that was dropped takes its garbage along.
            if !tables.contains(garbage.table) || self.unlink(cx, tables, &garbage) {
                cx.keys.give(garbage.key);
            } else {
                self.garbage.push_back(garbage);
            }
        }
    }

    /// Takes a record out of its index if it is what was left there; whether nothing is left to do.
    fn unlink(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        garbage: &Garbage<M>,
    ) -> bool {
        let record = garbage.record;
        // Acquire: a record that is found alive is not freed while we are pinned.
        if !tid::is_absence(record.word().load(Ordering::Acquire), garbage.order) {
            return true;
        }
        let lock = record.further(0);
        let unlocked = M::fault(&faults::COLLECTED_UNLOCKED);
        if !unlocked && !word::try_lock(lock, word::Mode::Owned) {
            return false;
        }
        let found = record.word().load(Ordering::Relaxed);
        let mut gone = false;
        if tid::is_absence(found, garbage.order) {
            let key = garbage.key.as_deref().unwrap_or(&[]);
            let heap = &mut *cx.heap;
            tables.with_index(garbage.table, &mut |index, graveyard| {
                if let Some(graveyard) = graveyard.filter(|_| !garbage.placeholder) {
                    let mut bytes = [0; stamp::STAMP_BYTES];
                    record.read(&mut bytes[..record.length().min(stamp::STAMP_BYTES)]);
                    graveyard.bury(key, found & !tid::FLAGS, stamp::read(&bytes, true));
                }
                let mut confirm = |guard: &Guard<M>| {
                    floor::raise(guard, found & !tid::FLAGS);
                    // Release: who locks the record next sees it.
                    record.word().store(found | tid::DEAD, Ordering::Release);
                    true
                };
                gone = index.unlink(heap, key, record, &mut self.floors, &mut confirm);
            });
        }
        if !unlocked {
            word::unlock(lock, word::Mode::Owned);
        }
        if gone {
            M::mark("record unlinked");
            // SAFETY: it has left its index during this pin, by our hand.
            unsafe { cx.heap.retire_record(SlotKind::Record, record) };
        }
        true
    }
}
