//! Waiting for something that a running peer does within instructions.

use crate::Machine;
use core::marker::PhantomData;

/// Pauses before the first yield: longer than any latch is held by a running peer.
const PAUSES_MAX: u32 = 64;

/// A spin that pauses at first and yields when the peer seems to have been pre-empted.
///
/// With more threads than cores a latch holder that lost its core costs a time slice to everyone
/// who only pauses; hence the yield.
pub struct Spin<M: Machine> {
    turns: u32,
    machine: PhantomData<M>,
}

impl<M: Machine> Spin<M> {
    /// A spin that has not waited yet.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self { turns: 0, machine: PhantomData }
    }

    /// Waits a moment.
    #[inline]
    pub fn wait(&mut self) {
        if self.turns < PAUSES_MAX {
            self.turns += 1;
            M::pause();
        } else {
            M::yield_now();
        }
    }

    /// How often it has paused, up to the point where it began to yield.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.turns
    }
}

impl<M: Machine> Default for Spin<M> {
    fn default() -> Self {
        Self::new()
    }
}
