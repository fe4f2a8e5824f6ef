//! Gaps: the keys that are not there. The lock is on a leaf's or bucket's part of the key space, named by the address
//! of its guard: shared (S) for a transaction that has scanned it or has missed a key in it, intention exclusive (IX)
//! for one that inserts there. So insertions go together, and wait for readers, like next-key locks with a gap of one
//! key's width.
//!
//! A part becomes another one when its leaf is divided or leaves the tree. An insertion requests its lock before it
//! touches the leaf, so this seldom happens under a reader; where it does, the reader aborts at its commit. For that
//! each guard has a *stamp*: a reader puts one there if there is none, and it goes when the part changes. No stamp is
//! used twice, so a reused leaf has another one.
//!
//! A reader locks the gap, checks the stamp, and then checks whether the keys are still those that it has seen. A
//! division counts the change, or shows that the leaf is latched, and then takes the stamp away. One of the two
//! notices.

use super::faults;
use crate::scheme::parts::min_insert_tid::MinInsertTids;
use chiliad_machine::{Link, Machine, Ordering, Tagged, Word};
use chiliad_storage::{Change, Guard, Hooks, Record, Seen};
use core::ptr::NonNull;

/// Stamps that a worker draws at a time.
const STAMPS: u64 = 1024;
const _: () = assert!(STAMPS.is_power_of_two(), "what is drawn ends at a multiple");

/// Room for tags below a stamp.
const STAMP_SHIFT: u32 = 3;

/// The number that stands for a guard among the locks.
pub(super) fn number<M: Machine>(guard: NonNull<Guard<M>>) -> u64 {
    M::address(guard.as_ptr().cast())
}

/// The parts at which a transaction has looked, with the stamps that they had.
pub(super) struct Gaps<M: Machine> {
    looked_at: Vec<Stamped<M>>,
    min_insert_tid: u64,
    /// Stamps that the worker has drawn: the next, and where they end.
    next: u64,
    end: u64,
}

// SAFETY: it names guards, which may be reached from any thread where their words may; stamps lead nowhere.
unsafe impl<M: Machine> Send for Gaps<M> where M::Word: Sync {}

impl<M: Machine> Gaps<M> {
    pub fn new() -> Self {
        Self { looked_at: Vec::with_capacity(32), min_insert_tid: 0, next: 0, end: 0 }
    }

    #[inline]
    pub fn clear(&mut self) {
        self.looked_at.clear();
        self.min_insert_tid = 0;
    }

    /// The transaction has looked at a part, and has locked it; whether its keys are still those that it has
    /// seen. `stamps` is the source of stamps.
    pub fn add(&mut self, seen: &Seen<M>, stamps: &M::Word) -> bool {
        let (stamp, holds) = self.look_again(seen, stamps);
        self.looked_at.push((seen.guard_ptr(), stamp));
        // Relaxed: as in the engine's `Gaps::min_insert_tid`.
        self.min_insert_tid =
            self.min_insert_tid.max(seen.guard().header.word.load(Ordering::Relaxed));
        holds
    }

    /// The greatest of the parts' minimum insert TIDs: what was removed from them is older.
    pub fn min_insert_tid(&self) -> u64 {
        self.min_insert_tid
    }

    /// The stamp of a part that is locked, and whether its keys are still those that were seen.
    fn look_again(&mut self, seen: &Seen<M>, stamps: &M::Word) -> (Tagged<Record<M>>, bool) {
        let link = &seen.guard().header.link;
        // Acquire pairs with the release in `Ranges::changes`: a reader that finds the stamp gone finds the change.
        let mut stamp = link.load(Ordering::Acquire);
        if stamp.is_null() {
            let fresh = self.draw(stamps);
            // Release pairs with the acquire of the swap in `Ranges::changes`; acquire pairs with the release of this
            // exchange by an earlier reader, and of that swap.
            stamp = match link.compare_exchange(stamp, fresh, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => fresh,
                Err(other) => other,
            };
        }
        // Full: the lock and the stamp are there before the keys are looked at again. Pairs with the one in
        // `Ranges::changes`, and with the exchange by which the lock of an insertion comes into its chain.
        M::fence(Ordering::SeqCst);
        (stamp, seen.holds())
    }

