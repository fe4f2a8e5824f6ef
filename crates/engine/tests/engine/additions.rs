//! Additions to numbers of rows, under every scheme: what they do, and that those to one row are not in each other's way
//! where the scheme carries them.

use crate::durable;
use crate::kit::{Db, Dice, Tx, Worker, drawn, index, seeds, spawn_ticker};
use chiliad_api::row::VERSION_BYTES;
use chiliad_engine::{
    BadNumber, Database, Error, Info, Integer, Intent, Number, Options, Range, Reason, Result,
    Silo, Snapshots, TableId, TableSpec, Transaction, names,
};
use chiliad_machine::{Fault, Interleaved, Machine};
use chiliad_simulator::{DiskFaults, FaultyDisk, Run, Sim};
use core::ops::ControlFlow;
use std::cell::Cell;
use std::rc::Rc;

/// Schemes under which an addition is no read.
const BLIND: [&str; 4] = ["silo", "global-tid", "occ", "occ-serial"];

/// A row is a number of eight bytes and one of one byte.
const WIDE: Number = Number::at(0, Integer::I64);
const NARROW: Number = Number::at(8, Integer::U8);

fn row(wide: i64, narrow: u8) -> Vec<u8> {
    [&wide.to_le_bytes()[..], &[narrow]].concat()
}

/// A table with the row `a`, and a worker.
struct World<M: Machine> {
    db: Db<M>,
    table: TableId,
    worker: Worker<M>,
}

impl World<Interleaved> {
    fn open(scheme: &str, verify: bool, spec: TableSpec) -> Self {
        let db = Db::<Interleaved>::open(scheme, Options { verify, ..Options::default() });
        let table = db.create_table(spec).expect("created");
        let mut worker = db.worker().expect("a slot");
        worker.load(table, b"a", &row(100, 7)).expect("loads");
        Self { db, table, worker }
    }

