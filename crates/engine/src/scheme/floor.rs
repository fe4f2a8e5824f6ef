//! Floors: what a tombstone leaves behind when it leaves its index.
//!
//! A key that is inserted again gets a fresh record, and its versions must be ordered after the
//! tombstone that is gone. So the greatest TID of all tombstones that left a leaf stays in the first
//! word of the leaf's guard, is carried along when leaves are divided or merged, and whoever inserts
//! into the leaf commits above it.

use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{Change, Guard, Hooks};

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

/// The TID that an insertion which made these changes must exceed.
pub(super) fn after<M: Machine>(changes: &[Change<M>]) -> u64 {
    let floors = changes.iter().map(|change| match change {
        Change::Counted { after, .. } => after.guard().header.word.load(Ordering::Acquire),
        Change::Handed { to, .. } => to.guard().header.word.load(Ordering::Acquire),
    });
    floors.max().unwrap_or(0)
}
