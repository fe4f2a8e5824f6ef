//! State shared by all workers under two-phase locking.

use super::queue::Queues;
use super::row_lock::WHO_BITS;
use crate::Options;
use crate::options::Timestamps;
use crate::timestamps::{TIMESTAMP_BITS, TimestampSource};
use chiliad_machine::Machine;
use std::time::Duration;

/// The queues of those who wait, and how long they do.
pub struct Shared<M: Machine> {
    /// For policies under which anybody waits.
    queues: Option<Queues<M>>,
    pub(super) timestamps: TimestampSource<M>,
    /// Ticks after which a wait ends.
    pub(super) wait_timeout: u64,
    /// Ticks between two looks for a deadlock, and before the first.
    pub(super) deadlock_check: u64,
}

impl<M: Machine> Shared<M> {
    pub(super) fn new(
        options: &Options,
        waits: bool,
        by_age: bool,
        wait_timeout: Duration,
    ) -> Self {
        // A timestamp of the clock has the slot at its end, and all its bits count from the first on; of counted ones the
        // lower bits do.
        let age_shift = match options.timestamps {
            Timestamps::Clock => TIMESTAMP_BITS - WHO_BITS,
            _ => 0,
        };
        Self {
            queues: waits.then(|| Queues::new(by_age.then_some(age_shift))),
            timestamps: TimestampSource::new(options),
            wait_timeout: options.wait_ticks::<M>(wait_timeout),
            deadlock_check: M::ticks(options.deadlock_check),
        }
    }

    #[inline]
    pub(super) fn queues(&self) -> &Queues<M> {
        self.queues.as_ref().expect("a policy under which anybody waits")
    }
}
