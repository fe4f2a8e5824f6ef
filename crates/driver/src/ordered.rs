//! The driver of SwarmDB on simulated task units: requests are drawn ahead, a few tasks make transactions of them, and
//! a transaction has committed when the global virtual time has passed its range of timestamps.
//!
//! Tasks do not look at a clock, so a run is one of a number of requests. Where a window of time is asked for, a short run
//! in a process of its own tells how many requests that takes, and the database that both begin with is loaded once. All
//! requests of a run have then committed, so that its rows and answers can be compared.
//!
//! A transaction's latency begins when its root is first dispatched, as that of a client does with its first attempt:
//! how long a request has waited before that is a matter of how many are drawn ahead.

mod asked;
mod load;
mod oracle;
mod window;

use super::simulated::ticks;
use super::target::conditions;
use super::{Failure, Idle, Length, SimulatedPlan, SimulatedReport, Tally};
use asked::{Asked, Formed};
use chiliad_api::{Info, Store, TableId};
use chiliad_simulator::fork::{Heard, in_children};
use chiliad_simulator::{Outcome, TaskOptions};
use chiliad_workload::tasks::{GraphOptions, RANGE, ROOT, first_of};
use chiliad_workload::{Condition, WorkloadOptions};
use oracle::After;
use std::convert::Infallible;
use std::mem::forget;
use std::time::Instant;
use window::{Window, begins, commits};

/// The scheme of transactions as ordered tasks.
pub use chiliad_swarm::INFO as SWARM;
pub use load::{LoadedTasks, load_tasks};

/// Tasks that make transactions by turns.
const GENERATORS: u64 = 8;

/// Requests for each core in a run that tells how many a window takes, and the fewest of all: caches are cold at first.
const TRIED_PER_CORE: usize = 6;
const TRIED_MIN: usize = 64;

/// The form that transactions have as tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Each is one task.
    One,
    /// Each is a graph of tasks, which is the workload's own.
    Fine,
}

/// How transactions are ordered tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OrderedOptions {
    /// The form that they have; `None`: fine where the workload has a graph.
    pub form: Option<Form>,
    /// How graphs make tasks of transactions.
    pub graph: GraphOptions,
    /// How the task units work.
    pub units: TaskOptions,
}

impl OrderedOptions {
    /// The form of a workload's transactions.
    #[must_use]
    pub fn form(&self, workload: &WorkloadOptions) -> Form {
        self.form.unwrap_or(if has_graph(workload) { Form::Fine } else { Form::One })
    }
}

/// Whether transactions under this scheme are ordered tasks: [`run_tasks`] is for those.
#[must_use]
pub fn is_ordered(scheme: &Info) -> bool {
    scheme.name == SWARM.name
}

/// Whether there is a graph of tasks for this workload.
#[must_use]
pub fn has_graph(workload: &WorkloadOptions) -> bool {
    use WorkloadOptions::{Bidding, Tpcc, Tpce};
    matches!(workload, Tpcc(_) | Tpce(_) | Bidding(_))
}

/// The name of a workload, and those of its kinds of transaction.
///
/// # Errors
/// Those of the workload's options.
pub fn ordered_kinds(
    workload: &WorkloadOptions,
) -> Result<(&'static str, &'static [&'static str]), Failure> {
    let workload = super::catalog::make(workload)?;
    Ok((workload.name(), workload.kinds()))
}

/// Runs a workload's transactions as tasks on the task units of the plan's machine, on a database that was loaded with
/// the same rows. Where the plan asks for conditions, rows and answers are also compared with those of three oracles: see
/// [`SimulatedReport::differences`]. `reload` loads another database where the first run was too short.
///
/// # Errors
/// Those of the workload's options, of loading, and of looking at the conditions; a workload without a graph where one
/// is asked for. Later ones are in the report.
///
/// # Panics
/// When the machine has no task units.
pub fn run_tasks(
    mut loaded: LoadedTasks,
    workload: &WorkloadOptions,
    plan: &SimulatedPlan,
    options: &OrderedOptions,
    mut reload: impl FnMut() -> Result<LoadedTasks, Failure>,
) -> Result<SimulatedReport, Failure> {
    let formed = Formed::new(workload, options.form(workload))?;
    let mut requests = Requests { count: 0, plan, formed: &formed, options };
    (requests.count, loaded) = match plan.plan.length {
        Length::Transactions(count) if plan.plan.warmup.is_zero() => (count as usize, loaded),
        _ => requests.estimated(loaded),
    };
    loop {
        let ran = requests.run(loaded, plan.plan.conditions)?;
        match Window::of(plan, &ran.committed_at) {
            Some(window) => return requests.report(ran, window),
            None if !ran.outcome.verdict.is_completed() => {
                let all = Window::all(ran.cycles());
                return requests.report(ran, all);
            }
            None => (requests.count, loaded) = (requests.more(ran.cycles()), reload()?),
        }
    }
}

/// The first requests of a plan's seed.
struct Requests<'p> {
    count: usize,
    plan: &'p SimulatedPlan,
    formed: &'p Formed,
    options: &'p OrderedOptions,
}

