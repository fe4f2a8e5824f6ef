//! Floors: what a tombstone leaves behind when it leaves its index.
//!
//! A key that is inserted again gets a fresh record, and its versions must be ordered after the
//! tombstone that is gone. So the greatest TID of all tombstones that left a leaf stays in the first
//! word of the leaf's guard, is carried along when leaves are divided or merged, and the record that an
//! insertion places there begins above it. So whoever writes the record commits above it, be it the
//! one that has placed it or one that takes it over.

use crate::record_word;
use chiliad_machine::{Fault, Machine, Ordering, Rig, Word};
use chiliad_storage::{Change, Guard, Hooks, RecordRef};

/// A key that comes back may be ordered before its removal.
static FLOOR_FORGOTTEN: Fault = Fault {
    name: "floor-forgotten",
    step: "the record that an insertion places stands above the floor of its leaf",
    rig: Rig::SimSc,
    schemes: &[
        "silo",
        "partitioned",
        "h-store",
        "no-wait",
        "wait-die",
        "dl-detect",
        "occ-serial",
        "lock-table",
    ],
    workload: "scan",
    expected: &["order reversal"],
    seeds: 1000,
};

/// The planted bugs of what follows a removal.
pub static FAULTS: &[&Fault] = &[&FLOOR_FORGOTTEN];

/// Carries floors along. Called under the leaf latches.
#[derive(Default)]
pub struct Floors;

impl<M: Machine> Hooks<M> for Floors {
    fn hand_on(&mut self, old: &Guard<M>, new: &Guard<M>) {
        raise(new, old.header.word.load(Ordering::Relaxed));
    }

    fn merge(&mut self, dying: &Guard<M>, heir: &Guard<M>) {
        raise(heir, dying.header.word.load(Ordering::Relaxed));
    }
}

/// A tombstone of `tid` leaves the leaf, which the caller has latched.
pub fn raise<M: Machine>(guard: &Guard<M>, tid: u64) {
    debug_assert!(tid & record_word::FLAGS == 0, "a floor has no flags");
    let floor = guard.header.word.load(Ordering::Relaxed);
    // Release pairs with the acquire in `after`, by way of the leaf's own version.
    guard.header.word.store(floor.max(tid), Ordering::Release);
}

/// Sets the word of the record that an insertion has placed, with these changes of leaves, above the
/// floor: that is the word which the insertion overwrites, and which whoever takes the record over goes
/// by, should the insertion be given up. The caller is alone with the record.
pub fn settle<M: Machine>(placed: Option<RecordRef<M>>, changes: &[Change<M>]) {
    let Some(record) = placed else { return };
    let floor = after(changes);
    let word = record.word().load(Ordering::Relaxed);
    debug_assert!(word & record_word::ABSENT != 0, "what is placed is absent");
    if word < floor && !M::fault(&FLOOR_FORGOTTEN) {
        let above = record_word::next_life(floor) | word & record_word::FLAGS;
        record.word().store(above, Ordering::Relaxed);
    }
}

/// The greatest floor of the leaves that were changed.
fn after<M: Machine>(changes: &[Change<M>]) -> u64 {
    // Acquire pairs with the release in `raise`, by way of the leaf's own version.
    let floors = changes.iter().map(|change| match change {
        Change::Counted { after, .. } => after.guard().header.word.load(Ordering::Acquire),
        Change::Handed { to, .. } => to.guard().header.word.load(Ordering::Acquire),
    });
    floors.max().unwrap_or(0)
}
