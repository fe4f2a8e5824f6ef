//! The requests of a run and the tasks that they become: a graph of the workload's own, or one task each.

use super::Form;
use crate::Failure;
use chiliad_api::{Result, TableId, Transaction};
use chiliad_machine::Plain;
use chiliad_machine::tasks::{FunctionId, Serial, Task, Tasks};
use chiliad_simulator::{Hardware, Sim};
use chiliad_swarm::{Graph, View};
use chiliad_workload::bidding::{Bidding, tasks::BiddingTasks};
use chiliad_workload::tasks::{Answer, FirstRequests, GraphOptions, OneTask, execute};
use chiliad_workload::tpcc::{Tpcc, tasks::TpccTasks};
use chiliad_workload::tpce::{Tpce, tasks::TpceTasks};
use chiliad_workload::{AnyWorkload, Workload, WorkloadOptions};
use std::sync::Arc;

/// A graph of tasks, whatever it is, that tells what its transactions answer.
pub(super) trait Answering<T: Tasks>: Graph<T> {
    /// The answer to a request whose tasks have finished; `None` where it was rolled back.
    fn answered(&self, request: usize) -> Option<Answer>;
}

impl<T: Tasks> Graph<T> for Box<dyn Answering<T> + '_> {
    fn name(&self, function: FunctionId) -> &'static str {
        (**self).name(function)
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        (**self).run(view, task);
    }
}

/// Requests, each the first of a client of its own.
pub(super) trait Asked {
    /// By request, the number of its kind.
    fn kinds(&self) -> &[usize];

    /// Their tasks, for the simulated hardware.
    fn on_hardware(&self) -> Box<dyn Answering<Hardware> + '_>;

    /// Their tasks, for the serial runtime.
    fn serially<'s>(&self) -> Box<dyn Answering<Serial<'s, Plain>> + '_>;

    /// Executes a request as statements, on a database whose tables have these numbers.
    fn execute(
        &self,
        tables: &[TableId],
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<Answer>;
}

/// A workload, and the form that its transactions have as tasks.
pub(super) enum Formed {
    Tpcc(Tpcc),
    Tpce(Tpce),
    Bidding(Bidding),
    /// Each transaction is a task.
    One(Arc<dyn AnyWorkload>),
}

impl Formed {
    /// # Errors
    /// Those of the workload's options; a workload that has no graph.
    pub(super) fn new(
        workload: &WorkloadOptions,
        form: Form,
    ) -> core::result::Result<Self, Failure> {
        let refused = |problem: String| Failure::Host(problem);
        match (form, workload) {
            (Form::One, _) => Ok(Self::One(crate::catalog::make(workload)?)),
            (Form::Fine, WorkloadOptions::Tpcc(options)) => {
                Tpcc::new(options.clone()).map(Self::Tpcc).map_err(refused)
            }
            (Form::Fine, WorkloadOptions::Tpce(options)) => {
                Tpce::new(options.clone()).map(Self::Tpce).map_err(refused)
            }
            (Form::Fine, WorkloadOptions::Bidding(options)) => {
                Bidding::new(options.clone()).map(Self::Bidding).map_err(refused)
            }
            (Form::Fine, _) => Err(Failure::Host("a workload without a graph of tasks".into())),
        }
    }

    /// The workload.
    pub(super) fn workload(&self) -> &dyn AnyWorkload {
        match self {
            Self::Tpcc(workload) => workload,
            Self::Tpce(workload) => workload,
            Self::Bidding(workload) => workload,
            Self::One(workload) => &**workload,
        }
    }

    /// So many requests of this seed, on a database whose tables have these numbers; `graph` says how they become tasks.
    pub(super) fn ask(
        &self,
        tables: &[TableId],
        (count, seed): (usize, u64),
        graph: GraphOptions,
    ) -> Box<dyn Asked + '_> {
        let requests = FirstRequests { workload: self.workload(), count, seed };
        let known = Known { requests, graph };
        match self {
            Self::Tpcc(workload) => Box::new(Drawn::new(workload, known, tables)),
            Self::Tpce(workload) => Box::new(Drawn::new(workload, known, tables)),
            Self::Bidding(workload) => Box::new(Drawn::new(workload, known, tables)),
            Self::One(_) => Box::new(OneByOne::new(known, tables)),
        }
    }
}

/// Requests, before they are drawn, and the form of their tasks.
struct Known<'w> {
    requests: FirstRequests<'w>,
    /// How they become tasks.
    graph: GraphOptions,
}

/// Requests whose transactions are a task each.
struct OneByOne<'w> {
    known: Known<'w>,
    /// By request.
    kinds: Vec<usize>,
    tables: Vec<TableId>,
}

impl<'w> OneByOne<'w> {
    fn new(known: Known<'w>, tables: &[TableId]) -> Self {
        let kind = |request| known.requests.client(tables, request).1.kind;
        let kinds = (0..known.requests.count).map(kind).collect();
        Self { known, kinds, tables: tables.to_vec() }
    }
}

