//! Counting one case: the instructions of a transaction natively, and what it does in simulation.

use super::cases::TRANSACTIONS;
use super::fit::Row;
use super::rooms::Spent;
use crate::args::{self, Command as Asked, SimulateCommand, SimulateWorkload, each_workload};
use crate::settings::{self, Settings};
use chiliad_driver::{SimulatedPlan, open_simulated, run_simulated};
use chiliad_host::Stop;
use chiliad_host::leftovers::{self, Leftover};
use chiliad_machine::Cost;
use chiliad_simulator::Outcome;
use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::PoisonError;

/// The tool that counts instructions where the processor's own counters are out of reach, as they are in
/// most virtual machines.
const TOOL: &str = "valgrind";
/// Who stops, in messages.
const WHO: &str = "machines calibrate";
/// No epoch ends within a run, so that nothing depends on how fast it is.
const EPOCH: &str = "--epoch 1h --warmup 0s";

/// Refuses what cannot be counted with.
pub fn check_tool() -> Result<(), Stop> {
    if cfg!(debug_assertions) {
        let problem = "this build is not optimised; accepted: a build with `--release`";
        return Err(Stop::bad(WHO, problem));
    }
    let there = Command::new(TOOL).arg("--version").output().is_ok_and(|out| out.status.success());
    if there {
        return Ok(());
    }
    let problem = "`valgrind` counts the instructions and is not installed; accepted: a computer \
                   where `valgrind --version` runs";
    Err(Stop::bad(WHO, problem))
}

/// Counts `case`, a workload and its flags.
pub fn count(case: &str) -> Result<Row, Stop> {
    let (long, short) = (TRANSACTIONS, TRANSACTIONS / 2);
    let each = (long - short) as f64;
    let spent = native(case, long)?.more_than(&native(case, short)?, each);
    let (more, less) = (simulated(case, long)?, simulated(case, short)?);
    let mut units = [0.0; Cost::COUNT];
    for (at, unit) in units.iter_mut().enumerate() {
        *unit = (more.counters.work[at] as f64 - less.counters.work[at] as f64) / each;
    }
    let accesses = (more.events as f64 - less.events as f64) / each;
    Ok(Row { case: case.into(), spent, accesses, units })
}

/// The instructions of a native run.
fn native(case: &str, transactions: u64) -> Result<Spent, Stop> {
    let folder = std::env::temp_dir().join(format!("chiliad-calibrate-{}", std::process::id()));
    // Goes whatever comes of it; what runs ends before, since it was begun after.
    let _goes = Leftover::tree(&folder).map_err(|error| failed(&error))?;
    let file = folder.join("counted");
    let mut command = Command::new(TOOL);
    command.args(["--tool=cachegrind", "--cache-sim=no"]);
    command.arg(format!("--cachegrind-out-file={}", file.display())).arg(own()?);
    run(bench(&mut command, case, transactions).arg("--quiet"))?;
    Spent::read(&std::fs::read_to_string(&file).map_err(|error| failed(&error))?)
}

fn failed(what: &dyn std::fmt::Display) -> Stop {
    Stop::Failed(format!("{WHO}: {what}"))
}

/// Transactions per second of a native run.
pub fn throughput(case: &str, transactions: u64) -> Result<f64, Stop> {
    let out = run(bench(&mut Command::new(own()?), case, transactions))?;
    let result: Option<serde_json::Value> = serde_json::from_str(&out).ok();
    let rate = result.and_then(|result| result["throughput_tps"].as_f64());
    rate.filter(|rate| *rate > 0.0)
        .ok_or_else(|| failed(&format!("a run of {case} says nothing of its speed")))
}

fn own() -> Result<std::path::PathBuf, Stop> {
    std::env::current_exe().map_err(|error| failed(&error))
}

fn bench<'a>(command: &'a mut Command, case: &str, transactions: u64) -> &'a mut Command {
    command.arg("bench").args(case.split_whitespace()).args(EPOCH.split_whitespace());
    command.args(["--threads", "1", "--interleave", "1", "--memory-ready", "0"]);
    command.args(["--backoff", "none", "--json", "-"]);
    command.args(["--transactions", &transactions.to_string()])
}

/// Runs it to its end, and returns what it has printed.
fn run(command: &mut Command) -> Result<String, Stop> {
    let out = output(command).map_err(|error| failed(&error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match out.status.success() {
        true => Ok(text(&out.stdout)),
        false => Err(failed(&format!("{command:?}: {}", text(&out.stderr)))),
    }
}

/// As [`Command::output`], of a process that ends with this one.
fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (child, leftover) = leftovers::process(command)?;
    let pipes = {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        (child.stdout.take(), child.stderr.take())
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    // One after the other: what a run says besides its result is little.
    pipes.0.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stdout))?;
    pipes.1.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stderr))?;
    let status = child.lock().unwrap_or_else(PoisonError::into_inner).wait()?;
    leftover.keep();
    Ok(Output { status, stdout, stderr })
}

/// The same run on one simulated core, of which only the steps count: when they happen does not matter.
fn simulated(case: &str, transactions: u64) -> Result<Outcome, Stop> {
    let flags = format!(
        "simulate {case} {EPOCH} --cores 1 --schedule random --transactions {transactions}"
    );
    let words: Vec<String> = flags.split_whitespace().map(String::from).collect();
    let Asked::Simulate(SimulateCommand::Workload(simulate)) = args::parse(&words)?.command else {
        return Err(failed(&format!("`{flags}` is no simulation")));
    };
    let (settings, plan): (Settings, SimulatedPlan) =
        each_workload!(simulate, SimulateWorkload, flags => settings::simulated(&flags)?);
    let report = run_simulated(&plan, || {
        open_simulated(settings.scheme, &settings.workload, settings.engine.clone())
    });
    let report = report.map_err(crate::bench::stop)?;
    match report.outcome.verdict.is_completed() && report.failures.is_empty() {
        true => Ok(report.outcome),
        false => Err(failed(&format!("{flags}: {}", report.outcome.verdict))),
    }
}
