//! A database with a workload's tables in it, its scheme forgotten.
//!
//! A driver starts threads or simulated cores, and each makes one call here that lasts as long as
//! the run: the only virtual call on the way. What is behind it is compiled once per machine,
//! scheme and workload, and is nothing but [`super::client`] and [`super::stalled`].

use super::client::Client;
use super::history::HistoryRecorder;
use super::signals::{Phase, Signals};
use super::stalled::Stalled;
use super::{Bell, Failure, Plan, Tally};
use crate::{ClientSeat, Condition, Workload};
use chiliad_checker::Recorder;
use chiliad_engine::{
    Alone, Database, DurableOptions, Error, Intent, Isolation, LogRunner, Mode, Options,
};
use chiliad_engine::{Scheme, TableId, Transaction, Writes};
use chiliad_machine::Machine;
use chiliad_machine::disk::Disk;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows loaded in one epoch of a simulated machine: fewer than an epoch numbers commits.
const EPOCH_ROWS: u64 = 1 << 20;

/// What a client brings back.
pub struct ClientReport {
    pub(crate) tally: Tally,
    pub(crate) recorder: Option<Recorder>,
    /// When the client's last transaction ended, by the machine's clock.
    pub(crate) ended: u64,
}

/// A database with a workload's tables.
pub trait Target {
    /// The workload's name.
    fn workload(&self) -> &'static str;
    /// The names of its kinds of transaction.
    fn kinds(&self) -> &'static [&'static str];
    /// The tables, by number, with their names.
    fn tables(&self) -> Vec<(u32, String)>;
    /// Takes another workload of the same kind, whose rows are those that there are; whether it is of that
    /// kind.
    fn set_workload(&mut self, workload: Arc<dyn Any + Send + Sync>) -> bool;
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
    /// Runs a log writer until `over`, then ends its log.
    fn run_log(&self, number: usize, over: &AtomicBool, bell: &Bell);
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
    /// How many records have how many older versions: see [`Database::count_versions`].
    ///
    /// # Errors
    /// The engine's.
    fn versions(&self) -> Result<Vec<u64>, Failure>;
    /// Seals the read-only tables, and moves on until snapshots of the past show all that was loaded.
    /// Nobody is at work yet.
    ///
    /// # Errors
    /// The engine's.
    fn settle(&self) -> Result<(), Failure>;
    /// Runs the client at `seat` on the calling worker until the signals say stop.
    ///
    /// # Errors
    /// Errors of the engine that no retry mends.
    fn run_client(
        &self,
        seat: ClientSeat,
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
}

/// What a driver shares with its clients.
#[derive(Clone)]
pub struct RunSignals(pub(crate) Arc<Signals>, pub(crate) Arc<Bell>);

/// How a procedure reaches its transaction.
pub trait Call: 'static {
    /// Runs the client's request in hand inside `tx`.
    ///
    /// # Errors
    /// Those of the transaction.
    fn execute<W: Workload, T: Transaction>(
        workload: &W,
        client: &mut W::Client,
        tx: &mut T,
    ) -> chiliad_engine::Result<()>;
}

/// Compiled for the scheme: native runs.
pub struct Direct;

impl Call for Direct {
    #[inline]
    fn execute<W: Workload, T: Transaction>(
        workload: &W,
        client: &mut W::Client,
        tx: &mut T,
    ) -> chiliad_engine::Result<()> {
        workload.execute(client, tx)
    }
}

/// One instance for all schemes: simulated runs, in which a virtual call does not show.
pub struct Virtual;

/// How native runs call: directly, but in debug builds, which measure nothing and are built often. An instance of
/// each procedure for each scheme takes longer to compile than all the rest.
#[cfg(debug_assertions)]
pub type Natively = Virtual;

/// How native runs call: compiled for the scheme.
#[cfg(not(debug_assertions))]
pub type Natively = Direct;

