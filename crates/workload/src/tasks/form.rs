//! The forms that a workload's transactions have as tasks: a graph of its own, or one task each.

use super::one::{OneClient, execute};
use super::{Answer, GraphOptions, OneTask};
use crate::any_workload::{AnyClient, AnyWorkload};
use crate::bidding::Bidding;
use crate::catalog::WorkloadOptions;
use crate::tpcc::Tpcc;
use crate::tpce::Tpce;
use crate::workload::{ClientId, Shape, Workload};
use chiliad_api::{Error, Result, TableId, Transaction};
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_swarm::{Graph, TaskLog, View};
use std::sync::Arc;

/// The form that transactions have as tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Each is one task.
    One,
    /// Each is a graph of tasks, which is the workload's own.
    Fine,
}

/// Requests that are each a client's first.
#[derive(Clone, Copy, Debug)]
pub struct FirstRequests {
    /// How many clients, and so requests, there are.
    pub count: usize,
    /// The seed of the run.
    pub seed: u64,
}

impl FirstRequests {
    fn client_id(self, request: usize) -> ClientId {
        ClientId::apart(request, self.count, self.seed)
    }

    /// The client with the request of this number in hand, on a database whose tables have these numbers.
    #[must_use]
    pub fn client<W: Workload>(
        self,
        workload: &W,
        tables: &[TableId],
        request: usize,
    ) -> W::Client {
        let mut client = workload.client(tables, self.client_id(request));
        workload.next(&mut client, &mut Vec::new());
        client
    }

    /// As [`FirstRequests::client`], for any workload, and what the request is like.
    #[must_use]
    pub fn any_client<'w>(
        self,
        workload: &'w dyn AnyWorkload,
        tables: &[TableId],
        request: usize,
    ) -> (Box<dyn AnyClient + 'w>, Shape) {
        let mut client = workload.any_client(tables, self.client_id(request));
        let shape = client.next(&mut Vec::new());
        (client, shape)
    }
}

/// A graph of tasks, whatever it is, that tells what its transactions answer.
pub trait Answering<T: Tasks>: Graph<T> {
    /// The answer to a request whose tasks have finished; `None` where it was rolled back.
    fn answered(&self, request: usize) -> Option<Answer>;

    /// What the transactions have written, if that is logged.
    fn log(&self) -> Option<&TaskLog<T::Machine>>;
}

impl<T: Tasks> Graph<T> for Box<dyn Answering<T> + '_> {
    fn name(&self, function: FunctionId) -> &'static str {
        (**self).name(function)
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        (**self).run(view, task);
    }
}

/// A workload that has a graph of its own.
pub(super) trait OwnGraph: Workload {
    /// The graph, on any runtime, of the requests that clients have in hand.
    fn graph<'c, T: Tasks>(
        clients: &'c [Self::Client],
        options: &GraphOptions,
    ) -> Box<dyn Answering<T> + 'c>;

    /// The answer to the request that a client has executed, as a number: what its graph answers.
    fn shown(client: &Self::Client) -> u64;
}

/// The answer of a graph, whose transactions have no way to say that they found nothing to act on.
pub(super) fn told(shown: u64) -> Answer {
    Answer { shown, is_unsuccessful: false }
}

/// Requests that clients have in hand, for a runtime.
pub trait InHand<T: Tasks> {
    /// Their transactions as tasks.
    ///
    /// # Panics
    /// Where there is no request, or no memory for the scratch of a graph.
    fn graph(&self, options: &GraphOptions) -> Box<dyn Answering<T> + '_>;
}

/// Those of a workload with a graph.
struct OfGraph<W: Workload>(Vec<W::Client>);

impl<W: OwnGraph, T: Tasks> InHand<T> for OfGraph<W> {
    fn graph(&self, options: &GraphOptions) -> Box<dyn Answering<T> + '_> {
        W::graph(&self.0, options)
    }
}

/// Those whose transactions are a task each. Clients are drawn for each run, which uses them up.
struct OneByOne<'w> {
    workload: &'w dyn AnyWorkload,
    requests: FirstRequests,
    tables: Vec<TableId>,
}

