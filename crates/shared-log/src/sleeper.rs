//! Sleeping inside a call, without taking from the caller what woke it.

use chiliad_machine::{Machine, Ticks, Woken};
use std::marker::PhantomData;

/// Sleeps for a call. A wake-up may be meant for another wait of this worker: if the sleeper was woken by any, the
/// worker's next park after the call returns at once.
pub(crate) struct Sleeper<M: Machine> {
    woken: bool,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine> Sleeper<M> {
    pub fn new() -> Self {
        Self { woken: false, machine: PhantomData }
    }

    /// Sleeps until somebody wakes the worker, or for no reason less long.
    pub fn sleep(&mut self) {
        M::park();
        self.woken = true;
    }

    /// As [`Sleeper::sleep`], until a time at the longest.
    pub fn sleep_until(&mut self, time: Ticks) {
        self.woken |= M::park_until(time) == Woken::ByPeer;
    }
}

impl<M: Machine> Drop for Sleeper<M> {
    fn drop(&mut self) {
        if self.woken {
            M::unpark(M::worker());
        }
    }
}
