//! `chiliad simulate`: one run on the simulated machine.

use crate::bench::{judgement, stop, verify};
use crate::failure::Stop;
use crate::result::{Consistency, Counts, MemoryCounts, RunResult, Simulation};
use crate::runs::Files;
use crate::settings::Settings;
use chiliad_simulator::{Config, Outcome, Timings};
use chiliad_workload::driver::{
    Judgement, SimulatedPlan, SimulatedReport, open_simulated, run_simulated,
};
use std::cell::RefCell;

/// Runs the workload on the simulated machine.
pub fn run(
    settings: &Settings,
    plan: &SimulatedPlan,
    files: &mut Files,
) -> Result<RunResult, Stop> {
    let described = RefCell::new(None);
    let mut report = go(settings, plan, &described)?;
    if let Some(serial) = freed_by(&report.outcome) {
        // Once more, the same, with the stack of whoever freed the memory.
        let config = Config { trace_free: Some(serial), ..plan.config.clone() };
        report = go(settings, &SimulatedPlan { config, ..plan.clone() }, &described)?;
    }
    let Some(Described { workload, kinds, judgement }) = described.take() else {
        return Err(Stop::Failed("no database was opened".into()));
    };
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
        threads: settings.plan.clients,
        clients: settings.plan.clients,
        seed: settings.plan.seed,
        seconds,
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
        simulation: Some(simulation(settings.plan.clients, &report)),
        options: settings.shown.clone(),
        build,
        host_memory_bytes: chiliad_workload::driver::resident_bytes(),
        host_cpu,
    })
}

/// What the database was, told before its region went.
struct Described {
    workload: &'static str,
    kinds: &'static [&'static str],
    judgement: Judgement,
}

fn go(
    settings: &Settings,
    plan: &SimulatedPlan,
    described: &RefCell<Option<Described>>,
) -> Result<SimulatedReport, Stop> {
    let mut refused = None;
    let report = run_simulated(plan, || {
        let target = open_simulated(settings.scheme, &settings.workload, settings.engine.clone())?;
        match judgement(settings, &*target, true) {
            Ok(judgement) => {
                let (workload, kinds) = (target.workload(), target.kinds());
                described.replace(Some(Described { workload, kinds, judgement }));
            }
            Err(stop) => refused = Some(stop),
        }
        Ok(target)
    });
    refused.map_or(Ok(()), Err)?;
    report.map_err(stop)
}

/// The free after which memory was used, if the run ended so.
fn freed_by(outcome: &Outcome) -> Option<u64> {
    match &outcome.verdict {
        chiliad_simulator::Verdict::UseOfFreedMemory(report) => {
            report.freed.as_ref().map(|freed| freed.serial)
        }
        _ => None,
    }
}

/// What a run on so many simulated cores adds to its result.
pub fn simulation(cores: usize, report: &SimulatedReport) -> Simulation {
    let outcome = &report.outcome;
    let completed = outcome.verdict.is_completed();
    let mut failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    failures.extend((!completed).then(|| outcome.verdict.to_string()));
    let timings = outcome.timings.as_ref();
    let rate = |count: fn(&Timings) -> u64| {
        timings.map(|timings| count(timings) as f64 / report.seconds.max(1e-9))
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
        trace_hash: format!("{:016x}", outcome.trace_hash),
        memory_bytes: outcome.memory_bytes,
        marks: outcome.marks.iter().copied().collect(),
        host_seconds: report.seconds,
        host_load_seconds: report.load_seconds,
        host_accesses_per_second: rate(|it| it.accesses),
        host_misses_per_second: rate(|it| it.misses + it.modifications - it.modifications_missed),
        host_events_per_second: outcome.events as f64 / report.seconds.max(1e-9),
    }
}
