//! The requests of a run and the tasks that they become: a graph of the workload's own, or one task each.

use super::Form;
use crate::Failure;
use chiliad_api::{Result, TableId, Transaction};
use chiliad_machine::Plain;
use chiliad_machine::tasks::{FunctionId, Serial, Task, Tasks};
use chiliad_simulator::{Hardware, Sim};
use chiliad_swarm::{Graph, View};
use chiliad_workload::bidding::{Bidding, tasks::BiddingTasks};
use chiliad_workload::tasks::{Answer, FirstRequests, OneTask, execute};
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
    Bidding(Bidding),
    Tpce(Tpce),
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
            (Form::Fine, WorkloadOptions::Bidding(options)) => {
                Bidding::new(options.clone()).map(Self::Bidding).map_err(refused)
            }
            (Form::Fine, WorkloadOptions::Tpce(options)) => {
                Tpce::new(options.clone()).map(Self::Tpce).map_err(refused)
            }
            (Form::Fine, _) => Err(Failure::Host("a workload without a graph of tasks".into())),
        }
    }

    /// The workload.
    pub(super) fn workload(&self) -> &dyn AnyWorkload {
        match self {
            Self::Tpcc(workload) => workload,
            Self::Bidding(workload) => workload,
            Self::Tpce(workload) => workload,
            Self::One(workload) => &**workload,
        }
    }

    /// So many requests of this seed, on a database whose tables have these numbers.
    pub(super) fn ask(&self, tables: &[TableId], count: usize, seed: u64) -> Box<dyn Asked + '_> {
        let requests = FirstRequests { workload: self.workload(), count, seed };
        let kinds = (0..count).map(|request| requests.client(tables, request).1.kind).collect();
        match self {
            Self::Tpcc(workload) => Box::new(Drawn::new(workload, requests, kinds, tables)),
            Self::Bidding(workload) => Box::new(Drawn::new(workload, requests, kinds, tables)),
            Self::Tpce(workload) => Box::new(Drawn::new(workload, requests, kinds, tables)),
            Self::One(_) => Box::new(OneByOne { requests, kinds, tables: tables.to_vec() }),
        }
    }
}

/// Requests whose transactions are a task each.
struct OneByOne<'w> {
    requests: FirstRequests<'w>,
    kinds: Vec<usize>,
    tables: Vec<TableId>,
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
        Box::new(OneTask::new(self.requests, &self.tables))
    }

    fn serially<'s>(&self) -> Box<dyn Answering<Serial<'s, Plain>> + '_> {
        Box::new(OneTask::new(self.requests, &self.tables))
    }

    fn execute(
        &self,
        tables: &[TableId],
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<Answer> {
        execute(&mut *self.requests.client(tables, request).0, tx)
    }
}

/// A workload that has a graph of its own.
trait OwnGraph: Workload {
    /// The graph for the simulated hardware, of the requests that clients have in hand.
    fn on_hardware(clients: &[Self::Client]) -> Box<dyn Answering<Hardware> + '_>;

    /// The graph for the serial runtime.
    fn serially<'s>(clients: &[Self::Client]) -> Box<dyn Answering<Serial<'s, Plain>> + '_>;

    /// The answer to the request that a client has executed, as a number.
    fn shown(client: &Self::Client) -> u64;
}

/// Requests whose transactions are graphs of tasks.
struct Drawn<'w, W: Workload> {
    workload: &'w W,
    requests: FirstRequests<'w>,
    kinds: Vec<usize>,
    clients: Vec<W::Client>,
}

impl<'w, W: Workload> Drawn<'w, W> {
    fn new(
        workload: &'w W,
        requests: FirstRequests<'w>,
        kinds: Vec<usize>,
        tables: &[TableId],
    ) -> Self {
        let client = |request| Self::client(workload, &requests, tables, request);
        let clients = (0..requests.count).map(client).collect();
        Self { workload, requests, kinds, clients }
    }

    fn client(
        workload: &W,
        requests: &FirstRequests<'_>,
        tables: &[TableId],
        request: usize,
    ) -> W::Client {
        let mut client = workload.client(tables, requests.client_id(request));
        workload.next(&mut client, &mut Vec::new());
        client
    }
}

impl<W: OwnGraph> Asked for Drawn<'_, W> {
    fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    fn on_hardware(&self) -> Box<dyn Answering<Hardware> + '_> {
        W::on_hardware(&self.clients)
    }

    fn serially<'s>(&self) -> Box<dyn Answering<Serial<'s, Plain>> + '_> {
        W::serially(&self.clients)
    }

    fn execute(
        &self,
        tables: &[TableId],
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<Answer> {
        let mut client = Self::client(self.workload, &self.requests, tables, request);
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
    fn on_hardware(clients: &[Self::Client]) -> Box<dyn Answering<Hardware> + '_> {
        Box::new(TpccTasks::<Sim>::new(clients))
    }

    fn serially<'s>(clients: &[Self::Client]) -> Box<dyn Answering<Serial<'s, Plain>> + '_> {
        Box::new(TpccTasks::<Plain>::new(clients))
    }

    fn shown(client: &Self::Client) -> u64 {
        client.shown()
    }
}

impl<T: Tasks> Answering<T> for BiddingTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        let shown = self.shown(request);
        Some(told(u64::from(shown.number) << 32 | u64::from(shown.highest)))
    }
}

impl OwnGraph for Bidding {
    fn on_hardware(clients: &[Self::Client]) -> Box<dyn Answering<Hardware> + '_> {
        Box::new(BiddingTasks::<Sim>::new(clients))
    }

    fn serially<'s>(clients: &[Self::Client]) -> Box<dyn Answering<Serial<'s, Plain>> + '_> {
        Box::new(BiddingTasks::<Plain>::new(clients))
    }

    fn shown(client: &Self::Client) -> u64 {
        let shown = client.shown();
        u64::from(shown.number) << 32 | u64::from(shown.highest)
    }
}

impl<T: Tasks> Answering<T> for TpceTasks<'_, T::Machine> {
    fn answered(&self, request: usize) -> Option<Answer> {
        self.shown(request).map(told)
    }
}

impl OwnGraph for Tpce {
    fn on_hardware(clients: &[Self::Client]) -> Box<dyn Answering<Hardware> + '_> {
        Box::new(TpceTasks::<Sim>::new(clients))
    }

    fn serially<'s>(clients: &[Self::Client]) -> Box<dyn Answering<Serial<'s, Plain>> + '_> {
        Box::new(TpceTasks::<Plain>::new(clients))
    }

    fn shown(client: &Self::Client) -> u64 {
        client.shown()
    }
}
