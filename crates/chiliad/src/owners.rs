//! The threads that own partitions.

use crate::asynchronous::AsyncThreads;
use crate::cache::Slots;
use crate::form::Schemas;
use crate::rules::Rules;
use crate::session::Sessions;
use std::sync::Arc;

/// The owners: each a thread with one transaction in flight, and a queue of its own.
pub(crate) struct Owners(Vec<AsyncThreads>);

impl Owners {
    pub fn new(
        count: usize,
        slots: &Arc<Slots>,
        rules: &Arc<Rules>,
        sessions: &Sessions,
        schemas: &Schemas,
    ) -> Self {
        let owner = ("chiliad-owner", 1, 1);
        let one = |_| AsyncThreads::new(owner, slots, rules, sessions, schemas);
        Self((0..count).map(one).collect())
    }

    /// Which owner has a partition. Partitions that follow each other, and those at equal distances, are spread
    /// evenly (Fibonacci hashing).
    pub fn of(&self, partition: u64) -> usize {
        let spread = partition.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(spread) * self.0.len() as u128) >> 64) as usize
    }

    /// An owner's thread.
    pub fn threads(&self, owner: usize) -> &AsyncThreads {
        &self.0[owner]
    }

    /// Ends the threads, when they have run what was handed to them.
    pub fn end(&mut self) {
        self.0.iter_mut().for_each(AsyncThreads::end);
    }
}
