//! Runs the grid of a figure: the same runs as `chiliad bench`, in this process.
//!
//! At each place of the axis the series take turns, forwards and backwards, so that a drift of the
//! computer meets all of them alike. A database is loaded once and used again by all runs that differ in
//! nothing that it has been opened with.

use super::describe::Figure;
use super::grid::{Column, Grid};
use super::measured::{Line, Lines, Point};
use super::progress::Bar;
use crate::args::{
    Arguments, BenchCommand, BenchWorkload, Command, TimestampsFlags, each_workload,
};
use crate::bench;
use crate::failure::Stop;
use crate::settings::{self, Settings, Shown};
use crate::timestamps;
use chiliad_workload::driver::NativeTarget;
use serde_json::Value;
use std::collections::HashMap;

/// Options that a database does not depend on.
const OF_THE_RUN: [&str; 15] = [
    "threads",
    "clients",
    "interleave",
    "interleave_auto",
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
];

/// Runs of one command line.
pub enum Job {
    /// Of a workload.
    Workload(Box<Settings>),
    /// Of timestamps alone.
    Timestamps(TimestampsFlags),
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
        _ => Err(Stop::Failed("a figure: no run of a workload or of timestamps".into())),
    }
}

/// Runs all of a figure.
pub fn figure(figure: &Figure, grid: Grid, bar: &Bar) -> Result<Lines, Stop> {
    let mut all = Vec::new();
    for panel in &figure.panels {
        let line = |name: &String| Line { name: name.clone(), points: Vec::new(), refused: None };
        let mut lines: Vec<Line> = panel.series.iter().map(|series| line(&series.name)).collect();
        let mut databases = HashMap::new();
        for column in &grid.columns(panel) {
            let place = format!("{} {}", figure.id, panel.id);
            run_column(column, &mut lines, &mut databases, grid, &|name, rounds| {
                bar.running(&format!("{place}: {name} {}", column.label), rounds);
            })?;
        }
        all.push(lines);
    }
    Ok(all)
}

/// Databases by what they were opened with.
type Databases = HashMap<String, NativeTarget>;

fn run_column(
    column: &Column,
    lines: &mut [Line],
    databases: &mut Databases,
    grid: Grid,
    tell: &dyn Fn(&str, u64),
) -> Result<(), Stop> {
    let mut jobs = Vec::new();
    for (line, words) in lines.iter_mut().zip(&column.lines) {
        match crate::args::parse(words).and_then(prepare) {
            Ok(job) => jobs.push(Some(job)),
            Err(stop) => {
                leave_out(line, stop)?;
                tell(&line.name, grid.rounds());
                jobs.push(None);
            }
        }
    }
    let wanted: Vec<String> = jobs.iter().flatten().filter_map(database).collect();
    databases.retain(|key, _| wanted.contains(key));
    let mut results: Vec<Vec<Value>> = jobs.iter().map(|_| Vec::new()).collect();
    for round in 0..grid.rounds() {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let Some(job) = &mut jobs[at] else { continue };
            tell(&lines[at].name, 1);
            match run(job, databases, round + 1) {
                Ok(result) => results[at].push(result),
                Err(stop) => {
                    leave_out(&mut lines[at], stop)?;
                    jobs[at] = None;
                }
            }
        }
    }
    for (line, runs) in lines.iter_mut().zip(results).filter(|(_, runs)| !runs.is_empty()) {
        line.points.push(Point { x: column.x, label: column.label.clone(), runs });
    }
    Ok(())
}

/// A series that this build or machine refuses is left out, and why is said; a run that fails is not.
fn leave_out(line: &mut Line, stop: Stop) -> Result<(), Stop> {
    match stop {
        Stop::BadInput(reason) => {
            line.refused = Some(reason);
            Ok(())
        }
        other => Err(other),
    }
}

/// What a job's database is opened with.
fn database(job: &Job) -> Option<String> {
    let Job::Workload(settings) = job else { return None };
    let mut key: Shown = settings.shown.clone();
    key.retain(|name, _| !OF_THE_RUN.contains(&name.as_str()));
    Some(Value::Object(key).to_string())
}

fn run(job: &mut Job, databases: &mut Databases, seed: u64) -> Result<Value, Stop> {
    let key = database(job).unwrap_or_default();
    match job {
        Job::Timestamps(flags) => timestamps::run(flags, true).map(|result| result.to_value()),
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
            result.map(|result| result.to_value())
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
    fn a_database_is_used_again_where_only_the_run_differs() {
        let one = key("bench ycsb --records 1000 --threads 1 --duration 1s");
        assert_eq!(one, key("bench ycsb --records 1000 --threads 2 --duration 2s --backoff none"));
        assert_ne!(one, key("bench ycsb --records 1000 --threads 1 --scheme occ"));
        assert_ne!(one, key("bench ycsb --records 1000 --threads 1 --theta 0.5"));
        assert_ne!(one, key("bench ycsb --records 2000 --threads 1"));
        assert_eq!(key("bench timestamps --threads 1"), None);
    }
}
