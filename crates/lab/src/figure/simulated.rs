//! Runs the panels of a figure that are on a simulated machine, side by side on the host's cores, all panels at
//! once so that they share databases.
//!
//! Each point is run with several seeds, of which each draws other requests and places all lines anew, and
//! with the first seed at half and at double the prices of computation: what then becomes of a curve, or of
//! which series is ahead, is owed to them.

use super::describe::{Figure, Panel};
use super::grid::Grid;
use super::measured::{Line, Lines, Point};
use super::measurement::Measurement;
use super::memory::{self, Room};
use super::runner::{Runner, asked, leave_out};
use crate::result::Reading;
use crate::run::{Answer, Job, run_points};
use crate::spec::Price;
use chiliad_host::Stop;
use chiliad_host::computer::memory_available;

/// A point of a curve, at one price, with all its seeds.
struct Place {
    panel: usize,
    series: usize,
    price: Price,
    x: f64,
    label: String,
    /// One for each seed, in their order.
    runs: Vec<Option<Reading>>,
}

/// One run of a place.
struct Run {
    place: usize,
    round: usize,
    job: Job,
}

/// Runs the simulated panels of a figure; the lines of the others have not been run.
pub fn figure(figure: &Figure, runner: Runner<'_>) -> Result<Lines, Stop> {
    let Runner { jobs, bar, listening, .. } = runner;
    let new = |panel: &Panel| panel.series.iter().map(|series| Line::new(&series.name)).collect();
    let mut lines: Lines = figure.panels.iter().map(new).collect();
    let (mut places, runs) = plan(figure, runner, &mut lines)?;
    let all: Vec<&Job> = runs.iter().map(|run| &run.job).collect();
    run_points(
        &all,
        jobs,
        || listening.check(),
        |number, answer| {
            let Run { place, round, .. } = runs[number];
            let place = &mut places[place];
            let panel = &figure.panels[place.panel];
            let line = &mut lines[place.panel][place.series];
            bar.running(&format!("{} {}: {} {}", figure.id, panel.id, line.name, place.label), 1);
            match answer {
                Ok(Answer { result, problem: None }) => {
                    place.runs[round] = Some(Reading::of(&result));
                }
                Ok(Answer { problem: Some(problem), .. }) => {
                    line.failed.push(failed(place, &problem))
                }
                Err(Stop::Failed(problem)) => line.failed.push(failed(place, &problem)),
                Err(stop) => leave_out(line, stop)?,
            }
            Ok(())
        },
    )?;
    for Place { panel, series, price, x, label, runs } in places {
        let runs: Vec<Reading> = runs.into_iter().flatten().collect();
        if runs.is_empty() {
            continue;
        }
        let line = &mut lines[panel][series];
        let point = Point { x, label, runs };
        match line.priced.iter_mut().find(|(known, _)| *known == price) {
            _ if price == Price::One => line.points.push(point),
            Some((_, points)) => points.push(point),
            None => line.priced.push((price, vec![point])),
        }
    }
    Ok(lines)
}

fn failed(place: &Place, problem: &str) -> String {
    format!("at {}, {}: {problem}", place.label, place.price.words())
}

/// The places and runs of a figure. A series that is refused is left out, with the reason.
fn plan(
    figure: &Figure,
    runner: Runner<'_>,
    lines: &mut Lines,
) -> Result<(Vec<Place>, Vec<Run>), Stop> {
    let Runner { grid, jobs, parse, bar, .. } = runner;
    let available = memory_available();
    let (mut places, mut runs) = (Vec::new(), Vec::new());
    for (panel_at, panel) in figure.panels.iter().enumerate() {
        if panel.machine.is_none() {
            continue;
        }
        for column in grid.columns(panel) {
            for (series_at, words) in column.lines.iter().enumerate() {
                let series = &panel.series[series_at];
                let line = &mut lines[panel_at][series_at];
                let job = match asked(words, series, grid, parse) {
                    Ok(Measurement::Run(job)) if job.is_simulated() => job,
                    Ok(_) => {
                        return Err(Stop::Failed(format!("{}: no simulated run", figure.id)));
                    }
                    Err(stop) => {
                        leave_out(line, stop)?;
                        bar.running(&format!("{}: {}", figure.id, line.name), grid.runs(panel));
                        continue;
                    }
                };
                if let Some(why) = no_room(panel, grid, jobs, available)? {
                    line.left_out.push(format!("at {}: {why}", column.label));
                    bar.running(&format!("{}: {}", figure.id, line.name), grid.runs(panel));
                    continue;
                }
                let rounds = grid.rounds(panel);
                let prices = Price::OTHERS.map(|price| (price, 1));
                for (price, rounds) in [(Price::One, rounds)].into_iter().chain(prices) {
                    for round in 0..rounds {
                        let (place, job) = (places.len(), job.again(round + 1, price));
                        runs.push(Run { place, round: round as usize, job });
                    }
                    places.push(Place {
                        panel: panel_at,
                        series: series_at,
                        price,
                        x: column.x,
                        label: column.label.clone(),
                        runs: vec![None; rounds as usize],
                    });
                }
            }
        }
    }
    Ok((places, runs))
}

/// Why there is too little memory for a panel's databases, of which `jobs` are loaded at once.
fn no_room(
    panel: &Panel,
    grid: Grid,
    jobs: usize,
    available: Option<u64>,
) -> Result<Option<String>, Stop> {
    let memory = panel.simulated_memory.as_deref().filter(|_| !grid.quick);
    let Some(memory) = memory else { return Ok(None) };
    Ok(match memory::room(memory, jobs, available)? {
        Room::Short { needed, available } => Some(format!(
            "{jobs} at once need {needed:.1}GiB of memory, {available:.1}GiB are available"
        )),
        // Where the system does not say what there is, the panel runs.
        Room::Enough | Room::Unknown => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::describe::all;
    use super::*;

    #[test]
    fn databases_without_room_are_left_out_and_why_is_said() {
        let figures = all(false).expect("every description parses");
        let panel = |id: &str| &figures.iter().find(|it| it.id == id).expect(id).panels[0];
        let why = |id: &str, quick: bool, gibibytes: u64| {
            let grid = Grid { quick, cores: 2 };
            no_room(panel(id), grid, 2, Some(gibibytes << 30)).expect("sizes")
        };
        assert_eq!(why("cores-5-2", true, 1), None);
        assert_eq!(why("cores-5-2", false, 12), None);
        let said = "2 at once need 12.0GiB of memory, 11.0GiB are available";
        assert_eq!(why("cores-5-2", false, 11).as_deref(), Some(said));
    }
}
