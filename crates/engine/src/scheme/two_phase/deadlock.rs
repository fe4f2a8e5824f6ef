//! Deadlock detection without a latch (Yu, 2015, 4.2.1): each waiting worker shows for which
//! transactions it waits, and whoever has waited for a while follows these edges from seat to seat.
//!
//! What is read may be out of date. An edge to a transaction that has ended is left out; a cycle that
//! is not seen yet is seen at the next look; a cycle that is none any more costs a transaction that
//! would have got through. Of a cycle the transaction that holds the fewest locks gives up.

use super::seat::{EDGES_MAX, RequestId, Seat, Seats};
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

    fn seat<M: Machine>(self, seats: &Seats<M>) -> &Seat<M> {
        seats.get(self.slot)
    }

    fn is_active<M: Machine>(self, seats: &Seats<M>) -> bool {
        // Acquire pairs with the releases in `take_seat` and `leave_seat`.
        self.seat(seats).transaction.load(Ordering::Acquire) == self.transaction
    }
}

/// Shows that the worker at `seat` waits for the transactions of these requests.
pub(super) fn show<M: Machine>(seats: &Seats<M>, seat: &Seat<M>, ahead: &[RequestId], work: u64) {
    debug_assert!(!ahead.is_empty(), "whoever waits does so for somebody");
    seat.work.store(work, Ordering::Relaxed);
    // Whoever was told to end an earlier wait, and got through all the same, may wait again.
    seat.doomed.store(0, Ordering::Relaxed);
    let edges = ahead.iter().take(EDGES_MAX);
    for (at, id) in edges.clone().enumerate() {
        // Acquire pairs with the releases in `take_seat` and `leave_seat`.
        let transaction = seats.get(id.slot()).transaction.load(Ordering::Acquire);
        let node = Node { slot: id.slot(), transaction };
        seat.edge(at).store(node.to_word(), Ordering::Relaxed);
    }
    // Release pairs with the acquire in `Search::run`: the edges are there.
    seat.edge_count.store(edges.len() as u64, Ordering::Release);
}

/// It does not wait any more.
pub(super) fn hide<M: Machine>(seat: &Seat<M>) {
    // Release pairs with the acquire in `Search::run`.
    seat.edge_count.store(0, Ordering::Release);
}

/// What a look at the waits-for graph found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// The searcher is in no cycle that could be seen.
    Clear,
    /// In one, and it is the one to give up.
    GiveUp,
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
    pub fn run<M: Machine>(&mut self, seats: &Seats<M>, slot: u32) -> Look {
        let own = seats.get(slot);
        let me = Node { slot, transaction: own.transaction.load(Ordering::Relaxed) };
        self.path.clear();
        self.seen.clear();
        self.path.push((me, 0));
        while let Some(&mut (node, ref mut followed)) = self.path.last_mut() {
            M::work(Cost::Queue, 1);
            let seat = node.seat(seats);
            // Acquire pairs with the releases in `show` and `hide`.
            let count = seat.edge_count.load(Ordering::Acquire).min(EDGES_MAX as u64);
            if *followed as u64 >= count || !node.is_active(seats) {
                self.path.pop();
                continue;
            }
            let next = Node::from_word(seat.edge(*followed).load(Ordering::Relaxed));
            *followed += 1;
            if next == me {
                return self.sacrifice(seats);
            }
            if next.is_active(seats) && !self.seen.contains(&next) {
                self.seen.push(next);
                self.path.push((next, 0));
            }
        }
        Look::Clear
    }

    /// Chooses who gives up among the path, which is a cycle, and tells it.
    fn sacrifice<M: Machine>(&self, seats: &Seats<M>) -> Look {
        debug_assert!(!self.path.is_empty(), "a circle has members");
        let work = |node: Node| node.seat(seats).work.load(Ordering::Relaxed);
        let nodes = self.path.iter().map(|&(node, _)| node);
        // Of equals the one in the last slot: whoever searches chooses the same.
        let Some(victim) = nodes.min_by_key(|&node| (work(node), u32::MAX - node.slot)) else {
            return Look::Clear;
        };
        if victim == self.path[0].0 {
            return Look::GiveUp;
        }
        let seat = victim.seat(seats);
        // Release pairs with the victim's acquire in `wait_or_detect`.
        seat.doomed.store(victim.transaction, Ordering::Release);
        M::unpark(WorkerId(seat.thread.load(Ordering::Relaxed) as u32));
        Look::Told
    }
}
