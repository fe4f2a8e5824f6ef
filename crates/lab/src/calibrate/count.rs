//! Counting one case: the instructions of a transaction natively, and what it does in simulation.

use super::cases::{self, Case, TRANSACTIONS};
use super::fit::Row;
use super::rooms::{Room, Spent};
use crate::counting;
use crate::run::{Files, Job, run_job};
use crate::spec::RunSpec;
use chiliad_driver::{
    Backoff, Length, load_tasks, open_simulated, run_serially, run_simulated, run_tasks,
};
use chiliad_host::Stop;
use chiliad_machine::Cost;
use chiliad_simulator::Outcome;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// The name of the command in messages.
const WHO: &str = "machines calibrate";
/// No epoch ends within a run, so that nothing depends on how fast it is.
const EPOCH: Duration = Duration::from_secs(3600);

/// How cases become runs, here and in processes of their own.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    /// Parses the words of a case.
    pub parse: &'a dyn Fn(&[String]) -> Result<Job, Stop>,
    /// The words, after the program's name, of a process that calls [`run_case`] with these arguments, and prints what
    /// comes of it.
    pub child: &'a dyn Fn(usize, u64, bool) -> Vec<String>,
}

/// Runs a case of so many transactions natively; the result, as JSON has it. Where tasks are only `drawn`, none runs.
///
/// # Errors
/// There is no such case, or the run fails.
pub fn run_case(
    parse: &dyn Fn(&[String]) -> Result<Job, Stop>,
    case: usize,
    transactions: u64,
    drawn: bool,
) -> Result<Value, Stop> {
    let case = cases::number(case).ok_or_else(|| failed(&format!("no case {case}")))?;
    let line = match &case {
        Case::Transactions(line) => line,
        Case::Tasks(_) => {
            let spec = fixed(parse(&case.simulated())?, transactions)?;
            let requests = (spec.plan.seed, transactions as usize);
            let tasks = run_serially(&spec.workload, &spec.ordered, requests, drawn)?;
            return Ok(json!({ "tasks": tasks }));
        }
    };
    let mut spec = fixed(parse(&cases::native(line))?, transactions)?;
    spec.plan.interleave = 1;
    spec.plan.adaptive = false;
    spec.plan.backoff = Backoff::None;
    spec.engine.memory_bytes_ready = 0;
    let mut job = Job::Workload(Box::new(spec));
    Ok(run_job(&mut job, true, &mut Files::default())?.to_value())
}

/// A run of which nothing depends on how fast it is.
fn fixed(job: Job, transactions: u64) -> Result<RunSpec, Stop> {
    let Job::Workload(mut spec) = job else { return Err(failed(&"a case without a workload")) };
    (spec.plan.epoch, spec.engine.epoch) = (EPOCH, EPOCH);
    spec.plan.warmup = Duration::ZERO;
    spec.plan.length = Length::Transactions(transactions);
    Ok(*spec)
}

impl Runner<'_> {
    /// Counts a case.
    pub fn count(self, number: usize) -> Result<Row, Stop> {
        let case = cases::number(number).ok_or_else(|| failed(&format!("no case {number}")))?;
        let (long, short) = (TRANSACTIONS, TRANSACTIONS / 2);
        let each = (long - short) as f64;
        let native = |drawn| -> Result<Spent, Stop> {
            let of = |transactions| self.native((number, case.rooms()), transactions, drawn);
            Ok(of(long)?.more_than(&of(short)?, each))
        };
        let spent = match &case {
            Case::Transactions(_) => native(false)?,
            // Requests are made up before tasks run.
            Case::Tasks(_) => native(false)?.more_than(&native(true)?, 1.0),
        };
        let (more, less) = (self.simulated(&case, long)?, self.simulated(&case, short)?);
        let mut units = [0.0; Cost::COUNT];
        for (at, unit) in units.iter_mut().enumerate() {
            *unit = (more.counters.work[at] as f64 - less.counters.work[at] as f64) / each;
        }
        let of = |outcome: &Outcome| outcome.timings.map_or(outcome.events, |it| it.accesses);
        let accesses = (of(&more) as f64 - of(&less) as f64) / each;
        Ok(Row { case: case.line().to_owned(), spent, accesses, units })
    }

    /// The instructions of a native run.
    fn native(
        self,
        (case, rooms): (usize, &[Room]),
        transactions: u64,
        drawn: bool,
    ) -> Result<Spent, Stop> {
        let counted = counting::counted(WHO, &(self.child)(case, transactions, drawn))?;
        Spent::read(&counted, rooms)
    }

    /// Transactions per second of a native run.
    pub fn throughput(self, case: usize, transactions: u64) -> Result<f64, Stop> {
        let mut command = Command::new(counting::own(WHO)?);
        let out = counting::run(WHO, command.args((self.child)(case, transactions, false)))?;
        let result: Option<Value> = serde_json::from_str(&out).ok();
        let rate = result.and_then(|result| result["throughput_tps"].as_f64());
        rate.filter(|rate| *rate > 0.0)
            .ok_or_else(|| failed(&format!("a run of case {case} says nothing of its speed")))
    }

    /// Runs the case on one simulated core.
    fn simulated(self, case: &Case, transactions: u64) -> Result<Outcome, Stop> {
        let spec = fixed((self.parse)(&case.simulated())?, transactions)?;
        let line = case.line();
        let plan = spec.simulated().ok_or_else(|| failed(&format!("{line}: no simulation")))?;
        let report = match case {
            Case::Transactions(_) => {
                let open = || open_simulated(spec.scheme, &spec.workload, spec.opening());
                run_simulated(&plan, open)?
            }
            Case::Tasks(_) => {
                let load = || load_tasks(&spec.workload, &plan);
                run_tasks(load()?, &spec.workload, &plan, &spec.ordered, load)?
            }
        };
        let undone = report.outcome.tasks.map_or(0, |tasks| tasks.aborted.iter().sum::<u64>());
        match report.outcome.verdict.is_completed() && report.failures.is_empty() && undone == 0 {
            true => Ok(report.outcome),
            false => Err(failed(&format!("{line}: {}, {undone} undone", report.outcome.verdict))),
        }
    }
}

fn failed(what: &dyn std::fmt::Display) -> Stop {
    Stop::Failed(format!("{WHO}: {what}"))
}
