//! Transactions as ordered tasks on small task units: rows and answers must be those of the same requests one after another,
//! by the oracles of the driver.
//!
//! ```text
//! machine   the chip that a seed draws: a few cores, queues of a few entries, near and far
//! drained   what a log recovers that is cut off anywhere
//! ```

mod drained;
mod machine;

use chiliad_driver::{After, Failure, Oracles, conditions_of, fill};
use chiliad_machine::Fault;
use chiliad_machine::tasks::{Task, Ties};
use chiliad_simulator::{Outcome, Run, TaskVerdict, TooManySteps, Verdict};
use chiliad_swarm::Swarm;
use chiliad_workload::tasks::{FirstRequests, Form, Formed, first_of, has_graph};
use chiliad_workload::{Condition, WorkloadOptions};
use drained::Drained;
use machine::Drawn;
use std::collections::BTreeSet;
use std::mem::{ManuallyDrop, forget};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The requests of a seed as tasks, on a chip that the seed draws.
#[derive(Clone, Debug)]
pub struct TaskCase {
    /// The workload.
    pub workload: WorkloadOptions,
    /// The seed.
    pub seed: u64,
    /// The cores, whatever the seed says.
    pub cores: Option<usize>,
    /// A planted bug.
    pub plant: Option<&'static Fault>,
}

/// The most cores of a case: there are tiles for as many.
pub const CORES_MAX: usize = 64;

/// Accesses after which reading the rows of a case, and looking at its conditions, is taken not to end. Bugs may tie rows
/// into loops.
const LOOKS_MAX: u64 = 50_000_000;

/// The outcome of a case.
#[derive(Debug, Default)]
pub struct TaskReport {
    /// Each problem that was found: its name, and a sentence about it.
    pub wrong: Vec<(&'static str, String)>,
    /// Rare branches taken.
    pub marks: BTreeSet<&'static str>,
    /// Transactions compared.
    pub transactions: u64,
    /// Events simulated.
    pub events: u64,
    /// The digest of the run.
    pub hash: u64,
}

impl TaskCase {
    /// Runs it, and whatever it is compared with.
    ///
    /// # Errors
    /// Why it could not be run, which says nothing of the tasks.
    pub fn run(&self) -> Result<TaskReport, Failure> {
        let drawn = Drawn::new(self.seed, self.cores);
        let whole = drawn.whole || !has_graph(&self.workload);
        let formed = Formed::new(&self.workload, if whole { Form::One } else { Form::Fine });
        let formed = formed.map_err(Failure::doing("making up the workload"))?;
        let oracles = Oracles {
            formed: &formed,
            requests: FirstRequests { count: drawn.requests, seed: self.seed },
            graph: drawn.graph,
            generators: drawn.generators,
            ties: Ties::Drawn(self.seed),
        };
        self.check(&oracles, &drawn)
    }

    fn check(&self, oracles: &Oracles<'_>, drawn: &Drawn) -> Result<TaskReport, Failure> {
        let (serial, ran) = oracles.serially()?;
        let (outcome, left) = self.on_hardware(oracles, drawn, ran)?;
        let mut report = TaskReport {
            marks: outcome.marks.iter().copied().collect(),
            events: outcome.events,
            hash: outcome.trace_hash,
            ..TaskReport::default()
        };
        let (after, conditions, drained) = match left {
            Left::Rows(after, conditions, drained) => (after, conditions, drained),
            Left::Unreadable(why) => {
                report.wrong.push(("other memory", why.into()));
                return Ok(report);
            }
            Left::Others => {
                let tasks = outcome.tasks.unwrap_or_default();
                let text = format!("{tasks:?}, and {ran} by the serial runtime");
                report.wrong.push(("tasks lost", text));
                return Ok(report);
            }
            Left::Pieces => {
                report.wrong.push(ended(&outcome.verdict));
                return Ok(report);
            }
        };
        report.transactions = oracles.requests.count as u64;
        let differences = oracles.differences(&after, serial)?;
        report.wrong.extend(differences.into_iter().map(|it| ("other memory", it)));
        if let Some(wrong) = drained.check(oracles, drawn.cuts)? {
            report.wrong.push(("other rows recovered", wrong));
        }
        let failed: Vec<String> = conditions
            .into_iter()
            .filter_map(|it| it.failure.map(|failure| format!("{}: {failure}", it.name)))
            .collect();
        if !failed.is_empty() {
            report.wrong.push(("consistency", failed.join("\n")));
        }
        Ok(report)
    }