impl Call for Virtual {
    fn execute<W: Workload, T: Transaction>(
        workload: &W,
        client: &mut W::Client,
        tx: &mut T,
    ) -> chiliad_engine::Result<()> {
        workload.execute::<dyn Transaction + '_>(client, tx)
    }
}

/// A [`Target`]: a database under scheme `S` and a workload, with procedures called as `C` says.
pub struct Bound<M: Machine, S: Scheme<M>, W, C> {
    database: Database<M, S>,
    workload: Arc<W>,
    tables: Vec<TableId>,
    names: Vec<String>,
    /// The writers of its log, until somebody runs them.
    runners: Vec<Mutex<Option<LogRunner<M, S>>>>,
    call: PhantomData<fn() -> C>,
}

impl<M: Machine, S: Scheme<M>, W: Workload, C: Call> Bound<M, S, W, C> {
    /// Opens a database and creates the workload's tables.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(workload: Arc<W>, options: Options) -> Result<Self, Failure> {
        let database = Database::open(options).map_err(Failure::doing("opening the database"))?;
        Self::bind(workload, database, Vec::new())
    }

    /// The same on a disk that is empty.
    ///
    /// # Errors
    /// The engine's.
    pub fn open_on(
        workload: Arc<W>,
        options: Options,
        durable: DurableOptions,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, Failure> {
        let opened = Database::open_on(disk, Mode::Write, options, durable, &Alone);
        let opened = opened.map_err(Failure::doing("opening the database"))?;
        Self::bind(workload, opened.database, opened.runners)
    }

    fn bind(
        workload: Arc<W>,
        database: Database<M, S>,
        runners: Vec<LogRunner<M, S>>,
    ) -> Result<Self, Failure> {
        let specs = workload.tables();
        let names = specs.iter().map(|spec| spec.name.clone()).collect();
        let tables = specs
            .into_iter()
            .map(|spec| database.create_table(spec))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::doing("creating the tables"))?;
        let runners = runners.into_iter().map(|runner| Mutex::new(Some(runner))).collect();
        Ok(Self { database, workload, tables, names, runners, call: PhantomData })
    }
}

