//! A client's access to the queues.

use super::Queues;
use super::report::Deferrals;
use chiliad_machine::Machine;
use std::sync::Arc;

/// A client's access to the queues, and what it has counted.
pub(crate) struct Deferring<M: Machine> {
    pub(crate) queues: Arc<Queues<M>>,
    pub(crate) deferrals: Deferrals,
    /// Requests that it has deferred.
    pub(crate) made: u64,
}

impl<M: Machine> Deferring<M> {
    /// That of a client which has deferred nothing.
    pub fn new(queues: Arc<Queues<M>>) -> Self {
        Self { queues, deferrals: Deferrals::default(), made: 0 }
    }
}
