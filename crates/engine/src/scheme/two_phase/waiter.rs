//! A worker's state in lock queues, which others read: the lock that it waits for, and the locks that it holds.
//!
//! Waiters are linked into lists (`lists.rs`) by their slots and not by addresses. A worker waits for one lock at a time.

use super::row_lock::Claim;
use super::word::Mode;
use chiliad_machine::{Array, Latch, Link, Machine, Ordering, Tagged, Word};
use chiliad_storage::WORKERS_MAX;

/// The states of a waiter.
pub(super) const IDLE: u64 = 0;
pub(super) const WANTS_TO_READ: u64 = 1;
pub(super) const WANTS_TO_WRITE: u64 = 2;
/// It reads and wants to write.
pub(super) const UPGRADES: u64 = 3;
/// It has what it waited for.
pub(super) const GRANTED: u64 = 4;

/// Whether a waiter in this state waits.
pub(super) fn waits(state: u64) -> bool {
    (WANTS_TO_READ..=UPGRADES).contains(&state)
}

/// Whether a waiter has what it waits for.
#[inline]
pub(super) fn is_granted<M: Machine>(waiter: &Waiter<M>) -> bool {
    // Acquire pairs with the release in `Latched::grant`.
    waiter.state.load(Ordering::Acquire) == GRANTED
}

/// One worker's state in lock queues. What a search for deadlocks reads of those who do not wait is on the first line.
#[repr(C, align(64))]
pub(super) struct Waiter<M: Machine> {
    /// The current transaction; zero for none.
    pub transaction: M::Word,
    /// Written under the latch of the list, read by the waiting worker and by searches.
    pub state: M::Word,
    /// The address of the record that it waits for.
    pub record: M::Word,
    /// The transaction that stands before it in the record's queue, as `deadlock.rs` names it; zero for the first.
    pub ahead: M::Word,
    /// Of the first: the lock's word, which tells of its holders.
    pub holders: M::Word,
    /// How many locks it holds.
    pub held_count: M::Word,
    /// The transaction that was chosen as the victim of a deadlock: it is to abort.
    pub victim: M::Word,
    /// The thread to be woken.
    pub thread: M::Word,
    /// Neighbours in the list: slots plus one, zero for none. Under its latch.
    pub next: M::Word,
    pub prev: M::Word,
    /// The transaction's timestamp, under a policy that goes by age.
    pub timestamp: M::Word,
    /// The addresses of the records that it holds locks of.
    held: [M::Link<M::Word>; SEGMENTS_MAX],
}

/// Locks of the smallest segment; each further one has twice as many.
const SEGMENT_LOCKS: usize = 64;
/// As many locks as fit in memory.
const LOCKS_BITS: u32 = 24;
const SEGMENTS_MAX: usize = (LOCKS_BITS - SEGMENT_LOCKS.ilog2() + 1) as usize;

const GROUP_WAITERS: usize = 64;
const GROUPS_MAX: usize = WORKERS_MAX / GROUP_WAITERS;
const _: () = assert!(GROUPS_MAX * GROUP_WAITERS == WORKERS_MAX, "a waiter for each worker");

/// All waiters, by worker slot.
pub(super) struct Waiters<M: Machine> {
    groups: Array<M, M::Link<Waiter<M>>>,
    /// One more than the last slot with a waiter.
    end: M::Word,
    owned: Latch<M, Owned<M>>,
}

struct Owned<M: Machine> {
    waiters: Vec<Array<M, Waiter<M>>>,
    segments: Vec<Array<M, M::Word>>,
}

impl<M: Machine> Waiters<M> {
    pub fn new() -> Self {
        let owned = Owned { waiters: Vec::new(), segments: Vec::new() };
        let groups = Array::new(GROUPS_MAX, || M::Link::new(Tagged::null()));
        Self { groups, end: M::Word::new(0), owned: Latch::new(owned) }
    }

    fn group(&self, slot: u32) -> &M::Link<Waiter<M>> {
        self.groups.get(slot as usize / GROUP_WAITERS)
    }

    /// The waiter of a worker, if it was made.
    #[inline]
    pub fn find(&self, slot: u32) -> Option<&Waiter<M>> {
        // Acquire pairs with the release in `make`: the waiters are constructed.
        let group = self.group(slot).load(Ordering::Acquire);
        // SAFETY: groups live as long as `self`, and have this many waiters.
        (!group.is_null()).then(|| unsafe { &*group.pointer().add(slot as usize % GROUP_WAITERS) })
    }

    /// The waiter of a worker, which was made before.
    #[inline]
    pub fn get(&self, slot: u32) -> &Waiter<M> {
        self.find(slot).expect("a worker whose waiter was made")
    }

