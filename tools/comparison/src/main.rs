//! `comparison`: the same transactions on Chiliad and on other embedded stores, in turn.
//!
//! Each run opens an empty database, loads it, warms up, measures and removes it. Stores take turns
//! within a round, because a machine drifts; ratios are taken within a round. Every error is one
//! line on standard error, with exit status 2.

mod arguments;
mod directory;
mod disk;
mod driver;
mod item;
mod random;
mod report;
mod retry;
mod store;
mod stores;
mod workload;

use arguments::{Arguments, Common};
use clap::Parser;
use directory::Directory;
use driver::Plan;
use report::{Line, Run};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use store::{Candidate, Durability, Error, Result, Setup};
use workload::Workload;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => return refuse(&one_line(&error.to_string())),
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&error.to_string()),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("comparison: {why}");
    ExitCode::from(2)
}

/// The parser's message without its usage: its paragraphs up to that, on one line.
fn one_line(message: &str) -> String {
    let message = message.split("\n\nUsage").next().unwrap_or_default();
    let message = message.split("\n\nFor more").next().unwrap_or_default();
    let words = message.trim_start_matches("error:").split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// A column and a number of clients.
type Cell = (Durability, usize);

fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { workload: which, common } = arguments;
    let workload = which.workload()?;
    let parent = common.dir.clone().unwrap_or_else(std::env::temp_dir);
    let directory = Directory::new(&parent, &format!("comparison-{}", std::process::id()))?;
    let candidates = common.candidates();
    let mut lines = Vec::new();
    for &durability in &common.durability {
        for clients in common.clients() {
            let cell = (durability, clients);
            lines.extend(compare(&*workload, &candidates, common, cell, directory.path())?);
        }
    }
    let on_stdout = common.json.as_deref() == Some(Path::new("-"));
    if !on_stdout {
        print!("{}", report::table(&which.description(), &lines));
    }
    if let Some(path) = &common.json {
        let json = json!({
            "workload": which.name(),
            "description": which.description(),
            "seconds": common.seconds,
            "repeat": common.repeat,
            "seed": common.seed,
            "stores": lines,
        });
        let written = if on_stdout {
            writeln!(std::io::stdout(), "{json:#}")
        } else {
            std::fs::write(path, format!("{json:#}\n"))
        };
        written.map_err(|error| Error::Failed(format!("--json {}: {error}", path.display())))?;
    }
    Ok(())
}

/// Fills one cell for every store that can.
fn compare(
    workload: &dyn Workload,
    candidates: &[&'static Candidate],
    common: &Common,
    cell: Cell,
    directory: &Path,
) -> Result<Vec<Line>> {
    let able = |it: &&&Candidate| it.can(cell.0, workload.needs());
    let candidates = candidates.iter().filter(able).collect::<Vec<_>>();
    let mut runs = BTreeMap::<&str, Vec<Run>>::new();
    for round in 0..common.repeat {
        for candidate in &candidates {
            let name = format!("{}-{}-{}-{round}", candidate.name, cell.0.name(), cell.1);
            let directory = Directory::new(directory, &name)?;
            let plan = Plan {
                clients: cell.1,
                warmup: Duration::from_secs_f64(common.warmup),
                duration: Duration::from_secs_f64(common.seconds),
                seed: common.seed + u64::from(round),
            };
            let run = run_once(workload, candidate, plan, cell.0, directory.path())
                .map_err(|error| Error::Failed(format!("{name}: {error}")))?;
            runs.entry(candidate.name).or_default().push(run);
        }
    }
    let chiliad = runs.get("chiliad").cloned();
    let line = |candidate: &&&'static Candidate| {
        let runs = runs.remove(candidate.name).unwrap_or_default();
        Line::new(candidate, workload.needs(), cell, runs, chiliad.as_deref())
    };
    Ok(candidates.iter().map(line).collect())
}

fn run_once(
    workload: &dyn Workload,
    candidate: &Candidate,
    plan: Plan,
    durability: Durability,
    directory: &Path,
) -> Result<Run> {
    let setup =
        Setup { directory, tables: workload.tables(), items: workload.has_items(), durability };
    let store = (candidate.open)(&setup)?;
    workload::load(workload, &*store)?;
    let waits = durability != Durability::None;
    let disk_us = || waits.then(|| disk::sync_us(directory)).transpose();
    let before_us = disk_us()?;
    let measured = driver::measure(&*store, workload, plan)?;
    let after_us = disk_us()?;
    workload.verify(&*store)?;
    Ok(Run::new(&measured, before_us.zip(after_us).map(|(before, after)| before.max(after))))
}
