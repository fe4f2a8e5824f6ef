//! Databases that are servers of one shared log, in memory or simulated.

use super::Failure;
use super::bind::NativeTarget;
use super::opening::{ClusterOptions, Home, Opening, SERVERS_MAX};
use super::target::{Bound, Target};
use chiliad_engine::{Error, LogTask, NativeStore, OpenedStore, Options, Result, Store};
use chiliad_hyder::{Cluster, ServerOptions};
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Interleaved, Machine};
use chiliad_shared_log::MemoryLog;
use chiliad_simulator::{FaultyLog, LogFaults, Sim};
use chiliad_workload::AnyWorkload;
use std::sync::Arc;

/// Servers that share a log in this process's memory, with the tables of `workload`.
///
/// # Errors
/// [`Error::InvalidOption`]; those of the engine.
pub fn open_native(
    workload: Arc<dyn AnyWorkload>,
    opening: &Opening,
    home: Option<Home>,
) -> std::result::Result<NativeTarget, Failure> {
    let open = || -> Result<_> {
        if home.is_some() {
            let problem = "scheme: servers that share a log have none in a directory yet";
            return Err(Error::InvalidOption(problem.into()));
        }
        if opening.cluster.log_fails_one_in > 0 {
            let problem = "log-faults: a log in memory does not fail; accepted: in simulation";
            return Err(Error::InvalidOption(problem.into()));
        }
        let log: Arc<dyn SharedLog> = Arc::new(MemoryLog::new());
        join::<Interleaved>(opening, |_| Arc::clone(&log))
    };
    let store: Box<dyn NativeStore> = Box::new(open().map_err(opening_failed)?);
    let log_tasks: Vec<Box<dyn LogTask<Interleaved> + Send>> = Vec::new();
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
    let store = join::<Sim>(opening, |server| log.server(server)).map_err(opening_failed)?;
    let store: Box<dyn Store<Sim>> = Box::new(store);
    let log_tasks: Vec<Box<dyn LogTask<Sim>>> = Vec::new();
    let opened = OpenedStore { store, log_tasks, recovered: Default::default() };
    let faults = opening.cluster.log_faults();
    let bound = Bound::new(workload, opened)?;
    Ok(Box::new(bound.when_loaded(move || log.set_faults(faults))))
}

fn opening_failed(error: Error) -> Failure {
    Failure::doing("opening the database")(error)
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
    let options = ServerOptions { memory_bytes_max, verify, roll };
    let logs: Vec<_> = (0..servers as u32).map(log).collect();
    Cluster::join(&logs, &options)
}
