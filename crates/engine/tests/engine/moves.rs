//! A transaction that was left is taken up on another core, waits there for a lock, and is woken there. Simulated, under
//! every scheme whose waiters sleep.

use crate::kit::{Db, Worker, pause_until, schedule, seeds};
use chiliad_engine::{
    Error, Intent, Options, Result, Running, Session, TableId, TableSpec, Transaction,
};
use chiliad_machine::{Fault, Machine};
use chiliad_simulator::{Config, Run, Sim};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Moments that the holder keeps its lock for: longer than a waiter stays awake.
const HELD: u32 = 1_000;

const SLEEPING: [&str; 7] = [
    "wait-die",
    "dl-detect",
    "lock-table",
    "lock-table-global",
    "lock-table-bucket",
    "lock-table-sli",
    "lock-table-no-ebr",
];

struct Moves(Config);

struct World {
    db: Db<Sim>,
    table: TableId,
    /// The session between the two cores, its transaction in progress.
    left: RefCell<Option<Worker<Sim>>>,
    held: Cell<bool>,
    found: RefCell<Option<Result<()>>>,
}

fn write(tx: &mut dyn Transaction, table: TableId) -> Result<()> {
    let row = tx.get_for_update(table, b"row")?.expect("loaded");
    tx.update(row, b"new")
}

impl World {
    /// Begins the transaction that will wait: it is the older one.
    fn begin(&self) {
        let mut worker = self.db.worker().expect("a slot");
        worker.begin(&Intent::update()).expect("begins").suspend();
        *self.left.borrow_mut() = Some(worker);
    }

    /// Holds the row for a while.
    fn hold(&self) {
        pause_until(|| self.left.borrow().is_some());
        let mut worker = self.db.worker().expect("a slot");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        write(&mut tx, self.table).expect("nobody is in its way");
        self.held.set(true);
        for _ in 0..HELD {
            Sim::yield_now();
        }
        tx.commit().expect("it has the lock");
    }

    /// Goes on with what the first core has begun.
    fn go_on(&self) {
        pause_until(|| self.held.get());
        let mut worker = self.left.borrow_mut().take().expect("begun before the row was held");
        let session: &mut dyn Session<Sim> = &mut *worker;
        let mut tx = Running::resume(session);
        let written = write(&mut tx, self.table);
        *self.found.borrow_mut() = Some(written.and_then(|()| tx.commit().map(|_| ())));
    }
}

impl Moves {
    /// How the transaction that was moved has ended; `None`: it sleeps on.
    fn run(self, scheme: &str) -> Option<Result<()>> {
        let mut run = Run::new(Config { events_max: 2_000_000, ..self.0 });
        let world = run.outside(|| {
            let wait_timeout = Some(Duration::from_secs(3600));
            let options = Options { wait_timeout, ..Options::default() };
            let db = Db::<Sim>::open(scheme, options);
            let table = db.create_table(TableSpec::ordered("rows")).expect("created");
            db.worker().expect("a slot").load(table, b"row", b"old").expect("loaded");
            let (left, held, found) = Default::default();
            Rc::new(World { db, table, left, held, found })
        });
        let (begins, holds, goes_on) = (Rc::clone(&world), Rc::clone(&world), Rc::clone(&world));
        run.spawn("begins", move || begins.begin());
        run.spawn("holds", move || holds.hold());
        run.spawn("goes on", move || goes_on.go_on());
        let outcome = run.go();
        run.outside(|| {
            let found = world.found.take();
            match outcome.verdict.is_completed() {
                true => found,
                // A worker in the middle of a transaction cannot be dropped.
                false => {
                    core::mem::forget(world);
                    None
                }
            }
        })
    }
}

fn simulate(seed: u64, scheme: &str, fault: Option<&'static Fault>) -> Option<Result<()>> {
    let config = Config { schedule: schedule(seed), fault, ..Config::new(seed) };
    Moves(config).run(scheme)
}

#[test]
fn a_transaction_that_was_moved_is_woken_where_it_waits() {
    for scheme in SLEEPING {
        for seed in 0..seeds(4) {
            let found = simulate(seed, scheme, None);
            let ended = matches!(found, Some(Ok(()) | Err(Error::Conflict(_))));
            assert!(ended, "{scheme}, {seed}: {found:?}");
        }
    }
}

#[test]
fn a_stale_bell_is_caught() {
    let fault = chiliad_engine::faults().find(|it| it.name == "bell-of-begin").expect("declared");
    for scheme in fault.schemes {
        let sleeps_on = |&seed: &u64| simulate(seed, scheme, Some(fault)).is_none();
        let seed = (0..u64::from(fault.seeds)).find(sleeps_on);
        let seed = seed.unwrap_or_else(|| panic!("{scheme}: not caught"));
        assert!(simulate(seed, scheme, None).is_some(), "{scheme}, {seed}");
    }
}
