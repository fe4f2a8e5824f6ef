//! A workload's requests as tasks: its own graph of fine tasks, or a whole transaction each.

use super::{Checked, Requests};
use chiliad_api::{Result, TableId, Transaction};
use chiliad_driver::Failure;
use chiliad_machine::tasks::Serial;
use chiliad_simulator::{Hardware, Sim};
use chiliad_swarm::{Graph, TaskLog};
use chiliad_workload::bidding::tasks::BiddingTasks;
use chiliad_workload::bidding::{self, Bidding};
use chiliad_workload::tasks::{Answer, FirstRequests, GraphOptions, OneTask, execute};
use chiliad_workload::tpcc::tasks::TpccTasks;
use chiliad_workload::tpcc::{self, Tpcc};
use chiliad_workload::tpce::tasks::TpceTasks;
use chiliad_workload::tpce::{self, Tpce};
use chiliad_workload::{AnyWorkload, ClientId, Workload, WorkloadOptions};
use std::sync::Arc;

/// A workload whose requests are tasks.
pub(super) trait Way {
    /// The clients, with a request each.
    type Clients;
    /// Their requests as tasks.
    type Tasks<'c>: Graph<Hardware> + for<'s> Graph<Serial<'s, Sim>>
    where
        Self: 'c;

    /// The workload.
    fn workload(&self) -> &dyn AnyWorkload;

    /// So many clients of a database with these tables.
    fn clients(&self, tables: &[TableId], requests: Requests) -> Self::Clients;

    /// One transaction for each client, as these options say.
    fn graph<'c>(&'c self, clients: &'c Self::Clients, options: &GraphOptions) -> Self::Tasks<'c>;

    /// What the transactions of a graph have written, if it logs that.
    fn log<'t>(graph: &'t Self::Tasks<'_>) -> Option<&'t TaskLog<Sim>>;

    /// The answer to a request whose tasks have finished; `None` where it was rolled back.
    fn answer(graph: &Self::Tasks<'_>, request: usize) -> Option<u64>;

    /// The answer to a request that is run as statements.
    fn execute(
        &self,
        clients: &mut Self::Clients,
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<u64>;
}

/// Calls `f` with the way that a workload has: a graph of its own, unless transactions are to be `whole` or it has none.
pub(super) fn with_way<R>(
    options: &WorkloadOptions,
    whole: bool,
    f: impl FnOnce(&dyn Checked) -> std::result::Result<R, Failure>,
) -> std::result::Result<R, Failure> {
    let invalid = |error: String| Failure::Host(error);
    match options {
        WorkloadOptions::Tpcc(options) if !whole => {
            f(&Tpcc::new(options.clone()).map_err(|error| invalid(error.to_string()))?)
        }
        WorkloadOptions::Bidding(options) if !whole => {
            f(&Bidding::new(options.clone()).map_err(|error| invalid(error.to_string()))?)
        }
        WorkloadOptions::Tpce(options) if !whole => {
            f(&Tpce::new(options.clone()).map_err(|error| invalid(error.to_string()))?)
        }
        other => {
            let workload = other.make().map_err(Failure::doing("making up the workload"))?;
            f(&Whole(workload))
        }
    }
}

/// Each client has a request in hand.
fn clients_of<W: Workload>(workload: &W, tables: &[TableId], requests: Requests) -> Vec<W::Client> {
    let client = |index| {
        let mut client = workload.client(tables, requests.id(index));
        workload.next(&mut client, &mut Vec::new());
        client
    };
    (0..requests.count).map(client).collect()
}

impl Requests {
    fn id(self, index: usize) -> ClientId {
        ClientId { index, home: index, of: self.count, seed: self.seed }
    }
}

impl Way for Tpcc {
    type Clients = Vec<tpcc::Client>;
    type Tasks<'c> = TpccTasks<'c, Sim>;

    fn workload(&self) -> &dyn AnyWorkload {
        self
    }

    fn clients(&self, tables: &[TableId], requests: Requests) -> Self::Clients {
        clients_of(self, tables, requests)
    }

    fn graph<'c>(
        &'c self,
        clients: &'c Self::Clients,
        options: &GraphOptions,
    ) -> TpccTasks<'c, Sim> {
        TpccTasks::with(clients, options)
    }

