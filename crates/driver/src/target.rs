//! A database with a workload's tables in it, its scheme forgotten.
//!
//! A driver starts threads or simulated cores, and each makes one call here that lasts as long as
//! the run. One instance for each machine serves all schemes and workloads: see [`Bound`].

use super::client::{Client, ClientReport};
use super::deferral::Queues;
use super::history::HistoryRecorder;
use super::signals::{Phase, RunSignals};
use super::stalled::Stalled;
use super::{Failure, Plan};
use chiliad_engine::{
    Alone, Error, Info, Intent, Isolation, LogTask, OpenedStore, Running, Session, Store, TableId,
    TableSpec, Transaction, Writes,
};
use chiliad_machine::Machine;
use chiliad_workload::{AnyWorkload, ClientId, Condition, WholeRows};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows loaded in one epoch of a simulated machine: fewer than an epoch numbers commits.
const EPOCH_ROWS: u64 = 1 << 20;

/// A database with a workload's tables.
pub trait Target {
    /// The workload's name.
    fn workload(&self) -> &'static str;
    /// The names of its kinds of transaction.
    fn kinds(&self) -> &'static [&'static str];
    /// The tables, by number, with their names.
    fn tables(&self) -> Vec<(u32, String)>;
    /// Properties and promises of this very database: options may change those of its scheme.
    fn info(&self) -> Info;
    /// Takes another workload of the same kind, whose rows are those that there are; whether it is of that
    /// kind.
    fn set_workload(&mut self, workload: Arc<dyn AnyWorkload>) -> bool;
    /// The number of parts that the rows can be loaded in.
    fn load_parts(&self) -> usize;
    /// Loads the parts that `next` hands out, on the calling worker.
    ///
    /// # Errors
    /// The engine's.
    fn load(&self, seed: u64, next: &mut dyn FnMut() -> Option<usize>) -> Result<(), Failure>;
    /// Advances the commit epoch.
    fn tick(&self);
    /// How many log writers there are to be run.
    fn log_writers(&self) -> usize {
        0
    }
    /// Hosts that it is spread over, in simulation: each has as many log writers, in order.
    fn hosts(&self) -> usize {
        1
    }
    /// Runs a log writer until `over`, then ends its log.
    fn run_log(&self, number: usize, over: &dyn Fn() -> bool, durable: &dyn Fn());
    /// Makes room for the log to come.
    ///
    /// # Errors
    /// The engine's.
    fn prepare_log(&self) -> Result<(), Failure>;
    /// Makes a checkpoint if one is due; whether it did.
    ///
    /// # Errors
    /// The engine's.
    fn checkpoint(&self) -> Result<bool, Failure>;
    /// Ends the checkpoint that is being made.
    fn cancel_checkpoints(&self);
    /// Bytes of log written so far.
    fn log_bytes(&self) -> u64;
    /// How many records have how many older versions: see [`chiliad_engine::Store::count_versions`].
    ///
    /// # Errors
    /// The engine's.
    fn versions(&self) -> Result<Vec<u64>, Failure>;
    /// Seals the read-only tables, and moves on until snapshots of the past show all that was loaded.
    /// Nobody is at work yet.
    ///
    /// # Errors
    /// The engine's.
    fn reach_snapshot(&self) -> Result<(), Failure>;
    /// Obtains memory and touches it, until as much lies ready as the database was asked for.
    ///
    /// # Errors
    /// The engine's.
    fn prepare_memory(&self) -> Result<(), Failure>;
    /// Makes the queues of the plan's requests that may wait, before its clients begin.
    fn open_queues(&self, plan: &Plan);
    /// Runs the client `client_id` on the calling worker until the signals say stop.
    ///
    /// # Errors
    /// Errors of the engine that no retry mends.
    fn run_client(
        &self,
        client_id: ClientId,
        plan: &Plan,
        run: &RunSignals,
    ) -> Result<ClientReport, Failure>;
    /// Runs the transaction of [`Plan::stalled_at`] on the calling worker until the signals say stop.
    ///
    /// # Errors
    /// Errors of the engine that no retry mends.
    fn run_stalled(&self, plan: &Plan, run: &RunSignals) -> Result<(), Failure>;
    /// Looks at the workload's conditions, with all clients at rest.
    ///
    /// # Errors
    /// The engine's.
    fn conditions(&self) -> Result<Vec<Condition>, Failure>;
    /// The differences between its copies, with all clients at rest: see [`chiliad_engine::Store::audit`].
    ///
    /// # Errors
    /// The engine's.
    fn audit(&self) -> Result<Vec<String>, Failure>;
    /// A text to compare with copies in other processes: see [`chiliad_engine::Store::fingerprint`].
    ///
    /// # Errors
    /// The engine's.
    fn fingerprint(&self) -> Result<Option<String>, Failure>;
}

