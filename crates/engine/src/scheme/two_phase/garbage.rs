//! Tombstones and abandoned placeholders leave their indexes, each row under the locks of all its parts.

use super::{Locking, NO_WAIT, faults, row_lock, word};
use crate::collector::{self, Fate};
use crate::contract::{Context, Tables};
use crate::garbage::{Due, Garbage};
use crate::record_word;
use crate::rows;
use crate::scheme::parts::unlink;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::RecordRef;

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
    fn try_take(record: RecordRef<M>) -> bool {
        let lock = record.further(0);
        match POLICY {
            NO_WAIT => word::try_lock(lock, word::Mode::Owned),
            _ => row_lock::try_take(lock),
        }
    }

    fn give_back(record: RecordRef<M>) {
        let lock = record.further(0);
        match POLICY {
            NO_WAIT => word::unlock(lock, word::Mode::Owned),
            _ => row_lock::give_back(lock),
        }
    }

    /// Takes a row out of its index if it is what was left there; whether nothing is left to do.
    fn unlink(cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, garbage: &Garbage<M>) -> bool {
        let first = garbage.record;
        // Acquire pairs with `record_word::publish` and with the exchange in `unlink::take_out_and`: a record
        // that is found alive is not freed while we are pinned.
        if !record_word::is_absence(first.word().load(Ordering::Acquire), garbage.order) {
            return true;
        }
        let unlocked = M::fault(&faults::COLLECTED_UNLOCKED);
        // Transactions that want a lock meanwhile spin.
        M::enter_section();
        let taken = unlocked || rows::take_row(first, Self::try_take, Self::give_back);
        if taken {
            let found = first.word().load(Ordering::Relaxed);
            if record_word::is_absence(found, garbage.order) {
                unlink::unlink(cx, tables, garbage, found);
            }
            if !unlocked {
                rows::to_take(first).for_each(Self::give_back);
            }
        }
        M::leave_section();
        taken
    }
}
