//! Minimum insert TIDs: an insertion into a leaf commits above every tombstone that has left it.
//!
//! A key that is inserted again gets a fresh record, and its versions must be ordered after the tombstone that is
//! gone. So the greatest TID of all tombstones that left a leaf, its *minimum insert TID*, stays in the first word of
//! the leaf's guard and is carried along when leaves are divided or merged. The record that an insertion places there
//! begins above it, and so does every later writer of the record, the inserter or one that takes the record over.

use crate::gaps::least_after;
use crate::record_word;
use chiliad_machine::{Fault, Machine, Ordering, Rig, Word};
use chiliad_storage::{Change, Guard, Hooks, RecordRef};

/// Planted bug: a key that is inserted again may be ordered before its removal.
static MIN_INSERT_TID_FORGOTTEN: Fault = Fault {
    name: "floor-forgotten",
    step: "the record that an insertion places stands above the minimum insert TID of its leaf",
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

/// The planted bugs of this part.
pub static FAULTS: &[&Fault] = &[&MIN_INSERT_TID_FORGOTTEN];

/// Carries minimum insert TIDs along when leaves are divided or merged. Called under the leaf latches.
#[derive(Default)]
pub struct MinInsertTids;

impl<M: Machine> Hooks<M> for MinInsertTids {
    fn hand_on(&mut self, old: &Guard<M>, new: &Guard<M>) {
        raise(new, old.header.word.load(Ordering::Relaxed));
    }

    fn merge(&mut self, dying: &Guard<M>, heir: &Guard<M>) {
        raise(heir, dying.header.word.load(Ordering::Relaxed));
    }
}

/// A tombstone of `tid` leaves the leaf, which the caller has latched.
pub fn raise<M: Machine>(guard: &Guard<M>, tid: u64) {
    debug_assert!(tid & record_word::FLAGS == 0, "a minimum insert TID has no flags");
    let least = guard.header.word.load(Ordering::Relaxed);
    // Release pairs with the acquire in `gaps::least`, by way of the leaf's own version.
    guard.header.word.store(least.max(tid), Ordering::Release);
}

/// Raises the word of the record that an insertion has placed, with these changes of leaves, above the minimum insert
/// TID: the insertion overwrites that word, and a later owner of the record starts from it if the insertion is
/// cancelled. The caller has exclusive access to the record.
#[inline]
pub fn apply<M: Machine>(placed: Option<RecordRef<M>>, changes: &[Change<M>]) {
    let Some(record) = placed else { return };
    let least = least_after(changes).unwrap_or(0);
    let word = record.word().load(Ordering::Relaxed);
    debug_assert!(word & record_word::ABSENT != 0, "what is placed is absent");
    if word < least && !M::fault(&MIN_INSERT_TID_FORGOTTEN) {
        let above = record_word::next_life(least) | word & record_word::FLAGS;
        record.word().store(above, Ordering::Relaxed);
    }
}