impl<T: Tasks> InHand<T> for OneByOne<'_> {
    fn graph(&self, _options: &GraphOptions) -> Box<dyn Answering<T> + '_> {
        let client = |request| -> OneClient<'_> {
            self.requests.any_client(self.workload, &self.tables, request).0
        };
        Box::new(OneTask::new((0..self.requests.count).map(client)))
    }
}

/// A workload, and the form that its transactions have as tasks.
pub struct Formed(Kind);

enum Kind {
    Tpcc(Tpcc),
    Tpce(Tpce),
    Bidding(Bidding),
    One(Arc<dyn AnyWorkload>),
}

/// Whether there is a graph of tasks for this workload.
#[must_use]
pub fn has_graph(workload: &WorkloadOptions) -> bool {
    use WorkloadOptions::{Bidding, Tpcc, Tpce};
    matches!(workload, Tpcc(_) | Tpce(_) | Bidding(_))
}

impl Formed {
    /// The workload in a form.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]: one of the workload's options, or a workload that has no graph.
    pub fn new(workload: &WorkloadOptions, form: Form) -> Result<Self> {
        use WorkloadOptions as Of;
        let made = match (form, workload) {
            (Form::One, _) => return Ok(Self(Kind::One(workload.make()?))),
            (Form::Fine, Of::Tpcc(options)) => Tpcc::new(options.clone()).map(Kind::Tpcc),
            (Form::Fine, Of::Tpce(options)) => Tpce::new(options.clone()).map(Kind::Tpce),
            (Form::Fine, Of::Bidding(options)) => Bidding::new(options.clone()).map(Kind::Bidding),
            (Form::Fine, _) => Err("a workload without a graph of tasks".into()),
        };
        made.map(Self).map_err(Error::InvalidOption)
    }

    /// The workload.
    #[must_use]
    pub fn workload(&self) -> &dyn AnyWorkload {
        match &self.0 {
            Kind::Tpcc(workload) => workload,
            Kind::Tpce(workload) => workload,
            Kind::Bidding(workload) => workload,
            Kind::One(workload) => &**workload,
        }
    }

    /// The requests in the hands of their clients, on a database whose tables have these numbers.
    #[must_use]
    pub fn draw<T: Tasks>(
        &self,
        requests: FirstRequests,
        tables: &[TableId],
    ) -> Box<dyn InHand<T> + '_> {
        fn drawn<W: Workload>(
            workload: &W,
            requests: FirstRequests,
            tables: &[TableId],
        ) -> Box<OfGraph<W>> {
            let client = |request| requests.client(workload, tables, request);
            Box::new(OfGraph((0..requests.count).map(client).collect()))
        }
        match &self.0 {
            Kind::Tpcc(workload) => drawn(workload, requests, tables),
            Kind::Tpce(workload) => drawn(workload, requests, tables),
            Kind::Bidding(workload) => drawn(workload, requests, tables),
            Kind::One(workload) => {
                Box::new(OneByOne { workload: &**workload, requests, tables: tables.to_vec() })
            }
        }
    }

    /// Executes the request of this number as statements, on a database whose tables have these numbers.
    ///
    /// # Errors
    /// Those of the transaction.
    pub fn execute(
        &self,
        requests: FirstRequests,
        tables: &[TableId],
        request: usize,
        tx: &mut dyn Transaction,
    ) -> Result<Answer> {
        fn executed<W: OwnGraph>(
            workload: &W,
            mut client: W::Client,
            tx: &mut dyn Transaction,
        ) -> Result<Answer> {
            workload.execute(&mut client, tx)?;
            Ok(told(W::shown(&client)))
        }
        match &self.0 {
            Kind::Tpcc(it) => executed(it, requests.client(it, tables, request), tx),
            Kind::Tpce(it) => executed(it, requests.client(it, tables, request), tx),
            Kind::Bidding(it) => executed(it, requests.client(it, tables, request), tx),
            Kind::One(it) => execute(&mut *requests.any_client(&**it, tables, request).0, tx),
        }
    }
}
