//! H-Store (Yu, 2015, 2.2.4, 4.3.3): a lock per partition, granted to the transaction with the
//! oldest timestamp among those that wait for it.
//!
//! A transaction draws its timestamp when it arrives and asks for its partitions, all of which it has
//! declared, one after the other, in ascending order. Records of any of them it then touches itself
//! (4.3.3), with all that `partitioned.rs` does for whoever is alone with its partitions.
//!
//! How a partition is waited for, and handed on, is in `lock.rs`. Where threads share cores, one that runs may go before
//! those that sleep, for a quarter of a millisecond.
//!
//! **No deadlock** (see `partitioned.rs`): partitions are asked for in ascending order. The paper
//! enters a transaction in all its queues at once. Here it would not do, since locks are held by
//! whoever has been granted them and not by an engine that goes through its queue: of two
//! transactions in the queues of A and B, one that came first may hold A when the other, which is
//! older, is granted B. What is lost is that the oldest has a claim to partitions that it does not wait
//! for yet.

mod lock;
#[cfg(test)]
mod models;

use super::partitioned::{Exclusive, Policy};
use crate::Options;
use crate::scheme::SchemeName;
use crate::timestamps::{Clock, TimestampSource};
use crate::wait::{Ended, Limits};
use chiliad_api::Info;
use chiliad_machine::{Array, Machine};
use chiliad_storage::LocalHeap;
use lock::Partition;

/// A lock per partition, granted in the order of timestamps.
pub type HStore<M> = Exclusive<M, Queueing<M>>;

/// One worker's part of the policy.
pub struct Queueing<M: Machine> {
    clock: Clock<M>,
    timestamp: u64,
}

/// State shared by all workers.
pub struct Queues<M: Machine> {
    timestamps: TimestampSource<M>,
    partitions: Array<M, Partition<M>>,
}

impl<M: Machine> Policy<M> for Queueing<M> {
    const INFO: Info = SchemeName::HStore.info();

    const DRAWS: bool = true;
    type Shared = Queues<M>;

    fn shared(options: &Options) -> Queues<M> {
        Queues {
            timestamps: TimestampSource::new(options),
            partitions: Array::new(options.partitions as usize, Partition::new),
        }
    }

    fn new() -> Self {
        Self { clock: Clock::new(), timestamp: 0 }
    }

    #[inline]
    fn arrive(&mut self, shared: &Queues<M>, heap: &LocalHeap<M>, limits: &Limits<M>) {
        self.timestamp = self.clock.draw(&shared.timestamps, heap);
        // A partition's word says when its holder arrived, not in which slot its worker is.
        limits.call(self.timestamp);
    }

    #[inline]
    fn lock(
        &mut self,
        shared: &Queues<M>,
        partition: u32,
        _slot: u32,
        limits: &Limits<M>,
    ) -> Result<(), Ended> {
        shared.partitions.get(partition as usize).lock(self.timestamp, limits)
    }

    #[inline]
    fn unlock(&mut self, shared: &Queues<M>, partition: u32) {
        shared.partitions.get(partition as usize).unlock(self.timestamp);
    }
}
