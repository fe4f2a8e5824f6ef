//! Numbers are drawn and served in their order.

use crate::{Line, Machine, Ordering, Spin, Word};

/// The number to draw next and the number served, on lines of their own: an arrival disturbs no waiter.
pub(super) struct Ticket<M: Machine> {
    next: Line<M::Word>,
    served: Line<M::Word>,
}

impl<M: Machine> Ticket<M> {
    pub(super) fn new() -> Self {
        Self { next: Line(M::Word::new(0)), served: Line(M::Word::new(0)) }
    }

    /// Waits for its turn; the number that was drawn. A section begins with the drawing: later
    /// arrivals wait for this one from then on.
    pub(super) fn enter(&self) -> u64 {
        M::enter_section();
        // Relaxed: the number itself is all that is handed over.
        let mine = self.next.0.fetch_add(1, Ordering::Relaxed);
        let mut spin = Spin::<M>::new();
        // Acquire pairs with the release in `leave`.
        while self.served.0.load(Ordering::Acquire) != mine {
            spin.wait();
        }
        mine
    }

    pub(super) fn leave(&self, mine: u64) {
        // Release pairs with the acquire of the next in line in `enter`.
        self.served.0.store(mine + 1, Ordering::Release);
        M::leave_section();
    }
}
