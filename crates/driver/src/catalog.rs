//! The catalog of runs: every workload under every scheme, on both machines.
//!
//! Each pair of a scheme and a machine is compiled once, whatever the workload: see [`chiliad_engine::any`].

use super::Failure;
use super::bind::{NativeTarget, bind, bind_native};
use super::target::Target;
use chiliad_engine::any::{self, Place};
use chiliad_engine::{Alone, DurableOptions, Error, Info, Mode, OpenedOn, Options, names};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Fault, Interleaved};
use chiliad_simulator::Sim;
use chiliad_workload::{AnyWorkload, WorkloadOptions};
use std::sync::{Arc, LazyLock};

/// All schemes, in the order of reports.
#[must_use]
pub fn schemes() -> &'static [Info] {
    static SCHEMES: LazyLock<Vec<Info>> = LazyLock::new(names::all::<Interleaved>);
    &SCHEMES
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
    let clients = chiliad_api::FAULTS;
    chiliad_engine::faults().chain(indexes.chain(below).chain(clients).copied()).collect()
}

/// Opens a native database with the tables of `workload` under the scheme `info`, in memory or with
/// a log.
///
/// # Errors
/// Those of the engine and of the workload's options.
pub fn open_native(
    info: &Info,
    workload: &WorkloadOptions,
    options: Options,
    home: Option<Home>,
) -> Result<NativeTarget, Failure> {
    let workload = make(workload)?;
    let place = home.map(|home| Place {
        disk: home.disk,
        mode: Mode::Write,
        durable: home.options,
        host: &Alone,
    });
    let opened = any::open_native(info.name, options, place);
    let opened = opened.map_err(Failure::doing("opening the database"))?;
    bind_native(workload, opened)
}

/// Where a native run with a log keeps it.
pub struct Home {
    /// Empty.
    pub disk: Arc<dyn Disk>,
    /// How it is used.
    pub options: DurableOptions,
}

/// Opens a database on the current simulated run with the tables of `workload` under the scheme
/// `info`.
///
/// # Errors
/// Those of the engine and of the workload's options.
pub fn open_simulated(
    info: &Info,
    workload: &WorkloadOptions,
    options: Options,
) -> Result<Box<dyn Target>, Failure> {
    let workload = make(workload)?;
    let opened = open_on_simulator(info.name, options, None);
    let opened = opened.map_err(Failure::doing("opening the database"))?;
    bind(workload, opened)
}

/// Opens a database under the scheme named `scheme` on the current simulated run, in memory or at `place`. All schemes
/// are compiled for the simulator here and nowhere else: a caller that names the generic function compiles them again.
///
/// # Errors
/// Those of the engine.
pub fn open_on_simulator(
    scheme: &str,
    options: Options,
    place: Option<Place<'_, Sim>>,
) -> chiliad_engine::Result<OpenedOn<Sim>> {
    any::open(scheme, options, place)
}

/// The workload that `workload` describes.
///
/// # Errors
/// Those of its options.
pub(crate) fn make(workload: &WorkloadOptions) -> Result<Arc<dyn AnyWorkload>, Failure> {
    workload.make().map_err(Failure::doing("making up the workload"))
}
