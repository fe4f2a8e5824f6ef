//! The part of a database that running a transaction needs.

use crate::acks::Acks;
use crate::engine::Engine;
use crate::snapshot_ages::SnapshotAges;
use crate::until::Until;
use crate::{Durability, Error, Result};
use chiliad_api::Backoff;
use chiliad_engine::Committed;
use chiliad_machine::{Interleaved, Machine, Pace};
use std::sync::{Arc, Weak};

/// Workers that give back memory.
pub(crate) trait Relief: Send + Sync {
    /// All that are idle give back what they have: how many bytes others have gained.
    fn relieve(&self) -> u64;
}

/// The rules of one database.
pub(crate) struct Rules {
    /// Tells databases apart, for handles and for caches of workers.
    pub database: u64,
    pub backoff: Backoff,
    /// Tells what is durable, for a database in a directory.
    pub acks: Option<Arc<Acks>>,
    pub durability: Durability,
    /// Stands for "no partitions declared".
    pub all_partitions: Vec<u32>,
    /// The workers, those of other threads among them.
    pub workers: Weak<dyn Relief>,
    pub engine: Engine,
    /// How many transactions its threads have in flight.
    pub pace: Pace,
    /// When the epochs began, for the ages of snapshots.
    pub ages: Arc<SnapshotAges>,
    #[cfg(feature = "metrics")]
    pub publisher: crate::watch::Publisher,
}

impl Rules {
    /// Tells when a result may be given out, if results are held back until they are durable.
    pub fn holding(&self) -> Option<&Arc<Acks>> {
        self.acks.as_ref().filter(|_| self.durability == Durability::Sync)
    }

    /// Waits before the attempt that follows `refusals` refusals, but not beyond `limit`.
    pub fn back_off(&self, refusals: u32, limit: &Until) {
        let below = |below| Interleaved::random() % below;
        self.backoff.wait(refusals, below, &limit.wait_limit());
    }

    /// Holds a result back until the transaction's epoch is durable, if that is asked for.
    pub fn hold_back(&self, epoch: u64, limit: &Until) -> Result<()> {
        self.holding().map_or(Ok(()), |acks| acks.wait(epoch, true, limit))
    }

    /// Holds the end of a transaction back in the same way.
    pub fn hold_back_end(&self, committed: Committed, limit: &Until) -> Result<()> {
        unless_it_only_read(committed.wrote, self.hold_back(committed.epoch, limit))
    }

    /// The epoch of the error that a transaction ended with: what it has read may not be durable, and
    /// the error may tell of it.
    pub fn error_epoch(&self) -> u64 {
        self.holding().map_or(0, |acks| acks.epoch())
    }
}

/// The outcome of a transaction when it is known whether its epoch is `durable`. If it never will be, a
/// transaction that has written nothing ends as if it were: the database goes on reading what it holds.
pub(crate) fn unless_it_only_read(wrote: bool, durable: Result<()>) -> Result<()> {
    match durable {
        Err(Error::LogFailed(_)) if !wrote => Ok(()),
        durable => durable,
    }
}
