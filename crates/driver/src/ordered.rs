//! The driver of SwarmDB on simulated task units: requests are drawn ahead, a few tasks make transactions of them, and
//! a transaction has committed when the global virtual time has passed its range of timestamps.
//!
//! Tasks do not look at a clock, so a run is one of a number of requests. Where a window of time is asked for, a short run
//! in a process of its own tells how many requests that takes, and the database that both begin with is loaded once. All
//! requests of a run have then committed, so that its rows and answers can be compared.
//!
//! A transaction's latency begins when its root is first dispatched, as that of a client does with its first attempt:
//! how long a request has waited before that is a matter of how many are drawn ahead.

mod load;
mod oracles;
mod window;

use super::simulated::ticks;
use super::target::conditions;
use super::{Failure, Idle, Length, SimulatedPlan, SimulatedReport, Tally};
use chiliad_api::{Info, Store, TableId};
use chiliad_machine::Machine;
use chiliad_machine::tasks::Ties;
use chiliad_simulator::fork::{Heard, in_children};
use chiliad_simulator::{Outcome, TaskOptions};
use chiliad_swarm::Swarm;
use chiliad_workload::tasks::{Answer, FirstRequests, Formed, GraphOptions, RANGE, ROOT, first_of};
use chiliad_workload::{AnyWorkload, Condition, WorkloadOptions};
use std::convert::Infallible;
use std::mem::forget;
use std::time::Instant;
use window::{Window, begins, commits};

/// The scheme of transactions as ordered tasks.
pub use chiliad_swarm::INFO as SWARM;
pub use chiliad_workload::tasks::{Form, has_graph};
pub use load::{LoadedTasks, fill, load_tasks};
pub use oracles::{After, Oracles};

/// Tasks that make transactions by turns.
const GENERATORS: u64 = 8;

/// Requests for each core in a run that tells how many a window takes, and the fewest of all: caches are cold at first.
const TRIED_PER_CORE: usize = 6;
const TRIED_MIN: usize = 64;

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
    let formed = Formed::new(workload, options.form(workload));
    let formed = formed.map_err(Failure::doing("making up the workload"))?;
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

/// Runs the tasks of the first `count` requests of a seed one after another on this computer, and nothing else, so that
/// their instructions can be counted. Returns how many tasks ran: none where the requests are only `drawn`, which tells
/// what of those instructions is no part of the tasks.
///
/// # Errors
/// Those of the workload's options and of loading; a task that breaks a rule.
pub fn run_serially(
    workload: &WorkloadOptions,
    options: &OrderedOptions,
    (seed, count): (u64, usize),
    drawn: bool,
) -> Result<u64, Failure> {
    let formed = Formed::new(workload, options.form(workload));
    let formed = formed.map_err(Failure::doing("making up the workload"))?;
    let oracles = Oracles {
        formed: &formed,
        requests: FirstRequests { count, seed },
        graph: options.graph,
        generators: GENERATORS,
        ties: Ties::Creation,
    };
    let (mut swarm, tables) = oracles.swarm()?;
    Ok(oracles.run_serially(&mut swarm, &tables, drawn)?.0)
}

/// Looks at the conditions of a workload on SwarmDB with its tables, which have these numbers.
///
/// # Errors
/// Those of the transactions.
pub fn conditions_of<M: Machine>(
    workload: &dyn AnyWorkload,
    swarm: &Swarm<M>,
    tables: &[TableId],
) -> Result<Vec<Condition>, Failure> {
    let mut session = swarm.session().map_err(Failure::doing("checking conditions"))?;
    conditions(workload, tables, &mut *session, SWARM.isolation)
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
    /// By request; empty unless the run completed.
    answers: Vec<Option<Answer>>,
    /// Of a run that completed, where rows were asked for.
    after: Option<After>,
    conditions: Option<Vec<Condition>>,
    tables: Vec<TableId>,
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

    /// The requests by themselves.
    fn first(&self) -> FirstRequests {
        FirstRequests { count: self.count, seed: self.plan.plan.seed }
    }

    /// Runs the tasks, and looks at conditions and rows afterwards where that `is_checked`.
    fn run(&self, mut loaded: LoadedTasks, is_checked: bool) -> Result<Ran, Failure> {
        let (plan, load_seconds) = (&self.plan.plan, loaded.seconds);
        let run = &mut loaded.run;
        run.reconfigure(self.plan.config.clone());
        let workload = self.formed.workload();
        let in_hand = self.formed.draw(self.first(), &loaded.tables);
        let mut swarm = loaded.swarm.take().expect("it goes with the run that it was loaded for");
        let bodies = run.outside(|| swarm.bodies(in_hand.graph(&self.options.graph)));
        let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
        let tasks = first_of(self.count as u64, GENERATORS);
        let units = TaskOptions { watched: Some(ROOT), ..self.options.units };
        let started = Instant::now();
        let outcome = run.go_tasks(plan.cores, bodies.pool(), &bodies, &tasks, units);
        let mut ran = Ran {
            outcome,
            committed_at: Vec::new(),
            answers: Vec::new(),
            after: None,
            conditions: None,
            tables: loaded.tables.clone(),
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
            ran.answers = answers;
            if is_checked {
                ran.conditions = Some(conditions_of(workload, &swarm, tables)?);
                let answers = ran.answers.clone();
                ran.after = Some(After::of_swarm(workload, (&swarm, tables), answers)?);
            }
            drop(swarm);
            Ok(ran)
        })
    }

    /// What differs from what the oracles have.
    fn differences(&self, after: &After) -> Result<Vec<String>, Failure> {
        let oracles = Oracles {
            formed: self.formed,
            requests: self.first(),
            graph: self.options.graph,
            generators: GENERATORS,
            ties: Ties::Creation,
        };
        oracles.differences(after, oracles.serially()?.0)
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
        let workload = self.formed.workload();
        let mut tally = Tally::new(workload.kinds().len());
        let begun_at = begins(&ran.outcome, self.count);
        for request in window.requests.clone() {
            let kind = self.first().any_client(workload, &ran.tables, request).1.kind;
            let of = &mut tally.kinds[kind];
            match ran.answers[request] {
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
            Some(after) => self.differences(after)?,
            None => Vec::new(),
        };
        let counts = window.counts(&ran.outcome);
        (ran.outcome.tasks, ran.outcome.core_time) = (counts, counts.map(|it| it.core_time));
        Ok(SimulatedReport {
            outcome: ran.outcome,
            ticks: window.end - window.begin,
            tally,
            recorders: Vec::new(),
            complete: true,
            deferrals: None,
            conditions: ran.conditions,
            differences,
            failures: Vec::new(),
            load_seconds: ran.load_seconds,
            seconds: ran.seconds,
            idle: Idle::default(),
        })
    }
}
