//! A database on a disk with a workload's tables, its scheme forgotten: one life of it.

use super::client::{self, Shared};
use super::ledger::{Key, Ledger, Op};
use crate::driver::target::Virtual;
use crate::{ClientSeat, Workload};
use chiliad_engine::names::{self, UnderScheme};
use chiliad_engine::{
    Alone, Database, DurableOptions, Error, IndexKind, Intent, LogRunner, Mode, Opened, Options,
    Range, Recovered, Result, Scheme, Stamp, Stepped, TableId, TableSpec, Transaction,
};
use chiliad_simulator::{FaultyDisk, Sim};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes that are loaded before the log's writers are run: less than the smallest buffer.
const UNWRITTEN_BYTES_MAX: usize = 2048;

/// Bytes that a row costs in the log, beside key and value.
const ROW_BYTES: usize = 64;

/// Rows by table and key: who wrote them, and what.
pub(super) type State = BTreeMap<(u32, Key), (Stamp, Box<[u8]>)>;

/// What a look at everything has found.
#[derive(Default)]
pub(super) struct Survey {
    pub rows: State,
    /// Where secondary indexes disagree with their rows.
    pub disagreements: Vec<String>,
    /// The workload's conditions that fail.
    pub failed_conditions: Vec<String>,
}

/// An open database. Calls are made on simulated cores, or outside the schedule.
pub(super) trait Living {
    /// Its tables with those of its secondary indexes, by number.
    fn tables(&self) -> Vec<(TableId, TableSpec)>;
    /// Loads the initial rows and makes them durable, outside the schedule.
    fn load(&self, seed: u64) -> Result<()>;
    /// The keys that [`Living::load`] has inserted.
    fn loaded_keys(&self, seed: u64, keys: &mut BTreeSet<(u32, Key)>) -> Result<()>;
    /// Advances the epoch.
    fn tick(&self);
    /// Runs one of the log's writers.
    fn step(&self, writer: usize) -> Stepped;
    /// Why nothing more becomes durable.
    fn failure(&self) -> Option<Error>;
    /// Runs a client.
    fn run_client(&self, seat: ClientSeat, shared: &Shared) -> Result<()>;
    /// Makes a checkpoint.
    fn checkpoint(&self) -> Result<()>;
    /// Makes room for the log.
    fn prepare_log(&self) -> Result<bool>;
    /// Looks at everything there is; hash tables are asked for `keys`.
    fn survey(&self, keys: &BTreeSet<(u32, Key)>) -> Result<Survey>;
    /// Ends the logs as it should be; whether everything is durable then.
    fn close(&self) -> bool;
}

/// How a life begins.
pub(super) struct Opening {
    pub scheme: &'static str,
    pub disk: FaultyDisk,
    pub mode: Mode,
    pub options: Options,
    pub durable: DurableOptions,
    /// What earlier lives have left was left by serializable transactions.
    pub serializable: bool,
}

/// Opens what is on a disk, with `workload`'s tables where there are none yet.
pub(super) fn open<W: Workload>(
    workload: &Arc<W>,
    opening: &Opening,
) -> Result<(Box<dyn Living>, Recovered)> {
    let it = Open { workload: Arc::clone(workload), opening };
    names::under::<Sim, _>(opening.scheme, it)
        .unwrap_or_else(|| Err(Error::InvalidOption(format!("scheme {}", opening.scheme))))
}

struct Open<'a, W> {
    workload: Arc<W>,
    opening: &'a Opening,
}

impl<W: Workload> UnderScheme<Sim> for Open<'_, W> {
    type Output = Result<(Box<dyn Living>, Recovered)>;

    fn run<S: Scheme<Sim>>(self) -> Self::Output {
        let Opening { disk, mode, options, durable, .. } = self.opening;
        let opened =
            Database::open_on(Arc::new(disk.clone()), *mode, options.clone(), *durable, &Alone)?;
        let Opened { database, runners, recovered } = opened;
        let tables = match mode {
            Mode::Write => tables::<S, W>(&database, &*self.workload)?,
            _ => Vec::new(),
        };
        let runners = runners.into_iter().map(|runner| RefCell::new(Some(runner))).collect();
        let workload = self.workload;
        let serializable = self.opening.serializable;
        let incarnation = Incarnation::<S, W> { database, workload, tables, runners, serializable };
        Ok((Box::new(incarnation), recovered))
    }
}

fn tables<S: Scheme<Sim>, W: Workload>(
    database: &Database<Sim, S>,
    workload: &W,
) -> Result<Vec<TableId>> {
    let table = |spec: TableSpec| match database.table(&spec.name) {
        Err(Error::UnknownTable(_)) => database.create_table(spec),
        found => found,
    };
    workload.tables().into_iter().map(table).collect()
}

struct Incarnation<S: Scheme<Sim>, W> {
    database: Database<Sim, S>,
    workload: Arc<W>,
    tables: Vec<TableId>,
    /// Each is run by one core.
    runners: Vec<RefCell<Option<LogRunner<Sim, S>>>>,
    serializable: bool,
}

impl<S: Scheme<Sim>, W: Workload> Living for Incarnation<S, W> {
    fn tables(&self) -> Vec<(TableId, TableSpec)> {
        self.database.tables()
    }

