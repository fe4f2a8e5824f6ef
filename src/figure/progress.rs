//! The progress bar of a run of figures: on a terminal, on standard error.

use super::describe::{Figure, Panel};
use super::grid::Grid;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// What a run costs besides its warm-up and its window: a share of loading, threads that start and end.
const BESIDES: Duration = Duration::from_millis(250);

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
    columns.iter().map(|column| column.lines.len() as u64).sum::<u64>() * grid.rounds()
}

/// About how long a figure takes.
pub fn estimate(figure: &Figure, grid: Grid) -> Duration {
    let mut total = Duration::ZERO;
    for panel in &figure.panels {
        for line in grid.columns(panel).iter().flat_map(|column| &column.lines) {
            let time = |flag: &str| {
                let at = line.iter().position(|word| word == flag)?;
                crate::args::values::time(line.get(at + 1)?).ok()
            };
            let run = ["--warmup", "--duration"].into_iter().filter_map(time).sum::<Duration>();
            total += (run + BESIDES) * grid.rounds() as u32;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::super::describe::all;
    use super::*;

    #[test]
    fn all_quick_figures_together_are_quick() {
        let grid = Grid { quick: true, cores: 2 };
        let figures = all().expect("every description parses");
        let total: Duration = figures.iter().map(|figure| estimate(figure, grid)).sum();
        assert!(total < Duration::from_secs(15 * 60), "{total:?}");
        let full = Grid { quick: false, ..grid };
        assert!(figures.iter().all(|it| estimate(it, full) > estimate(it, grid)));
    }
}
