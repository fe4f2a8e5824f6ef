//! One run of SwarmDB on the task units of a simulated machine.

use super::simulated::{plan, result};
use crate::result::RunResult;
use crate::spec::RunSpec;
use chiliad_driver::{ordered_kinds, run_ordered};
use chiliad_host::Stop;

/// Loads the workload's rows and runs its graph of tasks.
pub fn run(spec: &RunSpec) -> Result<RunResult, Stop> {
    let plan = plan(spec)?;
    let workload = ordered_kinds(&spec.workload)?;
    let report = run_ordered(&spec.workload, &plan)?;
    Ok(result(spec, &plan, workload, None, report))
}
