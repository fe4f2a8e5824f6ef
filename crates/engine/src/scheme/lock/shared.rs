//! What all workers share under two-phase locking.

use super::seat::Seats;
use crate::Options;
use chiliad_machine::{Machine, Ordering, Word};

/// Seats, and how long to wait.
pub struct Shared<M: Machine> {
    /// For policies under which anybody waits.
    seats: Option<Seats<M>>,
    /// The next timestamp.
    clock: M::Word,
    /// Ticks after which a wait ends.
    pub(super) wait_timeout: u64,
    /// Ticks between two looks for a deadlock, and before the first.
    pub(super) deadlock_check: u64,
}

impl<M: Machine> Shared<M> {
    pub(super) fn new(options: &Options, waits: bool) -> Self {
        Self {
            seats: waits.then(Seats::new),
            clock: M::Word::new(1),
            wait_timeout: Options::ticks::<M>(options.wait_timeout),
            deadlock_check: Options::ticks::<M>(options.deadlock_check),
        }
    }

    #[inline]
    pub(super) fn seats(&self) -> &Seats<M> {
        self.seats.as_ref().expect("a policy under which anybody waits")
    }

    /// A timestamp of its own.
    pub(super) fn timestamp(&self) -> u64 {
        // Relaxed: only that each is given out once, and grows.
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}
