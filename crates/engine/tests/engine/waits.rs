//! Every wait ends: at the deadline, when it has lasted as long as one wait may, when the transaction is told to give up,
//! and at once where it is for a transaction that it runs inside. On simulated cores, under every scheme.

use crate::kit::{Db, Worker, pause_until, schedule, seeds};
use chiliad_engine::names::all;
use chiliad_engine::{Cancel, Error, Intent, Options, Result, TableId, TableSpec, Transaction};
use chiliad_machine::{Fault, Machine};
use chiliad_simulator::{Config, Run, Sim};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Moments that a holder does nothing for, at most: far more than the waits of these tests last.
const IDLE: u32 = 4_000;
/// Ticks that a deadline is ahead, or that one wait may last.
const AHEAD: u64 = 100;

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Deadline,
    /// It has lasted as long as one wait may.
    Limit,
    Cancel,
    /// The holder cannot end before whoever waits.
    Outer,
}

/// How the waiter touches the row that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touch {
    Reads,
    Writes,
    Inserts,
}

const TOUCHES: [Touch; 3] = [Touch::Reads, Touch::Writes, Touch::Inserts];

struct Scenario {
    config: Config,
    by: By,
    holder: Touch,
    waiter: Touch,
    /// The waiter is the older one.
    begins_first: bool,
}

struct World {
    db: Db<Sim>,
    table: TableId,
    cancel: Cancel<Sim>,
    begun: Cell<bool>,
    held: Cell<bool>,
    ended: Cell<bool>,
    /// What came of the waiter, if it ended before the holder did.
    found: RefCell<Option<Result<()>>>,
}

fn touch(tx: &mut dyn Transaction, table: TableId, how: Touch) -> Result<()> {
    match how {
        Touch::Reads => tx.get(table, b"row").map(|_| ()),
        Touch::Writes => {
            let row = tx.get_for_update(table, b"row")?.expect("loaded");
            tx.update(row, b"new")
        }
        Touch::Inserts => match tx.insert(table, b"fresh", b"value") {
            Err(Error::DuplicateKey(_)) => Ok(()),
            other => other,
        },
    }
}

impl World {
    /// Touches the row and does nothing until the waiter has ended, or for long.
    fn hold(&self, how: Touch, begins_first: bool) {
        let mut worker = self.db.worker().expect("a slot");
        if begins_first {
            pause_until(|| self.begun.get());
        }
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        touch(&mut tx, self.table, how).expect("nobody is in its way");
        self.held.set(true);
        for _ in 0..IDLE {
            if self.ended.get() {
                break;
            }
            Sim::yield_now();
        }
        self.ended.set(true);
        tx.rollback();
    }

    /// Touches it until that goes, or fails for good.
    fn wait(&self, how: Touch, by: By, begins_first: bool) {
        let mut worker = self.db.worker().expect("a slot");
        if by == By::Cancel {
            worker.cancel_by(Some(&self.cancel));
        }
        if !begins_first {
            pause_until(|| self.held.get());
        }
        let limited = matches!(by, By::Deadline | By::Limit);
        // A client whose transactions are refused, and do not wait, gives up then itself.
        let end = limited.then(|| Sim::now() + AHEAD);
        let deadline = end.filter(|_| by == By::Deadline);
        let wait_limit = (by == By::Limit).then_some(AHEAD);
        let mut retries = 0;
        let found = loop {
            let is_over = match by {
                By::Cancel => self.cancel.is_canceled(),
                _ => end.is_some_and(|end| Sim::now() >= end),
            };
            if is_over {
                break Err(match by {
                    By::Cancel => Error::Canceled,
                    By::Limit => Error::WaitLimitExceeded,
                    By::Deadline | By::Outer => Error::DeadlineExceeded,
                });
            }
            let intent = Intent { deadline, wait_limit, retries, ..Intent::update() };
            match self.attempt(&mut worker, &intent, how) {
                Err(Error::Conflict(_)) if !self.ended.get() => {}
                other => break other,
            }
            retries += 1;
            Sim::yield_now();
        };
        if !self.ended.replace(true) {
            *self.found.borrow_mut() = Some(found);
        }
    }

    fn attempt(&self, worker: &mut Worker<Sim>, intent: &Intent<'_>, how: Touch) -> Result<()> {
        let mut tx = worker.begin(intent)?;
        self.begun.set(true);
        pause_until(|| self.held.get());
        touch(&mut tx, self.table, how)?;
        tx.commit().map(|_| ())
    }

    /// One transaction within another, on one core.
    fn nest(&self, outer: Touch, inner: Touch) {
        let (mut around, mut within) = (self.db.worker().expect("a slot"), self.db.worker());
        let within = within.as_mut().expect("a slot");
        let mut tx = around.begin(&Intent::update()).expect("begins");
        touch(&mut tx, self.table, outer).expect("nobody is in its way");
        self.held.set(true);
        let outers = [tx.as_outer()];
        let intent = Intent { outer: &outers, ..Intent::update() };
        let mut found = Ok(());
        for _ in 0..40 {
            found = self.attempt(within, &intent, inner);
            if !matches!(found, Err(Error::Conflict(_))) {
                break;
            }
        }
        *self.found.borrow_mut() = Some(found);
        tx.rollback();
    }
}

