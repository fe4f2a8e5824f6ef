//! Databases that are servers of one shared log: in memory, in a directory, or simulated.

use super::Failure;
use super::bind::NativeTarget;
use super::opening::{Home, Opening, SERVERS_MAX};
use super::target::{Bound, Target};
use chiliad_engine::{Error, LogError, LogTask, NativeStore, OpenedStore, Options, Result, Store};
use chiliad_hyder::{Cluster, Hosts, Hyder, HyderTask, ServerOptions};
use chiliad_machine::disk::Disk;
use chiliad_machine::shared_log::{SharedLog, SharedLogError};
use chiliad_machine::{Interleaved, Machine};
use chiliad_shared_log::{DelayedLog, FileLog, FileLogOptions, MemoryLog};
use chiliad_simulator::{FaultyLog, Host, LogFaults, Sim, outside_on};
use chiliad_workload::AnyWorkload;
use std::sync::Arc;
use std::time::Duration;

/// Servers that share a log in this process's memory, or in a new one in `home`, with the tables of `workload`.
///
/// # Errors
/// [`Error::InvalidOption`], also for a home with a shared log in it; those of the log and of the engine.
pub fn open_native(
    workload: Arc<dyn AnyWorkload>,
    opening: &Opening,
    home: Option<Home>,
) -> std::result::Result<NativeTarget, Failure> {
    let open = || -> Result<_> {
        if opening.cluster.log_fails_one_in > 0 {
            let problem = "log-faults: a log in memory does not fail; accepted: in simulation";
            return Err(Error::InvalidOption(problem.into()));
        }
        let log: Arc<dyn SharedLog> = match home {
            None => Arc::new(MemoryLog::new()),
            Some(home) => Arc::new(new_log(home.disk)?),
        };
        let log = delayed(log, opening);
        join::<Interleaved>(opening, opening.cluster.servers, |_| Arc::clone(&log))
    };
    let (store, log_tasks) = with_tasks(open().map_err(opening_failed)?, opening);
    let opened = OpenedStore { store, log_tasks, recovered: Default::default() };
    Ok(Box::new(Bound::new(workload, opened)?))
}

/// Which servers of a log a process has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// All of them. The log must be empty.
    All,
    /// The one that creates the tables and loads the rows. The log must be empty.
    First,
    /// Another one.
    Other,
}

/// A native database of servers that share `log`, or one of these servers, with the tables of `workload`.
///
/// # Errors
/// [`Error::InvalidOption`], also for a log that is not empty and should be; those of the log and of the engine.
pub fn open_on_log(
    workload: Arc<dyn AnyWorkload>,
    opening: &Opening,
    log: &Arc<dyn SharedLog>,
    role: Role,
) -> std::result::Result<NativeTarget, Failure> {
    let all = opening.cluster.servers;
    let here = if role == Role::All { all } else { 1 };
    let open = || {
        if role != Role::Other {
            refuse_rows(&**log)?;
        }
        let log = delayed(Arc::clone(log), opening);
        Ok(join::<Interleaved>(opening, here, |_| Arc::clone(&log))?.among(all))
    };
    let (store, log_tasks) = with_tasks(open().map_err(opening_failed)?, opening);
    let opened = OpenedStore { store, log_tasks, recovered: Default::default() };
    Ok(Box::new(match role {
        Role::All | Role::First => Bound::new(workload, opened)?,
        Role::Other => Bound::found(workload, opened)?,
    }))
}

/// The log, with appends that take as long as was asked for.
fn delayed(log: Arc<dyn SharedLog>, opening: &Opening) -> Arc<dyn SharedLog> {
    match opening.cluster.append_latency {
        Duration::ZERO => log,
        delay => Arc::new(DelayedLog::<Interleaved>::new(log, delay)),
    }
}

/// Refuses a log that has records: they may be a database.
fn refuse_rows(log: &dyn SharedLog) -> Result<()> {
    let bounds = log.bounds().map_err(|error| log_failed(&log.place(), &error))?;
    match bounds.end > 1 {
        true => Err(Error::InvalidOption(format!(
            "shared-log: {} holds a database; accepted: a log that is empty or missing",
            log.place()
        ))),
        false => Ok(()),
    }
}

