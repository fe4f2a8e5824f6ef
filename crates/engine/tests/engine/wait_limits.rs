//! What the limit of one wait counts: each wait for a lock on its own, and the whole of it. On simulated cores.

use crate::kit::{Db, pause_until, seeds};
use crate::waits::WAITING;
use chiliad_engine::{Error, Intent, Options, Result, TableId, TableSpec, Transaction};
use chiliad_machine::{Fault, Machine};
use chiliad_simulator::{Config, Run, Sim};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Transactions that hold something, one after the other.
const HOLDERS: u32 = 4;
/// Ticks for which each of them keeps the waiter waiting.
const HELD: u64 = 2_000;
const EVENTS_MAX: u64 = 2_000_000;

struct World {
    db: Db<Sim>,
    table: TableId,
    /// How many transactions have begun to hold something.
    held: Cell<u32>,
    /// When the last of those has.
    since: Cell<u64>,
    /// The waiter has begun.
    begun: Cell<bool>,
    /// What came of it, and for how long it waited.
    found: Cell<Option<(Result<()>, u64)>>,
}

/// Each row in a partition of its own.
fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}

impl World {
    fn new(scheme: &str) -> Rc<Self> {
        let long = Some(Duration::from_secs(3600));
        let options = Options { wait_timeout: long, partitions: HOLDERS, ..Options::default() };
        let db = Db::<Sim>::open(scheme, options);
        let table = db.create_table(TableSpec::ordered("rows")).expect("created");
        let mut loader = db.worker().expect("a slot");
        for row in 0..HOLDERS {
            loader.load(table, &key(row), b"old").expect("loaded");
        }
        drop(loader);
        let (held, since, begun, found) = Default::default();
        Rc::new(Self { db, table, held, since, begun, found })
    }

    /// A transaction holds a row, and ends with its turn: it is `HELD` ticks long.
    fn hold(&self, row: u32, begins_second: bool) {
        let mut worker = self.db.worker().expect("a slot");
        if begins_second {
            pause_until(|| self.begun.get());
        }
        let intent = Intent { partitions: &[row], ..Intent::update() };
        let mut tx = worker.begin(&intent).expect("nobody has the partition");
        tx.get_for_update(self.table, &key(row)).expect("nobody has the row");
        self.since.set(Sim::now());
        self.held.set(self.held.get() + 1);
        pause_until(|| self.held.get() == HOLDERS);
        pause_until(|| Sim::now() >= self.since.get() + HELD * u64::from(row + 1));
        tx.rollback();
    }

    /// A transaction writes all rows, and may wait for each of them for so long.
    fn wait_for_all(&self, wait_limit: u64, begins_first: bool) {
        let mut worker = self.db.worker().expect("a slot");
        if !begins_first {
            pause_until(|| self.held.get() == HOLDERS);
        }
        let partitions: Vec<u32> = (0..HOLDERS).collect();
        let wait_limit = Some(wait_limit);
        let intent = Intent { partitions: &partitions, wait_limit, ..Intent::update() };
        let found = worker.begin(&intent).and_then(|mut tx| {
            self.begun.set(true);
            pause_until(|| self.held.get() == HOLDERS);
            for row in 0..HOLDERS {
                tx.get_for_update(self.table, &key(row))?;
            }
            tx.commit().map(|_| ())
        });
        self.found.set(Some((found, Sim::now() - self.since.get())));
    }

    /// One of several transactions that hold the same row, each as long as the others: the older one for the younger one
    /// to wait for, which else is refused.
    fn hold_in_turn(&self) {
        let mut worker = self.db.worker().expect("a slot");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        self.held.set(self.held.get() + 1);
        pause_until(|| self.held.get() == HOLDERS);
        if tx.get_for_update(self.table, &key(0)).is_ok() {
            let since = Sim::now();
            self.since.set(since);
            pause_until(|| Sim::now() >= since + HELD);
        }
        tx.rollback();
    }

    /// The youngest transaction waits for the row.
    fn wait_for_one(&self, wait_limit: u64) {
        let mut worker = self.db.worker().expect("a slot");
        pause_until(|| self.since.get() != 0);
        let intent = Intent { wait_limit: Some(wait_limit), ..Intent::update() };
        let mut tx = worker.begin(&intent).expect("begins");
        let since = Sim::now();
        let found = tx.get_for_update(self.table, &key(0)).map(|_| ());
        self.found.set(Some((found, Sim::now() - since)));
        tx.rollback();
    }

    /// Lets the run come to its end; what came of the waiter.
    fn end(self: Rc<Self>, mut run: Run) -> (Result<()>, u64) {
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{:?}", outcome.verdict);
        run.outside(|| {
            let found = self.found.take();
            drop(self);
            found.expect("it has ended")
        })
    }
}

/// A transaction waits for four rows, and never for long.
fn waits_for_all(seed: u64, scheme: &str, wait_limit: u64) -> (Result<()>, u64) {
    // The older one waits there.
    let begins_first = scheme == "wait-die";
    let mut run = Run::new(Config { events_max: EVENTS_MAX, ..Config::new(seed) });
    let world = run.outside(|| World::new(scheme));
    for row in 0..HOLDERS {
        let world = Rc::clone(&world);
        run.spawn(format!("holds {row}"), move || world.hold(row, begins_first));
    }
    let waits = Rc::clone(&world);
    run.spawn("waits", move || waits.wait_for_all(wait_limit, begins_first));
    world.end(run)
}

#[test]
fn many_short_waits_are_no_long_one() {
    for scheme in WAITING {
        for seed in 0..seeds(3) {
            let wait_limit = HELD * 5 / 2;
            let (found, waited) = waits_for_all(seed, scheme, wait_limit);
            assert_eq!(found, Ok(()), "{scheme}, {seed}");
            assert!(waited > wait_limit, "{scheme}, {seed}: {waited} ticks in all");
            let (found, _) = waits_for_all(seed, scheme, HELD / 2);
            assert_eq!(found, Err(Error::WaitLimitExceeded), "{scheme}, {seed}");
        }
    }
}

/// A transaction waits for one row, which several older ones have in turn. Whether it waits on for longer than it may.
fn waits_on(seed: u64, scheme: &str, fault: Option<&'static Fault>) -> bool {
    let wait_limit = HELD * 3 / 2;
    let mut run = Run::new(Config { fault, events_max: EVENTS_MAX, ..Config::new(seed) });
    let world = run.outside(|| World::new(scheme));
    for number in 0..HOLDERS {
        let world = Rc::clone(&world);
        run.spawn(format!("holds {number}"), move || world.hold_in_turn());
    }
    let waits = Rc::clone(&world);
    run.spawn("waits", move || waits.wait_for_one(wait_limit));
    let (found, waited) = world.end(run);
    let ended = matches!(found, Ok(()) | Err(Error::WaitLimitExceeded));
    assert!(ended, "{scheme}, {seed}: {found:?}");
    // Others run between the end of its limit and its next look at the clock.
    waited > wait_limit + HELD / 4
}

#[test]
fn a_wait_in_pieces_has_one_limit() {
    let fault = chiliad_engine::faults().find(|it| it.name == "limit-begun-anew");
    let fault = fault.expect("declared");
    for scheme in fault.schemes {
        let seeds = 0..u64::from(fault.seeds);
        let on = seeds.clone().find(|&seed| waits_on(seed, scheme, None));
        assert_eq!(on, None, "{scheme}: the seed under which it waits on");
        let caught = seeds.clone().any(|seed| waits_on(seed, scheme, Some(fault)));
        assert!(caught, "{scheme}: not caught");
    }
}
