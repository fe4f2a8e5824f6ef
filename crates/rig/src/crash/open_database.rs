//! A database on a disk with a workload's tables: one incarnation of it.

use super::client::{self, Shared};
use crate::clients::ledger::{Key, Ledger, Op};
use chiliad_driver::open_on_simulator;
use chiliad_engine::any::Place;
use chiliad_engine::{
    Alone, DurableOptions, Error, IndexKind, Intent, LogTask, Mode, OpenedStore, Options, Range,
    Recovered, Result, Running, Stamp, Stepped, Store, TableId, TableSpec, Transaction,
};
use chiliad_simulator::{FaultyDisk, Sim};
use chiliad_workload::{AnyWorkload, ClientId, WholeRows};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes that are loaded before the log's writers are run: less than the smallest buffer.
const UNWRITTEN_BYTES_MAX: usize = 2048;

/// Bytes that a row costs in the log, beside key and value.
const ROW_BYTES: usize = 64;

/// Rows by table and key, with writer and value.
pub(super) type State = BTreeMap<(u32, Key), (Stamp, Box<[u8]>)>;

/// The result of a read of everything.
#[derive(Default)]
pub(super) struct Survey {
    pub rows: State,
    /// Where secondary indexes disagree with their rows.
    pub disagreements: Vec<String>,
    /// The workload's conditions that fail.
    pub failed_conditions: Vec<String>,
}

/// How an incarnation begins.
pub(super) struct Opening {
    pub scheme: &'static str,
    pub disk: FaultyDisk,
    pub mode: Mode,
    pub options: Options,
    pub durable: DurableOptions,
    /// The state that earlier incarnations have left was left by serializable transactions.
    pub serializable: bool,
}

/// An open database. Calls are made on simulated cores, or outside the schedule.
pub(super) struct OpenDatabase {
    store: Box<dyn Store<Sim>>,
    workload: Arc<dyn AnyWorkload>,
    tables: Vec<TableId>,
    /// Each is run by one core.
    log_tasks: Vec<RefCell<Option<Box<dyn LogTask<Sim>>>>>,
    serializable: bool,
}

impl OpenDatabase {
    /// Opens what is on a disk, with `workload`'s tables where there are none yet.
    pub fn open(workload: &Arc<dyn AnyWorkload>, opening: &Opening) -> Result<(Self, Recovered)> {
        let Opening { scheme, disk, mode, options, durable, serializable } = opening;
        let disk = Arc::new(disk.clone());
        let place = Place { disk, mode: *mode, durable: *durable, host: &Alone };
        let opened = open_on_simulator(scheme, options.clone(), Some(place))?;
        let OpenedStore { store, log_tasks, recovered } = opened;
        let tables = match mode {
            Mode::Write => tables(&*store, &**workload)?,
            _ => Vec::new(),
        };
        let log_tasks = log_tasks.into_iter().map(|task| RefCell::new(Some(task))).collect();
        let (workload, serializable) = (Arc::clone(workload), *serializable);
        Ok((Self { store, workload, tables, log_tasks, serializable }, recovered))
    }

    /// Its tables and their groups of columns, by number.
    pub fn tables(&self) -> Vec<(TableId, TableSpec)> {
        let tables = self.store.tables().into_iter();
        tables.flat_map(|(id, spec)| spec.with_groups(id)).collect()
    }

