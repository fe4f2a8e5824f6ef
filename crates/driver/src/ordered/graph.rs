//! The workloads that have a graph of tasks.

use chiliad_simulator::{Hardware, Sim};
use chiliad_swarm::Graph;
use chiliad_workload::Workload;
use chiliad_workload::bidding::{self, Bidding, tasks::BiddingTasks};
use chiliad_workload::tpcc::{self, Tpcc, tasks::TpccTasks};

/// A workload with a graph of tasks.
pub(super) trait Ordered: Workload {
    /// The reply of a transaction.
    type Answer: PartialEq;
    /// The graph of requests that clients have in hand.
    type Tasks<'c>: Graph<Hardware>;

    /// The graph of one transaction for each client.
    fn graph(clients: &[Self::Client]) -> Self::Tasks<'_>;

    /// The answer to a request whose tasks have finished; `None` where it was rolled back.
    fn answer(graph: &Self::Tasks<'_>, request: usize) -> Option<Self::Answer>;

    /// The answer to the request that a client has executed.
    fn shown(client: &Self::Client) -> Self::Answer;
}

impl Ordered for Tpcc {
    type Answer = u64;
    type Tasks<'c> = TpccTasks<'c, Sim>;

    fn graph(clients: &[tpcc::Client]) -> TpccTasks<'_, Sim> {
        TpccTasks::new(clients)
    }

    fn answer(graph: &TpccTasks<'_, Sim>, request: usize) -> Option<u64> {
        graph.shown(request)
    }

    fn shown(client: &tpcc::Client) -> u64 {
        client.shown()
    }
}

impl Ordered for Bidding {
    type Answer = bidding::Shown;
    type Tasks<'c> = BiddingTasks<'c, Sim>;

    fn graph(clients: &[bidding::Client]) -> BiddingTasks<'_, Sim> {
        BiddingTasks::new(clients)
    }

    fn answer(graph: &BiddingTasks<'_, Sim>, request: usize) -> Option<bidding::Shown> {
        Some(graph.shown(request))
    }

    fn shown(client: &bidding::Client) -> bidding::Shown {
        client.shown()
    }
}
