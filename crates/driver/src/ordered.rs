//! The driver of SwarmDB on simulated task units: requests are drawn ahead, a few tasks make transactions of them, and
//! a transaction has committed when the global virtual time has passed its range of timestamps.
//!
//! Tasks do not look at a clock, so a run is one of a number of requests. Where a window of time is asked for, a short run
//! tells how many requests that takes, and one of so many follows from the start, until it outlasts the window. All requests
//! of the last run have then committed, and its rows can be compared.

mod graph;
mod oracle;

use super::simulated::{LOADED_SEED, ticks};
use super::target::{conditions, seal_loaded};
use super::{Failure, Idle, Length, SimulatedPlan, SimulatedReport, Tally};
use chiliad_api::{Info, Store, TableId};
use chiliad_machine::Machine;
use chiliad_simulator::{Outcome, Run, Sim, TaskOptions};
use chiliad_swarm::Swarm;
use chiliad_workload::bidding::Bidding;
use chiliad_workload::tasks::{RANGE, first_of};
use chiliad_workload::tpcc::Tpcc;
use chiliad_workload::{ClientId, Workload, WorkloadOptions};
use graph::Ordered;
use std::mem::forget;
use std::time::Instant;

/// The scheme of transactions as ordered tasks.
pub use chiliad_swarm::INFO as SWARM;

/// Tasks that make transactions by turns.
const GENERATORS: u64 = 8;

/// Requests for each core in a run that tells how many a window takes.
const TRIED_PER_CORE: usize = 16;

/// Whether transactions under this scheme are ordered tasks: [`run_ordered`] is for those.
#[must_use]
pub fn is_ordered(scheme: &Info) -> bool {
    scheme.name == SWARM.name
}

/// Whether there is a graph of tasks for this workload.
#[must_use]
pub fn has_graph(workload: &WorkloadOptions) -> bool {
    matches!(workload, WorkloadOptions::Tpcc(_) | WorkloadOptions::Bidding(_))
}

/// The name of a workload that has a graph, and those of its kinds of transaction.
///
/// # Errors
/// Those of the workload's options.
pub fn ordered_kinds(
    workload: &WorkloadOptions,
) -> Result<(&'static str, &'static [&'static str]), Failure> {
    let workload = super::catalog::make(workload)?;
    Ok((workload.name(), workload.kinds()))
}

/// Loads SwarmDB with a workload's rows and runs its graph of tasks on the task units of the plan's machine. Times and
/// counts of tasks are those of the whole run, transactions those of the window. Where the plan asks for conditions the rows and
/// answers are compared with those of the requests one after another, too: see [`SimulatedReport::differences`].
///
/// # Errors
/// Those of the workload's options, of loading, and of looking at the conditions; a workload without a graph. Later
/// ones are in the report.
///
/// # Panics
/// When the machine has no task units.
pub fn run_ordered(
    workload: &WorkloadOptions,
    plan: &SimulatedPlan,
) -> Result<SimulatedReport, Failure> {
    let invalid = |error: String| Failure::Host(error);
    match workload {
        WorkloadOptions::Tpcc(options) => {
            let tpcc = Tpcc::new(options.clone()).map_err(|error| invalid(error.to_string()))?;
            until_long_enough(&tpcc, plan)
        }
        WorkloadOptions::Bidding(options) => {
            let bidding = Bidding::new(options.clone());
            until_long_enough(&bidding.map_err(|error| invalid(error.to_string()))?, plan)
        }
        _ => Err(Failure::Host("a workload without a graph of tasks".into())),
    }
}

/// Runs more requests, from the start, until the window is full.
fn until_long_enough<W: Ordered>(
    workload: &W,
    plan: &SimulatedPlan,
) -> Result<SimulatedReport, Failure> {
    let mut count = match plan.plan.length {
        Length::Transactions(count) if plan.plan.warmup.is_zero() => count as usize,
        _ => TRIED_PER_CORE * plan.plan.cores,
    };
    loop {
        let requests = Requests { count, plan };
        let ran = requests.run(workload)?;
        let window = Window::of(plan, &ran.committed_at);
        match window {
            Some(window) => return requests.report(workload, ran, window),
            None if !ran.outcome.verdict.is_completed() => {
                let all = Window { begin: 0, end: ran.cycles(), requests: 0..0 };
                return requests.report(workload, ran, all);
            }
            None => count = requests.more(&ran),
        }
    }
}

/// The part of a run that is measured.
struct Window {
    begin: u64,
    end: u64,
    /// Those that committed in it.
    requests: std::ops::Range<usize>,
}

impl Window {
    /// The window of a run whose transactions committed at these times; `None` where it outlasts them.
    fn of(plan: &SimulatedPlan, committed_at: &[u64]) -> Option<Self> {
        let begin = ticks(plan.plan.warmup, &plan.config);
        let from = committed_at.partition_point(|&time| time < begin);
        match plan.plan.length {
            Length::Time(time) => {
                let end = begin + ticks(time, &plan.config);
                let to = committed_at.partition_point(|&time| time < end);
                (to < committed_at.len()).then_some(Self { begin, end, requests: from..to })
            }
            Length::Transactions(count) => {
                let to = from + count as usize;
                let end = *committed_at.get(to.checked_sub(1)?)?;
                Some(Self { begin, end, requests: from..to })
            }
        }
    }
}

/// The first requests of a plan's seed.
struct Requests<'p> {
    count: usize,
    plan: &'p SimulatedPlan,
}

