//! `chiliad bench timestamps` and `chiliad simulate timestamps`: how fast threads, or simulated cores, can
//! draw timestamps.

use crate::args::{
    DrawnFlags, MachineFlags, SimulatedTimestampsFlags, TimestampsFlag, TimestampsFlags, typed,
};
use crate::bench::stop;
use crate::progress::Bar;
use crate::result::{Counts, RunResult};
use crate::settings::{Shown, machine};
use crate::simulate::simulation;
use crate::{host, limit};
use chiliad_driver::{Drawing, Length, run_drawing, simulate_drawing};
use chiliad_engine::Options;
use chiliad_host::Stop;
use chiliad_host::values;
use chiliad_simulator::Config;
use std::time::Duration;

/// The workload's name, and that of what it counts.
const NAMES: (&str, &str) = ("timestamps", "draw");

/// Draws timestamps natively and does nothing else.
pub fn run(flags: &TimestampsFlags, quiet: bool) -> Result<RunResult, Stop> {
    let threads = flags.threads.unwrap_or_else(host::cores);
    limit::check_threads("--threads", threads, 0)?;
    let drawing = Drawing {
        options: options(flags.timestamps, &flags.drawn),
        threads,
        duration: flags.duration,
        warmup: flags.warmup,
    };
    let bar = Bar::new(Length::Time(flags.duration), quiet);
    let report = run_drawing(&drawing, &bar).map_err(stop)?;
    drop(bar);
    let mut shown = shown(flags.timestamps, &flags.drawn, (flags.duration, flags.warmup));
    shown.insert("threads".into(), threads.into());
    shown.insert("repeat".into(), flags.repeat.into());
    Ok(RunResult::counted(NAMES, threads, 0, &report, shown))
}

/// A simulated run, ready to go.
pub struct Simulated {
    drawing: Drawing,
    config: Config,
    shown: Shown,
}

impl Simulated {
    /// What the flags ask for.
    pub fn new(flags: &SimulatedTimestampsFlags, on: &MachineFlags) -> Result<Self, Stop> {
        let (duration, warmup) = simulated_times(flags.timestamps);
        let duration = flags.duration.unwrap_or(duration);
        let warmup = flags.warmup.unwrap_or(warmup);
        let mut shown = shown(flags.timestamps, &flags.drawn, (duration, warmup));
        shown.insert("seed".into(), flags.seed.into());
        shown.insert("repeat".into(), flags.repeat.into());
        let config = machine(on, flags.seed, &mut shown)?;
        let drawing = Drawing {
            options: options(flags.timestamps, &flags.drawn),
            threads: on.cores,
            duration,
            warmup,
        };
        Ok(Self { drawing, config, shown })
    }

    /// Simulated cores, and the time for which they draw.
    pub fn extent(&self) -> (usize, Duration) {
        (self.drawing.threads, self.drawing.warmup + self.drawing.duration)
    }

    /// Draws timestamps on simulated cores and does nothing else.
    pub fn go(&self) -> Result<RunResult, Stop> {
        let report = simulate_drawing(&self.drawing, &self.config).map_err(stop)?;
        let seconds = report.ticks as f64 / self.config.ticks_per_second() as f64;
        let timed = self.config.machine.is_some();
        let cores = self.drawing.threads;
        let (build, host_cpu) = RunResult::host();
        Ok(RunResult {
            workload: NAMES.0.into(),
            scheme: String::new(),
            machine: "simulated",
            threads: cores,
            clients: cores,
            seed: self.config.seed,
            seconds,
            interrupted: false,
            counts: Counts::new(&report.tally, &[NAMES.1], timed.then_some(seconds), None),
            verified: None,
            consistency: None,
            disk: None,
            versions: None,
            simulation: Some(simulation(cores, cores, &report)),
            options: self.shown.clone(),
            build,
            host_memory_bytes: chiliad_driver::resident_bytes(),
            host_cpu,
        })
    }
}

/// The window, and what comes before it, where none is asked for. A thousand cores take a millisecond to
/// queue up for a mutex; where nobody waits for anybody, little has to be seen.
fn simulated_times(kind: TimestampsFlag) -> (Duration, Duration) {
    let (duration, warmup) = match kind {
        TimestampsFlag::Mutex => (4_000, 2_000),
        TimestampsFlag::Atomic | TimestampsFlag::Batched => (1_000, 200),
        TimestampsFlag::Clock | TimestampsFlag::Hardware => (20, 10),
    };
    (Duration::from_micros(duration), Duration::from_micros(warmup))
}

fn options(kind: TimestampsFlag, drawn: &DrawnFlags) -> Options {
    Options {
        timestamps: kind.kind(),
        timestamp_batch: drawn.timestamp_batch as u32,
        mutex: drawn.latch.kind(),
        ..Options::default()
    }
}

fn shown(
    kind: TimestampsFlag,
    drawn: &DrawnFlags,
    (length, warmup): (Duration, Duration),
) -> Shown {
    let mut shown = Shown::new();
    shown.insert("timestamps".into(), typed(&kind).into());
    shown.insert("timestamp_batch".into(), drawn.timestamp_batch.into());
    shown.insert("latch".into(), typed(&drawn.latch).into());
    shown.insert("duration".into(), values::show_time(length).into());
    shown.insert("warmup".into(), values::show_time(warmup).into());
    shown
}
