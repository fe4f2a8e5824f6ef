//! One run on a simulated machine.

use super::deliveries;
use super::files::Files;
use super::verify::{judgement, verify};
use crate::result::{Consistency, Counts, DeferredResult, RunResult, Simulation, Verified};
use crate::spec::RunSpec;
use chiliad_driver::{
    Failure, Judgement, Loaded, SimulatedPlan, SimulatedReport, Target, load_simulated,
    open_simulated, run_explained,
};
use chiliad_host::Stop;

/// The plan for the simulated driver. A run on this computer's cores has none.
pub fn plan(spec: &RunSpec) -> Result<SimulatedPlan, Stop> {
    spec.simulated().ok_or_else(|| Stop::Failed("a native run among simulated ones".into()))
}

/// Opens and loads a database for runs of its own: see [`run`].
pub fn load(spec: &RunSpec) -> Result<Loaded, Stop> {
    load_simulated(&plan(spec)?, || opened(spec)).map_err(Stop::from)
}

fn opened(spec: &RunSpec) -> Result<Box<dyn Target>, Failure> {
    open_simulated(spec.scheme, &spec.workload, spec.opening())
}

/// Runs the workload on a database that [`load`] has loaded with the same rows for the same scheme and
/// options.
pub fn run(spec: &RunSpec, mut loaded: Loaded, files: &mut Files) -> Result<RunResult, Stop> {
    let plan = plan(spec)?;
    loaded.set_workload(&spec.workload)?;
    let target = loaded.target();
    let (workload, kinds) = (target.workload(), target.kinds());
    let judgement = judgement(target, true)?;
    let reload = |plan: &SimulatedPlan| load_simulated(plan, || opened(spec));
    let mut report = run_explained(loaded, &plan, reload)?;
    let completed = report.outcome.verdict.is_completed() && report.failures.is_empty();
    let recorders = std::mem::take(&mut report.recorders);
    let judgement = Judgement { complete: report.complete, ..judgement };
    // Cores that did not return have taken what they recorded with them.
    let verified = if completed { verify(spec, &judgement, recorders, files)? } else { None };
    deliveries::write(report.deferrals.as_ref(), files)?;
    Ok(result(spec, &plan, (workload, kinds), verified, report))
}

/// The result of a run whose report this is, of a workload with its name and its kinds of transaction.
pub fn result(
    spec: &RunSpec,
    plan: &SimulatedPlan,
    (workload, kinds): (&str, &'static [&'static str]),
    verified: Option<Verified>,
    mut report: SimulatedReport,
) -> RunResult {
    let seconds = report.ticks as f64 / plan.config.ticks_per_second() as f64;
    let timed = plan.config.machine.is_some();
    let completed = report.outcome.verdict.is_completed() && report.failures.is_empty();
    let (build, host_cpu) = RunResult::host();
    let (cores, clients) = (spec.plan.cores, spec.plan.clients);
    RunResult {
        workload: workload.into(),
        scheme: spec.scheme.name.into(),
        machine: "simulated",
        threads: cores,
        clients,
        seed: spec.plan.seed,
        seconds,
        interrupted: false,
        counts: Counts::new(
            &report.tally,
            kinds,
            timed.then_some(seconds),
            report.tally.breakdown(),
        ),
        verified,
        consistency: report.conditions.as_deref().and_then(Consistency::new),
        // Cores that did not return have taken their counts with them.
        deferred: completed
            .then_some(())
            .and(report.deferrals.as_ref())
            .map(|it| DeferredResult::new(it, timed)),
        differences: std::mem::take(&mut report.differences),
        disk: None,
        versions: None,
        simulation: Some(Simulation::new(cores, clients, &report)),
        options: spec.options(),
        build,
        host_memory_bytes: chiliad_driver::resident_bytes(),
        host_cpu,
    }
}