/// A [`Target`]: a database, as the trait object `D`, with the writers of its log, as `L`, and a workload.
pub(crate) struct Bound<M: Machine, D: ?Sized, L: ?Sized> {
    store: Box<D>,
    workload: Arc<dyn AnyWorkload>,
    tables: Vec<TableId>,
    /// The names of the tables and of their groups of columns, by number.
    names: Vec<(u32, String)>,
    /// The writers of its log, until somebody runs them.
    log_tasks: Vec<Mutex<Option<Box<L>>>>,
    /// Called when the rows are loaded, if set.
    loaded: Option<Box<Hook>>,
    hosts: usize,
    /// Those of the run that began last.
    queues: Mutex<Option<Arc<Queues<M>>>>,
    machine: PhantomData<fn() -> M>,
}

type Hook = dyn Fn() + Send + Sync;

impl<M: Machine, D: Store<M> + ?Sized, L: LogTask<M> + ?Sized> Bound<M, D, L> {
    /// Creates the workload's tables in a database that is empty.
    ///
    /// # Errors
    /// The engine's.
    pub fn new(workload: Arc<dyn AnyWorkload>, opened: OpenedStore<D, L>) -> Result<Self, Failure> {
        let created = |store: &D, spec| store.create_table(spec);
        Self::with_tables(workload, opened, created).map_err(Failure::doing("creating the tables"))
    }

    /// Finds the workload's tables, which another server has created.
    ///
    /// # Errors
    /// The engine's.
    pub fn found(
        workload: Arc<dyn AnyWorkload>,
        opened: OpenedStore<D, L>,
    ) -> Result<Self, Failure> {
        let found = |store: &D, spec: TableSpec| store.table(&spec.name);
        Self::with_tables(workload, opened, found).map_err(Failure::doing("finding the tables"))
    }

    fn with_tables(
        workload: Arc<dyn AnyWorkload>,
        opened: OpenedStore<D, L>,
        obtain: impl Fn(&D, TableSpec) -> chiliad_engine::Result<TableId>,
    ) -> chiliad_engine::Result<Self> {
        let OpenedStore { store, log_tasks, .. } = opened;
        let specs = workload.tables();
        let (mut tables, mut names) = (Vec::new(), Vec::new());
        for spec in specs {
            let id = obtain(&*store, spec.clone())?;
            tables.push(id);
            names.extend(spec.with_groups(id).into_iter().map(|(id, spec)| (id.0, spec.name)));
        }
        let log_tasks = log_tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
        Ok(Self {
            store,
            workload,
            tables,
            names,
            log_tasks,
            loaded: None,
            hosts: 1,
            queues: Mutex::default(),
            machine: PhantomData,
        })
    }

    /// This target with `hook`, called when the rows are loaded and no client has begun.
    pub fn when_loaded(self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self { loaded: Some(Box::new(hook)), ..self }
    }

    /// The same, spread over so many hosts.
    pub fn on_hosts(self, hosts: usize) -> Self {
        Self { hosts, ..self }
    }

    fn session(&self, doing: &'static str) -> Result<Box<dyn Session<M>>, Failure> {
        self.store.session().map_err(Failure::doing(doing))
    }
}

