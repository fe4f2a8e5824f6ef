//! How a transaction ends: rolled back or committed, it leaves nothing latched and tidies up a little.

use crate::contract::{Context, LockTable, Scheme};
use crate::core::{Core, State, context};
use crate::garbage::Garbage;
use crate::tables::catalog::View;
use chiliad_api::Part;
use chiliad_machine::{Cost, Machine};

/// Transactions between two hand-overs of the tally, where it can be had without waiting.
const TALLY_EVERY: u64 = 256;
/// Items of garbage looked at after each transaction: more than one makes on average.
const COLLECT_BUDGET: usize = 16;

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    /// Gives the transaction up and leaves nothing latched. `own` if its own logic asked for it.
    pub fn roll_back(&mut self, own: bool) {
        M::work(Cost::Abort, 1);
        debug_assert!(
            !own || matches!(self.attempt.state, State::Active),
            "a lost one has no choice"
        );
        if own {
            self.tally.rolled_back += 1;
        }
        self.clockwork.switch(Part::Manager);
        self.writes.free_spare_blocks(&mut self.heap);
        self.scheme.abort(&mut context!(self), &mut self.writes);
        let given = |write: &crate::access::Write<M>| write.spare.iter().all(Option::is_none);
        debug_assert!(self.writes.entries.iter().all(given), "no block is lost");
        self.verification.aborted();
        self.leave_placeholders();
        self.writes.clear();
        self.attempt.dirty = 0;
        self.attempt.state = State::Idle;
        if !own {
            self.clockwork.abort();
        }
    }

    /// Queues the placeholders of the transaction, which are to leave their indexes.
    fn leave_placeholders(&mut self) {
        for write in &mut self.writes.entries {
            if core::mem::take(&mut write.placed) {
                self.garbage.add(Garbage {
                    table: write.table.0,
                    record: write.record,
                    key: Some(self.keys.take(self.arena.get(write.key))),
                    order: write.prior,
                    placeholder: true,
                    epoch: 0,
                });
            }
        }
    }

    /// The transaction has ended either way, and nothing is latched or pinned.
    #[inline]
    pub fn release_locks(&mut self) {
        debug_assert!(matches!(self.attempt.state, State::Idle), "it has ended");
        debug_assert!(self.writes.is_empty(), "all writes are installed or skipped");
        S::LockTable::release_locks(&mut self.scheme);
    }

    /// As [`Core::roll_back`], where tables are at hand: a scheme that takes its garbage along does so
    /// first.
    pub fn abort_and_collect(&mut self, view: &View<M>, own: bool) {
        if S::NEEDS.collects_before_release {
            self.leave_placeholders();
            self.collect(view, usize::MAX);
        }
        self.roll_back(own);
    }

    /// The transaction is over: hand the tally over now and then, collect a little.
    #[inline]
    pub fn clean_up(&mut self, view: &View<M>) {
        debug_assert!(matches!(self.attempt.state, State::Idle), "it has ended");
        debug_assert!(self.attempt.dirty == 0, "no index entry is left to write");
        // Workers that began together come by one after the other, and nobody waits.
        if (self.attempt.sequence + u64::from(self.heap.slot_number())).is_multiple_of(TALLY_EVERY)
            && let Some(mut retired) = self.inner.words.retired.try_lock()
        {
            retired.absorb(&mut self.tally);
        }
        if !self.garbage.is_empty() {
            self.collect(view, COLLECT_BUDGET);
        }
        self.heap.reclaim();
    }

    pub fn collect(&mut self, view: &View<M>, budget: usize) {
        self.heap.pin();
        self.scheme.collect(&mut context!(self), view, budget);
        self.heap.unpin();
    }
}
