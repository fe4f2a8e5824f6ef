//! A worker's state in lock queues, which others read: its requests for locks, and its edges of the waits-for graph
//! (Yu, 2015, 4.2.1).
//!
//! Requests are linked into the lists of the records that they are for (`queue.rs`), by numbers and not by addresses,
//! so that a list's head fits into a word beside its flags. Their memory stays with the waiter; a request is reused
//! once it has left its list.

use chiliad_machine::{Array, Latch, Link, Machine, Ordering, Tagged, Word};
use chiliad_storage::WORKERS_MAX;

/// A request: the worker's slot in the upper bits, its number in the waiter in the lower ones, plus one so that none
/// is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RequestId(pub u64);

const NUMBER_BITS: u32 = 24;

impl RequestId {
    /// No request: the lock is counted only.
    pub const NONE: Self = Self(0);

    pub fn new(slot: u32, number: u32) -> Self {
        debug_assert!(number + 1 < 1 << NUMBER_BITS, "as many locks as fit in memory");
        debug_assert!((slot as usize) < WORKERS_MAX, "a slot that there is");
        Self(u64::from(slot) << NUMBER_BITS | u64::from(number + 1))
    }

    /// The slot of its worker.
    pub fn slot(self) -> u32 {
        (self.0 >> NUMBER_BITS) as u32
    }

    fn number(self) -> u32 {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as u32 - 1
    }
}

/// A request for a lock, granted or not.
pub(super) struct Request<M: Machine> {
    /// Neighbours in the record's list; zero for none. Under the record's latch.
    pub next: M::Word,
    pub prev: M::Word,
    /// See `queue.rs`. Written under the latch, read by the waiting worker.
    pub state: M::Word,
    /// The transaction's timestamp.
    pub timestamp: M::Word,
}

/// Requests of the smallest segment; each further one has twice as many.
const SEGMENT_REQUESTS: u32 = 64;
const SEGMENTS_MAX: usize = (NUMBER_BITS - SEGMENT_REQUESTS.ilog2() + 1) as usize;

/// Transactions that one can be known to wait for; a deadlock through others is ended by the wait's
/// timeout.
pub(super) const EDGES_MAX: usize = 1024;

/// One worker's state in lock queues.
#[repr(C, align(64))]
pub(super) struct Waiter<M: Machine> {
    /// The current transaction; zero for none.
    pub transaction: M::Word,
    /// The transaction that was chosen as the victim of a deadlock: it is to abort.
    pub victim: M::Word,
    /// Locks that it held when it began to wait.
    pub work: M::Word,
    /// The thread to be woken.
    pub thread: M::Word,
    /// How many of `edges` count; zero while it does not wait.
    pub edge_count: M::Word,
    edges: M::Link<M::Word>,
    segments: [M::Link<Request<M>>; SEGMENTS_MAX],
}

const GROUP_WAITERS: usize = 64;
const GROUPS_MAX: usize = WORKERS_MAX / GROUP_WAITERS;
const _: () = assert!(GROUPS_MAX * GROUP_WAITERS == WORKERS_MAX, "a waiter for each worker");

/// All waiters, by worker slot.
pub(super) struct Waiters<M: Machine> {
    groups: Array<M, M::Link<Waiter<M>>>,
    owned: Latch<M, Owned<M>>,
}

struct Owned<M: Machine> {
    waiters: Vec<Array<M, Waiter<M>>>,
    segments: Vec<Array<M, Request<M>>>,
    edges: Vec<Array<M, M::Word>>,
}

impl<M: Machine> Waiters<M> {
    pub fn new() -> Self {
        let owned = Owned { waiters: Vec::new(), segments: Vec::new(), edges: Vec::new() };
        let groups = Array::new(GROUPS_MAX, || M::Link::new(Tagged::null()));
        Self { groups, owned: Latch::new(owned) }
    }

    fn group(&self, slot: u32) -> &M::Link<Waiter<M>> {
        self.groups.get(slot as usize / GROUP_WAITERS)
    }

    /// The waiter of a worker, which was made before.
    #[inline]
    pub fn get(&self, slot: u32) -> &Waiter<M> {
        // Acquire pairs with the release in `make`: the waiters are constructed.
        let group = self.group(slot).load(Ordering::Acquire);
        assert!(!group.is_null(), "a worker whose waiter was never made");
        // SAFETY: groups live as long as `self`, and have this many waiters.
        unsafe { &*group.pointer().add(slot as usize % GROUP_WAITERS) }
    }

