//! One run of SwarmDB on the task units of a simulated machine.

use super::simulated::plan;
use crate::result::{Consistency, Counts, RunResult, Simulation};
use crate::spec::RunSpec;
use chiliad_driver::{ordered_kinds, run_ordered};
use chiliad_host::Stop;

/// Loads the workload's rows and runs its graph of tasks.
pub fn run(spec: &RunSpec) -> Result<RunResult, Stop> {
    let plan = plan(spec)?;
    let (workload, kinds) = ordered_kinds(&spec.workload)?;
    let mut report = run_ordered(&spec.workload, &plan)?;
    let seconds = report.ticks as f64 / plan.config.ticks_per_second() as f64;
    let (build, host_cpu) = RunResult::host();
    let cores = spec.plan.cores;
    Ok(RunResult {
        workload: workload.into(),
        scheme: spec.scheme.name.into(),
        machine: "simulated",
        threads: cores,
        clients: cores,
        seed: spec.plan.seed,
        seconds,
        interrupted: false,
        counts: Counts::new(&report.tally, kinds, Some(seconds), None),
        verified: None,
        consistency: report.conditions.as_deref().and_then(Consistency::new),
        differences: std::mem::take(&mut report.differences),
        disk: None,
        versions: None,
        simulation: Some(Simulation::new(cores, cores, &report)),
        options: spec.options(),
        build,
        host_memory_bytes: chiliad_driver::resident_bytes(),
        host_cpu,
    })
}