impl<T: Tasks> Answering<T> for OneTask<'_> {
    fn answered(&self, request: usize) -> Option<Answer> {
        self.shown(request)
    }
}

impl Asked for OneByOne<'_> {
    fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    fn on_hardware(&self) -> Box<dyn Answering<Hardware> + '_> {
        Box::new(OneTask::new(self.known.requests, &self.tables))
    }

    fn serially<'s>(&self) -> Box<dyn Answering<Serial<'s, Plain>> + '_> {
        Box::new(OneTask::new(self.known.requests, &self.tables))
    }

    fn execute(
        &self,
        tables: &[TableId],
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<Answer> {
        execute(&mut *self.known.requests.client(tables, request).0, tx)
    }
}

/// A workload that has a graph of its own.
trait OwnGraph: Workload {
    /// The graph for the simulated hardware, of the requests that clients have in hand.
    fn on_hardware<'c>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Hardware> + 'c>;

    /// The graph for the serial runtime.
    fn serially<'c, 's>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Serial<'s, Plain>> + 'c>;

    /// The answer to the request that a client has executed, as a number.
    fn shown(client: &Self::Client) -> u64;
}

/// Requests whose transactions are graphs of tasks.
struct Drawn<'w, W: Workload> {
    workload: &'w W,
    known: Known<'w>,
    /// By request.
    kinds: Vec<usize>,
    clients: Vec<W::Client>,
}

impl<'w, W: Workload> Drawn<'w, W> {
    fn new(workload: &'w W, known: Known<'w>, tables: &[TableId]) -> Self {
        let client = |request| Self::client(workload, &known.requests, tables, request);
        let (clients, kinds) = (0..known.requests.count).map(client).unzip();
        Self { workload, known, kinds, clients }
    }

    fn client(
        workload: &W,
        requests: &FirstRequests<'_>,
        tables: &[TableId],
        request: usize,
    ) -> (W::Client, usize) {
        let mut client = workload.client(tables, requests.client_id(request));
        let shape = workload.next(&mut client, &mut Vec::new());
        (client, shape.kind)
    }
}

impl<W: OwnGraph> Asked for Drawn<'_, W> {
    fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    fn on_hardware(&self) -> Box<dyn Answering<Hardware> + '_> {
        W::on_hardware(&self.clients, &self.known.graph)
    }

    fn serially<'s>(&self) -> Box<dyn Answering<Serial<'s, Plain>> + '_> {
        W::serially(&self.clients, &self.known.graph)
    }

    fn execute(
        &self,
        tables: &[TableId],
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<Answer> {
        let (mut client, _) = Self::client(self.workload, &self.known.requests, tables, request);
        self.workload.execute(&mut client, tx)?;
        Ok(told(W::shown(&client)))
    }
}

/// The answer of a graph, whose transactions have no way to say that they found nothing to act on.
fn told(shown: u64) -> Answer {
    Answer { shown, is_unsuccessful: false }
}

impl<T: Tasks> Answering<T> for TpccTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        self.shown(request).map(told)
    }
}

impl OwnGraph for Tpcc {
    fn on_hardware<'c>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Hardware> + 'c> {
        Box::new(TpccTasks::<Sim>::with(clients, graph))
    }

    fn serially<'c, 's>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Serial<'s, Plain>> + 'c> {
        Box::new(TpccTasks::<Plain>::with(clients, graph))
    }

    fn shown(client: &Self::Client) -> u64 {
        client.shown()
    }
}

impl<T: Tasks> Answering<T> for TpceTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        self.shown(request).map(told)
    }
}

impl OwnGraph for Tpce {
    fn on_hardware<'c>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Hardware> + 'c> {
        Box::new(TpceTasks::<Sim>::with(clients, graph))
    }

    fn serially<'c, 's>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Serial<'s, Plain>> + 'c> {
        Box::new(TpceTasks::<Plain>::with(clients, graph))
    }

    fn shown(client: &Self::Client) -> u64 {
        if client.found() { client.shown() } else { 0 }
    }
}

impl<T: Tasks> Answering<T> for BiddingTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        Some(told(self.shown(request).number_of_both()))
    }
}

impl OwnGraph for Bidding {
    fn on_hardware<'c>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Hardware> + 'c> {
        Box::new(BiddingTasks::<Sim>::with(clients, graph))
    }

    fn serially<'c, 's>(
        clients: &'c [Self::Client],
        graph: &GraphOptions,
    ) -> Box<dyn Answering<Serial<'s, Plain>> + 'c> {
        Box::new(BiddingTasks::<Plain>::with(clients, graph))
    }

    fn shown(client: &Self::Client) -> u64 {
        client.shown().number_of_both()
    }
}