    fn load(&self, seed: u64) -> Result<()> {
        let mut worker = self.database.worker()?;
        let mut unwritten = 0;
        let mut insert = |table: TableId, key: &[u8], value: &[u8]| {
            // Outside the schedule nobody makes room in the worker's buffer but we.
            if unwritten >= UNWRITTEN_BYTES_MAX {
                self.flush();
                unwritten = 0;
            }
            unwritten += ROW_BYTES + key.len() + value.len();
            worker.load(table, key, value)
        };
        for part in 0..self.workload.load_parts() {
            self.workload.load(&self.tables, part, seed, &mut insert)?;
        }
        drop(worker);
        self.database.settle();
        let loaded = self.database.epoch() - 1;
        while self.database.durable_epoch() < loaded {
            self.flush();
            self.database.log_failure().map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn loaded_keys(&self, seed: u64, keys: &mut BTreeSet<(u32, Key)>) -> Result<()> {
        let mut note = |table: TableId, key: &[u8], _: &[u8]| {
            keys.insert((table.0, key.into()));
            Ok(())
        };
        let mut parts = 0..self.workload.load_parts();
        parts.try_for_each(|part| self.workload.load(&self.tables, part, seed, &mut note))
    }

    fn tick(&self) {
        self.database.tick();
    }

    fn step(&self, writer: usize) -> Stepped {
        self.runners[writer].borrow_mut().as_mut().map_or(Stepped::Idle, LogRunner::step)
    }

    fn failure(&self) -> Option<Error> {
        self.database.log_failure()
    }

    fn run_client(&self, seat: ClientSeat, shared: &Shared) -> Result<()> {
        let state = self.workload.client(&self.tables, seat);
        client::run::<S, W, Virtual>(&self.database, &*self.workload, state, seat, shared)
    }

    fn checkpoint(&self) -> Result<()> {
        self.database.checkpoint(&Alone).map(|_| ())
    }

    fn prepare_log(&self) -> Result<bool> {
        self.database.prepare_log()
    }

    fn survey(&self, keys: &BTreeSet<(u32, Key)>) -> Result<Survey> {
        let mut survey = Survey::default();
        for (table, spec) in self.database.tables() {
            if !spec.name.contains('/') {
                self.survey_table(table, &spec, keys, &mut survey)?;
            }
        }
        survey.failed_conditions = self.failed_conditions()?;
        Ok(survey)
    }

    fn close(&self) -> bool {
        let runners = self.runners.iter().filter_map(|runner| runner.borrow_mut().take());
        let ends: Vec<Stepped> = runners.map(LogRunner::finish).collect();
        !ends.contains(&Stepped::Failed)
    }
}

impl<S: Scheme<Sim>, W: Workload> Incarnation<S, W> {
    /// Makes what was committed durable, outside the schedule.
    fn flush(&self) {
        self.database.tick();
        for writer in 0..self.runners.len() {
            self.step(writer);
        }
    }

    /// The rows of one table, by its own index and by its secondary ones.
    fn survey_table(
        &self,
        table: TableId,
        spec: &TableSpec,
        keys: &BTreeSet<(u32, Key)>,
        survey: &mut Survey,
    ) -> Result<()> {
        let mut worker = self.database.worker()?;
        let ledger = Ledger::default();
        worker.set_recorder(ledger.recorder(None).1);
        let mut tx = worker.begin(&Intent::read_only())?;
        let mut values: Vec<(Key, Box<[u8]>)> = Vec::new();
        if spec.index == IndexKind::Ordered {
            let all = tx.scan(table, Range::all())?;
            for &entry in tx.entries(all)? {
                values.push((tx.key(entry)?.into(), tx.bytes(entry.row)?.into()));
            }
        } else {
            for (_, key) in keys.iter().filter(|(number, _)| *number == table.0) {
                if let Some(row) = tx.get(table, key)? {
                    values.push((key.clone(), tx.bytes(row)?.into()));
                }
            }
        }
        tx.commit()?;
        let stamps = seen(&ledger, |op| match op {
            Op::Entry { key, stamp, absent: false }
            | Op::Read { key, stamp, absent: false, .. } => Some((key, stamp)),
            _ => None,
        });
        let stamps: BTreeMap<Key, Stamp> = stamps.into_iter().collect();
        for (at, index) in spec.secondary.iter().enumerate() {
            let mut tx = worker.begin(&Intent::read_only())?;
            let found = tx.scan_index(table, at, Range::all())?.len();
            tx.commit()?;
            let mut rows = seen(&ledger, |op| match op {
                Op::Read { table: read, key, stamp, .. } if read == table.0 => Some((key, stamp)),
                _ => None,
            });
            rows.sort();
            let same = rows.iter().map(|(key, stamp)| (key, stamp)).eq(&stamps);
            if found != stamps.len() || !same {
                let (name, rows) = (&index.name, stamps.len());
                survey.disagreements.push(format!(
                    "{}: the index {name} leads to {found} rows, and there are {rows}",
                    spec.name
                ));
            }
        }
        let row = |(key, value): (Key, Box<[u8]>)| {
            let stamp = stamps.get(&key).copied().unwrap_or(Stamp::MAX);
            ((table.0, key), (stamp, value))
        };
        survey.rows.extend(values.into_iter().map(row));
        Ok(())
    }

    fn failed_conditions(&self) -> Result<Vec<String>> {
        let mut worker = self.database.worker()?;
        let mut run = |body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>| {
            let mut tx = worker.begin(&Intent::read_only())?;
            body(&mut tx)?;
            tx.commit().map(|_| ())
        };
        let conditions =
            self.workload.conditions_kept(self.serializable, &self.tables, &mut run)?;
        let failed = |it: crate::Condition| it.failure.map(|what| format!("{}: {what}", it.name));
        Ok(conditions.into_iter().filter_map(failed).collect())
    }
}

/// What was recorded since the last call, as far as it is `wanted`.
fn seen<T>(ledger: &Ledger, wanted: impl Fn(Op) -> Option<T>) -> Vec<T> {
    ledger.take().into_iter().flat_map(|attempt| attempt.ops).filter_map(wanted).collect()
}
