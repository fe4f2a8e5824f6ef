//! Locks with a list of requests, for policies under which transactions wait (Yu, 2015, 4.1.2: a list of owners and
//! waiters per tuple).
//!
//! ```text
//!  63                                            3     2        1        0
//! +-----------------------------------------------+---------+--------+-------+
//! | first request of the list; zero: not locked   | upgrade | queued | latch |
//! +-----------------------------------------------+---------+--------+-------+
//! ```
//!
//! - **latch**: the list is being changed.
//! - **queued**: others wait after the owners.
//! - **upgrade**: a reader among the owners waits to be the only one, and to write.
//!
//! The list has the owners first, in no order, then those who wait, in the order in which they will
//! be served. Its ends and all its links are changed under the latch, but for the two steps that
//! nearly all locks take: an empty list gets its first request, and loses its last, by one
//! compare-and-swap.

use super::faults;
use super::waiter::{Request, RequestId, Waiters};
use super::word::Mode;
use chiliad_machine::{Cost, Machine, Ordering, Spin, Word, WorkerId};

const LATCH: u64 = 1;
const QUEUED: u64 = 2;
const UPGRADE: u64 = 4;
const FLAGS: u64 = LATCH | QUEUED | UPGRADE;
const HEAD_SHIFT: u32 = 3;
const _: () = assert!(FLAGS < 1 << HEAD_SHIFT, "an id has room for the flags");

/// The states of a request.
const READS: u64 = 1;
const WRITES: u64 = 2;
const WANTS_TO_READ: u64 = 3;
const WANTS_TO_WRITE: u64 = 4;
/// It reads and wants to write.
const UPGRADES: u64 = 5;

fn is_owner(state: u64) -> bool {
    matches!(state, READS | WRITES | UPGRADES)
}

fn id_of(number: u64) -> Option<RequestId> {
    (number != 0).then_some(RequestId(number))
}

/// The verdict of a policy on a request that conflicts with others.
pub(super) enum Verdict {
    /// It waits: before the first waiter that it goes ahead of, or at the end.
    Wait,
    /// It gives up.
    Abort,
}

/// The result of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// It is granted.
    Granted,
    /// It stands in the list, and [`is_granted`] will tell.
    Waiting,
    /// It is not in the list.
    Denied,
}

/// The rules of a policy, asked under the latch.
pub(super) trait Rules<M: Machine> {
    /// `own` cannot be granted: `ahead` are the requests that it would wait for.
    fn judge(&mut self, waiters: &Waiters<M>, own: &Request<M>, ahead: &[RequestId]) -> Verdict;
    /// Whether `waiter`, which waits already, is served before `own`.
    fn goes_before(&self, own: &Request<M>, waiter: &Request<M>) -> bool;
}

/// The list of one record, latched.
struct List<'a, M: Machine> {
    waiters: &'a Waiters<M>,
    word: &'a M::Word,
    head: u64,
    flags: u64,
}

impl<'a, M: Machine> List<'a, M> {
    fn latch(waiters: &'a Waiters<M>, word: &'a M::Word) -> Self {
        let mut spin = Spin::<M>::new();
        loop {
            let found = word.load(Ordering::Relaxed);
            // Acquire pairs with the release in `unlatch` and in `unlock`: the list is as it was left.
            if found & LATCH == 0
                && word
                    .compare_exchange(found, found | LATCH, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                M::enter_section();
                return Self { waiters, word, head: found >> HEAD_SHIFT, flags: found & FLAGS };
            }
            spin.wait();
        }
    }

    fn unlatch(self) {
        debug_assert!(self.head >> (u64::BITS - HEAD_SHIFT) == 0, "an id has room for the flags");
        // Release pairs with the acquire of the next latch or lock.
        self.word.store(self.head << HEAD_SHIFT | self.flags & !LATCH, Ordering::Release);
        M::leave_section();
    }