    /// Loads the initial rows and makes them durable, outside the schedule.
    pub fn load(&self, seed: u64) -> Result<()> {
        let mut session = self.store.session()?;
        let mut unwritten = 0;
        let specs = self.workload.tables();
        let mut whole = WholeRows::new(&specs, &self.tables, |table, key, parts| {
            // Outside the schedule nobody makes room in the worker's buffer but we.
            if unwritten >= UNWRITTEN_BYTES_MAX {
                self.flush();
                unwritten = 0;
            }
            unwritten += ROW_BYTES + key.len() + parts.iter().map(|part| part.len()).sum::<usize>();
            session.load_parts(table, key, parts)
        });
        for part in 0..self.workload.load_parts() {
            let mut insert = |table: TableId, key: &[u8], row: &[u8]| whole.part(table, key, row);
            self.workload.load(&self.tables, part, seed, &mut insert)?;
        }
        drop(session);
        self.store.reach_snapshot();
        let loaded = self.store.epoch() - 1;
        while self.store.durable_epoch() < loaded {
            self.flush();
            self.store.log_failure().map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// The keys that [`OpenDatabase::load`] has inserted.
    pub fn loaded_keys(&self, seed: u64, keys: &mut BTreeSet<(u32, Key)>) -> Result<()> {
        let mut note = |table: TableId, key: &[u8], _: &[u8]| {
            keys.insert((table.0, key.into()));
            Ok(())
        };
        let mut parts = 0..self.workload.load_parts();
        parts.try_for_each(|part| self.workload.load(&self.tables, part, seed, &mut note))
    }

    /// Advances the epoch.
    pub fn tick(&self) {
        self.store.tick();
    }

    /// Runs one of the log's writers.
    pub fn step(&self, writer: usize) -> Stepped {
        self.log_tasks[writer].borrow_mut().as_mut().map_or(Stepped::Idle, |task| task.step())
    }

    /// Why nothing more becomes durable.
    pub fn failure(&self) -> Option<Error> {
        self.store.log_failure()
    }

    /// Runs a client.
    pub fn run_client(&self, client_id: ClientId, shared: &Shared) -> Result<()> {
        let mut requests = self.workload.any_client(&self.tables, client_id);
        client::run(&*self.store, &mut *requests, client_id, shared)
    }

    /// Makes a checkpoint.
    pub fn checkpoint(&self) -> Result<()> {
        self.store.checkpoint(&Alone).map(|_| ())
    }

    /// Makes room for the log.
    pub fn prepare_log(&self) -> Result<bool> {
        self.store.prepare_log()
    }

    /// Looks at everything there is; hash tables are asked for `keys`.
    pub fn survey(&self, keys: &BTreeSet<(u32, Key)>) -> Result<Survey> {
        let mut survey = Survey::default();
        for (table, spec) in self.tables() {
            if !spec.name.contains('/') {
                self.survey_table(table, &spec, keys, &mut survey)?;
            }
        }
        survey.failed_conditions = self.failed_conditions()?;
        Ok(survey)
    }

    /// Ends the logs as it should be; whether everything is durable then.
    pub fn close(&self) -> bool {
        let tasks = self.log_tasks.iter().filter_map(|task| task.borrow_mut().take());
        let ends: Vec<Stepped> = tasks.map(LogTask::finish).collect();
        !ends.contains(&Stepped::Failed)
    }

    /// Makes what was committed durable, outside the schedule.
    fn flush(&self) {
        self.store.tick();
        for writer in 0..self.log_tasks.len() {
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
        let mut session = self.store.session()?;
        let ledger = Ledger::default();
        session.set_recorder(ledger.recorder(None).1);
        let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
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
            let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
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
        let mut session = self.store.session()?;
        let mut run = |body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>| {
            let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
            body(&mut tx)?;
            tx.commit().map(|_| ())
        };
        let conditions =
            self.workload.conditions_kept(self.serializable, &self.tables, &mut run)?;
        let failed =
            |it: chiliad_workload::Condition| it.failure.map(|what| format!("{}: {what}", it.name));
        Ok(conditions.into_iter().filter_map(failed).collect())
    }
}

/// The operations recorded since the last call, as far as they are `wanted`.
fn seen<T>(ledger: &Ledger, wanted: impl Fn(Op) -> Option<T>) -> Vec<T> {
    ledger.take().into_iter().flat_map(|attempt| attempt.ops).filter_map(wanted).collect()
}

fn tables(store: &dyn Store<Sim>, workload: &dyn AnyWorkload) -> Result<Vec<TableId>> {
    let table = |spec: TableSpec| match store.table(&spec.name) {
        Err(Error::UnknownTable(_)) => store.create_table(spec),
        found => found,
    };
    workload.tables().into_iter().map(table).collect()
}
