//! How far a run of figures is, and how long it takes.

use super::describe::{Figure, Panel};
use super::grid::{Grid, Parse};
use super::measurement::Measurement;
use crate::run::Job;
use crate::spec::Database;
use chiliad_host::bar::bar;
use chiliad_workload::WorkloadOptions;
use indicatif::ProgressBar;
use std::collections::HashMap;
use std::time::Duration;

/// The cost of a run besides its warm-up and its window: threads that start and end, a share of loading
/// what is small.
const BESIDES: Duration = Duration::from_millis(250);

/// Records of YCSB that a core loads in a second, of the usual 100 bytes.
const LOADED_PER_SECOND: f64 = 7e5;

/// Records that a simulated core's loading takes in a second.
const LOADED_SIMULATED_PER_SECOND: f64 = 3e5;

/// Simulated seconds times cores that one core of the host simulates in a second, of transactions and of
/// timestamps alone.
const SIMULATED_PER_SECOND: f64 = 0.15;
const TIMESTAMPS_PER_SECOND: f64 = 2.0;

/// A bar over all runs.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar for these figures; hidden if `quiet` or where there is no terminal.
    pub fn new(figures: &[&Figure], grid: Grid, quiet: bool) -> Self {
        let runs: u64 = figures.iter().flat_map(|it| &it.panels).map(|it| runs(it, grid)).sum();
        let template = "{msg:<36} [{bar:24}] {pos} of {len} runs, about {eta} left";
        Self(bar(runs, template, quiet))
    }

    /// `rounds` more runs, of what.
    pub fn running(&self, what: &str, rounds: u64) {
        self.0.set_message(what.to_owned());
        self.0.inc(rounds);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn runs(panel: &Panel, grid: Grid) -> u64 {
    let columns = grid.columns(panel);
    columns.iter().map(|column| column.lines.len() as u64).sum::<u64>() * grid.runs(panel)
}

/// The database of a job, and the records of YCSB that are loaded into it.
fn records(measurement: &Measurement) -> Option<(Database, u64)> {
    let Measurement::Run(job @ Job::Workload(spec)) = measurement else { return None };
    let WorkloadOptions::Ycsb(options) = &spec.workload else { return None };
    Some((job.database()?, options.records))
}

/// Seconds that a job's simulation takes, if it is one.
fn simulated_seconds(measurement: &Measurement) -> f64 {
    let Measurement::Run(job) = measurement else { return 0.0 };
    let per_second = match job {
        Job::Timestamps(_) => TIMESTAMPS_PER_SECOND,
        _ => SIMULATED_PER_SECOND,
    };
    if job.is_simulated() { job.work() / per_second } else { 0.0 }
}

/// About how long a figure takes.
pub fn estimate(figure: &Figure, grid: Grid, parse: Parse<'_>) -> Duration {
    let mut total = Duration::ZERO;
    for panel in &figure.panels {
        let columns = grid.columns(panel);
        let lines = columns.iter().flat_map(|column| column.lines.iter().zip(&panel.series));
        let lines = lines.filter(|(_, series)| !(series.full_only && grid.quick));
        let mut loaded = HashMap::new();
        for (line, _) in lines {
            let Ok(job) = parse(line) else { continue };
            loaded.extend(records(&job));
            let simulated = simulated_seconds(&job) * grid.runs(panel) as f64;
            total += Duration::from_secs_f64(simulated / grid.cores.max(1) as f64);
            if panel.machine.is_none() {
                total += (job.time() + BESIDES) * grid.rounds(panel) as u32;
            }
        }
        let loaded = loaded.values().sum::<u64>() as f64 / grid.cores.max(1) as f64;
        let rate = match panel.machine {
            Some(_) => LOADED_SIMULATED_PER_SECOND,
            None => LOADED_PER_SECOND,
        };
        total += Duration::from_secs_f64(loaded / rate);
    }
    total
}