    /// One more than the last slot with a waiter.
    pub fn end(&self) -> u32 {
        // Relaxed: who waits was made before, and shows that by its state.
        self.end.load(Ordering::Relaxed) as u32
    }

    /// The waiter of a worker, made on first use.
    pub fn make(&self, slot: u32) -> &Waiter<M> {
        debug_assert!((slot as usize) < WORKERS_MAX, "a waiter for each worker");
        let mut owned = self.owned.lock();
        let group = self.group(slot);
        if group.load(Ordering::Relaxed).is_null() {
            let waiters = Array::new(GROUP_WAITERS, Waiter::new);
            // Release pairs with the acquires in `get` and `find`: the waiters are constructed.
            group.store(Tagged::new(waiters.first(), 0), Ordering::Release);
            owned.waiters.push(waiters);
        }
        drop(owned);
        self.end.fetch_max(u64::from(slot) + 1, Ordering::Relaxed);
        self.get(slot)
    }

    /// Notes that the worker of `waiter`, which is the caller's own, holds the lock of the record at `address` as its
    /// `at`-th.
    #[inline]
    pub fn note_held(&self, waiter: &Waiter<M>, at: usize, address: u64) {
        debug_assert!(address != 0, "a record has an address");
        debug_assert!(at >> LOCKS_BITS == 0, "as many locks as fit in memory");
        let (segment, place) = place_of(at);
        let link = &waiter.held[segment];
        if link.load(Ordering::Relaxed).is_null() {
            self.make_segment(link, segment);
        }
        // Relaxed: whoever reads it has acquired the state of a waiter.
        waiter.held_word(segment, place).store(address, Ordering::Relaxed);
        waiter.held_count.store(at as u64 + 1, Ordering::Relaxed);
    }

    #[cold]
    fn make_segment(&self, link: &M::Link<M::Word>, segment: usize) {
        let locks = Array::new(SEGMENT_LOCKS << segment, || M::Word::new(0));
        // Release pairs with the acquire in `held_word`.
        link.store(Tagged::new(locks.first(), 0), Ordering::Release);
        self.owned.lock().segments.push(locks);
    }
}

/// The segment of a lock and its place in it.
#[inline]
fn place_of(at: usize) -> (usize, usize) {
    let above = at / SEGMENT_LOCKS + 1;
    let segment = above.ilog2() as usize;
    debug_assert!(segment < SEGMENTS_MAX, "as many locks as fit in memory");
    (segment, at - ((1 << segment) - 1) * SEGMENT_LOCKS)
}

impl<M: Machine> Waiter<M> {
    fn new() -> Self {
        let zero = || M::Word::new(0);
        Self {
            transaction: zero(),
            state: zero(),
            record: zero(),
            ahead: zero(),
            holders: zero(),
            held_count: zero(),
            victim: zero(),
            thread: zero(),
            next: zero(),
            prev: zero(),
            timestamp: zero(),
            held: core::array::from_fn(|_| M::Link::new(Tagged::null())),
        }
    }

    #[inline]
    fn held_word(&self, segment: usize, place: usize) -> &M::Word {
        debug_assert!(place < SEGMENT_LOCKS << segment, "a place of the segment");
        // Acquire pairs with the release in `make_segment`: the words are constructed.
        let locks = self.held[segment].load(Ordering::Acquire);
        debug_assert!(!locks.is_null(), "a lock that was noted");
        // SAFETY: segments live as long as the waiters; this one has room for `place`.
        unsafe { &*locks.pointer().add(place) }
    }

    /// Whether its transaction holds the lock of the record at `address`, if it stands still: it waits, or the caller runs
    /// inside it.
    pub fn holds(&self, address: u64) -> bool {
        let count = self.held_count.load(Ordering::Relaxed) as usize;
        (0..count).any(|at| {
            let (segment, place) = place_of(at);
            self.held_word(segment, place).load(Ordering::Relaxed) == address
        })
    }

    /// Its request for the lock that it waits for; `None` while it does not wait.
    pub fn claim(&self, slot: u32, state: u64, age: Option<u64>) -> Option<Claim> {
        let mode = if state == WANTS_TO_READ { Mode::Shared } else { Mode::Owned };
        waits(state).then_some(Claim { slot, mode, age })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_have_places_of_their_own() {
        let mut expected = (0, 0);
        for at in 0..10_000 {
            assert_eq!(place_of(at), expected);
            expected.1 += 1;
            if expected.1 == SEGMENT_LOCKS << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place_of((1 << LOCKS_BITS) - 1).0 < SEGMENTS_MAX);
    }
}