    fn request(&self, id: RequestId) -> &'a Request<M> {
        self.waiters.request(id)
    }

    fn next(&self, id: RequestId) -> Option<RequestId> {
        id_of(self.request(id).next.load(Ordering::Relaxed))
    }

    fn state(&self, id: RequestId) -> u64 {
        self.request(id).state.load(Ordering::Relaxed)
    }

    fn iter(&self) -> impl Iterator<Item = RequestId> {
        let mut next = id_of(self.head);
        core::iter::from_fn(move || {
            let at = next?;
            M::work(Cost::Queue, 1);
            next = self.next(at);
            Some(at)
        })
    }

    fn owners(&self) -> impl Iterator<Item = RequestId> {
        self.iter().take_while(|&id| is_owner(self.state(id)))
    }

    /// Inserts `id` after `before`, or in front of all.
    fn insert(&mut self, id: RequestId, before: Option<RequestId>) {
        debug_assert!(before != Some(id), "a request does not follow itself");
        let request = self.request(id);
        let after = match before {
            None => self.head,
            Some(before) => self.request(before).next.load(Ordering::Relaxed),
        };
        request.prev.store(before.map_or(0, |it| it.0), Ordering::Relaxed);
        request.next.store(after, Ordering::Relaxed);
        if let Some(after) = id_of(after) {
            self.request(after).prev.store(id.0, Ordering::Relaxed);
        }
        match before {
            None => self.head = id.0,
            Some(before) => self.request(before).next.store(id.0, Ordering::Relaxed),
        }
    }

    fn remove(&mut self, id: RequestId) {
        let request = self.request(id);
        let next = request.next.load(Ordering::Relaxed);
        let prev = request.prev.load(Ordering::Relaxed);
        debug_assert!(prev != id.0 && next != id.0, "a list does not lead back");
        match id_of(prev) {
            None => self.head = next,
            Some(prev) => self.request(prev).next.store(next, Ordering::Relaxed),
        }
        if let Some(next) = id_of(next) {
            self.request(next).prev.store(prev, Ordering::Relaxed);
        }
    }

    /// Grants a request, and wakes its worker.
    fn grant(&self, id: RequestId, state: u64) {
        debug_assert!(matches!(state, READS | WRITES), "a grant is for reading or writing");
        // Release pairs with the acquire in `is_granted`: what the last owner has written is there.
        self.request(id).state.store(state, Ordering::Release);
        let thread = self.waiters.get(id.slot()).thread.load(Ordering::Relaxed);
        M::unpark(WorkerId(thread as u32));
    }

    /// Grants what can be granted, and says in the flags what is left.
    fn serve(&mut self) {
        if self.flags & UPGRADE != 0 {
            let mut owners = self.owners();
            let (first, second) = (owners.next(), owners.next());
            drop(owners);
            let alone = second.is_none() || M::fault(&faults::GRANTED_TWICE);
            if let Some(first) = first.filter(|&first| alone && self.state(first) == UPGRADES) {
                self.grant(first, WRITES);
            }
        }
        let upgrades = self.owners().any(|id| self.state(id) == UPGRADES);
        let mut owned = self.owners().next().map(|id| self.state(id));
        let mut queued = false;
        for id in self.iter() {
            let state = self.state(id);
            if is_owner(state) {
                continue;
            }
            let granted = match (state, owned) {
                (WANTS_TO_READ, None | Some(READS)) if !upgrades => READS,
                (WANTS_TO_WRITE, None) => WRITES,
                _ => {
                    queued = true;
                    break;
                }
            };
            self.grant(id, granted);
            owned = Some(granted);
        }
        let flag = |is: bool, flag: u64| if is { flag } else { 0 };
        self.flags = LATCH | flag(upgrades, UPGRADE) | flag(queued, QUEUED);
    }
}

/// Asks for a lock with a request of one's own that is in no list.
#[inline]
pub(super) fn lock<M: Machine>(
    waiters: &Waiters<M>,
    word: &M::Word,
    id: RequestId,
    mode: Mode,
    timestamp: u64,
    rules: &mut impl Rules<M>,
) -> Answer {
    M::work(Cost::Queue, 1);
    debug_assert!(id != RequestId::NONE, "zero stands for no request");
    let request = waiters.make_request(id);
    let state = if mode == Mode::Owned { WRITES } else { READS };
    request.next.store(0, Ordering::Relaxed);
    request.prev.store(0, Ordering::Relaxed);
    request.state.store(state, Ordering::Relaxed);
    request.timestamp.store(timestamp, Ordering::Relaxed);
    // Release: a reader that finds the request in the list sees its fields. Acquire pairs with the release of the
    // last owner.
    let first = id.0 << HEAD_SHIFT;
    if word.compare_exchange(0, first, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        return Answer::Granted;
    }
    lock_queued(waiters, word, id, mode, rules)
}

/// Shows whom a grant of this request, or a search that chooses it as the victim, wakes: the caller, which need not be the
/// thread that began the transaction. Under the latch of the list, as the grant; and before the request shows its edges.
fn show_bell<M: Machine>(waiters: &Waiters<M>, id: RequestId) {
    if !M::fault(&faults::BELL_OF_BEGIN) {
        let thread = &waiters.get(id.slot()).thread;
        thread.store(u64::from(M::worker().0), Ordering::Relaxed);
    }
}