/// The outcome of a run of requests.
struct Ran {
    outcome: Outcome,
    /// By request, in cycles. Rising; empty unless the run completed.
    committed_at: Vec<u64>,
    kinds: Vec<usize>,
    /// Unless the run did not complete; without rows where none were asked for.
    after: Option<After>,
    conditions: Option<Vec<Condition>>,
    load_seconds: f64,
    seconds: f64,
}

impl Ran {
    fn cycles(&self) -> u64 {
        self.outcome.timings.map_or(0, |it| it.cycles)
    }
}

impl Requests<'_> {
    /// As many requests as the window takes by a short run, which a child makes on a copy of the database. Where that does
    /// not complete, or cannot be made, as many as it has, so that the run shows why.
    fn estimated(&mut self, loaded: LoadedTasks) -> (usize, LoadedTasks) {
        self.count = (TRIED_PER_CORE * self.plan.plan.cores).max(TRIED_MIN);
        let (mut ours, mut cycles) = (Some(loaded), None);
        let Ok(()) = in_children::<Infallible>(
            (1, 1),
            || Ok(()),
            |_, sender| {
                // The parent keeps its own.
                let ran = ours.take().map(|loaded| self.run(loaded, false));
                if let Some(Ok(ran)) = ran
                    && ran.outcome.verdict.is_completed()
                {
                    sender.send(&ran.cycles().to_le_bytes());
                }
            },
            |_, heard| {
                if let Heard::Message(message) = heard {
                    cycles = message.try_into().ok().map(u64::from_le_bytes);
                }
                Ok(())
            },
        );
        let loaded = ours.expect("a child has taken its copy");
        (cycles.map_or(self.count, |cycles| self.more(cycles)), loaded)
    }

    /// The requests, on a database whose tables have these numbers.
    fn ask(&self, tables: &[TableId]) -> Box<dyn Asked + '_> {
        self.formed.ask(tables, (self.count, self.plan.plan.seed), self.options.graph)
    }

    /// Runs the tasks, and looks at conditions and rows afterwards where that `is_checked`.
    fn run(&self, mut loaded: LoadedTasks, is_checked: bool) -> Result<Ran, Failure> {
        let (plan, load_seconds) = (&self.plan.plan, loaded.seconds);
        let run = &mut loaded.run;
        run.reconfigure(self.plan.config.clone());
        let asked = self.ask(&loaded.tables);
        let mut swarm = loaded.swarm.take().expect("it goes with the run that it was loaded for");
        let bodies = run.outside(|| swarm.bodies(asked.on_hardware()));
        let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
        let tasks = first_of(self.count as u64, GENERATORS);
        let units = TaskOptions { watched: Some(ROOT), ..self.options.units };
        let started = Instant::now();
        let outcome = run.go_tasks(plan.cores, bodies.pool(), &bodies, &tasks, units);
        let mut ran = Ran {
            outcome,
            committed_at: Vec::new(),
            kinds: asked.kinds().to_vec(),
            after: None,
            conditions: None,
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
        let tables = &loaded.tables;
        let answers = run.outside(move || {
            (0..self.count).map(|request| bodies.graph().answered(request)).collect()
        });
        run.outside(move || {
            let mut after = After { tables: Vec::new(), answers };
            if is_checked {
                let mut session = swarm.session().map_err(Failure::doing("checking conditions"))?;
                let workload = self.formed.workload();
                let isolation = SWARM.isolation;
                ran.conditions = Some(conditions(workload, tables, &mut *session, isolation)?);
                drop(session);
                after.tables = oracle::rows(&swarm)?;
            }
            drop(swarm);
            ran.after = Some(after);
            Ok(ran)
        })
    }

    /// As many requests as the window takes where this many take so many cycles, and some.
    fn more(&self, cycles: u64) -> usize {
        let warmup = ticks(self.plan.plan.warmup, &self.plan.config);
        let per_tick = self.count as f64 / cycles.max(1) as f64;
        let taken = match self.plan.plan.length {
            Length::Time(time) => (warmup + ticks(time, &self.plan.config)) as f64 * per_tick,
            Length::Transactions(count) => warmup as f64 * per_tick + count as f64,
        };
        (taken * 1.25) as usize + self.count
    }

    fn report(&self, mut ran: Ran, window: Window) -> Result<SimulatedReport, Failure> {
        let mut tally = Tally::new(self.formed.workload().kinds().len());
        let answers = ran.after.as_ref().map_or(&[][..], |after| &after.answers);
        let begun_at = begins(&ran.outcome, self.count);
        for request in window.requests.clone() {
            let kind = ran.kinds[request];
            let of = &mut tally.kinds[kind];
            match answers[request] {
                Some(answer) => {
                    of.committed += 1;
                    of.unsuccessful += u64::from(answer.is_unsuccessful);
                }
                None => of.rolled_back += 1,
            }
            let cycles = ran.committed_at[request].saturating_sub(begun_at[request]);
            let ns = u128::from(cycles) * 1_000_000_000;
            tally.time(kind, (ns / u128::from(self.plan.config.ticks_per_second())) as u64);
        }
        let differences = match &ran.after {
            Some(after) if ran.conditions.is_some() => oracle::differences(self, after)?,
            _ => Vec::new(),
        };
        let counts = window.counts(&ran.outcome);
        (ran.outcome.tasks, ran.outcome.core_time) = (counts, counts.map(|it| it.core_time));
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
