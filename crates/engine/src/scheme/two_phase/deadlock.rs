//! Deadlock detection without a latch (Yu, 2015, 4.2.1): whoever has waited for a while follows who waits for whom, from
//! waiter to waiter.
//!
//! A waiter shows who stands before it in its record's queue, or, if it is the first, what the lock's word says of the
//! holders. Readers are counted and not listed, so a search asks those who may be among them whether they are: all that
//! wait, since a transaction that runs is in no circle.
//!
//! A search may read what is out of date. A deadlock exists once the last of its transactions waits, and the first search of
//! that one finds it, unless waiters before others have left meanwhile; further searches follow at growing intervals. A search
//! that sees a deadlock which has ended already aborts a transaction for nothing. Of the transactions in a deadlock the one that
//! holds the fewest locks aborts.

use super::row_lock;
use super::waiter::{self, Waiter, Waiters};
use chiliad_machine::{Cost, Machine, Ordering, Word, WorkerId};

const SLOT_SHIFT: u32 = 48;
/// Transaction numbers are compared by these bits.
pub(super) const TRANSACTION_MASK: u64 = (1 << SLOT_SHIFT) - 1;

/// A transaction of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    slot: u32,
    transaction: u64,
}

impl Node {
    fn of<M: Machine>(slot: u32, waiter: &Waiter<M>) -> Self {
        // Acquire pairs with the releases in `announce_begin` and `announce_end`.
        Self { slot, transaction: waiter.transaction.load(Ordering::Acquire) }
    }

    fn from_word(word: u64) -> Self {
        Self { slot: (word >> SLOT_SHIFT) as u32, transaction: word & TRANSACTION_MASK }
    }

    fn to_word(self) -> u64 {
        debug_assert!(self.transaction <= TRANSACTION_MASK, "a transaction has 48 bits");
        debug_assert!(self.slot <= u32::from(u16::MAX), "a slot has 16");
        u64::from(self.slot) << SLOT_SHIFT | self.transaction
    }

    fn waiter<M: Machine>(self, waiters: &Waiters<M>) -> &Waiter<M> {
        waiters.get(self.slot)
    }

    fn waits<M: Machine>(self, waiter: &Waiter<M>) -> bool {
        // Acquire pairs with the release in `Queues::join`: it has shown what it waits for.
        waiter::waits(waiter.state.load(Ordering::Acquire)) && Self::of(self.slot, waiter) == self
    }

    /// Adds the transactions that this one waits for, and that may be in a circle.
    fn edges<M: Machine>(self, waiters: &Waiters<M>, edges: &mut Vec<Self>) {
        let waiter = self.waiter(waiters);
        let before = edges.len();
        if !self.waits(waiter) {
            return;
        }
        // Acquire pairs with the release in `show`: the first one's view of the holders is there.
        match waiter.ahead.load(Ordering::Acquire) {
            0 => self.holders(waiters, waiter, edges),
            ahead => edges.push(Self::from_word(ahead)),
        }
        if !self.waits(waiter) {
            edges.truncate(before);
        }
    }

    /// Adds those who hold the lock that the first waiter waits for, and wait themselves.
    fn holders<M: Machine>(self, waiters: &Waiters<M>, waiter: &Waiter<M>, edges: &mut Vec<Self>) {
        let record = waiter.record.load(Ordering::Relaxed);
        let word = waiter.holders.load(Ordering::Relaxed);
        for slot in row_lock::holders(word, waiters.end()).filter(|&slot| slot != self.slot) {
            let Some(other) = waiters.find(slot) else { continue };
            // Acquire pairs with the release in `Queues::join`: it has noted what it holds.
            if waiter::waits(other.state.load(Ordering::Acquire)) {
                M::work(Cost::Queue, 1);
                let node = Self::of(slot, other);
                if other.holds(record) {
                    edges.push(node);
                }
            }
        }
    }
}

/// Shows what a waiter waits for: the one before it, or the holders of whom the lock's word tells.
pub(super) fn show<M: Machine>(
    waiters: &Waiters<M>,
    waiter: &Waiter<M>,
    before: Option<u32>,
    word: u64,
) {
    match before {
        Some(slot) => {
            debug_assert!(!core::ptr::eq(waiter, waiters.get(slot)), "it does not wait for itself");
            let node = Node::of(slot, waiters.get(slot));
            waiter.ahead.store(node.to_word(), Ordering::Relaxed);
        }
        None => {
            waiter.holders.store(word, Ordering::Relaxed);
            // Release pairs with the acquire in `Node::edges`.
            waiter.ahead.store(0, Ordering::Release);
        }
    }
}

/// The result of a search of the waits-for graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// The searcher is in no circle that could be seen.
    Clear,
    /// In one, and it is the one to give up.
    Abort,
    /// In one that another transaction has been told to end.
    Told,
}

/// A search's memory, kept from one to the next.
#[derive(Default)]
pub(super) struct Search {
    /// From the searcher to where it stands: a transaction, and where its edges begin.
    path: Vec<(Node, usize)>,
    /// The edges of the transactions on the path that were not followed yet.
    edges: Vec<Node>,
    seen: Vec<Node>,
}

impl Search {
    /// Looks for a circle through the worker in `slot`, which waits.
    pub fn run<M: Machine>(&mut self, waiters: &Waiters<M>, slot: u32) -> Look {
        let own = waiters.get(slot);
        let me = Node::of(slot, own);
        self.path.clear();
        self.edges.clear();
        self.seen.clear();
        self.follow(waiters, me);
        while let Some(&(_, first)) = self.path.last() {
            if waiter::is_granted(own) {
                return Look::Clear;
            }
            let next = if self.edges.len() > first { self.edges.pop() } else { None };
            match next {
                None => _ = self.path.pop(),
                Some(next) if next == me => return self.sacrifice(waiters),
                Some(next) if self.seen.contains(&next) => {}
                Some(next) => {
                    self.seen.push(next);
                    self.follow(waiters, next);
                }
            }
        }
        Look::Clear
    }

    fn follow<M: Machine>(&mut self, waiters: &Waiters<M>, node: Node) {
        M::work(Cost::Queue, 1);
        debug_assert!(
            self.path.iter().all(|&(known, _)| known != node),
            "a path does not cross itself"
        );
        self.path.push((node, self.edges.len()));
        node.edges(waiters, &mut self.edges);
    }

    /// Chooses the victim among the path, which is a circle, and tells it.
    fn sacrifice<M: Machine>(&self, waiters: &Waiters<M>) -> Look {
        debug_assert!(!self.path.is_empty(), "a circle has members");
        let work = |node: Node| node.waiter(waiters).held_count.load(Ordering::Relaxed);
        let nodes = self.path.iter().map(|&(node, _)| node);
        // Of equals the one in the last slot: every searcher chooses the same.
        let Some(victim) = nodes.min_by_key(|&node| (work(node), u32::MAX - node.slot)) else {
            return Look::Clear;
        };
        if victim == self.path[0].0 {
            return Look::Abort;
        }
        let waiter = victim.waiter(waiters);
        // Release pairs with the victim's acquire in `wait_or_detect`.
        waiter.victim.store(victim.transaction, Ordering::Release);
        M::unpark(WorkerId(waiter.thread.load(Ordering::Relaxed) as u32));
        Look::Told
    }
}