    /// The transaction's own insertion has made these changes, and divided parts. Where it had looked at one of
    /// them it now has looked at what that was divided into, if `lock` can lock the new part at once and nobody else
    /// was there in between; else it stays what is refused.
    pub fn fix_up(
        &mut self,
        ranges: &mut Ranges<M>,
        changes: &[Change<M>],
        stamps: &M::Word,
        mut lock: impl FnMut(NonNull<Guard<M>>) -> bool,
    ) {
        for divided in ranges.divided.drain(..) {
            if !self.looked_at.contains(&divided) {
                continue;
            }
            let Some(rest) = latest(changes, divided.0) else { continue };
            let (stamp, mut holds) = self.look_again(&rest, stamps);
            for change in changes {
                if let Change::Handed { from, to } = change
                    && *from == divided.0
                {
                    let part = latest(changes, to.guard_ptr()).unwrap_or(*to);
                    holds = holds && lock(part.guard_ptr()) && self.add(&part, stamps);
                }
            }
            for entry in self.looked_at.iter_mut().filter(|entry| holds && **entry == divided) {
                entry.1 = stamp;
            }
        }
    }

    fn draw(&mut self, stamps: &M::Word) -> Tagged<Record<M>> {
        if self.next == self.end {
            // Relaxed: nothing but different from all others.
            self.next = stamps.fetch_add(STAMPS, Ordering::Relaxed).max(1);
            self.end = self.next / STAMPS * STAMPS + STAMPS;
        }
        debug_assert!(self.next < self.end, "a stamp is left");
        debug_assert!(self.next != 0, "no stamp looks like none");
        let stamp = (self.next as usize) << STAMP_SHIFT;
        self.next += 1;
        Tagged::new(core::ptr::without_provenance_mut(stamp), 0)
    }

    /// Whether all are what they were.
    #[inline]
    pub fn hold(&self) -> bool {
        self.looked_at.iter().all(|&(guard, stamp)| {
            // SAFETY: leaf slots are type-stable in their guard for the life of the heap.
            let link = unsafe { &guard.as_ref().header.link };
            // Acquire pairs with the release of the swap in `Ranges::changes`.
            link.load(Ordering::Acquire) == stamp
        })
    }
}

/// The last of these changes of a part.
fn latest<M: Machine>(changes: &[Change<M>], guard: NonNull<Guard<M>>) -> Option<Seen<M>> {
    let seen = changes.iter().map(|change| match change {
        Change::Counted { after, .. } => *after,
        Change::Handed { to, .. } => *to,
    });
    let mut seen = seen.rev();
    seen.find(|seen| seen.guard_ptr() == guard)
}

/// A part, and the stamp that it had.
type Stamped<M> = (NonNull<Guard<M>>, Tagged<Record<M>>);

/// Carries minimum insert TIDs along (`min_insert_tid.rs`), and takes stamps away. Called under the leaf latches.
pub struct Ranges<M: Machine> {
    /// Parts that the last insertion has divided.
    divided: Vec<Stamped<M>>,
}

// SAFETY: it names guards, which may be reached from any thread where their words may; stamps lead nowhere.
unsafe impl<M: Machine> Send for Ranges<M> where M::Word: Sync {}

impl<M: Machine> Default for Ranges<M> {
    fn default() -> Self {
        Self { divided: Vec::new() }
    }
}

impl<M: Machine> Ranges<M> {
    /// Drops the record of divisions.
    pub fn forget(&mut self) {
        self.divided.clear();
    }

    /// The part becomes another one; the stamp that it had.
    fn changes(guard: &Guard<M>) -> Tagged<Record<M>> {
        if M::fault(&faults::DIVIDED_UNTOLD) {
            return Tagged::null();
        }
        // Full: the change is visible before the stamp goes; pairs with the one in `Gaps::look_again`.
        M::fence(Ordering::SeqCst);
        // Release pairs with the acquires in `Gaps::look_again` and `Gaps::hold`; acquire pairs with the
        // exchange in the former, which has put the stamp there.
        guard.header.link.swap(Tagged::null(), Ordering::AcqRel)
    }
}

impl<M: Machine> Hooks<M> for Ranges<M> {
    fn hand_on(&mut self, old: &Guard<M>, new: &Guard<M>) {
        MinInsertTids.hand_on(old, new);
        let stamp = Self::changes(old);
        if !stamp.is_null() {
            self.divided.push((NonNull::from(old), stamp));
        }
    }

    fn merge(&mut self, dying: &Guard<M>, heir: &Guard<M>) {
        MinInsertTids.merge(dying, heir);
        Self::changes(dying);
    }
}