    fn log<'t>(graph: &'t TpccTasks<'_, Sim>) -> Option<&'t TaskLog<Sim>> {
        graph.log()
    }

    fn answer(graph: &TpccTasks<'_, Sim>, request: usize) -> Option<u64> {
        graph.shown(request)
    }

    fn execute(
        &self,
        clients: &mut Self::Clients,
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<u64> {
        Workload::execute(self, &mut clients[request], tx)?;
        Ok(clients[request].shown())
    }
}

impl Way for Bidding {
    type Clients = Vec<bidding::Client>;
    type Tasks<'c> = BiddingTasks<'c, Sim>;

    fn workload(&self) -> &dyn AnyWorkload {
        self
    }

    fn clients(&self, tables: &[TableId], requests: Requests) -> Self::Clients {
        clients_of(self, tables, requests)
    }

    fn graph<'c>(
        &'c self,
        clients: &'c Self::Clients,
        options: &GraphOptions,
    ) -> BiddingTasks<'c, Sim> {
        BiddingTasks::with(clients, options)
    }

    fn log<'t>(graph: &'t BiddingTasks<'_, Sim>) -> Option<&'t TaskLog<Sim>> {
        graph.log()
    }

    fn answer(graph: &BiddingTasks<'_, Sim>, request: usize) -> Option<u64> {
        Some(graph.shown(request).number_of_both())
    }

    fn execute(
        &self,
        clients: &mut Self::Clients,
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<u64> {
        Workload::execute(self, &mut clients[request], tx)?;
        Ok(clients[request].shown().number_of_both())
    }
}

impl Way for Tpce {
    type Clients = Vec<tpce::Client>;
    type Tasks<'c> = TpceTasks<'c, Sim>;

    fn workload(&self) -> &dyn AnyWorkload {
        self
    }

    fn clients(&self, tables: &[TableId], requests: Requests) -> Self::Clients {
        clients_of(self, tables, requests)
    }

    fn graph<'c>(
        &'c self,
        clients: &'c Self::Clients,
        options: &GraphOptions,
    ) -> TpceTasks<'c, Sim> {
        TpceTasks::with(clients, options)
    }

    fn log<'t>(graph: &'t TpceTasks<'_, Sim>) -> Option<&'t TaskLog<Sim>> {
        graph.log()
    }

    fn answer(graph: &TpceTasks<'_, Sim>, request: usize) -> Option<u64> {
        graph.shown(request)
    }

    fn execute(
        &self,
        clients: &mut Self::Clients,
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<u64> {
        Workload::execute(self, &mut clients[request], tx)?;
        Ok(clients[request].shown())
    }
}

/// Any workload, each of whose transactions is one task.
struct Whole(Arc<dyn AnyWorkload>);

/// What makes the clients of a database.
struct Recipe {
    tables: Vec<TableId>,
    requests: Requests,
}

impl Whole {
    fn first(&self, Requests { count, seed }: Requests) -> FirstRequests<'_> {
        FirstRequests { workload: &*self.0, count, seed }
    }
}

impl Way for Whole {
    type Clients = Recipe;
    type Tasks<'c> = OneTask<'c>;

    fn workload(&self) -> &dyn AnyWorkload {
        &*self.0
    }

    fn clients(&self, tables: &[TableId], requests: Requests) -> Recipe {
        Recipe { tables: tables.to_vec(), requests }
    }

    fn graph<'c>(&'c self, clients: &'c Recipe, _options: &GraphOptions) -> OneTask<'c> {
        OneTask::new(self.first(clients.requests), &clients.tables)
    }

    fn log<'t>(_graph: &'t OneTask<'_>) -> Option<&'t TaskLog<Sim>> {
        None
    }

    fn answer(graph: &OneTask<'_>, request: usize) -> Option<u64> {
        graph.shown(request).map(digest)
    }

    fn execute(
        &self,
        clients: &mut Recipe,
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<u64> {
        let (mut client, _) = self.first(clients.requests).client(&clients.tables, request);
        execute(&mut *client, tx).map(digest)
    }
}

/// The answer to a whole transaction as one number.
fn digest(answer: Answer) -> u64 {
    answer.shown ^ u64::from(answer.is_unsuccessful)
}