    /// What commits of `body`.
    fn run(
        &mut self,
        body: impl FnOnce(&mut Tx<'_, Interleaved>, TableId) -> Result<()>,
    ) -> Result<()> {
        let mut tx = self.worker.begin(&Intent::update())?;
        body(&mut tx, self.table)?;
        tx.commit().map(|_| ())
    }

    /// What there is under `a`, as another transaction finds it.
    fn row(&mut self) -> Option<Vec<u8>> {
        let table = self.table;
        let mut tx = self.worker.begin(&Intent::read_only()).expect("begins");
        let found = read(&mut tx, table).expect("reads");
        tx.commit().expect("commits");
        found
    }
}

fn read(tx: &mut dyn Transaction, table: TableId) -> Result<Option<Vec<u8>>> {
    let Some(row) = tx.get(table, b"a")? else { return Ok(None) };
    tx.bytes(row).map(|bytes| Some(bytes.to_vec()))
}

/// Calls `body` with a table of each kind, under each scheme, verified and not.
fn on_all(body: fn(World<Interleaved>)) {
    for Info { name, .. } in names::all::<Interleaved>() {
        for verify in [false, true] {
            let indexed = TableSpec::ordered("i").with_index(index("by_wide", 0, 8, false));
            for spec in [TableSpec::ordered("o"), TableSpec::hash("h", 10), indexed] {
                body(World::open(name, verify, spec));
            }
        }
    }
}

#[test]
fn sums_are_there_after_the_commit_and_not_before() {
    on_all(|mut world| {
        let done = world.run(|tx, table| {
            assert!(tx.add(table, b"a", WIDE, 5)?);
            assert!(tx.add(table, b"a", WIDE, -1)?);
            assert!(tx.add(table, b"a", NARROW, 3)?);
            assert!(!tx.add(table, b"none", WIDE, 3)?);
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(world.row(), Some(row(104, 10)));
        let (table, worker) = (world.table, &mut world.worker);
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        assert_eq!(tx.add(table, b"a", WIDE, 5), Ok(true));
        tx.rollback();
        assert_eq!(world.row(), Some(row(104, 10)));
        let read_only =
            world.worker.begin(&Intent::read_only()).expect("begins").add(table, b"a", WIDE, 1);
        assert_eq!(read_only, Err(Error::ReadOnly));
    });
}

#[test]
fn a_transaction_sees_its_own_sums() {
    on_all(|mut world| {
        let done = world.run(|tx, table| {
            tx.add(table, b"a", WIDE, 5)?;
            assert_eq!(read(tx, table)?, Some(row(105, 7)));
            // From here on it is a row of its own.
            tx.add(table, b"a", WIDE, 1)?;
            let own = tx.get(table, b"a")?.expect("there");
            tx.modify(own)?[8] = 9;
            tx.add(table, b"a", NARROW, 1)?;
            assert_eq!(read(tx, table)?, Some(row(106, 10)));
            tx.put(table, b"a", &row(1, 1))?;
            tx.add(table, b"a", WIDE, 1)?;
            assert_eq!(read(tx, table)?, Some(row(2, 1)));
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(world.row(), Some(row(2, 1)));
    });
}

#[test]
fn a_sum_that_a_visit_has_shown_stays_what_it_was() {
    for Info { name, .. } in names::all::<Interleaved>() {
        for (verify, by_index) in [(false, false), (false, true), (true, false), (true, true)] {
            let plain = TableSpec::ordered("o");
            let indexed = TableSpec::ordered("i").with_index(index("by_wide", 0, 8, false));
            let spec = if by_index { indexed } else { plain };
            let mut world = World::open(name, verify, spec);
            world.worker.load(world.table, b"b", &row(200, 9)).expect("loads");
            let ran = world.run(|tx, table| {
                assert!(tx.add(table, b"a", NARROW, 5)?);
                let mut shown = Vec::new();
                let mut show = |row: &[u8]| {
                    shown.push(row.to_vec());
                    ControlFlow::Continue(())
                };
                match by_index {
                    false => tx.visit(table, Range::all(), &mut |_, row| show(row))?,
                    true => tx.visit_index(table, 0, Range::all(), &mut |_, _, row| show(row))?,
                }
                assert_eq!(shown, [row(100, 12), row(200, 9)], "{name}");
                // Copies of other rows take the room of what was shown and forgotten.
                (0..8).try_for_each(|_| tx.get(table, b"b").map(|_| ()))
            });
            ran.expect("commits");
            assert_eq!(world.row(), Some(row(100, 12)), "{name}, by index: {by_index}");
        }
    }
}

#[test]
fn additions_and_other_writes_of_a_row_take_place_in_turn() {
    on_all(|mut world| {
        // Read first, added to, and then changed by the handle of that read.
        let done = world.run(|tx, table| {
            let old = tx.get(table, b"a")?.expect("there");
            tx.add(table, b"a", WIDE, 5)?;
            tx.modify(old)?[8] = 8;
            assert_eq!(read(tx, table)?, Some(row(105, 8)));
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(world.row(), Some(row(105, 8)));
        let done = world.run(|tx, table| {
            tx.add(table, b"a", WIDE, 5)?;
            // The key is taken, and what is put replaces the sum.
            assert!(matches!(tx.insert(table, b"a", &row(0, 0)), Err(Error::DuplicateKey(_))));
            tx.put(table, b"a", &row(3, 3))
        });
        assert_eq!(done, Ok(()));
        assert_eq!(world.row(), Some(row(3, 3)));
        let done = world.run(|tx, table| {
            tx.add(table, b"a", WIDE, 5)?;
            assert!(tx.remove(table, b"a")?);
            assert!(!tx.add(table, b"a", WIDE, 5)?);
            tx.insert(table, b"b", &row(1, 1))?;
            assert!(tx.add(table, b"b", WIDE, 5)?);
            tx.insert(table, b"a", &row(2, 2))?;
            assert!(tx.add(table, b"a", WIDE, -5)?);
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(world.row(), Some(row(-3, 2)));
        let done = world.run(|tx, table| {
            tx.add(table, b"a", WIDE, 5)?;
            let own = tx.get_for_update(table, b"a")?.expect("there");
            tx.update(own, &row(9, 9))
        });
        assert_eq!(done, Ok(()));
        assert_eq!(world.row(), Some(row(9, 9)));
    });
}

fn overflow(number: Number, integer: Integer, n: i64) -> (Number, i64, Error) {
    (number, n, BadNumber::Overflow { integer, n }.into())
}

#[test]
fn a_sum_out_of_range_fails_the_transaction_and_changes_nothing() {
    on_all(|mut world| {
        let (wide, narrow) = (Integer::I64, Integer::U8);
        for (number, n, error) in [
            overflow(WIDE, wide, i64::MAX),
            overflow(NARROW, narrow, 249),
            overflow(NARROW, narrow, -8),
            overflow(NARROW, narrow, i64::MIN),
        ] {
            let failed = world.run(|tx, table| {
                tx.insert(table, b"b", &row(0, 0))?;
                tx.add(table, b"a", WIDE, 1)?;
                let added = tx.add(table, b"a", number, n);
                // A caller that ignores the error cannot commit either.
                assert!(added == Ok(true) || added == Err(error.clone()), "{added:?}");
                Ok(())
            });
            assert_eq!(failed, Err(error.clone()), "{} {n}", world.db.scheme());
            assert!(!error.is_retryable());
            assert_eq!(world.row(), Some(row(100, 7)));
            let read = world.run(|tx, table| {
                tx.add(table, b"a", number, n)?;
                read(tx, table).map(|_| ())
            });
            assert_eq!(read, Err(error), "{} {n}", world.db.scheme());
        }
        assert_eq!(world.run(|tx, table| tx.add(table, b"a", NARROW, 248).map(|_| ())), Ok(()));
        assert_eq!(world.row(), Some(row(100, 255)));
        let none = world.run(|tx, table| tx.get(table, b"b").map(|row| assert_eq!(row, None)));
        assert_eq!(none, Ok(()));
    });
}

#[test]
fn a_number_that_the_row_does_not_have_is_refused_and_the_transaction_goes_on() {
    on_all(|mut world| {
        let done = world.run(|tx, table| {
            for number in [Number::at(2, Integer::I64), Number::at(9, Integer::U8)] {
                let refused = tx.add(table, b"a", number, 1);
                assert!(matches!(refused, Err(Error::BadNumber(_))), "{refused:?}");
            }
            // The row's first two bytes are the version 100.
            let other = Number::of_version(99, 0, Integer::U8);
            let bad = BadNumber::OtherVersion { version: 99, found: 100 };
            assert_eq!(tx.add(table, b"a", other, 1), Err(bad.into()));
            let right = Number::of_version(100, 8 - VERSION_BYTES, Integer::U8);
            assert!(tx.add(table, b"a", right, 1)?);
            let refused = tx.add(table, b"a", Number::at(9, Integer::U8), 1);
            assert!(matches!(refused, Err(Error::BadNumber(_))), "{refused:?}");
            assert!(matches!(tx.add(TableId(99), b"a", WIDE, 1), Err(Error::UnknownTable(_))));
            let long = vec![1; chiliad_engine::KEY_BYTES_MAX + 1];
            assert_eq!(tx.add(table, &long, WIDE, 1), Err(Error::KeyTooLong { bytes: long.len() }));
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(world.row(), Some(row(100, 8)));
    });
}

#[test]
fn rows_that_have_outgrown_their_records_are_added_to() {
    on_all(|mut world| {
        for length in [1_000, 70_000, 9] {
            let mut value = vec![3; length];
            value[..8].copy_from_slice(&1i64.to_le_bytes());
            assert_eq!(world.run(|tx, table| tx.put(table, b"a", &value)), Ok(()));
            for _ in 0..3 {
                assert_eq!(world.run(|tx, table| tx.add(table, b"a", WIDE, 2).map(|_| ())), Ok(()));
            }
            value[..8].copy_from_slice(&7i64.to_le_bytes());
            assert_eq!(world.row(), Some(value), "{}", world.db.scheme());
        }
    });
}

#[test]
fn a_snapshot_sees_the_sum_that_was_there() {
    for Info { name, .. } in names::all::<Interleaved>().into_iter().filter(|info| info.snapshots) {
        let options =
            Options { snapshots: Snapshots::Always, snapshot_every: 1, ..Options::default() };
        let db = Db::<Interleaved>::open(name, options);
        let table = db.create_table(TableSpec::ordered("t")).expect("created");
        let mut worker = db.worker().expect("a slot");
        worker.load(table, b"a", &row(100, 7)).expect("loads");
        let mut seen = Vec::new();
        let mut reader = db.worker().expect("a slot");
        for _ in 0..3 {
            (0..3).for_each(|_| db.tick());
            let mut snapshot = reader.begin(&Intent::snapshot()).expect("begins");
            for _ in 0..2 {
                let mut tx = worker.begin(&Intent::update()).expect("begins");
                assert_eq!(tx.add(table, b"a", WIDE, 1), Ok(true));
                tx.commit().expect("commits");
                db.tick();
            }
            seen.push(read(&mut snapshot, table).expect("reads").expect("there"));
            snapshot.commit().expect("commits");
        }
        assert_eq!(seen, [row(100, 7), row(102, 7), row(104, 7)], "{name}");
    }
}

#[test]
fn a_blind_addition_is_refused_where_its_row_is_gone_and_nowhere_else() {
    for scheme in BLIND {
        for back in [false, true] {
            let mut world = World::open(scheme, true, TableSpec::ordered("t"));
            let mut other = world.db.worker().expect("a slot");
            let mut tx = other.begin(&Intent::update()).expect("begins");
            assert_eq!(tx.add(world.table, b"a", WIDE, 1), Ok(true));
            assert_eq!(world.run(|tx, table| tx.remove(table, b"a").map(|_| ())), Ok(()));
            if back {
                assert_eq!(world.run(|tx, table| tx.insert(table, b"a", &row(50, 0))), Ok(()));
            }
            let done = tx.commit().map(|_| ());
            // The record may have left its index, and the key has another one then.
            let gone = [Reason::ReadChanged, Reason::Vanished].map(|it| Err(Error::Conflict(it)));
            assert!(gone.contains(&done) || (back && done.is_ok()), "{scheme} {done:?}");
            let sum = if done.is_ok() { 51 } else { 50 };
            assert_eq!(world.row(), back.then(|| row(sum, 0)), "{scheme}");

            // A row that has become too short is another conflict: the next attempt finds that out by reading.
            assert_eq!(world.run(|tx, table| tx.put(table, b"a", &row(1, 1))), Ok(()));
            let mut tx = other.begin(&Intent::update()).expect("begins");
            assert_eq!(tx.add(world.table, b"a", NARROW, 1), Ok(true));
            assert_eq!(world.run(|tx, table| tx.put(table, b"a", &row(1, 1)[..8])), Ok(()));
            let gone = Err(Error::Conflict(Reason::ReadChanged));
            assert_eq!(tx.commit().map(|_| ()), gone, "{scheme}");
        }
    }
}

#[test]
fn what_a_transaction_reads_besides_is_checked_as_ever() {
    for scheme in BLIND {
        let mut world = World::open(scheme, true, TableSpec::ordered("t"));
        let mut other = world.db.worker().expect("a slot");
        // The row was read, and read again by way of the sum.
        for after in [false, true] {
            let mut tx = other.begin(&Intent::update()).expect("begins");
            if !after {
                read(&mut tx, world.table).expect("reads");
            }
            assert_eq!(tx.add(world.table, b"a", WIDE, 1), Ok(true));
            if after {
                read(&mut tx, world.table).expect("reads");
            }
            assert_eq!(world.run(|tx, table| tx.add(table, b"a", WIDE, 1).map(|_| ())), Ok(()));
            let done = tx.commit().map(|_| ());
            let accepted =
                [Reason::ReadChanged, Reason::TooLate].map(|it| Err(Error::Conflict(it)));
            assert!(accepted.contains(&done), "{scheme} {done:?}");
        }
        assert_eq!(world.row(), Some(row(102, 7)));
    }
}

/// Two simulated cores that each count to `turns` in one row. Returns the conflicts, and what the row is then.
fn count(scheme: &'static str, seed: u64, turns: i64, blind: bool) -> (u64, Vec<u8>) {
    count_with(None, scheme, seed, turns, blind)
}

fn count_with(
    fault: Option<&'static Fault>,
    scheme: &'static str,
    seed: u64,
    turns: i64,
    blind: bool,
) -> (u64, Vec<u8>) {
    let mut run = Run::new(drawn(seed, fault));
    let (db, table) = run.outside(|| {
        let db = Db::<Sim>::open(scheme, Options { verify: true, ..Options::default() });
        let table = db.create_table(TableSpec::ordered("t")).expect("created");
        db.worker().expect("a slot").load(table, b"a", &row(0, 0)).expect("loads");
        (db, table)
    });
    let conflicts = Rc::new(Cell::new(0));
    for core in 0..2 {
        let (db, conflicts) = (db.clone(), Rc::clone(&conflicts));
        run.spawn(if core == 0 { "one" } else { "other" }, move || {
            let mut worker = db.worker().expect("a slot");
            let mut done = 0;
            while done < turns {
                let counted = worker.begin(&Intent::update()).and_then(|mut tx| {
                    if blind {
                        tx.add(table, b"a", WIDE, 1)?;
                    } else if let Some(row) = tx.get(table, b"a")? {
                        WIDE.add(tx.modify(row)?, 1)?;
                    }
                    tx.commit().map(|_| ())
                });
                match counted {
                    Ok(()) => done += 1,
                    Err(Error::Conflict(_)) => {
                        conflicts.set(conflicts.get() + 1);
                        Sim::yield_now();
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    spawn_ticker(&mut run, &db);
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{scheme}, seed {seed}: {:?}", outcome.verdict);
    let found = run.outside(move || {
        let mut worker = db.worker().expect("a slot");
        let mut tx = worker.begin(&Intent::read_only()).expect("begins");
        read(&mut tx, table).expect("reads").expect("there")
    });
    (conflicts.get(), found)
}

#[test]
fn two_that_add_to_one_row_are_not_refused() {
    let mut refused = 0;
    for seed in 0..seeds(20) {
        for scheme in ["silo", "global-tid", "occ-serial"] {
            let (conflicts, found) = count(scheme, seed, 40, true);
            assert_eq!((conflicts, found), (0, row(80, 0)), "{scheme}, seed {seed}");
        }
        let (conflicts, found) = count("silo", seed, 40, false);
        assert_eq!(found, row(80, 0), "seed {seed}");
        refused += conflicts;
    }
    assert!(refused > 0, "those that read are");
}

#[test]
fn planted_bugs_of_additions_show_in_the_sum() {
    for name in ["added-to-an-old-value", "added-twice"] {
        let fault = chiliad_engine::faults().find(|fault| fault.name == name).expect(name);
        for scheme in BLIND {
            let mut seeds = 0..seeds(40);
            let shows =
                seeds.any(|seed| count_with(Some(fault), scheme, seed, 20, true).1 != row(40, 0));
            assert!(shows, "{name} under {scheme}");
        }
    }
}

#[test]
fn no_addition_is_lost_under_any_scheme() {
    for Info { name, .. } in names::all::<Sim>() {
        for seed in 0..seeds(3) {
            assert_eq!(count(name, seed, 20, true).1, row(40, 0), "{name}, seed {seed}");
        }
    }
}

#[test]
fn sums_are_there_after_a_restart() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let mut db = durable::open::<Silo<Interleaved>>(&disk);
    let table = db.database.create_table(TableSpec::ordered("rows")).expect("new");
    let mut dice = Dice(7);
    let mut model = durable::Model::new();
    for key in 0..8u8 {
        db.put(table, &[key], &row(0, 0));
        model.insert(vec![key], row(0, 0));
    }
    for step in 0..400 {
        let (key, n) = ([dice.below(8) as u8], dice.below(100) as i64 - 50);
        add(&db.database, table, &key, n);
        let value = model.get_mut(&key[..]).expect("put above");
        WIDE.add(value, n).expect("small numbers");
        if step % 37 == 0 {
            db.sync();
        }
    }
    assert_eq!(db.rows(table), model);
    db.close();
    let db = durable::open::<Silo<Interleaved>>(&disk);
    let table = db.database.table("rows").expect("kept");
    assert_eq!(db.rows(table), model);
}

fn add(database: &Database<Interleaved, Silo<Interleaved>>, table: TableId, key: &[u8], n: i64) {
    let mut worker = database.worker().expect("room");
    let mut tx = worker.begin(&Intent::update()).expect("begun");
    assert_eq!(tx.add(table, key, WIDE, n), Ok(true));
    tx.commit().expect("committed");
}
