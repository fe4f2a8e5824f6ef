//! Joins an opened database and a workload: the entry for engines that the drivers do not know by name.
//!
//! Drivers use a database through [`chiliad_engine::Store`] and [`chiliad_engine::Session`] alone. A
//! database of any engine is bound here to a workload, and every driver runs the [`Target`] that it becomes.

use super::Failure;
use super::target::{Bound, Target};
use chiliad_engine::{OpenedNatively, OpenedOn};
use chiliad_machine::Machine;
use chiliad_workload::AnyWorkload;
use std::sync::Arc;

/// A native database, to be shared by threads.
pub type NativeTarget = Box<dyn Target + Send + Sync>;

/// Creates the tables of `workload` in an empty database that threads share, for
/// [`run_native`](super::run_native). The driver runs the writers of its log, if it has any.
///
/// # Errors
/// [`Failure::Engine`]: the database refuses a table.
pub fn bind_native(
    workload: Arc<dyn AnyWorkload>,
    opened: OpenedNatively,
) -> Result<NativeTarget, Failure> {
    Ok(Box::new(Bound::new(workload, opened)?))
}

/// Creates the tables of `workload` in an empty database on machine `M`. On [`chiliad_simulator::Sim`] it is
/// called, like the opening before it, in the closure that [`run_simulated`](super::run_simulated) takes:
/// there alone is memory of the simulated machine to be had.
///
/// # Errors
/// [`Failure::Engine`]: the database refuses a table.
pub fn bind<M: Machine>(
    workload: Arc<dyn AnyWorkload>,
    opened: OpenedOn<M>,
) -> Result<Box<dyn Target>, Failure> {
    Ok(Box::new(Bound::new(workload, opened)?))
}
