//! One run of timestamps alone: how fast threads, or simulated cores, can draw them.

use super::progress::Bar;
use crate::result::{Counts, RunResult, Simulation};
use crate::spec::{DrawSpec, MachineSpec};
use chiliad_driver::{Length, run_drawing, simulate_drawing};
use chiliad_host::{Stop, limit};

/// The workload's name, and that of what it counts.
const NAMES: (&str, &str) = ("timestamps", "draw");

/// Draws timestamps natively and does nothing else.
pub fn draw(spec: &DrawSpec, quiet: bool) -> Result<RunResult, Stop> {
    let drawing = &spec.drawing;
    limit::check_threads("--threads", drawing.threads, 0)?;
    let bar = Bar::new(Length::Time(drawing.duration), quiet);
    let report = run_drawing(drawing, &bar)?;
    drop(bar);
    Ok(RunResult::counted(NAMES, drawing.threads, 0, &report, spec.options()))
}

/// Draws timestamps on the cores of `machine` and does nothing else.
pub fn simulate_draw(spec: &DrawSpec, machine: &MachineSpec) -> Result<RunResult, Stop> {
    let config = machine.config(spec.seed);
    let report = simulate_drawing(&spec.drawing, &config)?;
    let seconds = report.ticks as f64 / config.ticks_per_second() as f64;
    let timed = config.machine.is_some();
    let cores = spec.drawing.threads;
    let (build, host_cpu) = RunResult::host();
    Ok(RunResult {
        workload: NAMES.0.into(),
        scheme: String::new(),
        machine: "simulated",
        threads: cores,
        clients: cores,
        seed: spec.seed,
        seconds,
        interrupted: false,
        counts: Counts::new(&report.tally, &[NAMES.1], timed.then_some(seconds), None),
        verified: None,
        consistency: None,
        deferred: None,
        differences: Vec::new(),
        disk: None,
        versions: None,
        simulation: Some(Simulation::new(cores, cores, &report)),
        options: spec.options(),
        build,
        host_memory_bytes: chiliad_driver::resident_bytes(),
        host_cpu,
    })
}