/// The outcome of a run of requests.
struct Ran<W: Ordered> {
    outcome: Outcome,
    /// By request, in cycles. Rising; empty unless the run completed.
    committed_at: Vec<u64>,
    kinds: Vec<usize>,
    /// By request; `None` where it was rolled back.
    answers: Vec<Option<W::Answer>>,
    conditions: Option<Vec<chiliad_workload::Condition>>,
    rows: Option<oracle::Rows>,
    load_seconds: f64,
    seconds: f64,
}

impl<W: Ordered> Ran<W> {
    fn cycles(&self) -> u64 {
        self.outcome.timings.map_or(0, |it| it.cycles)
    }
}

impl Requests<'_> {
    /// Loads the rows, and runs the tasks.
    fn run<W: Ordered>(&self, workload: &W) -> Result<Ran<W>, Failure> {
        let (plan, loading) = (&self.plan.plan, Instant::now());
        let config = chiliad_simulator::Config { seed: LOADED_SEED, ..self.plan.config.clone() };
        let refused = |refused: chiliad_simulator::NoMemory| Failure::Host(refused.to_string());
        let mut run = Run::try_new(config).map_err(refused)?;
        let (mut swarm, tables) = run.outside(|| load::<Sim, W>(workload))?;
        run.reconfigure(self.plan.config.clone());
        let load_seconds = loading.elapsed().as_secs_f64();
        let (clients, kinds) = self.draw(workload, &tables);
        let bodies = run.outside(|| swarm.bodies(W::graph(&clients)));
        let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
        let tasks = first_of(self.count as u64, GENERATORS);
        let options = TaskOptions::default();
        let started = Instant::now();
        let outcome = run.go_tasks(plan.cores, bodies.pool(), &bodies, &tasks, options);
        let mut ran = Ran {
            outcome,
            committed_at: Vec::new(),
            kinds,
            answers: Vec::new(),
            conditions: None,
            rows: None,
            load_seconds,
            seconds: started.elapsed().as_secs_f64(),
        };
        if !ran.outcome.verdict.is_completed() {
            // Left in pieces.
            forget(bodies);
            forget(swarm);
            return Ok(ran);
        }
        ran.committed_at = commits(&ran.outcome, self.count);
        ran.answers = run.outside(move || {
            (0..self.count).map(|request| W::answer(bodies.graph(), request)).collect()
        });
        run.outside(|| {
            if plan.conditions {
                let mut session = swarm.session().map_err(Failure::doing("checking conditions"))?;
                let isolation = SWARM.isolation;
                ran.conditions = Some(conditions(workload, &tables, &mut *session, isolation)?);
                drop(session);
                ran.rows = Some(oracle::rows(&swarm)?);
            }
            drop(swarm);
            Ok(ran)
        })
    }

    /// The clients, one for each request, which it has in hand, and the kinds of the requests.
    fn draw<W: Workload>(&self, workload: &W, tables: &[TableId]) -> (Vec<W::Client>, Vec<usize>) {
        let client = |index| {
            let of = self.count;
            let client_id = ClientId { index, home: index, of, seed: self.plan.plan.seed };
            let mut client = workload.client(tables, client_id);
            let shape = workload.next(&mut client, &mut Vec::new());
            (client, shape.kind)
        };
        (0..self.count).map(client).unzip()
    }

    /// As many requests as the window takes at the rate of this run, and some.
    fn more<W: Ordered>(&self, ran: &Ran<W>) -> usize {
        let warmup = ticks(self.plan.plan.warmup, &self.plan.config);
        let per_tick = self.count as f64 / ran.cycles().max(1) as f64;
        let taken = match self.plan.plan.length {
            Length::Time(time) => (warmup + ticks(time, &self.plan.config)) as f64 * per_tick,
            Length::Transactions(count) => warmup as f64 * per_tick + count as f64,
        };
        (taken * 1.25) as usize + self.count
    }

    fn report<W: Ordered>(
        &self,
        workload: &W,
        ran: Ran<W>,
        window: Window,
    ) -> Result<SimulatedReport, Failure> {
        let mut tally = Tally::new(workload.kinds().len());
        for request in window.requests {
            let kind = &mut tally.kinds[ran.kinds[request]];
            match ran.answers[request] {
                Some(_) => kind.committed += 1,
                None => kind.rolled_back += 1,
            }
        }
        let differences = match &ran.rows {
            Some(rows) => oracle::differences(workload, self, rows, &ran.answers)?,
            None => Vec::new(),
        };
        Ok(SimulatedReport {
            outcome: ran.outcome,
            ticks: window.end - window.begin,
            tally,
            recorders: Vec::new(),
            complete: true,
            conditions: ran.conditions,
            differences,
            failures: Vec::new(),
            load_seconds: ran.load_seconds,
            seconds: ran.seconds,
            idle: Idle::default(),
        })
    }
}