impl<M: Machine, S: Scheme<M>, W: Workload, C: Call> Target for Bound<M, S, W, C> {
    fn workload(&self) -> &'static str {
        self.workload.name()
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.workload.kinds()
    }

    fn tables(&self) -> Vec<(u32, String)> {
        self.tables.iter().map(|table| table.0).zip(self.names.iter().cloned()).collect()
    }

    fn set_workload(&mut self, workload: Arc<dyn Any + Send + Sync>) -> bool {
        workload.downcast().map(|workload| self.workload = workload).is_ok()
    }

    fn load_parts(&self) -> usize {
        self.workload.load_parts()
    }

    fn load(&self, seed: u64, next: &mut dyn FnMut() -> Option<usize>) -> Result<(), Failure> {
        let mut worker = self.database.worker().map_err(Failure::doing("loading"))?;
        let mut rows = 0_u64;
        while let Some(part) = next() {
            let mut insert = |table: TableId, key: &[u8], value: &[u8]| {
                rows += 1;
                // Nobody turns the epochs of a simulated machine while it is loaded.
                if M::SIMULATED && rows.is_multiple_of(EPOCH_ROWS) {
                    self.database.tick();
                }
                worker.load(table, key, value)
            };
            self.workload
                .load(&self.tables, part, seed, &mut insert)
                .map_err(Failure::doing("loading"))?;
        }
        Ok(())
    }

    fn tick(&self) {
        self.database.tick();
    }

    fn log_writers(&self) -> usize {
        self.runners.len()
    }

    fn run_log(&self, number: usize, over: &AtomicBool, bell: &Bell) {
        let mut place = self.runners[number].lock().unwrap_or_else(PoisonError::into_inner);
        let Some(runner) = place.take() else { return };
        drop(place);
        // Acquire pairs with the release of who stops us.
        runner.run(|| over.load(Ordering::Acquire), || bell.ring::<M>());
    }

    fn prepare_log(&self) -> Result<(), Failure> {
        while self.database.prepare_log().map_err(Failure::doing("making room for the log"))? {}
        Ok(())
    }

    fn checkpoint(&self) -> Result<bool, Failure> {
        if !self.database.checkpoint_is_due() {
            return Ok(false);
        }
        match self.database.checkpoint(&Alone) {
            Ok(_) => Ok(true),
            Err(Error::Canceled) => Ok(false),
            Err(error) => Err(Failure::doing("writing a checkpoint")(error)),
        }
    }

    fn cancel_checkpoints(&self) {
        self.database.cancel_checkpoints();
    }

    fn log_bytes(&self) -> u64 {
        self.database.log_bytes()
    }

    fn versions(&self) -> Result<Vec<u64>, Failure> {
        self.database.count_versions().map_err(Failure::doing("counting versions"))
    }

    fn settle(&self) -> Result<(), Failure> {
        for (_, spec) in self.database.tables() {
            if spec.writes == Writes::Loads {
                self.database.seal(&spec.name).map_err(Failure::doing("sealing a table"))?;
            }
        }
        self.database.settle();
        Ok(())
    }

    fn run_client(
        &self,
        seat: ClientSeat,
        plan: &Plan,
        run: &RunSignals,
    ) -> Result<ClientReport, Failure> {
        M::clocked(false);
        let worker = self.database.worker().map_err(Failure::doing("starting a client"));
        let mut worker = worker.inspect_err(|_| {
            run.0.set(Phase::Stop);
            run.0.wake::<M>();
        })?;
        if plan.recording.is_some() {
            let recorder = HistoryRecorder::new(seat.index, run.0.clone());
            worker.set_recorder(Box::new(recorder));
        }
        let state = self.workload.client(&self.tables, seat);
        let mut client = Client::<M, S, W, C>::new(worker, &*self.workload, state, seat, plan, run);
        let rehearsed = client.rehearse();
        run.0.assemble::<M>(seat.index);
        let result = rehearsed.and_then(|()| client.run());
        M::clocked(false);
        if result.is_err() {
            run.0.set(Phase::Stop);
        }
        result.map(|()| client.finish())
    }

    fn run_stalled(&self, plan: &Plan, run: &RunSignals) -> Result<(), Failure> {
        M::clocked(false);
        let seat = ClientSeat {
            index: plan.seats(),
            of: plan.seats(),
            home: plan.seats(),
            seed: plan.seed,
        };
        let client = self.workload.client(&self.tables, seat);
        let worker = self.database.worker().map_err(Failure::doing("starting a client"));
        let result = worker.and_then(|worker| {
            Stalled::<M, S, W, C>::new(worker, &*self.workload, client, plan, &run.0)
                .run()
                .map_err(Failure::doing("running the transaction that stalls"))
        });
        M::clocked(false);
        if result.is_err() {
            run.0.set(Phase::Stop);
            run.0.wake::<M>();
        }
        result
    }

    fn conditions(&self) -> Result<Vec<Condition>, Failure> {
        let mut worker = self.database.worker().map_err(Failure::doing("checking conditions"))?;
        let mut run = |body: &mut dyn FnMut(&mut dyn Transaction) -> chiliad_engine::Result<()>| {
            let mut retries = 0;
            loop {
                let mut tx = worker.begin(&Intent { retries, ..Intent::read_only() })?;
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
        let serializable = S::INFO.isolation == Isolation::Serializable;
        self.workload
            .conditions_kept(serializable, &self.tables, &mut run)
            .map_err(Failure::doing("checking conditions"))
    }
}

/// Gives the history back that a worker's recorder holds.
pub(crate) fn unwrap_recorder(recorder: Box<dyn chiliad_engine::Recorder>) -> Option<Recorder> {
    let any: Box<dyn Any> = recorder.into_any();
    any.downcast::<super::history::HistoryRecorder>().ok().map(|recorder| recorder.into_buffer())
}
