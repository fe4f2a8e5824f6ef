//! Tombstones and abandoned placeholders leave their indexes, each under its lock.

use super::{Locking, NO_WAIT, faults, row_lock, word};
use crate::collector::{self, Fate};
use crate::contract::{Context, Tables};
use crate::garbage::{Due, Garbage};
use crate::record_word;
use crate::scheme::parts::unlink;
use chiliad_machine::{Machine, Ordering, Word};

impl<M: Machine, const POLICY: u8> Locking<M, POLICY> {
    /// Handles up to `budget` items; one that is locked comes back later.
    pub(super) fn collect_some(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        tables: &dyn Tables<M>,
        budget: usize,
    ) {
        collector::sweep(self, cx, tables, budget, Due::ALL, |_, cx, garbage| {
            if Self::unlink(cx, tables, garbage) { Fate::Gone } else { Fate::Later }
        });
    }

    /// Takes a lock that nobody has or waits for, for as long as an index takes to forget a key.
    fn try_take(lock: &M::Word) -> bool {
        match POLICY {
            NO_WAIT => word::try_lock(lock, word::Mode::Owned),
            _ => row_lock::try_take(lock),
        }
    }

    fn give_back(lock: &M::Word) {
        match POLICY {
            NO_WAIT => word::unlock(lock, word::Mode::Owned),
            _ => row_lock::give_back(lock),
        }
    }

    /// Takes a record out of its index if it is what was left there; whether nothing is left to do.
    fn unlink(cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, garbage: &Garbage<M>) -> bool {
        let record = garbage.record;
        // Acquire pairs with `record_word::publish` and with the exchange in `unlink::take_out_and`: a record
        // that is found alive is not freed while we are pinned.
        if !record_word::is_absence(record.word().load(Ordering::Acquire), garbage.order) {
            return true;
        }
        let lock = record.further(0);
        let unlocked = M::fault(&faults::COLLECTED_UNLOCKED);
        if !unlocked && !Self::try_take(lock) {
            return false;
        }
        // Transactions that want the lock meanwhile spin.
        M::enter_section();
        let found = record.word().load(Ordering::Relaxed);
        if record_word::is_absence(found, garbage.order) {
            unlink::unlink(cx, tables, garbage, found);
        }
        if !unlocked {
            Self::give_back(lock);
        }
        M::leave_section();
        true
    }
}
