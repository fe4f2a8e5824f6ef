//! Runs the grid of a figure: runs on this computer, in this process, and simulated ones in others (`simulated`).
//!
//! At each place of the axis the series take turns, forwards and backwards, so that a drift of the
//! computer meets all of them alike; and so do the places, where the axis says so. A database is loaded once and
//! used again by all runs that differ in nothing that it has been opened with.

use super::describe::{Figure, Metric, Panel, Series};
use super::grid::Column;
use super::measured::{Line, Lines, Point};
use super::measurement::{Measurement, count, meld};
use super::memory::{self, Room};
use super::runner::{Runner, asked, leave_out};
use super::simulated;
use crate::result::{Reading, RunResult};
use crate::run::{Job, draw, measure_again, open};
use crate::spec::Database;
use chiliad_driver::NativeTarget;
use chiliad_host::Stop;
use chiliad_host::computer::memory_available;
use std::collections::HashMap;

/// Runs all of a figure. Asked to end, it has nothing to show.
pub fn figure(figure: &Figure, runner: Runner<'_>) -> Result<Lines, Stop> {
    let mut all = simulated::figure(figure, runner)?;
    let grid = runner.grid;
    for (panel, lines) in figure.panels.iter().zip(&mut all) {
        if panel.machine.is_some() {
            continue;
        }
        let mut databases = HashMap::new();
        let columns = grid.columns(panel);
        let together = panel.x.as_ref().is_some_and(|axis| axis.turns);
        let columns = columns.chunks(if together { columns.len().max(1) } else { 1 });
        for columns in columns {
            let place = format!("{} {}", figure.id, panel.id);
            let tell = |name: &str, label: &str, rounds| {
                runner.bar.running(&format!("{place}: {name} {label}"), rounds);
            };
            run_columns((columns, panel), lines, &mut databases, runner, &tell)?;
        }
    }
    Ok(all)
}

/// Databases by what they were opened with.
type Databases = HashMap<Database, NativeTarget>;

/// Runs columns in turn; see [`turns`].
fn run_columns(
    (columns, panel): (&[Column], &Panel),
    lines: &mut [Line],
    databases: &mut Databases,
    runner: Runner<'_>,
    tell: &dyn Fn(&str, &str, u64),
) -> Result<(), Stop> {
    let (series, rounds) = (&panel.series, runner.grid.rounds(panel));
    let places = || columns.iter().flat_map(|column| (0..series.len()).map(move |at| (column, at)));
    let asked = |(column, at): (&Column, usize)| {
        let words = &column.lines[at];
        let asked = asked(words, &series[at], runner.grid, runner.parse)?;
        match panel.metric {
            Metric::Instructions => Ok(Measurement::Counted(words.clone())),
            _ => Ok(asked),
        }
    };
    let asked: Vec<Result<Measurement, Stop>> = places().map(asked).collect();
    let wanted: Vec<Database> = asked.iter().flatten().filter_map(Measurement::database).collect();
    databases.retain(|key, _| wanted.contains(key));
    let mut jobs = Vec::new();
    for ((column, at), job) in places().zip(asked) {
        // What is left open is in memory already.
        match job.and_then(|job| room(&job, &series[at], databases).map(|()| job)) {
            Ok(job) => jobs.push(Some(job)),
            Err(stop) => {
                leave_out(&mut lines[at], stop)?;
                tell(&lines[at].name, &column.label, rounds);
                jobs.push(None);
            }
        }
    }
    let places: Vec<(&Column, usize)> = places().collect();
    let mut results: Vec<Vec<Reading>> = jobs.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in turns(jobs.len(), round) {
            let (column, at) = places[turn];
            let Some(job) = &mut jobs[turn] else { continue };
            tell(&lines[at].name, &column.label, 1);
            match run(job, databases, round + 1) {
                Ok(result) => results[turn].push(result),
                Err(stop) => {
                    leave_out(&mut lines[at], stop)?;
                    jobs[turn] = None;
                }
            }
        }
    }
    for ((column, at), runs) in places.into_iter().zip(results).filter(|(_, it)| !it.is_empty()) {
        lines[at].points.push(Point { x: column.x, label: column.label.clone(), runs });
    }
    Ok(())
}

/// The order of a round: forwards in one, backwards in the next.
fn turns(jobs: usize, round: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..jobs).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// Refuses a series whose database is not open yet and needs more memory than there is.
fn room(job: &Measurement, series: &Series, open: &Databases) -> Result<(), Stop> {
    let Some(memory) = &series.memory else { return Ok(()) };
    let open = job.database().is_some_and(|key| open.contains_key(&key));
    if open { Ok(()) } else { require(memory, memory_available()) }
}

/// Refuses a database that needs more memory than there is, or may need more.
fn require(memory: &str, available: Option<u64>) -> Result<(), Stop> {
    let rest = match memory::room(memory, 1, available)? {
        Room::Enough => return Ok(()),
        Room::Short { available, .. } => format!("{available:.1}GiB are available"),
        Room::Unknown => "and the system does not say what there is".into(),
    };
    Err(Stop::BadInput(format!("needs {memory} of memory, {rest}")))
}

fn run(
    measurement: &mut Measurement,
    databases: &mut Databases,
    seed: u64,
) -> Result<Reading, Stop> {
    let job = match measurement {
        Measurement::Run(job) => job,
        Measurement::Meld(spec) => return meld(spec, seed),
        Measurement::Appends(spec) => return spec.run().map(|result| result.reading()),
        Measurement::Counted(words) => return count(words),
    };
    let key = job.database();
    let whole = |result: RunResult| match result.interrupted {
        false => Ok(Reading::of(&result.to_value())),
        true => Err(Stop::Interrupted),
    };
    match (job, key) {
        (Job::Timestamps(spec), _) if spec.machine.is_none() => draw(spec, true).and_then(whole),
        (Job::Workload(spec), Some(key)) if spec.machine().is_none() => {
            spec.plan.seed = seed;
            spec.plan.load = !databases.contains_key(&key);
            if spec.plan.load {
                databases.insert(key.clone(), open(spec)?);
            }
            let result = measure_again(spec, &databases[&key]);
            if result.is_err() {
                databases.remove(&key);
            }
            result.and_then(whole)
        }
        _ => Err(Stop::Failed("no run of a workload or of timestamps on this computer".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_forwards_and_backwards() {
        assert_eq!(turns(3, 0), [0, 1, 2]);
        assert_eq!(turns(3, 1), [2, 1, 0]);
    }

    #[test]
    fn a_database_without_room_is_left_out_and_why_is_said() {
        let refused = |available| match require("4GiB", available) {
            Err(Stop::BadInput(reason)) => reason,
            other => panic!("{other:?}"),
        };
        assert!(require("4GiB", Some(4 << 30)).is_ok());
        assert_eq!(refused(Some(3 << 30)), "needs 4GiB of memory, 3.0GiB are available");
        assert!(refused(None).contains("does not say"));
    }
}