impl Scenario {
    /// What came of the waiter; `None`: it waits on.
    fn run(self, scheme: &str) -> Option<Result<()>> {
        let Self { config, by, holder, waiter, begins_first } = self;
        let mut run = Run::new(Config { events_max: 2_000_000, ..config });
        let world = run.outside(|| {
            let long = Some(Duration::from_secs(3600));
            let options = Options { wait_timeout: long, ..Options::default() };
            let db = Db::<Sim>::open(scheme, options);
            let table = db.create_table(TableSpec::ordered("rows")).expect("created");
            db.worker().expect("a slot").load(table, b"row", b"old").expect("loaded");
            let (begun, held, ended) = Default::default();
            let (cancel, found) = (Cancel::new(), RefCell::default());
            Rc::new(World { db, table, cancel, begun, held, ended, found })
        });
        let shared = || Rc::clone(&world);
        if by == By::Outer {
            let world = shared();
            run.spawn("nests", move || world.nest(holder, waiter));
        } else {
            let (held, waits, tells) = (shared(), shared(), shared());
            run.spawn("holds", move || held.hold(holder, begins_first));
            run.spawn("waits", move || waits.wait(waiter, by, begins_first));
            run.spawn("tells", move || {
                pause_until(|| tells.held.get());
                for _ in 0..AHEAD {
                    Sim::yield_now();
                }
                tells.cancel.cancel();
            });
        }
        let outcome = run.go();
        run.outside(|| {
            let found = world.found.take();
            let completed = outcome.verdict.is_completed();
            match completed {
                true => drop(world),
                // A worker in the middle of a transaction cannot be dropped.
                false => core::mem::forget(world),
            }
            found.filter(|_| completed)
        })
    }
}

fn simulate(
    seed: u64,
    scheme: &str,
    by: By,
    (holder, waiter): (Touch, Touch),
    fault: Option<&'static Fault>,
) -> Option<Result<()>> {
    let config = Config { schedule: schedule(seed), fault, ..Config::new(seed) };
    // The older one waits there.
    let begins_first = scheme == "wait-die" && by != By::Outer;
    Scenario { config, by, holder, waiter, begins_first }.run(scheme)
}

#[test]
fn every_wait_ends_under_every_scheme() {
    let seeds = seeds(1);
    for info in all::<Sim>() {
        for by in [By::Deadline, By::Limit, By::Cancel, By::Outer] {
            for (holder, waiter) in TOUCHES.into_iter().flat_map(|it| TOUCHES.map(|to| (it, to))) {
                for seed in 0..seeds {
                    // Schedules of both kinds.
                    let seed = 3 * seed + holder as u64 + waiter as u64;
                    let found = simulate(seed, info.name, by, (holder, waiter), None);
                    let good = match (&found, by) {
                        (Some(Ok(())), _) => true,
                        (Some(Err(Error::DeadlineExceeded)), By::Deadline) => true,
                        (Some(Err(Error::WaitLimitExceeded)), By::Limit) => true,
                        (Some(Err(Error::Canceled)), By::Cancel) => true,
                        // Where nobody knows who holds what: the one who runs it gives up.
                        (Some(Err(Error::Nested(_) | Error::Conflict(_))), By::Outer) => true,
                        _ => false,
                    };
                    let name = info.name;
                    assert!(good, "{name} {seed} {by:?} {holder:?} {waiter:?}: {found:?}");
                }
            }
        }
    }
}

/// Schemes under which a writer waits for a writer.
pub const WAITING: [&str; 11] = [
    "partitioned",
    "h-store",
    "wait-die",
    "dl-detect",
    "timestamp",
    "mvcc",
    "lock-table",
    "lock-table-global",
    "lock-table-bucket",
    "lock-table-sli",
    "lock-table-no-ebr",
];

/// Those under which it is known for whom, and a transaction waits for one that it runs inside. (Under `wait-die` the
/// inner one is younger, and waits for nobody.)
const KNOWING: [&str; 5] = ["partitioned", "h-store", "dl-detect", "timestamp", "mvcc"];

#[test]
fn the_planted_bugs_are_caught() {
    let cases: [(&str, By, &[&str]); 4] = [
        ("waited-past-deadline", By::Deadline, &WAITING),
        ("waited-past-limit", By::Limit, &WAITING),
        ("waited-past-cancel", By::Cancel, &WAITING),
        ("outer-waited-for", By::Outer, &KNOWING),
    ];
    for (name, by, schemes) in cases {
        let fault = chiliad_engine::faults().find(|it| it.name == name).expect("declared");
        for scheme in schemes {
            let both = (Touch::Writes, Touch::Writes);
            let waits_on = |&seed: &u64| simulate(seed, scheme, by, both, Some(fault)).is_none();
            let seed = (0..u64::from(fault.seeds)).find(waits_on);
            let seed = seed.unwrap_or_else(|| panic!("{name}, {scheme}: not caught"));
            let clean = simulate(seed, scheme, by, both, None);
            assert!(matches!(clean, Some(Err(_))), "{name}, {scheme}, {seed}: {clean:?}");
        }
    }
}
