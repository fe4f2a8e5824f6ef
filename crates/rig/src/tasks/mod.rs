//! Transactions as ordered tasks on small task units: rows and answers must be those of the same requests one after another.
//!
//! ```text
//! machine   the chip that a seed draws: a few cores, queues of a few entries, near and far
//! way       a workload's requests as tasks: a graph of its own, or a whole transaction each
//! oracles   the same requests on the serial runtime, as statements, and by a client of silo
//! drained   what a log recovers that is cut off anywhere
//! ```

mod drained;
mod machine;
mod oracles;
mod way;

use chiliad_driver::Failure;
use chiliad_machine::Fault;
use chiliad_machine::tasks::Task;
use chiliad_simulator::{Outcome, Run, TaskVerdict, Verdict};
use chiliad_workload::WorkloadOptions;
use chiliad_workload::tasks::first_of;
use drained::Drained;
use machine::Drawn;
use oracles::{After, Base, expected};
use std::collections::BTreeSet;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use way::{Way, with_way};

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

/// The requests of a case.
#[derive(Clone, Copy, Debug)]
struct Requests {
    count: usize,
    seed: u64,
}

impl TaskCase {
    /// Runs it, and whatever it is compared with.
    ///
    /// # Errors
    /// Why it could not be run, which says nothing of the tasks.
    pub fn run(&self) -> Result<TaskReport, Failure> {
        let drawn = Drawn::new(self.seed, self.cores);
        with_way(&self.workload, drawn.whole, |way| way.check(self, &drawn))
    }
}

/// What the tasks of a case have left.
enum Left {
    /// A database, and its log.
    Rows(After, Drained),
    /// A database whose reading panics.
    Unreadable,
    /// Nothing to look at: other tasks have committed than those of the program.
    Others,
    /// Nothing to look at: the tasks did not all commit.
    Pieces,
}

/// A way that can be checked, whatever its types.
trait Checked {
    fn check(&self, case: &TaskCase, drawn: &Drawn) -> Result<TaskReport, Failure>;
}

impl<W: Way> Checked for W {
    fn check(&self, case: &TaskCase, drawn: &Drawn) -> Result<TaskReport, Failure> {
        let requests = Requests { count: drawn.requests, seed: case.seed };
        let expected = expected(self, case, drawn, requests)?;
        let (outcome, left) = on_hardware(self, case, drawn, (requests, expected.ran))?;
        let mut report = TaskReport {
            marks: outcome.marks.iter().copied().collect(),
            events: outcome.events,
            hash: outcome.trace_hash,
            ..TaskReport::default()
        };
        let (after, drained) = match left {
            Left::Rows(after, drained) => (after, drained),
            Left::Unreadable => {
                report.wrong.push(("other memory", "its rows cannot be read".into()));
                return Ok(report);
            }
            Left::Others => {
                let (tasks, ran) = (outcome.tasks.unwrap_or_default(), expected.ran);
                let text = format!("{tasks:?}, and {ran} by the serial runtime");
                report.wrong.push(("tasks lost", text));
                return Ok(report);
            }
            Left::Pieces => {
                report.wrong.push(ended(&outcome.verdict));
                return Ok(report);
            }
        };
        report.transactions = requests.count as u64;
        for (oracle, other) in &expected.afters {
            if let Some(difference) = after.difference(other) {
                report.wrong.push(("other memory", format!("{difference}, by {oracle}")));
            }
        }
        if let Some(wrong) = drained.check(self, drawn, requests)? {
            report.wrong.push(("other rows recovered", wrong));
        }
        if let Some(failed) = after.failed {
            report.wrong.push(("consistency", failed));
        }
        Ok(report)
    }
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

/// Runs the tasks on the chip of a case; nothing is left to look at unless they all committed.
fn on_hardware<W: Way>(
    way: &W,
    case: &TaskCase,
    drawn: &Drawn,
    (requests, ran): (Requests, u64),
) -> Result<(Outcome, Left), Failure> {
    let refused = |refused: chiliad_simulator::NoMemory| Failure::Host(refused.to_string());
    let mut run = Run::try_new(drawn.config(case.seed, case.plant)).map_err(refused)?;
    let base = run.outside(|| Base::swarm(way.workload()))?;
    let clients = way.clients(&base.tables, requests);
    let Base { store: mut swarm, tables } = base;
    let bodies = run.outside(|| swarm.bodies(way.graph(&clients, &drawn.graph)));
    let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
    let tasks: Vec<Task> = first_of(requests.count as u64, drawn.generators);
    let mut drained = Drained::default();
    let mut drain = |passed| {
        if let Some(log) = W::log(bodies.graph()) {
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
        forget(clients);
        forget(swarm);
        return Ok((outcome, left));
    }
    run.outside(|| drain(u64::MAX));
    let answers = run.outside(move || {
        (0..requests.count).map(|request| W::answer(bodies.graph(), request)).collect()
    });
    // Bugs may have left a database that nobody can read.
    let look = AssertUnwindSafe(|| {
        run.outside(|| {
            let after = After::of_swarm(way.workload(), &swarm, &tables, answers);
            drop(swarm);
            after
        })
    });
    let left = match catch_unwind(look) {
        Ok(after) => Left::Rows(after?, drained),
        Err(_) => Left::Unreadable,
    };
    Ok((outcome, left))
}