impl<M: Machine, D: Store<M> + ?Sized, L: LogTask<M> + ?Sized> Target for Bound<M, D, L> {
    fn workload(&self) -> &'static str {
        self.workload.name()
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.workload.kinds()
    }

    fn tables(&self) -> Vec<(u32, String)> {
        self.names.clone()
    }

    fn info(&self) -> Info {
        self.store.info()
    }

    fn set_workload(&mut self, workload: Arc<dyn AnyWorkload>) -> bool {
        let is_of_its_kind = workload.name() == self.workload.name();
        if is_of_its_kind {
            self.workload = workload;
        }
        is_of_its_kind
    }

    fn load_parts(&self) -> usize {
        self.workload.load_parts()
    }

    fn load(&self, seed: u64, next: &mut dyn FnMut() -> Option<usize>) -> Result<(), Failure> {
        let mut session = self.session("loading")?;
        let mut rows = 0_u64;
        let specs = self.workload.tables();
        let mut whole = WholeRows::new(&specs, &self.tables, |table, key, parts| {
            let epoch = rows / EPOCH_ROWS;
            rows += parts.len() as u64;
            // Nobody turns the epochs of a simulated machine while it is loaded.
            if M::SIMULATED && rows / EPOCH_ROWS > epoch {
                self.store.tick();
            }
            session.load_parts(table, key, parts)
        });
        while let Some(part) = next() {
            let mut insert = |table: TableId, key: &[u8], row: &[u8]| whole.part(table, key, row);
            self.workload
                .load(&self.tables, part, seed, &mut insert)
                .map_err(Failure::doing("loading"))?;
        }
        session.end_load().map_err(Failure::doing("loading"))
    }

    fn tick(&self) {
        self.store.tick();
    }

    fn log_writers(&self) -> usize {
        self.log_tasks.len()
    }

    fn hosts(&self) -> usize {
        self.hosts
    }

    fn run_log(&self, number: usize, over: &dyn Fn() -> bool, durable: &dyn Fn()) {
        let mut place = self.log_tasks[number].lock().unwrap_or_else(PoisonError::into_inner);
        let Some(task) = place.take() else { return };
        drop(place);
        task.run(over, durable);
    }

    fn prepare_log(&self) -> Result<(), Failure> {
        while self.store.prepare_log().map_err(Failure::doing("making room for the log"))? {}
        Ok(())
    }

    fn checkpoint(&self) -> Result<bool, Failure> {
        if !self.store.checkpoint_is_due() {
            return Ok(false);
        }
        match self.store.checkpoint(&Alone) {
            Ok(_) => Ok(true),
            Err(Error::Canceled) => Ok(false),
            Err(error) => Err(Failure::doing("writing a checkpoint")(error)),
        }
    }

    fn cancel_checkpoints(&self) {
        self.store.cancel_checkpoints();
    }

    fn log_bytes(&self) -> u64 {
        self.store.log_bytes()
    }

    fn versions(&self) -> Result<Vec<u64>, Failure> {
        self.store.count_versions().map_err(Failure::doing("counting versions"))
    }

    fn reach_snapshot(&self) -> Result<(), Failure> {
        seal_loaded(&*self.store)?;
        self.store.reach_snapshot();
        if let Some(loaded) = &self.loaded {
            loaded();
        }
        Ok(())
    }

    fn prepare_memory(&self) -> Result<(), Failure> {
        self.store.prepare_memory().map_err(Failure::doing("making memory ready"))
    }

    fn open_queues(&self, plan: &Plan) {
        let queues = Queues::new(plan, self.workload.deferring(), self.hosts);
        *self.queues.lock().unwrap_or_else(PoisonError::into_inner) = queues.map(Arc::new);
    }

    fn run_client(
        &self,
        client_id: ClientId,
        plan: &Plan,
        run: &RunSignals,
    ) -> Result<ClientReport, Failure> {
        M::clocked(false);
        let session = self.session("starting a client");
        let mut session = session.inspect_err(|_| {
            run.0.stop::<M>();
        })?;
        if plan.recording.is_some() {
            let recorder = HistoryRecorder::new(client_id.index, run.0.clone());
            session.set_recorder(Box::new(recorder));
        }
        let requests = self.workload.any_client(&self.tables, client_id);
        let kinds = self.workload.kinds().len();
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut client = Client::<M>::new(session, requests, kinds, client_id, plan, run, queues);
        let rehearsed = client.rehearse();
        run.0.assemble::<M>(plan.place(client_id));
        let result = rehearsed.and_then(|()| client.run());
        M::clocked(false);
        if result.is_err() {
            run.0.set(Phase::Stop);
        }
        result.map(|()| client.finish())
    }

    fn run_stalled(&self, plan: &Plan, run: &RunSignals) -> Result<(), Failure> {
        M::clocked(false);
        let client_id = ClientId::apart(plan.workers(), plan.workers() + 1, plan.seed);
        let client = self.workload.any_client(&self.tables, client_id);
        let result = self.session("starting a client").and_then(|session| {
            Stalled::<M>::new(session, client, plan, &run.0)
                .run()
                .map_err(Failure::doing("running the transaction that stalls"))
        });
        M::clocked(false);
        if result.is_err() {
            run.0.stop::<M>();
        }
        result
    }

    fn conditions(&self) -> Result<Vec<Condition>, Failure> {
        let mut session = self.session("checking conditions")?;
        let workload = &*self.workload;
        conditions(workload, &self.tables, &mut *session, self.store.info().isolation)
    }

    fn audit(&self) -> Result<Vec<String>, Failure> {
        self.store.audit().map_err(Failure::doing("comparing the copies"))
    }

    fn fingerprint(&self) -> Result<Option<String>, Failure> {
        self.store.fingerprint().map_err(Failure::doing("comparing the copies"))
    }
}

/// Seals the tables that are written by loading alone.
pub(crate) fn seal_loaded<M: Machine>(store: &(impl Store<M> + ?Sized)) -> Result<(), Failure> {
    for (_, spec) in store.tables() {
        if spec.writes == Writes::Loads {
            store.seal(&spec.name).map_err(Failure::doing("sealing a table"))?;
        }
    }
    Ok(())
}

/// Looks at a workload's conditions in transactions of a session, whose database has this isolation.
pub(crate) fn conditions<M: Machine>(
    workload: &dyn AnyWorkload,
    tables: &[TableId],
    session: &mut dyn Session<M>,
    isolation: Isolation,
) -> Result<Vec<Condition>, Failure> {
    let mut run = |body: &mut dyn FnMut(&mut dyn Transaction) -> chiliad_engine::Result<()>| {
        let mut retries = 0;
        loop {
            let intent = Intent { retries, ..Intent::read_only() };
            let mut tx = Running::begin(session, &intent)?;
            match body(&mut tx) {
                Ok(()) => match tx.commit() {
                    Ok(_) => return Ok(()),
                    Err(error) if error.is_retryable() => retries += 1,
                    Err(error) => return Err(error),
                },
                Err(error) => {
                    tx.rollback();
                    if !error.is_retryable() {
                        return Err(error);
                    }
                    retries += 1;
                }
            }
        }
    };
    let serializable = isolation == Isolation::Serializable;
    workload
        .conditions_kept(serializable, tables, &mut run)
        .map_err(Failure::doing("checking conditions"))
}
