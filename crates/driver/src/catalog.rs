//! The catalog of runs: every workload under every scheme, on both machines.
//!
//! Schemes are those of the engine with one copy in one process, and the engine whose servers share a log, which is one
//! more. Each pair of a scheme and a machine is compiled once, whatever the workload: see [`chiliad_engine::any`].

use super::bind::{NativeTarget, bind, bind_native};
use super::opening::{Home, Opening};
use super::servers::Role;
use super::target::Target;
use super::{Failure, servers};
use chiliad_engine::any::{self, Place};
use chiliad_engine::{Alone, Error, Info, Mode, names};
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Fault, Interleaved};
use chiliad_simulated::open_on_simulator;
use chiliad_workload::{AnyWorkload, WorkloadOptions};
use std::sync::{Arc, LazyLock};

/// All schemes, in the order of reports.
#[must_use]
pub fn schemes() -> &'static [Info] {
    static SCHEMES: LazyLock<Vec<Info>> = LazyLock::new(|| {
        let mut all = names::all::<Interleaved>();
        all.push(chiliad_hyder::INFO);
        all
    });
    &SCHEMES
}

/// Whether a database under this scheme is servers that share a log: [`Opening::cluster`] is for those.
#[must_use]
pub fn shares_log(scheme: &Info) -> bool {
    scheme.name == chiliad_hyder::INFO.name
}

/// Whether a database under this scheme lies in a directory of the engine's, with its log and checkpoints, which the
/// engine opens again under any such scheme. What servers that share a log have is in that log alone: what kills, damages
/// and copies directories has no business with it.
#[must_use]
pub fn lies_in_directories(scheme: &Info) -> bool {
    !shares_log(scheme)
}

/// The scheme of this name.
///
/// # Errors
/// [`Error::InvalidOption`]: there is none.
pub fn scheme(name: &str) -> chiliad_engine::Result<&'static Info> {
    let found = schemes().iter().find(|info| info.name == name);
    found.ok_or_else(|| Error::InvalidOption(format!("scheme {name}: unknown")))
}

/// All planted bugs of this build.
#[must_use]
pub fn faults() -> Vec<&'static Fault> {
    use chiliad_storage::index::{hash, ordered};
    let indexes = ordered::faults::FAULTS.iter().chain(hash::faults::FAULTS);
    let below =
        chiliad_storage::FAULTS.iter().chain(chiliad_machine::FAULTS).chain(chiliad_lock::FAULTS);
    let clients = chiliad_api::FAULTS.iter().chain(chiliad_hyder::FAULTS);
    let tasks = chiliad_simulator::TASK_FAULTS.iter().chain(chiliad_swarm::FAULTS);
    let tasks = tasks.chain(chiliad_workload::tasks::FAULTS);
    let sql = chiliad_workload::sql::FAULTS.iter().chain(super::deferral::faults::FAULTS);
    chiliad_engine::faults()
        .chain(indexes.chain(below).chain(clients).chain(tasks).chain(sql).copied())
        .collect()
}

/// Opens a native database with the tables of `workload` under the scheme `info`, in memory or with
/// a log.
///
/// # Errors
/// Those of the engine and of the workload's options.
pub fn open_native(
    info: &Info,
    workload: &WorkloadOptions,
    opening: impl Into<Opening>,
    home: Option<Home>,
) -> Result<NativeTarget, Failure> {
    let (workload, opening) = (make(workload)?, opening.into());
    if shares_log(info) {
        return servers::open_native(workload, &opening, home);
    }
    let place = home.map(|home| Place {
        disk: home.disk,
        mode: Mode::Write,
        durable: home.options,
        host: &Alone,
    });
    let opened = any::open_native(info.name, opening.engine, place);
    let opened = opened.map_err(Failure::doing("opening the database"))?;
    bind_native(workload, opened)
}

/// Opens a native database of servers that share `log`, or one of these servers, with the tables of `workload`.
///
/// # Errors
/// [`Error::InvalidOption`], also for a log that is not empty and should be; those of the log, of the engine and of the
/// workload's options.
pub fn open_on_log(
    workload: &WorkloadOptions,
    opening: &Opening,
    log: &Arc<dyn SharedLog>,
    role: Role,
) -> Result<NativeTarget, Failure> {
    servers::open_on_log(make(workload)?, opening, log, role)
}

/// Opens a database on the current simulated run with the tables of `workload` under the scheme
/// `info`.
///
/// # Errors
/// Those of the engine and of the workload's options.
pub fn open_simulated(
    info: &Info,
    workload: &WorkloadOptions,
    opening: impl Into<Opening>,
) -> Result<Box<dyn Target>, Failure> {
    let (workload, opening) = (make(workload)?, opening.into());
    if shares_log(info) {
        return servers::open_simulated(workload, &opening);
    }
    let opened = open_on_simulator(info.name, opening.engine, None);
    let opened = opened.map_err(Failure::doing("opening the database"))?;
    bind(workload, opened)
}

/// The workload that `workload` describes.
///
/// # Errors
/// Those of its options.
pub(crate) fn make(workload: &WorkloadOptions) -> Result<Arc<dyn AnyWorkload>, Failure> {
    workload.make().map_err(Failure::doing("making up the workload"))
}
