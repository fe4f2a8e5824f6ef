//! State shared by all workers under two-phase locking.

use super::waiter::Waiters;
use crate::Options;
use crate::timestamps::TimestampSource;
use chiliad_machine::Machine;
use std::time::Duration;

/// The waiters, and how long they wait.
pub struct Shared<M: Machine> {
    /// For policies under which anybody waits.
    waiters: Option<Waiters<M>>,
    pub(super) timestamps: TimestampSource<M>,
    /// Ticks after which a wait ends.
    pub(super) wait_timeout: u64,
    /// Ticks between two looks for a deadlock, and before the first.
    pub(super) deadlock_check: u64,
}

impl<M: Machine> Shared<M> {
    pub(super) fn new(options: &Options, waits: bool, wait_timeout: Duration) -> Self {
        Self {
            waiters: waits.then(Waiters::new),
            timestamps: TimestampSource::new(options),
            wait_timeout: options.wait_ticks::<M>(wait_timeout),
            deadlock_check: M::ticks(options.deadlock_check),
        }
    }

    #[inline]
    pub(super) fn waiters(&self) -> &Waiters<M> {
        self.waiters.as_ref().expect("a policy under which anybody waits")
    }
}