/// When each of so many transactions committed, in cycles: those that the global virtual time did not pass before
/// the end did at the end.
fn commits(outcome: &Outcome, count: usize) -> Vec<u64> {
    let last = outcome.timings.map_or(0, |it| it.cycles);
    let mut passed = outcome.passed.iter().peekable();
    let time = |request: usize| {
        let end = (request as u64 + 1) * RANGE;
        while passed.next_if(|it| it.timestamp < end).is_some() {}
        passed.peek().map_or(last, |it| it.cycle)
    };
    (0..count).map(time).collect()
}

/// A database with the workload's rows.
fn load<M: Machine, W: Workload>(workload: &W) -> Result<(Swarm<M>, Vec<TableId>), Failure> {
    let swarm = Swarm::new();
    let create = workload.tables().into_iter().map(|spec| swarm.create_table(spec));
    let tables = create.collect::<Result<Vec<_>, _>>();
    let tables = tables.map_err(Failure::doing("creating the tables"))?;
    let loading = || Failure::doing("loading");
    let mut session = swarm.session().map_err(loading())?;
    for part in 0..workload.load_parts() {
        let insert = &mut |table, key: &[u8], value: &[u8]| session.load(table, key, value);
        workload.load(&tables, part, LOADED_SEED, insert).map_err(loading())?;
    }
    drop(session);
    seal_loaded(&swarm)?;
    Ok((swarm, tables))
}
