//! Which client owns which partition.

use super::Deferral;
use super::queue::Queue;
use crate::Plan;
use chiliad_machine::Machine;
use chiliad_workload::ClientId;

/// The queues of a run: one for each home, as long as there are partitions for it.
pub(crate) struct Queues<M: Machine>(Vec<Queue<M>>);

impl<M: Machine> Queues<M> {
    /// Those of a run's clients, whose workload defers requests in so many partitions; `None`: each runs its
    /// own. Clients on several hosts, or in several processes, have no memory in common, and run their own too.
    pub fn new(plan: &Plan, partitions: u32, hosts: usize) -> Option<Self> {
        let apart = hosts > 1 || plan.others != crate::Others::default();
        if plan.deferral == Deferral::Inline || partitions == 0 || apart {
            return None;
        }
        let count = plan.homes::<M>().min(partitions as usize);
        // Natively the members of a client share its home, in simulation each has its own.
        let owners = if M::SIMULATED { 1 } else { plan.interleave };
        Some(Self((0..count).map(|_| Queue::new(owners)).collect()))
    }

    /// The queue of the client that owns a partition: the one whose home it is, where TPC-C's clients have theirs, in
    /// turn. A partition more than there are homes is owned by a client that has its home elsewhere.
    pub fn of(&self, partition: u32) -> &Queue<M> {
        &self.0[partition as usize % self.0.len()]
    }

    /// The queue that a client owns, with those that share its home. Where more clients than partitions have homes of their
    /// own, the first ones own them.
    pub fn owned_by(&self, client: ClientId) -> Option<&Queue<M>> {
        self.0.get(client.home)
    }
}
