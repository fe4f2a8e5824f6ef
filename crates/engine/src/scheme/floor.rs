//! Floors: what a tombstone leaves behind when it leaves its index.
//!
//! A key that is inserted again gets a fresh record, and its versions must be ordered after the
//! tombstone that is gone. So the greatest TID of all tombstones that left a leaf stays in the first
//! word of the leaf's guard, is carried along when leaves are divided or merged, and whoever inserts
//! into the leaf commits above it, whether or not it is the first to try.

use super::tid;
use chiliad_machine::{Fault, Machine, Ordering, Rig, Word};
use chiliad_storage::{Change, Guard, Hooks, RecordRef};

/// Whoever takes over the placeholder of an insertion that was given up may commit below the floor.
static PLACED_BELOW_FLOOR: Fault = Fault {
    name: "placed-below-floor",
    step: "the record that an insertion places stands above the floor of its leaf",
    rig: Rig::Test,
    schemes: &["silo", "no-wait", "wait-die", "dl-detect", "occ-serial"],
    workload: "",
    expected: &["order reversal"],
    seeds: 100,
};

/// The planted bugs of what follows a removal.
pub static FAULTS: &[&Fault] = &[&PLACED_BELOW_FLOOR];

/// Carries floors along. Called under the leaf latches.
pub(super) struct Floors;

impl<M: Machine> Hooks<M> for Floors {
    fn hand_on(&mut self, old: &Guard<M>, new: &Guard<M>) {
        raise(new, old.header.word.load(Ordering::Relaxed));
    }

    fn merge(&mut self, dying: &Guard<M>, heir: &Guard<M>) {
        raise(heir, dying.header.word.load(Ordering::Relaxed));
    }
}

/// A tombstone of `tid` leaves the leaf, which the caller has latched.
pub(super) fn raise<M: Machine>(guard: &Guard<M>, tid: u64) {
    let floor = guard.header.word.load(Ordering::Relaxed);
    // Release pairs with the acquire in `after`, by way of the leaf's own version.
    guard.header.word.store(floor.max(tid), Ordering::Release);
}

/// The TID that an insertion which made these changes must exceed, and so must whoever takes the record
/// over that it has placed, should it be given up: who finds a record in the index changes no leaf and
/// goes by the record's word, so that goes above the floor. The caller is alone with the record.
pub(super) fn settle<M: Machine>(placed: Option<RecordRef<M>>, changes: &[Change<M>]) -> u64 {
    let floor = after(changes);
    if let Some(record) = placed
        && floor > 0
        && !M::fault(&PLACED_BELOW_FLOOR)
    {
        let word = record.word().load(Ordering::Relaxed);
        if word < floor {
            let above = tid::next_life(floor) | word & tid::FLAGS;
            record.word().store(above, Ordering::Relaxed);
        }
    }
    floor
}

/// The greatest floor of the leaves that were changed.
fn after<M: Machine>(changes: &[Change<M>]) -> u64 {
    let floors = changes.iter().map(|change| match change {
        Change::Counted { after, .. } => after.guard().header.word.load(Ordering::Acquire),
        Change::Handed { to, .. } => to.guard().header.word.load(Ordering::Acquire),
    });
    floors.max().unwrap_or(0)
}