    /// The waiter of a worker, made on first use.
    pub fn make(&self, slot: u32) -> &Waiter<M> {
        debug_assert!((slot as usize) < WORKERS_MAX, "a waiter for each worker");
        let mut owned = self.owned.lock();
        let group = self.group(slot);
        if group.load(Ordering::Relaxed).is_null() {
            let waiters = Array::new(GROUP_WAITERS, Waiter::new);
            // Release pairs with the acquire in `get`: the waiters are constructed.
            group.store(Tagged::new(waiters.first(), 0), Ordering::Release);
            owned.waiters.push(waiters);
        }
        let waiter = self.get(slot);
        if waiter.edges.load(Ordering::Relaxed).is_null() {
            let edges = Array::new(EDGES_MAX, || M::Word::new(0));
            // Release pairs with the acquire in `Waiter::edge`: the words are constructed.
            waiter.edges.store(Tagged::new(edges.first(), 0), Ordering::Release);
            owned.edges.push(edges);
        }
        waiter
    }

    /// A request that was made.
    #[inline]
    pub fn request(&self, id: RequestId) -> &Request<M> {
        let (segment, at) = place_of(id.number());
        // Acquire pairs with the release in `make_request`.
        let first = self.get(id.slot()).segments[segment].load(Ordering::Acquire);
        debug_assert!(!first.is_null(), "a request that was never made");
        // SAFETY: segments live as long as `self`; this one has been made, with room for `at`.
        unsafe { &*first.pointer().add(at) }
    }

    /// The request of this number of one's own, made if need be.
    #[inline]
    pub fn make_request(&self, id: RequestId) -> &Request<M> {
        let (segment, _) = place_of(id.number());
        let link = &self.get(id.slot()).segments[segment];
        if link.load(Ordering::Relaxed).is_null() {
            self.make_segment(link, segment);
        }
        self.request(id)
    }

    #[cold]
    fn make_segment(&self, link: &M::Link<Request<M>>, segment: usize) {
        let count = (SEGMENT_REQUESTS as usize) << segment;
        let requests = Array::new(count, || Request {
            next: M::Word::new(0),
            prev: M::Word::new(0),
            state: M::Word::new(0),
            timestamp: M::Word::new(0),
        });
        // Release pairs with the acquire in `request`.
        link.store(Tagged::new(requests.first(), 0), Ordering::Release);
        self.owned.lock().segments.push(requests);
    }
}

/// The segment of a number and its place in it.
fn place_of(number: u32) -> (usize, usize) {
    let above = number / SEGMENT_REQUESTS + 1;
    let segment = above.ilog2();
    debug_assert!((segment as usize) < SEGMENTS_MAX, "numbers have so many bits");
    let first = ((1 << segment) - 1) * SEGMENT_REQUESTS;
    (segment as usize, (number - first) as usize)
}

impl<M: Machine> Waiter<M> {
    fn new() -> Self {
        Self {
            transaction: M::Word::new(0),
            victim: M::Word::new(0),
            work: M::Word::new(0),
            thread: M::Word::new(0),
            edge_count: M::Word::new(0),
            edges: M::Link::new(Tagged::null()),
            segments: core::array::from_fn(|_| M::Link::new(Tagged::null())),
        }
    }

    /// One of the transactions that it waits for, as `edge` names them.
    pub fn edge(&self, index: usize) -> &M::Word {
        debug_assert!(index < EDGES_MAX);
        // Acquire pairs with the release in `Waiters::make`: the words are constructed.
        let edges = self.edges.load(Ordering::Acquire);
        // SAFETY: made with the waiter, for this many, and alive as long as it.
        unsafe { &*edges.pointer().add(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_places_of_their_own() {
        let mut expected = (0, 0);
        for number in 0..10_000 {
            assert_eq!(place_of(number), expected);
            expected.1 += 1;
            if expected.1 == (SEGMENT_REQUESTS as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        let last = (1 << NUMBER_BITS) - 3;
        assert!(place_of(last).0 < SEGMENTS_MAX);
        let id = RequestId::new(65_535, 77);
        assert_eq!((id.slot(), id.number()), (65_535, 77));
    }
}
