//! The oldest active timestamp, which collection and snapshots go by.
//!
//! A transaction shows its timestamp in its worker's slot (`Slot::timestamp`) from begin to end. No transaction is
//! active below the *oldest active timestamp*, and none will begin there: a transaction that draws a lower one, from
//! a batch or by a clock that is late, draws again. It only grows. It follows that
//!
//! - a version that was replaced by one from below it is read by nobody,
//! - a tombstone from below it may leave its index: an insertion of its key is younger,
//! - what a transaction has read stays in its index until it has ended,
//! - a transaction that only reads may read as of the oldest active timestamp without tracking: a *snapshot*.
//!
//! Timestamps are in the form of header words here: flags clear.

use crate::record_word;
use chiliad_machine::{Fault, Latch, Line, Machine, Ordering, Rig, Word};
use chiliad_storage::Slots;

/// Collection that asks nobody.
static COLLECTED_TOO_SOON: Fault = Fault {
    name: "collected-too-soon",
    step: "what transactions at work may read is not collected",
    rig: Rig::SimSc,
    schemes: &["mvcc", "lock-table-repeatable-read"],
    workload: "scan",
    expected: &["G-single", "G2", "G2-item", "G1c", "lost update"],
    seeds: 200,
};

/// The planted bugs of this part.
pub static FAULTS: &[&Fault] = &[&COLLECTED_TOO_SOON];

/// State shared by all workers. Lives in the machine's memory.
pub struct OldestActive<M: Machine> {
    /// Nobody begins below.
    open: Line<M::Word>,
    /// Versions that only readers below needed may be gone.
    collected: Line<M::Word>,
    /// The last result of a search. It stays valid: what it promises never ceases to hold.
    found: Line<M::Word>,
    /// Held by the worker that looks for a later one.
    looking: Line<Latch<M, ()>>,
}

impl<M: Machine> OldestActive<M> {
    pub fn new() -> Self {
        Self {
            open: Line(M::Word::new(0)),
            collected: Line(M::Word::new(0)),
            found: Line(M::Word::new(0)),
            looking: Line(Latch::new(())),
        }
    }

    /// Shows that the transaction `now` begins; whether it may.
    #[inline]
    pub fn enter(&self, slots: &Slots<M>, slot: u32, now: u64) -> bool {
        debug_assert!(now != 0, "zero stands for nobody");
        debug_assert!(now & record_word::FLAGS == 0, "timestamps are words without flags");
        // Acquire pairs with the release in `close_below`. Looked at before as well, so that nothing is
        // ever shown that was below when the caller began.
        if now < self.open.0.load(Ordering::Acquire) {
            return false;
        }
        // Relaxed: the fence orders it.
        slots.get(slot).timestamp.store(now, Ordering::Relaxed);
        // Full; pairs with the one in `advance`: either we see that `now` is too low, or we are seen.
        M::fence(Ordering::SeqCst);
        now >= self.open.0.load(Ordering::Relaxed)
    }

    /// No transaction that begins from here on is older than `now`.
    pub fn close_below(&self, now: u64) {
        debug_assert!(now & record_word::FLAGS == 0, "timestamps are words without flags");
        // Release pairs with the acquire in `enter`: a transaction that begins later sees what the caller has
        // installed. Acquire pairs with the raises of others, here and in `advance`.
        self.open.0.fetch_max(now, Ordering::AcqRel);
    }

    /// Shows that the transaction in hand has ended.
    #[inline]
    pub fn leave(slots: &Slots<M>, slot: u32) {
        // Release pairs with the acquires of transactions that wait for this one, or find it gone: what it has
        // installed is visible.
        slots.get(slot).timestamp.store(0, Ordering::Release);
    }

    /// The least timestamp in use by others, or `own`.
    fn least(slots: &Slots<M>, slot: u32, own: u64) -> u64 {
        let others = slots.iter().filter(|&(number, _)| number != slot);
        // Acquire pairs with the release in `leave`.
        let shown = others.map(|(_, other)| other.timestamp.load(Ordering::Acquire));
        shown.filter(|&timestamp| timestamp != 0).fold(own, u64::min)
    }

    /// A timestamp, `own` or lower, below which nobody else is at work or will begin.
    fn advance(&self, slots: &Slots<M>, slot: u32, own: u64) -> u64 {
        let goal = Self::least(slots, slot, own);
        debug_assert!(goal <= own, "nobody at work is older than the goal");
        // Release pairs with the acquire in `enter`; acquire pairs with the raises of others, here and in
        // `close_below`: their goals count with what they have seen.
        self.open.0.fetch_max(goal, Ordering::AcqRel);
        // Full; pairs with the one in `enter`.
        M::fence(Ordering::SeqCst);
        Self::least(slots, slot, goal)
    }

    /// The oldest active timestamp, for a collector without a transaction of its own. One worker at a time searches,
    /// since that reads the slots of all; the others get the last result.
    pub fn for_collection(&self, slots: &Slots<M>, slot: u32, own: u64) -> u64 {
        if M::fault(&COLLECTED_TOO_SOON) {
            return own;
        }
        if let Some(_looking) = self.looking.0.try_lock() {
            let found = self.look(slots, slot, own);
            // Release pairs with the acquire below: a collector that has it sees what the ended transactions have
            // installed.
            self.found.0.fetch_max(found, Ordering::AcqRel);
        }
        self.found.0.load(Ordering::Acquire)
    }

    /// Searches for the oldest active timestamp, `own` at most; the caller's own transaction, if there is one, does
    /// not count.
    pub fn look(&self, slots: &Slots<M>, slot: u32, own: u64) -> u64 {
        let oldest_active = self.advance(slots, slot, own);
        debug_assert!(oldest_active <= own, "no later than the caller's");
        // AcqRel pairs with the raises of others; the look of `for_snapshot` goes by the fences.
        self.collected.0.fetch_max(oldest_active, Ordering::AcqRel);
        // Full; pairs with the one in `for_snapshot`: either the snapshot sees that it is too old, or
        // it is seen here.
        M::fence(Ordering::SeqCst);
        Self::least(slots, slot, oldest_active)
    }

    /// The oldest active timestamp for a snapshot, which reads everything before it and nothing after it. The caller
    /// has entered at `own`, and is active at the result from now on.
    pub fn for_snapshot(&self, slots: &Slots<M>, slot: u32, own: u64) -> u64 {
        loop {
            let oldest_active = self.advance(slots, slot, own);
            debug_assert!(oldest_active <= own, "no later than the caller's");
            let shown = &slots.get(slot).timestamp;
            shown.store(oldest_active, Ordering::Relaxed);
            // Full; pairs with the one in `look`.
            M::fence(Ordering::SeqCst);
            if oldest_active >= self.collected.0.load(Ordering::Relaxed) {
                return oldest_active;
            }
            M::mark("snapshot too old");
            // Not shown any longer than that: others would take it for one that they may rely on.
            shown.store(own, Ordering::Relaxed);
        }
    }
}
