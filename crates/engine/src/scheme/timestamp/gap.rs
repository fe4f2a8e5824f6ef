//! Gaps: a leaf's guard has a read timestamp, that of the youngest transaction that has missed a key in
//! the leaf or scanned it, and nobody older inserts there.
//!
//! The paper has no scans and no insertions; this is the record's rule applied to the keys that are not
//! there. A reader raises the timestamp and then asks whether the leaf's keys are still those that it
//! has seen; an insertion counts the change and then looks at the timestamp. One of the two notices.
//! Where a leaf is divided or merged the timestamp is copied when the old leaf's count has changed, so
//! that a reader that came too late for the copy reads the leaf again. A record that enters a leaf takes
//! the leaf's timestamp over, for it may stay there, absent, when its transaction gives up; one that
//! leaves hands its own back.

use super::faults;
use crate::record_word;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{Change, Guard, Hooks, Seen};

/// Copies read timestamps. Called under the leaf latches.
#[derive(Default)]
pub struct Gaps;

impl Gaps {
    fn copy<M: Machine>(from: &Guard<M>, to: &Guard<M>) {
        // Full: the change is visible before the timestamp is looked at; pairs with `stamp`.
        M::fence(Ordering::SeqCst);
        let read = from.header.word.load(Ordering::Relaxed);
        // AcqRel pairs with the other raises, in `stamp` and `inherit`; the looks at it go by the fences.
        to.header.word.fetch_max(read, Ordering::AcqRel);
    }
}

impl<M: Machine> Hooks<M> for Gaps {
    fn hand_on(&mut self, old: &Guard<M>, new: &Guard<M>) {
        if !M::fault(&faults::SPLIT_FORGETS_GAP) {
            Self::copy(old, new);
        }
    }

    fn merge(&mut self, dying: &Guard<M>, heir: &Guard<M>) {
        Self::copy(dying, heir);
    }
}

/// Notes that `now` has looked at a leaf's keys; whether they are still those that it has seen.
#[inline]
pub(super) fn stamp<M: Machine>(seen: &Seen<M>, now: u64) -> bool {
    debug_assert!(now & record_word::FLAGS == 0, "timestamps are words without flags");
    let read = &seen.guard().header.word;
    if read.load(Ordering::Relaxed) < now && !M::fault(&faults::GAP_NOT_STAMPED) {
        // AcqRel pairs with the other raises, in `Gaps::copy` and `inherit`; the looks at it go by the fences.
        read.fetch_max(now, Ordering::AcqRel);
    }
    // Full; pairs with the ones in `last_read` and `Gaps::copy`.
    M::fence(Ordering::SeqCst);
    seen.holds()
}

/// A tombstone that was read at `read` leaves the leaf, which the caller has latched.
pub(super) fn inherit<M: Machine>(guard: &Guard<M>, read: u64) {
    // AcqRel pairs with the other raises, in `stamp` and `Gaps::copy`; an insertion here latches the leaf next.
    guard.header.word.fetch_max(read, Ordering::AcqRel);
}

/// The read timestamp of the leaves in which these changes were made.
pub(super) fn last_read<M: Machine>(changes: &[Change<M>]) -> u64 {
    if M::fault(&faults::INSERTED_INTO_THE_PAST) {
        return 0;
    }
    // Full: the changes are visible before the timestamps are looked at; pairs with `stamp`.
    M::fence(Ordering::SeqCst);
    let read = changes.iter().map(|change| {
        let guard = match change {
            Change::Counted { after, .. } => after.guard(),
            Change::Handed { to, .. } => to.guard(),
        };
        guard.header.word.load(Ordering::Relaxed)
    });
    read.max().unwrap_or(0)
}
