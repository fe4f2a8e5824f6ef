//! The progress bar of a run of figures: on a terminal, on standard error.

use super::run::{Job, database, prepare};
use crate::points::Point;
use chiliad_lab::figure::describe::{Figure, Panel};
use chiliad_lab::figure::grid::Grid;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::time::Duration;

/// What a run costs besides its warm-up and its window: threads that start and end, a share of loading
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
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(runs) };
        let template = "{msg:<36} [{bar:24}] {pos} of {len} runs, about {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
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
fn records(job: &Job) -> Option<(String, u64)> {
    let settings = match job {
        Job::Workload(settings) => settings,
        Job::Simulated(point) => match &**point {
            Point::Workload(settings, _) => settings,
            Point::Timestamps(_) => return None,
        },
        Job::Timestamps(_) => return None,
    };
    Some((database(job)?, settings.shown.get("records")?.as_u64()?))
}

/// Seconds that a job's simulation takes, if it is one.
fn simulated_seconds(job: &Job) -> Option<f64> {
    let Job::Simulated(point) = job else { return None };
    let per_second = match **point {
        Point::Timestamps(_) => TIMESTAMPS_PER_SECOND,
        Point::Workload(..) => SIMULATED_PER_SECOND,
    };
    Some(point.work() / per_second)
}

/// About how long a figure takes.
pub fn estimate(figure: &Figure, grid: Grid) -> Duration {
    let mut total = Duration::ZERO;
    for panel in &figure.panels {
        let columns = grid.columns(panel);
        let lines = columns.iter().flat_map(|column| column.lines.iter().zip(&panel.series));
        let lines = lines.filter(|(_, series)| !(series.full_only && grid.quick));
        let mut loaded = HashMap::new();
        for (line, _) in lines {
            let job = crate::args::parse(line).and_then(prepare).ok();
            loaded.extend(job.as_ref().and_then(records));
            let time = |flag: &str| {
                let at = line.iter().position(|word| word == flag)?;
                chiliad_host::values::time(line.get(at + 1)?).ok()
            };
            let run = ["--warmup", "--duration"].into_iter().filter_map(time).sum::<Duration>();
            let simulated =
                job.as_ref().and_then(simulated_seconds).unwrap_or(0.0) * grid.runs(panel) as f64;
            total += Duration::from_secs_f64(simulated / grid.cores.max(1) as f64);
            if panel.machine.is_none() {
                total += (run + BESIDES) * grid.rounds(panel) as u32;
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

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_lab::figure::describe::all;

    #[test]
    fn all_quick_figures_together_are_quick() {
        let grid = Grid { quick: true, cores: 2 };
        let full = Grid { quick: false, ..grid };
        for (native, minutes) in [(true, 20), (false, 60)] {
            let figures = all(native).expect("every description parses");
            let total: Duration = figures.iter().map(|figure| estimate(figure, grid)).sum();
            assert!(total < Duration::from_secs(minutes * 60), "{total:?}");
            let more = |it: &Figure| {
                let [quick, full] = [grid, full].map(|grid| estimate(it, grid));
                // Where nothing can be run yet there is nothing to estimate.
                full > quick || full.is_zero()
            };
            assert!(figures.iter().all(more));
        }
    }
}
