//! One run of SwarmDB on the task units of a simulated machine.

use super::simulated::{plan, result};
use crate::result::RunResult;
use crate::spec::RunSpec;
use chiliad_driver::{LoadedTasks, load_tasks, ordered_kinds, run_tasks};
use chiliad_host::Stop;

/// Loads a database for runs of its own: see [`run`].
pub fn load(spec: &RunSpec) -> Result<LoadedTasks, Stop> {
    load_tasks(&spec.workload, &plan(spec)?).map_err(Stop::from)
}

/// Runs the workload's transactions as tasks on a database that [`load`] has loaded with the same rows.
pub fn run(spec: &RunSpec, loaded: LoadedTasks) -> Result<RunResult, Stop> {
    let plan = plan(spec)?;
    let kinds = ordered_kinds(&spec.workload)?;
    let reload = || load_tasks(&spec.workload, &plan);
    let report = run_tasks(loaded, &spec.workload, &plan, &spec.ordered, reload)?;
    Ok(result(spec, &plan, kinds, None, report))
}
