//! Dealing out pieces of work by number.

use chiliad_machine::{Machine, Ordering, Shared, Word};

/// Counts what was begun.
pub struct Next<M: Machine>(M::Word);

impl<M: Machine> Next<M> {
    pub fn new() -> Shared<M, Self> {
        Shared::new(Self(M::Word::new(0)))
    }

    pub fn take(&self) -> usize {
        // Relaxed: only that each is taken once.
        self.0.fetch_add(1, Ordering::Relaxed) as usize
    }
}
