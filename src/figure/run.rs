//! Runs the grid of a figure: the same runs as `chiliad bench`, in this process, and those of `chiliad
//! simulate` in others (`simulated`).
//!
//! At each place of the axis the series take turns, forwards and backwards, so that a drift of the
//! computer meets all of them alike; and so do the places, where the axis says so. A database is loaded once and used again by all runs that differ in
//! nothing that it has been opened with.

use super::progress::Bar;
use super::simulated;
use crate::args::{
    Arguments, BenchCommand, BenchWorkload, Command, SimulateCommand, SimulateWorkload,
    TimestampsFlags, each_workload,
};
use crate::points;
use crate::result::RunResult;
use crate::settings::{self, Settings, Shown};
use crate::{bench, host, timestamps};
use chiliad_driver::NativeTarget;
use chiliad_host::Listening;
use chiliad_host::Stop;
use chiliad_host::values;
use chiliad_lab::figure::describe::{Figure, Panel, Series};
use chiliad_lab::figure::grid::{Column, Grid};
use chiliad_lab::figure::measured::{Line, Lines, Point};
use serde_json::Value;
use std::collections::HashMap;

/// Options that a database does not depend on.
const OF_THE_RUN: [&str; 17] = [
    "threads",
    "clients",
    "interleave",
    "interleave_auto",
    "interleave_adaptive",
    "rate",
    "duration",
    "transactions",
    "warmup",
    "seed",
    "repeat",
    "versions",
    "verify",
    "verify_memory",
    "backoff",
    "retry",
    "stalled_at",
];

/// Runs of one command line.
pub enum Job {
    /// Of a workload.
    Workload(Box<Settings>),
    /// Of timestamps alone.
    Timestamps(TimestampsFlags),
    /// Of a workload on a simulated machine.
    Simulated(Box<points::Point>),
}

/// What a line is to run.
pub fn prepare(arguments: Arguments) -> Result<Job, Stop> {
    match arguments.command {
        Command::Bench(BenchCommand::Workload(bench)) => each_workload!(
            bench,
            BenchWorkload,
            flags => settings::native(&flags).map(|settings| Job::Workload(Box::new(settings)))
        ),
        Command::Bench(BenchCommand::Timestamps(flags)) => Ok(Job::Timestamps(flags.timestamps)),
        Command::Simulate(SimulateCommand::Timestamps(flags)) => {
            let run = timestamps::Simulated::new(&flags.timestamps, &flags.machine)?;
            Ok(Job::Simulated(Box::new(points::Point::Timestamps(Box::new(run)))))
        }
        Command::Simulate(SimulateCommand::Workload(simulate)) => each_workload!(
            simulate,
            SimulateWorkload,
            flags => settings::simulated(&flags).map(|(settings, plan)| {
                Job::Simulated(Box::new(points::Point::Workload(Box::new(settings), Box::new(plan))))
            })
        ),
        _ => Err(Stop::Failed("a figure: no run of a workload or of timestamps".into())),
    }
}

/// Runs all of a figure, `jobs` simulated runs at a time. Asked to end, it has nothing to show.
pub fn figure(
    figure: &Figure,
    grid: Grid,
    jobs: usize,
    bar: &Bar,
    listening: &Listening,
) -> Result<Lines, Stop> {
    let mut all = simulated::figure(figure, grid, jobs, bar, listening)?;
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
                bar.running(&format!("{place}: {name} {label}"), rounds);
            };
            run_columns((columns, panel), lines, &mut databases, grid, &tell)?;
        }
    }
    Ok(all)
}

/// Databases by what they were opened with.
type Databases = HashMap<String, NativeTarget>;

