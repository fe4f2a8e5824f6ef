//! The plan of a run, resolved: no driver fills in a default.

use super::signals::{Phase, Signals};
use super::{Backoff, Deferral, Durability};
use chiliad_machine::Machine;
use chiliad_workload::ClientId;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// When the measured window ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// After this time, simulated in simulation.
    Time(Duration),
    /// After this many transactions, divided evenly among the clients in advance.
    Transactions(u64),
}

/// The next request of a client whose transaction aborted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// It runs the same request again, until that commits.
    Same,
    /// The request is dropped and the next one made up.
    New,
}

/// Whether and how much of the history is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recording {
    /// Memory for the history of all clients, in bytes. A run that reaches it ends early.
    pub memory_bytes_max: u64,
}

/// Clients of the same run in other processes, all of whose clients are numbered together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Others {
    /// So many have numbers below those of this process.
    pub before: usize,
    /// So many above.
    pub after: usize,
}

/// A run of a workload's clients on an opened database.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Concurrent clients.
    pub clients: usize,
    /// Those of other processes: length and rate are of all together; natively only.
    pub others: Others,
    /// Transactions that each has in flight: fibers of its group, each with a session of its own.
    pub interleave: usize,
    /// No more of them than pay, as the clients find out while they run; natively only.
    pub adaptive: bool,
    /// Cores that they may run on.
    pub cores: usize,
    /// The seed of rows and requests.
    pub seed: u64,
    /// Time before the measured window.
    pub warmup: Duration,
    /// The measured window.
    pub length: Length,
    /// Arrivals per second over all clients, for an open loop; `None`: a client's next transaction
    /// begins when its last has ended.
    pub rate: Option<f64>,
    /// How long a refused transaction waits before it runs again.
    pub backoff: Backoff,
    /// Whether it then runs the same request again.
    pub retry: Retry,
    /// Which client runs a request that may wait, where the workload has such requests.
    pub deferral: Deferral,
    /// Keep a record of each one's result.
    pub deferral_records: bool,
    /// The length of a commit epoch.
    pub epoch: Duration,
    /// While clients run, an epoch ends after so many transactions of one of them, and not with time; natively only.
    pub epoch_transactions: Option<NonZeroU64>,
    /// Load the rows first; `false`: an earlier run on the same database has; natively only.
    pub load: bool,
    /// Count records by their number of older versions when all clients have stopped; natively only.
    pub versions: bool,
    /// When a transaction counts as committed; natively only.
    pub durability: Durability,
    /// Keep the history; the database was opened with stamps then.
    pub recording: Option<Recording>,
    /// Look at the workload's conditions when all clients have stopped.
    pub conditions: bool,
    /// Sample throughput and memory every 100 ms; natively only.
    pub series: bool,
    /// Follow transactions in every other slice of the window, and say what that costs; natively only.
    pub following_cost: bool,
    /// Transactions of each client that come before all that counts, and take no time on a machine whose
    /// time passes: they make the worker's own memory, which what is measured begins with.
    pub rehearsals: u32,
    /// One transaction more begins so long after the window, reads, and stays open until the run is over;
    /// it counts nowhere. Only where the length is a time: a transaction that waits for what it holds ends no sooner.
    pub stalled_at: Option<Duration>,
    /// The run ends early when nobody has committed for so long, and else goes on after its time until somebody
    /// has; only where the length is a time. `None`: nobody looks.
    pub idle_max: Option<Duration>,
    /// One transaction in so many is followed through the parts of its time; none if there is no time.
    pub follow: Option<u32>,
}

/// One transaction in this many is followed through its parts natively, on average: it reads the clock at every step.
pub const FOLLOWED_ONE_IN: u32 = 64;

/// Memory made ready before a native run of full scale, in bytes.
pub const MEMORY_READY: u64 = 512 << 20;

impl Plan {
    /// So many clients, each on a core of its own with one transaction in flight, that load the rows of seed 1 and run
    /// for `length`, with commit epochs of `epoch`. Nothing is recorded, followed, checked or made durable.
    #[must_use]
    pub fn new(clients: usize, length: Length, epoch: Duration) -> Self {
        Self {
            clients,
            others: Others::default(),
            interleave: 1,
            adaptive: false,
            cores: clients,
            seed: 1,
            warmup: Duration::ZERO,
            length,
            rate: None,
            backoff: Backoff::Exponential,
            retry: Retry::Same,
            deferral: Deferral::Inline,
            deferral_records: false,
            epoch_transactions: None,
            epoch,
            load: true,
            versions: false,
            durability: Durability::None,
            recording: None,
            conditions: false,
            series: false,
            following_cost: false,
            rehearsals: 0,
            stalled_at: None,
            idle_max: None,
            follow: None,
        }
    }

    /// Measures for a time, and looks whether anybody commits.
    pub fn watched(&mut self, length: Duration, idle_max: Duration) {
        (self.length, self.idle_max) = (Length::Time(length), Some(idle_max));
    }

    /// Transactions in flight at once.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.clients * self.interleave
    }

    /// The identity of one of a client's fibers, whose home is the client's.
    pub(crate) fn client_id(&self, client: usize, fiber: usize) -> ClientId {
        let (home, all) = (self.others.before + client, self.all_clients());
        let of = all * self.interleave;
        ClientId { index: home + fiber * all, of, home, homes: all, seed: self.seed }
    }

    /// How many homes its clients have.
    pub(crate) fn homes<M: Machine>(&self) -> usize {
        if M::SIMULATED { self.workers() } else { self.all_clients() }
    }

    /// The place of a fiber among those of this process.
    pub(crate) fn place(&self, client_id: ClientId) -> usize {
        let (fiber, home) =
            (client_id.index / self.all_clients(), client_id.index % self.all_clients());
        home - self.others.before + fiber * self.clients
    }

    fn all_clients(&self) -> usize {
        self.others.before + self.clients + self.others.after
    }

    /// As `client_id`, for simulation: the fibers of a client have homes of their own, as clients have, since a few
    /// cores can show more that way. They share one only when there are fewer homes than clients.
    pub(crate) fn client_id_apart(&self, client: usize, fiber: usize) -> ClientId {
        let client_id = self.client_id(client, fiber);
        ClientId::apart(client_id.index, client_id.of, client_id.seed)
    }

    /// State shared by driver and clients in this run.
    pub(crate) fn signals(&self) -> Arc<Signals> {
        let first = if self.warmup.is_zero() { Phase::Measure } else { Phase::Warmup };
        let limit = self.recording.map_or(u64::MAX, |recording| recording.memory_bytes_max);
        Arc::new(Signals::new(self.workers(), first, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_all_processes_are_numbered_together() {
        let shares = [(0, 3), (3, 2), (5, 1)];
        let mut seen = [false; 24];
        for (before, clients) in shares {
            let mut plan = Plan::new(clients, Length::Transactions(1), Duration::ZERO);
            plan.others = Others { before, after: 6 - before - clients };
            plan.interleave = 4;
            let mut places = vec![false; plan.workers()];
            for (client, fiber) in
                (0..clients).flat_map(|client| (0..4).map(move |it| (client, it)))
            {
                let id = plan.client_id(client, fiber);
                assert_eq!((id.of, id.home), (24, before + client));
                assert!(!std::mem::replace(&mut seen[id.index], true), "{id:?}");
                assert!(!std::mem::replace(&mut places[plan.place(id)], true), "{id:?}");
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }
}
