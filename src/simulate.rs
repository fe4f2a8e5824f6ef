//! `chiliad simulate`: one run on the simulated machine.

use crate::bench::{judgement, stop, verify};
use crate::result::{Consistency, Counts, MemoryCounts, RunResult, Simulation};
use crate::runs::Files;
use crate::settings::Settings;
use chiliad_driver::{
    Failure, Judgement, Loaded, SimulatedPlan, SimulatedReport, Target, load_simulated,
    open_simulated, run_explained,
};
use chiliad_host::Stop;
use chiliad_simulator::Timings;

/// Runs the workload on the simulated machine.
pub fn run(
    settings: &Settings,
    plan: &SimulatedPlan,
    files: &mut Files,
) -> Result<RunResult, Stop> {
    again(settings, plan, load(settings, plan)?, files)
}

/// Opens and loads a database for runs of its own: see [`again`].
pub fn load(settings: &Settings, plan: &SimulatedPlan) -> Result<Loaded, Stop> {
    load_simulated(plan, || opened(settings)).map_err(stop)
}

fn opened(settings: &Settings) -> Result<Box<dyn Target>, Failure> {
    open_simulated(settings.scheme, &settings.workload, settings.engine.clone())
}

/// Runs the workload on a database that [`load`] has loaded with the same rows for the same scheme and
/// options.
pub fn again(
    settings: &Settings,
    plan: &SimulatedPlan,
    mut loaded: Loaded,
    files: &mut Files,
) -> Result<RunResult, Stop> {
    loaded.set_workload(&settings.workload).map_err(stop)?;
    let target = loaded.target();
    let (workload, kinds) = (target.workload(), target.kinds());
    let judgement = judgement(settings, target, true)?;
    let reload = |plan: &SimulatedPlan| load_simulated(plan, || opened(settings));
    let mut report = run_explained(loaded, plan, reload).map_err(stop)?;
    let completed = report.outcome.verdict.is_completed() && report.failures.is_empty();
    let recorders = std::mem::take(&mut report.recorders);
    let judgement = Judgement { complete: report.complete, ..judgement };
    // Cores that did not return have taken what they recorded with them.
    let verified = if completed { verify(settings, &judgement, recorders, files)? } else { None };
    let seconds = report.ticks as f64 / plan.config.ticks_per_second() as f64;
    let timed = plan.config.machine.is_some();
    let (build, host_cpu) = RunResult::host();
    Ok(RunResult {
        workload: workload.into(),
        scheme: settings.scheme.name.into(),
        machine: "simulated",
        threads: settings.plan.cores,
        clients: settings.plan.clients,
        seed: settings.plan.seed,
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
        disk: None,
        versions: None,
        simulation: Some(simulation(settings.plan.cores, settings.plan.clients, &report)),
        options: settings.shown.clone(),
        build,
        host_memory_bytes: chiliad_driver::resident_bytes(),
        host_cpu,
    })
}

/// What a run of so many clients on so many simulated cores adds to its result.
pub fn simulation(cores: usize, clients: usize, report: &SimulatedReport) -> Simulation {
    let outcome = &report.outcome;
    let shared = clients > cores;
    let completed = outcome.verdict.is_completed();
    let mut failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    failures.extend((!completed).then(|| outcome.verdict.to_string()));
    let timings = outcome.timings.as_ref();
    let rate = |count: fn(&Timings) -> u64| {
        let seconds = report.seconds - outcome.untimed_seconds;
        timings.map(|timings| count(timings) as f64 / seconds.max(1e-9))
    };
    Simulation {
        cores,
        cycles: timings.map(|it| it.cycles),
        accesses: timings.map(|it| it.accesses),
        misses: timings.map(|it| it.misses),
        memory: timings.map(MemoryCounts::new),
        verdict: if completed && !failures.is_empty() { "failed" } else { outcome.verdict.name() },
        failures,
        events: outcome.events,
        switches: outcome.switches,
        lines_awaited: outcome.counters.lines_awaited,
        hand_overs: outcome.counters.hand_overs,
        context_switches: shared.then_some(outcome.counters.context_switches),
        preemptions: shared.then_some(outcome.counters.preemptions),
        trace_hash: format!("{:016x}", outcome.trace_hash),
        memory_bytes: outcome.memory_bytes,
        marks: outcome.marks.iter().copied().collect(),
        host_seconds: report.seconds,
        host_load_seconds: report.load_seconds,
        host_rehearsal_seconds: outcome.untimed_seconds,
        host_accesses_per_second: rate(|it| it.accesses),
        host_misses_per_second: rate(|it| it.misses + it.modifications - it.modifications_missed),
        host_events_per_second: outcome.events as f64 / report.seconds.max(1e-9),
    }
}