/// Runs columns in turn; see [`turns`].
fn run_columns(
    (columns, panel): (&[Column], &Panel),
    lines: &mut [Line],
    databases: &mut Databases,
    grid: Grid,
    tell: &dyn Fn(&str, &str, u64),
) -> Result<(), Stop> {
    let (series, rounds) = (&panel.series, grid.rounds(panel));
    let places = || columns.iter().flat_map(|column| (0..series.len()).map(move |at| (column, at)));
    let asked = |(column, at): (&Column, usize)| asked(&column.lines[at], &series[at], grid);
    let asked: Vec<Result<Job, Stop>> = places().map(asked).collect();
    let wanted: Vec<String> = asked.iter().flatten().filter_map(database).collect();
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
    let mut results: Vec<Vec<Value>> = jobs.iter().map(|_| Vec::new()).collect();
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

/// Who comes after whom in a round: forwards in one, backwards in the next.
fn turns(jobs: usize, round: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..jobs).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// A series that this build or machine refuses is left out, and why is said; a run that fails is not.
pub fn leave_out(line: &mut Line, stop: Stop) -> Result<(), Stop> {
    match stop {
        Stop::BadInput(reason) => {
            line.refused = Some(reason);
            Ok(())
        }
        other => Err(other),
    }
}

/// What a series' line is to run, if this grid has it.
pub fn asked(words: &[String], series: &Series, grid: Grid) -> Result<Job, Stop> {
    if series.full_only && grid.quick {
        return Err(Stop::BadInput("only in a full run".into()));
    }
    crate::args::parse(words).and_then(prepare)
}

/// Refuses a series whose database is not open yet and needs more memory than there is.
fn room(job: &Job, series: &Series, open: &Databases) -> Result<(), Stop> {
    let Some(memory) = &series.memory else { return Ok(()) };
    let open = database(job).is_some_and(|key| open.contains_key(&key));
    if open { Ok(()) } else { enough(memory, host::memory_available()) }
}

/// Whether so much memory is available.
fn enough(memory: &str, available: Option<u64>) -> Result<(), Stop> {
    let needed =
        values::size(memory).map_err(|problem| Stop::Failed(format!("memory: {problem}")))?;
    match available {
        Some(bytes) if bytes >= needed => Ok(()),
        Some(bytes) => {
            let available = bytes as f64 / (1_u64 << 30) as f64;
            let reason = format!("needs {memory} of memory, {available:.1}GiB are available");
            Err(Stop::BadInput(reason))
        }
        None => {
            let reason =
                format!("needs {memory} of memory, and the system does not say what there is");
            Err(Stop::BadInput(reason))
        }
    }
}

/// What a job's database is opened with.
pub fn database(job: &Job) -> Option<String> {
    let settings = match job {
        Job::Workload(settings) => settings,
        Job::Simulated(point) => return point.database(),
        Job::Timestamps(_) => return None,
    };
    let mut key: Shown = settings.shown.clone();
    key.retain(|name, _| !OF_THE_RUN.contains(&name.as_str()));
    Some(Value::Object(key).to_string())
}

fn run(job: &mut Job, databases: &mut Databases, seed: u64) -> Result<Value, Stop> {
    let key = database(job).unwrap_or_default();
    let whole = |result: RunResult| match result.interrupted {
        false => Ok(result.to_value()),
        true => Err(Stop::Interrupted),
    };
    match job {
        Job::Simulated(_) => Err(Stop::Failed("a simulated run among native ones".into())),
        Job::Timestamps(flags) => timestamps::run(flags, true).and_then(whole),
        Job::Workload(settings) => {
            settings.plan.seed = seed;
            settings.plan.load = !databases.contains_key(&key);
            if settings.plan.load {
                databases.insert(key.clone(), bench::open(settings)?);
            }
            let result = bench::again(settings, &databases[&key]);
            if result.is_err() {
                databases.remove(&key);
            }
            result.and_then(whole)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    fn key(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        database(&args::parse(&words).and_then(prepare).expect(line))
    }

    #[test]
    fn turns_go_forwards_and_backwards() {
        assert_eq!(turns(3, 0), [0, 1, 2]);
        assert_eq!(turns(3, 1), [2, 1, 0]);
    }

    #[test]
    fn a_database_is_used_again_where_only_the_run_differs() {
        let one = key("bench ycsb --records 1000 --threads 1 --duration 1s");
        assert_eq!(one, key("bench ycsb --records 1000 --threads 2 --duration 2s --backoff none"));
        assert_eq!(one, key("bench ycsb --records 1000 --threads 1 --interleave 4"));
        assert_eq!(one, key("bench ycsb --records 1000 --threads 1 --interleave auto"));
        assert_ne!(one, key("bench ycsb --records 1000 --threads 1 --scheme occ"));
        assert_ne!(one, key("bench ycsb --records 1000 --threads 1 --theta 0.5"));
        assert_ne!(one, key("bench ycsb --records 2000 --threads 1"));
        assert_eq!(key("bench timestamps --threads 1"), None);
    }

    #[test]
    fn a_database_without_room_is_left_out_and_why_is_said() {
        let refused = |available| match enough("4GiB", available) {
            Err(Stop::BadInput(reason)) => reason,
            other => panic!("{other:?}"),
        };
        assert!(enough("4GiB", Some(4 << 30)).is_ok());
        assert_eq!(refused(Some(3 << 30)), "needs 4GiB of memory, 3.0GiB are available");
        assert!(refused(None).contains("does not say"));
        assert!(matches!(enough("much", Some(1)), Err(Stop::Failed(_))));
    }

    #[test]
    fn a_quick_run_leaves_out_what_is_for_full_ones() {
        let words: Vec<String> = ["bench", "ycsb"].map(str::to_owned).into();
        let full_only = |full_only| Series {
            name: String::new(),
            flags: String::new(),
            run: None,
            full_only,
            simulated_only: false,
            native_only: false,
            on: None,
            simulated: String::new(),
            simulated_quick: String::new(),
            memory: None,
        };
        let taken = |series, quick| asked(&words, &series, Grid { quick, cores: 2 }).is_ok();
        assert!(taken(full_only(true), false) && taken(full_only(false), true));
        assert!(!taken(full_only(true), true));
    }
}
