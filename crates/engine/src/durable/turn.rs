//! Taking turns at what takes long: changes of the manifest, checkpoints.
//!
//! Waiters sleep, and may wait for a disk; so no turn is taken under a latch, a pin or the commit window.

use chiliad_machine::{Machine, Ordering, Word};

/// Ticks that a waiter sleeps, as a share of a second.
const NAPS_PER_SECOND: u64 = 2000;

/// One at a time. Lives in the machine's memory.
pub struct Turn<M: Machine> {
    taken: M::Word,
}

/// The turn, until it is dropped.
pub struct Taken<'a, M: Machine>(&'a Turn<M>);

impl<M: Machine> Turn<M> {
    pub fn new() -> Self {
        Self { taken: M::Word::new(0) }
    }

    /// Waits for the turn.
    pub fn take(&self) -> Taken<'_, M> {
        loop {
            // Acquire pairs with the release in the drop.
            if self.taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Taken(self);
            }
            nap::<M>();
        }
    }
}

impl<M: Machine> Drop for Taken<'_, M> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `take`.
        self.0.taken.store(0, Ordering::Release);
    }
}

/// Sleeps for a moment.
pub fn nap<M: Machine>() {
    M::park_until(M::now() + M::ticks_per_second() / NAPS_PER_SECOND);
}
