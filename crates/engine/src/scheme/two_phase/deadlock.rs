//! Deadlock detection without a latch (Yu, 2015, 4.2.1): each waiting worker publishes the transactions that it waits
//! for, and one that has waited for a while follows these edges from waiter to waiter.
//!
//! What is read may be out of date. An edge to a transaction that has ended is left out; a cycle that
//! is not seen yet is seen at the next look; a cycle that is none any more costs a transaction that
//! would have got through. Of a cycle the transaction that holds the fewest locks gives up.

use super::waiter::{EDGES_MAX, RequestId, Waiter, Waiters};
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

    fn is_active<M: Machine>(self, waiters: &Waiters<M>) -> bool {
        // Acquire pairs with the releases in `announce_begin` and `announce_end`.
        self.waiter(waiters).transaction.load(Ordering::Acquire) == self.transaction
    }
}

/// Publishes that the worker of `waiter` waits for the transactions of these requests.
pub(super) fn show<M: Machine>(
    waiters: &Waiters<M>,
    waiter: &Waiter<M>,
    ahead: &[RequestId],
    work: u64,
) {
    debug_assert!(!ahead.is_empty(), "whoever waits does so for somebody");
    waiter.work.store(work, Ordering::Relaxed);
    // A worker that was told to end an earlier wait, and got through all the same, may wait again.
    waiter.victim.store(0, Ordering::Relaxed);
    let edges = ahead.iter().take(EDGES_MAX);
    for (at, id) in edges.clone().enumerate() {
        // Acquire pairs with the releases in `announce_begin` and `announce_end`.
        let transaction = waiters.get(id.slot()).transaction.load(Ordering::Acquire);
        let node = Node { slot: id.slot(), transaction };
        waiter.edge(at).store(node.to_word(), Ordering::Relaxed);
    }
    // Release pairs with the acquire in `Search::run`: the edges are there.
    waiter.edge_count.store(edges.len() as u64, Ordering::Release);
}

/// It does not wait any more.
pub(super) fn hide<M: Machine>(waiter: &Waiter<M>) {
    // Release pairs with the acquire in `Search::run`.
    waiter.edge_count.store(0, Ordering::Release);
}

/// The result of a search of the waits-for graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// The searcher is in no cycle that could be seen.
    Clear,
    /// In one, and it is the one to give up.
    Abort,
    /// In one that another transaction has been told to end.
    Told,
}

/// A search, with the room it takes.
#[derive(Default)]
pub(super) struct Search {
    /// The path from the searcher, each node with how many of its edges were followed.
    path: Vec<(Node, usize)>,
    seen: Vec<Node>,
}

impl Search {
    /// Looks for a cycle through the worker in `slot`, which waits.
    pub fn run<M: Machine>(&mut self, waiters: &Waiters<M>, slot: u32) -> Look {
        let own = waiters.get(slot);
        let me = Node { slot, transaction: own.transaction.load(Ordering::Relaxed) };
        self.path.clear();
        self.seen.clear();
        self.path.push((me, 0));
        while let Some(&mut (node, ref mut followed)) = self.path.last_mut() {
            M::work(Cost::Queue, 1);
            let waiter = node.waiter(waiters);
            // Acquire pairs with the releases in `show` and `hide`.
            let count = waiter.edge_count.load(Ordering::Acquire).min(EDGES_MAX as u64);
            if *followed as u64 >= count || !node.is_active(waiters) {
                self.path.pop();
                continue;
            }
            let next = Node::from_word(waiter.edge(*followed).load(Ordering::Relaxed));
            *followed += 1;
            if next == me {
                return self.sacrifice(waiters);
            }
            if next.is_active(waiters) && !self.seen.contains(&next) {
                self.seen.push(next);
                self.path.push((next, 0));
            }
        }
        Look::Clear
    }

    /// Chooses the victim among the path, which is a cycle, and tells it.
    fn sacrifice<M: Machine>(&self, waiters: &Waiters<M>) -> Look {
        debug_assert!(!self.path.is_empty(), "a circle has members");
        let work = |node: Node| node.waiter(waiters).work.load(Ordering::Relaxed);
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
