//! Waiting for what a running peer does within instructions, and for what a transaction does.

use crate::Machine;
use core::marker::PhantomData;

/// Pauses before the first yield: longer than any latch is held by a running peer.
const PAUSES_MAX: u32 = 64;

/// A spin for what a peer holds in a section (a latch, most often), which it leaves within
/// instructions. The peer runs on another thread: no worker lets a sibling run in a section.
///
/// It pauses at first and yields the core when the peer seems to have been pre-empted: with more
/// threads than cores a holder that lost its core costs each thread that only pauses a time slice.
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
        M::stall(self.turns == PAUSES_MAX);
        self.turns = PAUSES_MAX.min(self.turns + 1);
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

/// A wait for what a transaction holds, awake: the transaction may be a sibling on the same thread,
/// which runs meanwhile. The caller is in no section.
pub struct Patience<M: Machine>(Spin<M>);

impl<M: Machine> Patience<M> {
    /// One that has not waited yet.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self(Spin::new())
    }

    /// Waits a moment.
    #[inline]
    pub fn wait(&mut self) {
        if self.0.turns < PAUSES_MAX {
            self.0.turns += 1;
            M::pause();
        } else {
            M::yield_now();
        }
    }
}

impl<M: Machine> Default for Patience<M> {
    fn default() -> Self {
        Self::new()
    }
}
