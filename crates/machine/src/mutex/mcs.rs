//! The queue of Mellor-Crummey and Scott ("Algorithms for scalable synchronization on shared-memory
//! multiprocessors", 1991): each waiter reads a word of its own, which the one ahead writes.

use super::Node;
use crate::{Line, Link, Machine, Ordering, Spin, Tagged, Word};

/// The last of the queue, whose first is in.
pub(super) struct Mcs<M: Machine> {
    last: Line<M::Link<Node<M>>>,
}

impl<M: Machine> Mcs<M> {
    pub(super) fn new() -> Self {
        Self { last: Line(M::Link::new(Tagged::null())) }
    }

    /// Waits for its turn. A section begins with the queueing: later arrivals wait for this one from then on.
    pub(super) fn enter(&self, node: &Node<M>) -> u64 {
        M::enter_section();
        // Relaxed, both: published by the exchange.
        node.next.store(Tagged::null(), Ordering::Relaxed);
        node.called.store(0, Ordering::Relaxed);
        // Release pairs with the acquire of the next exchange here, which so sees our node. Acquire pairs with
        // the release of the exchange before, whose node is ahead of ours; or, where the queue was empty, with
        // that in `leave`: we see what the last holder did.
        let ahead = self.last.0.swap(node.tagged(), Ordering::AcqRel);
        if ahead.is_null() {
            return 0;
        }
        // SAFETY: the one ahead keeps its node until it has called its successor, which is us.
        let ahead = unsafe { &*ahead.pointer() };
        // Release pairs with the acquires in `leave`.
        ahead.next.store(node.tagged(), Ordering::Release);
        let mut spin = Spin::<M>::new();
        // Acquire pairs with the release in `leave`.
        while node.called.load(Ordering::Acquire) == 0 {
            spin.wait();
        }
        0
    }

    pub(super) fn leave(&self, node: &Node<M>) {
        // Acquire pairs with the release in `enter`, by which the successor's node was linked.
        let mut next = node.next.load(Ordering::Acquire);
        if next.is_null() {
            // Release pairs with the acquire of the exchange in `enter` that finds the queue empty.
            let end = self.last.0.compare_exchange(
                node.tagged(),
                Tagged::null(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            if end.is_ok() {
                M::leave_section();
                return;
            }
            // The successor is between its exchange and its store, in a section.
            let mut spin = Spin::<M>::new();
            while next.is_null() {
                spin.wait();
                // Acquire pairs with the same release in `enter`.
                next = node.next.load(Ordering::Acquire);
            }
        }
        // SAFETY: the successor keeps its node until it has been called and has left.
        let next = unsafe { &*next.pointer() };
        // Release pairs with the acquire in `enter`.
        next.called.store(1, Ordering::Release);
        M::leave_section();
    }
}

impl<M: Machine> Node<M> {
    /// Shared access only: the node is words and links.
    pub(super) fn tagged(&self) -> Tagged<Self> {
        Tagged::new(core::ptr::from_ref(self).cast_mut(), 0)
    }
}