/// As `lock`, where another holds the lock already.
#[cold]
fn lock_queued<M: Machine>(
    waiters: &Waiters<M>,
    word: &M::Word,
    id: RequestId,
    mode: Mode,
    rules: &mut impl Rules<M>,
) -> Answer {
    M::work(Cost::Queue, 1);
    let mut list = List::latch(waiters, word);
    let own = list.request(id);
    let owned = id_of(list.head).map(|head| list.state(head));
    let compatible = match (mode, owned) {
        (_, None) => true,
        (Mode::Shared, Some(READS)) => list.flags & UPGRADE == 0,
        _ => false,
    };
    let queued: Vec<RequestId> = match list.flags & QUEUED {
        0 => Vec::new(),
        _ => list.iter().filter(|&id| !is_owner(list.state(id))).collect(),
    };
    let free = compatible
        && queued.first().is_none_or(|&first| !rules.goes_before(own, list.request(first)));
    if free {
        list.insert(id, None);
        list.unlatch();
        return Answer::Granted;
    }
    let behind = queued.iter().take_while(|&&it| rules.goes_before(own, list.request(it)));
    let behind = behind.count();
    let mut ahead: Vec<RequestId> = list.owners().collect();
    let last_owner = ahead.last().copied();
    if compatible {
        // Not for these.
        ahead.clear();
    }
    ahead.extend(&queued[..behind]);
    debug_assert!(!ahead.is_empty(), "somebody is in the way");
    show_bell(waiters, id);
    match rules.judge(waiters, own, &ahead) {
        Verdict::Abort => {
            list.unlatch();
            Answer::Denied
        }
        Verdict::Wait => {
            let wanted = if mode == Mode::Owned { WANTS_TO_WRITE } else { WANTS_TO_READ };
            own.state.store(wanted, Ordering::Relaxed);
            list.insert(id, if behind > 0 { Some(queued[behind - 1]) } else { last_owner });
            list.flags |= QUEUED;
            list.unlatch();
            Answer::Waiting
        }
    }
}

/// Asks for the right to write with a request that has that to read.
pub(super) fn upgrade<M: Machine>(
    waiters: &Waiters<M>,
    word: &M::Word,
    id: RequestId,
    rules: &mut impl Rules<M>,
) -> Answer {
    let mut list = List::latch(waiters, word);
    let own = list.request(id);
    let others: Vec<RequestId> = list.owners().filter(|&owner| owner != id).collect();
    let answer = if others.is_empty() {
        own.state.store(WRITES, Ordering::Relaxed);
        Answer::Granted
    } else {
        show_bell(waiters, id);
        match rules.judge(waiters, own, &others) {
            Verdict::Abort => Answer::Denied,
            Verdict::Wait => {
                own.state.store(UPGRADES, Ordering::Relaxed);
                list.flags |= UPGRADE;
                Answer::Waiting
            }
        }
    };
    list.unlatch();
    answer
}

/// Whether a request that waited has what it waits for.
#[inline]
pub(super) fn is_granted<M: Machine>(request: &Request<M>) -> bool {
    // Acquire pairs with the release in `grant`.
    matches!(request.state.load(Ordering::Acquire), READS | WRITES)
}

/// Takes back what a request waits for: it leaves the list, or goes on reading. `false`: it has been
/// granted in the meantime.
pub(super) fn cancel<M: Machine>(waiters: &Waiters<M>, word: &M::Word, id: RequestId) -> bool {
    let mut list = List::latch(waiters, word);
    let waits = match list.state(id) {
        READS | WRITES => false,
        UPGRADES => {
            list.request(id).state.store(READS, Ordering::Relaxed);
            true
        }
        _ => {
            list.remove(id);
            true
        }
    };
    if waits {
        list.serve();
    }
    list.unlatch();
    waits
}

/// Gives a lock back.
#[inline]
pub(super) fn unlock<M: Machine>(waiters: &Waiters<M>, word: &M::Word, id: RequestId) {
    M::work(Cost::Queue, 1);
    let alone = waiters.request(id).next.load(Ordering::Relaxed) == 0;
    let only = id.0 << HEAD_SHIFT;
    // Release pairs with the acquire of the next owner: our reads have been made, our writes are there.
    if alone && word.compare_exchange(only, 0, Ordering::Release, Ordering::Relaxed).is_ok() {
        return;
    }
    unlock_among(waiters, word, id);
}

#[cold]
fn unlock_among<M: Machine>(waiters: &Waiters<M>, word: &M::Word, id: RequestId) {
    let mut list = List::latch(waiters, word);
    list.remove(id);
    if list.flags & (QUEUED | UPGRADE) != 0 {
        list.serve();
    }
    list.unlatch();
}

/// Latches the list of a record that nobody has locked or waits for, to take it away.
pub(super) fn try_take<W: Word>(word: &W) -> bool {
    // Acquire pairs with the releases in `unlock`, `List::unlatch` and `give_back`.
    word.compare_exchange(0, LATCH, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Ends a [`try_take`].
pub(super) fn give_back<W: Word>(word: &W) {
    // Release pairs with the acquire of the next owner.
    word.store(0, Ordering::Release);
}
