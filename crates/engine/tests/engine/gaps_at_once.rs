//! Rows that appear beside a range while a transaction that has read it commits, on simulated cores: they refuse nobody, at
//! whichever step of the commit they come.

use crate::gaps::SCHEMES;
use crate::kit::{Db, drawn, seeds};
use chiliad_engine::{Intent, Options, Range, TableId, TableSpec, Transaction};
use chiliad_simulator::{Run, Sim};
use core::ops::Bound;
use std::cell::Cell;
use std::rc::Rc;

/// The keys that are there from the start; all of them and what is inserted share a few leaves.
const KEYS: core::ops::Range<u64> = 10..20;

struct World {
    db: Db<Sim>,
    rows: TableId,
    /// Where the reader writes, so that it is no transaction that only reads.
    other: TableId,
    committed: Cell<u64>,
}

impl World {
    fn new(scheme: &str) -> Self {
        let db = Db::<Sim>::open(scheme, Options::default());
        let create = |name| db.create_table(TableSpec::ordered(name)).expect("created");
        let (rows, other) = (create("rows"), create("other"));
        let mut worker = db.worker().expect("a slot");
        for key in KEYS {
            worker.load(rows, &key.to_be_bytes(), b"loaded").expect("loads");
        }
        worker.load(other, b"written", b"loaded").expect("loads");
        drop(worker);
        Self { db, rows, other, committed: Cell::new(0) }
    }

    /// Reads all keys that are there from the start, and writes elsewhere.
    fn reads(&self) {
        let mut worker = self.db.worker().expect("a slot");
        let (low, high) = (KEYS.start.to_be_bytes(), KEYS.end.to_be_bytes());
        let mut range = Range::all();
        (range.low, range.high) = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        for _ in 0..8 {
            let mut tx = worker.begin(&Intent::update()).expect("begins");
            let rows = tx.scan(self.rows, range).expect("scans");
            assert_eq!(rows.len() as u64, KEYS.end - KEYS.start);
            tx.put(self.other, b"written", b"here").expect("puts");
            tx.commit().expect("what comes beside refuses nobody");
            self.committed.set(self.committed.get() + 1);
        }
    }

    /// Inserts rows on either side of what the other core reads.
    fn inserts(&self) {
        let mut worker = self.db.worker().expect("a slot");
        for key in (0..KEYS.start).rev().zip(KEYS.end..) {
            for key in [key.0, key.1] {
                let mut tx = worker.begin(&Intent::update()).expect("begins");
                tx.insert(self.rows, &key.to_be_bytes(), b"came").expect("inserts");
                tx.commit().expect("commits");
            }
        }
    }
}

#[test]
fn what_comes_beside_a_range_during_the_commit_refuses_nobody() {
    for scheme in SCHEMES {
        for seed in 0..seeds(60) {
            let mut run = Run::new(drawn(seed, None));
            let world = Rc::new(run.outside(|| World::new(scheme)));
            let (reader, writer) = (Rc::clone(&world), Rc::clone(&world));
            run.spawn("reads", move || reader.reads());
            run.spawn("inserts", move || writer.inserts());
            let outcome = run.go();
            assert!(outcome.verdict.is_completed(), "{scheme} {seed}: {}", outcome.verdict);
            run.outside(|| {
                assert_eq!(world.committed.get(), 8, "{scheme} {seed}");
                drop(world);
            });
        }
    }
}