    /// Runs the tasks on the chip of the case; nothing is left to look at unless they all committed, as many as `ran`
    /// serially.
    fn on_hardware(
        &self,
        oracles: &Oracles<'_>,
        drawn: &Drawn,
        ran: u64,
    ) -> Result<(Outcome, Left), Failure> {
        let (requests, workload) = (oracles.requests, oracles.formed.workload());
        let refused = |refused: chiliad_simulator::NoMemory| Failure::Host(refused.to_string());
        let mut run = Run::try_new(drawn.config(self.seed, self.plant)).map_err(refused)?;
        let (mut swarm, tables) = run.outside(|| {
            let swarm = Swarm::new();
            let tables = fill(workload, &swarm, |spec| spec)?;
            Ok::<_, Failure>((swarm, tables))
        })?;
        let in_hand = oracles.formed.draw(requests, &tables);
        let bodies = run.outside(|| swarm.bodies(in_hand.graph(&drawn.graph)));
        let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
        let tasks: Vec<Task> = first_of(requests.count as u64, drawn.generators);
        let mut drained = Drained::default();
        let mut drain = |passed| {
            if let Some(log) = bodies.graph().log() {
                drained.take(passed, |target| bodies.drain(log, passed, target));
            }
        };
        let outcome = run.go_tasks_beside(
            drawn.cores,
            bodies.pool(),
            (&bodies, &tasks),
            drawn.options,
            &mut |passed| drain(passed.timestamp),
        );
        let tasks = outcome.tasks.unwrap_or_default();
        let are_others = tasks.committed != ran || tasks.made != tasks.committed + tasks.squashed;
        if are_others || !outcome.verdict.is_completed() {
            // Left in pieces.
            let left = if outcome.verdict.is_completed() { Left::Others } else { Left::Pieces };
            forget(bodies);
            forget(swarm);
            return Ok((outcome, left));
        }
        run.outside(|| drain(u64::MAX));
        let answers = run.outside(move || {
            (0..requests.count).map(|request| bodies.graph().answered(request)).collect()
        });
        // Bugs may have left a database that nobody can read: neither dropped then, nor read to no end.
        let swarm = ManuallyDrop::new(swarm);
        let look = || {
            let after = After::of_swarm(workload, (&swarm, &tables), answers)?;
            let conditions = conditions_of(workload, &swarm, &tables)?;
            Ok::<_, Failure>((after, conditions))
        };
        let looked = catch_unwind(AssertUnwindSafe(|| run.outside_within(LOOKS_MAX, look)));
        let left = match looked {
            Ok(Ok(read)) => {
                run.outside(|| drop(ManuallyDrop::into_inner(swarm)));
                read.map(|(after, conditions)| Left::Rows(after, conditions, drained))?
            }
            Ok(Err(TooManySteps)) => Left::Unreadable("reading its rows does not end"),
            Err(_) => Left::Unreadable("its rows cannot be read"),
        };
        Ok((outcome, left))
    }
}

/// What the tasks of a case have left.
enum Left {
    /// The rows and answers, what the conditions say, and the log.
    Rows(After, Vec<Condition>, Drained),
    /// A database whose reading panics, or does not end: which, in words.
    Unreadable(&'static str),
    /// Nothing to look at: other tasks have committed than those of the program.
    Others,
    /// Nothing to look at: the tasks did not all commit.
    Pieces,
}

/// How tasks ended that did not all commit, by name and in words.
fn ended(verdict: &Verdict) -> (&'static str, String) {
    let name = match verdict {
        Verdict::Task(task) if matches!(**task, TaskVerdict::Unsound(_)) => "unsound",
        Verdict::Task(task) if matches!(**task, TaskVerdict::Stuck) => "stuck",
        _ => verdict.name(),
    };
    (name, verdict.to_string())
}
