//! Databases that are servers of one shared log: in memory, in a directory, or simulated.

use super::Failure;
use super::bind::NativeTarget;
use super::opening::{ClusterOptions, Home, Opening, SERVERS_MAX};
use super::target::{Bound, Target};
use chiliad_engine::{Error, LogError, LogTask, NativeStore, OpenedStore, Options, Result, Store};
use chiliad_hyder::{Cluster, Hyder, HyderTask, ServerOptions};
use chiliad_machine::disk::Disk;
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Interleaved, Machine};
use chiliad_shared_log::{FileLog, FileLogOptions, MemoryLog};
use chiliad_simulator::{FaultyLog, LogFaults, Sim};
use chiliad_workload::AnyWorkload;
use std::sync::Arc;

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
        join::<Interleaved>(opening, |_| Arc::clone(&log))
    };
    let cluster = open().map_err(opening_failed)?;
    let tasks = tasks(&cluster, opening).into_iter();
    let log_tasks = tasks.map(|task| Box::new(task) as Box<dyn LogTask<Interleaved> + Send>);
    let log_tasks = log_tasks.collect();
    let store: Box<dyn NativeStore> = Box::new(cluster);
    let opened = OpenedStore { store, log_tasks, recovered: Default::default() };
    Ok(Box::new(Bound::new(workload, opened)?))
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
    let cluster = join::<Sim>(opening, |server| log.server(server)).map_err(opening_failed)?;
    let tasks = tasks(&cluster, opening).into_iter();
    let log_tasks = tasks.map(|task| Box::new(task) as Box<dyn LogTask<Sim>>).collect();
    let store: Box<dyn Store<Sim>> = Box::new(cluster);
    let opened = OpenedStore { store, log_tasks, recovered: Default::default() };
    let faults = opening.cluster.log_faults();
    let bound = Bound::new(workload, opened)?;
    Ok(Box::new(bound.when_loaded(move || log.set_faults(faults))))
}

/// A new log on a disk. One that is there already may be somebody's database.
fn new_log(disk: Arc<dyn Disk>) -> Result<FileLog<Interleaved>> {
    let place = disk.place();
    let failed = |kind, message| {
        Error::Data(LogError::Io {
            doing: format!("opening the shared log {place}"),
            kind,
            message,
        })
    };
    let is_there = FileLog::<Interleaved>::is_on(&*disk);
    if is_there.map_err(|error| failed(error.kind(), error.to_string()))? {
        let problem = format!("data: {place} holds a shared log; accepted: an empty directory");
        return Err(Error::InvalidOption(problem));
    }
    let opened = FileLog::open(Arc::clone(&disk), FileLogOptions::default());
    opened.map_err(|error| failed(std::io::ErrorKind::Other, error.to_string()))
}

fn opening_failed(error: Error) -> Failure {
    Failure::doing("opening the database")(error)
}

/// What threads of their own do for the servers, if they are to have some.
fn tasks<M: Machine>(cluster: &Cluster<M>, opening: &Opening) -> Vec<HyderTask<M>> {
    match opening.cluster.roll.pipeline {
        0 => Vec::new(),
        _ => cluster.servers().iter().flat_map(Hyder::tasks).collect(),
    }
}

fn join<M: Machine>(
    opening: &Opening,
    log: impl FnMut(u32) -> Arc<dyn SharedLog>,
) -> Result<Cluster<M>> {
    let Opening { engine, cluster } = opening;
    let ClusterOptions { servers, roll, .. } = *cluster;
    if !(1..=SERVERS_MAX).contains(&servers) {
        let problem = format!("servers {servers}: accepted: 1 to {SERVERS_MAX}");
        return Err(Error::InvalidOption(problem));
    }
    let Options { memory_bytes_max, verify, .. } = *engine;
    let options = ServerOptions { memory_bytes_max, verify, roll, ..ServerOptions::default() };
    let logs: Vec<_> = (0..servers as u32).map(log).collect();
    Cluster::join(&logs, &options)
}