fn log_failed(place: &str, error: &SharedLogError) -> Error {
    Error::Data(LogError::Io {
        doing: format!("opening the shared log {place}"),
        kind: std::io::ErrorKind::Other,
        message: error.to_string(),
    })
}

/// Servers that share a simulated log on the current simulated run, with the tables of `workload`. The log begins to
/// fail when the rows are loaded.
///
/// # Errors
/// As [`open_native`].
pub fn open_simulated(
    workload: Arc<dyn AnyWorkload>,
    opening: &Opening,
) -> std::result::Result<Box<dyn Target>, Failure> {
    let log = FaultyLog::new(Sim::random(), LogFaults::default());
    let options = server_options(opening);
    let logs: Vec<_> = (0..opening.cluster.servers as u32).map(|it| log.server(it)).collect();
    // A host for each, as machines have no memory in common.
    let hosts = Hosts {
        own: || chiliad_simulator::host().0 as usize,
        on: |host, act| outside_on(Host(host as u32), act),
    };
    let cluster = check_servers(opening)
        .and_then(|()| Cluster::join_on(&logs, &options, (logs.len() > 1).then_some(hosts)));
    let cluster = cluster.map_err(opening_failed)?;
    let tasks = tasks(&cluster, opening).into_iter();
    let log_tasks = tasks.map(|task| Box::new(task) as Box<dyn LogTask<Sim>>).collect();
    let store: Box<dyn Store<Sim>> = Box::new(cluster);
    let opened = OpenedStore { store, log_tasks, recovered: Default::default() };
    let faults = opening.cluster.log_faults(Sim::ticks_per_second());
    let bound = Bound::new(workload, opened)?.on_hosts(logs.len());
    Ok(Box::new(bound.when_loaded(move || log.set_faults(faults))))
}

/// A new log on a disk. One that is there already may be somebody's database.
fn new_log(disk: Arc<dyn Disk>) -> Result<FileLog<Interleaved>> {
    let place = disk.place();
    let is_there = FileLog::<Interleaved>::is_on(&*disk);
    if is_there.map_err(LogError::io(format!("opening the shared log {place}")))? {
        let problem = format!("data: {place} holds a shared log; accepted: an empty directory");
        return Err(Error::InvalidOption(problem));
    }
    let opened = FileLog::open(Arc::clone(&disk), FileLogOptions::default());
    opened.map_err(|error| log_failed(&place, &error))
}

fn opening_failed(error: Error) -> Failure {
    Failure::doing("opening the database")(error)
}

/// A database of native servers, and what threads of their own do for them.
type WithTasks = (Box<dyn NativeStore>, Vec<Box<dyn LogTask<Interleaved> + Send>>);

fn with_tasks(cluster: Cluster<Interleaved>, opening: &Opening) -> WithTasks {
    let tasks = tasks(&cluster, opening).into_iter();
    let tasks = tasks.map(|task| Box::new(task) as Box<dyn LogTask<Interleaved> + Send>);
    (Box::new(cluster), tasks.collect())
}

/// The tasks of the servers' own threads, if they are to have some.
fn tasks<M: Machine>(cluster: &Cluster<M>, opening: &Opening) -> Vec<HyderTask<M>> {
    match opening.cluster.roll.pipeline {
        0 => Vec::new(),
        _ => cluster.servers().iter().flat_map(Hyder::tasks).collect(),
    }
}

/// So many servers of a log.
fn join<M: Machine>(
    opening: &Opening,
    here: usize,
    log: impl FnMut(u32) -> Arc<dyn SharedLog>,
) -> Result<Cluster<M>> {
    check_servers(opening)?;
    let logs: Vec<_> = (0..here as u32).map(log).collect();
    Cluster::join(&logs, &server_options(opening))
}

fn check_servers(opening: &Opening) -> Result<()> {
    let servers = opening.cluster.servers;
    match (1..=SERVERS_MAX).contains(&servers) {
        true => Ok(()),
        false => {
            let problem = format!("servers {servers}: accepted: 1 to {SERVERS_MAX}");
            Err(Error::InvalidOption(problem))
        }
    }
}

fn server_options(opening: &Opening) -> ServerOptions {
    let Opening { engine, cluster } = opening;
    let Options { memory_bytes_max, verify, .. } = *engine;
    ServerOptions { memory_bytes_max, verify, roll: cluster.roll, ..ServerOptions::default() }
}
