//! The memory of dropped tables: it serves other tables while the database stays open, and nobody
//! who may still look at a table loses it; simulated under many seeds, natively by the byte.

use crate::kit::{self, drawn, index, seeds, spawn_ticker};
use chiliad_engine::{
    Database, Error, Intent, Options, Range, Result, Running, SecondarySpec, Session, Silo,
    Snapshots, TableId, TableSpec, Transaction, Worker,
};
use chiliad_machine::{Fault, Interleaved, Machine};
use chiliad_simulator::{Config, MemoryModel, Outcome, Run, Sim, Verdict};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// An index over the first two bytes of the value.
fn by_head(unique: bool) -> SecondarySpec {
    index("by_head", 0, 2, unique)
}

/// A table of each sort.
fn spec(name: &str, sort: u64) -> TableSpec {
    match sort % 4 {
        0 => TableSpec::ordered(name),
        1 => TableSpec::hash(name, 4),
        2 => TableSpec::ordered(name).with_index(by_head(false)),
        _ => TableSpec::hash(name, 4).with_index(by_head(false)).present_only(),
    }
}

/// Short keys and long ones, which need cells and layers.
fn key(number: u64) -> Vec<u8> {
    match number % 3 {
        0 => number.to_be_bytes().to_vec(),
        1 => format!("a key that goes on and on {number}").into_bytes(),
        _ => (number as u32).to_le_bytes().to_vec(),
    }
}

/// A value that tells its table and its key, short or so long that it outgrows its record.
fn value(table: TableId, number: u64, bytes: u64) -> Vec<u8> {
    let mut value = vec![number as u8, table.0 as u8];
    value.extend_from_slice(&table.0.to_le_bytes());
    value.extend_from_slice(&number.to_le_bytes());
    value.resize(value.len() + bytes as usize, number as u8 ^ table.0 as u8);
    value
}

fn assert_is_of(bytes: &[u8], table: TableId, number: Option<u64>) {
    let found = u64::from_le_bytes(bytes[6..14].try_into().expect("eight bytes"));
    assert_eq!(bytes, value(table, number.unwrap_or(found), bytes.len() as u64 - 14), "{table:?}");
}

const KEYS: u64 = 12;
const TABLES: usize = 3;

/// State that the cores of a simulated run share.
struct World {
    db: kit::Db<Sim>,
    /// The tables last created, some of them dropped again.
    tables: RefCell<Vec<TableId>>,
    turns: usize,
}

fn below(n: u64) -> u64 {
    Sim::random() % n
}

impl World {
    /// Creates, fills and drops tables.
    fn rebuild(&self, core: u64) {
        let mut worker = self.db.worker().expect("a slot");
        for turn in 0..self.turns as u64 {
            let place = below(TABLES as u64) as usize;
            let name = format!("{place} of {core}");
            let dropped = self.db.drop_table(&name);
            assert!(matches!(dropped, Ok(()) | Err(Error::UnknownTable(_))), "{dropped:?}");
            let table = self.db.create_table(spec(&name, turn + core)).expect("created");
            for number in 0..below(KEYS) {
                worker.load(table, &key(number), &value(table, number, 0)).expect("loads");
            }
            self.tables.borrow_mut()[place] = table;
            if below(2) == 0 {
                worker.rest(usize::MAX);
                self.db.tidy();
            }
        }
    }

    fn any_table(&self) -> TableId {
        let tables = self.tables.borrow();
        tables[below(tables.len() as u64) as usize]
    }

    /// Runs transactions on whatever tables there are.
    fn work(&self) {
        let mut worker = self.db.worker().expect("a slot");
        for _ in 0..self.turns {
            match self.transact(&mut worker) {
                Ok(()) | Err(Error::Conflict(_) | Error::UnknownTable(_)) => {}
                Err(error) => panic!("{error}"),
            }
            if below(4) == 0 {
                // Idle for a while, with the list of tables from before.
                Sim::park_until(Sim::now() + below(20_000));
            }
        }
    }

    fn transact(&self, worker: &mut kit::Worker<Sim>) -> Result<()> {
        let intent = if below(3) == 0 { Intent::snapshot() } else { Intent::update() };
        let mut tx = worker.begin(&Intent { partitions: &[0, 1], ..intent })?;
        for _ in 0..1 + below(6) {
            let (table, number) = (self.any_table(), below(KEYS));
            match self.operate(&mut tx, table, number, intent.read_only) {
                Err(Error::DuplicateKey(_) | Error::NotOrdered | Error::PresentOnly) => {}
                done => done?,
            }
        }
        match below(4) {
            0 => tx.rollback(),
            1 => drop(tx),
            _ => drop(tx.commit()?),
        }
        Ok(())
    }

    fn operate(
        &self,
        tx: &mut dyn Transaction,
        table: TableId,
        number: u64,
        read_only: bool,
    ) -> Result<()> {
        let key = key(number);
        let write = || value(table, number, [0, 4, 300][below(3) as usize]);
        match below(if read_only { 4 } else { 10 }) {
            0 | 1 => {
                if let Some(row) = tx.get(table, &key)? {
                    assert_is_of(tx.bytes(row).expect("its own"), table, Some(number));
                }
            }
            kind @ (2 | 3) => {
                let scanned = if kind == 2 {
                    tx.scan(table, Range::all())?
                } else {
                    match tx.scan_index(table, 0, Range::all()) {
                        Err(Error::UnknownIndex(_)) => return Ok(()),
                        scanned => scanned?,
                    }
                };
                for entry in tx.entries(scanned).expect("its own") {
                    assert_is_of(tx.bytes(entry.row).expect("its own"), table, None);
                }
            }
            4 | 5 => tx.insert(table, &key, &write())?,
            6 | 7 => tx.put(table, &key, &write())?,
            _ => drop(tx.remove(table, &key)?),
        }
        Ok(())
    }
}

/// Two cores drop and create tables, three use them, one ticks; afterwards nothing is left of those
/// that were dropped.
struct Simulated(Config);

impl Simulated {
    fn run(self, scheme: &str) -> Outcome {
        let seed = self.0.seed;
        let mut run = Run::new(self.0);
        let world = run.outside(|| {
            let snapshots = [Snapshots::Always, Snapshots::OnDemand][(seed % 2) as usize];
            let options = Options {
                snapshots,
                snapshot_every: 2,
                epoch: std::time::Duration::from_micros(5),
                partitions: 2,
                verify: seed.is_multiple_of(5),
                ..Options::default()
            };
            let db = kit::Db::<Sim>::open(scheme, options);
            let names = (0..TABLES).map(|place| spec(&format!("{place} of 1"), place as u64));
            let tables = names.map(|spec| db.create_table(spec).expect("created")).collect();
            Rc::new(World { db, tables: RefCell::new(tables), turns: 12 })
        });
        for core in [1, 2] {
            let world = Rc::clone(&world);
            run.spawn(format!("rebuilds {core}"), move || world.rebuild(core));
        }
        for core in 0..3 {
            let world = Rc::clone(&world);
            run.spawn(format!("works {core}"), move || world.work());
        }
        spawn_ticker(&mut run, &world.db);
        let outcome = run.go();
        run.outside(|| {
            if outcome.verdict.is_completed() {
                while world.db.stats().tables_dropped > 0 {
                    world.db.tick();
                }
                drop(world);
            } else {
                // Not fit to be taken down: it goes with the region that holds it.
                core::mem::forget(world);
            }
        });
        outcome
    }
}

fn simulate(seed: u64, scheme: &str, fault: Option<&'static Fault>) -> Outcome {
    Simulated(drawn(seed, fault)).run(scheme)
}

#[test]
fn many_schedules_pass() {
    let seeds = seeds(40);
    for info in chiliad_engine::names::all::<Sim>() {
        let mut marks = BTreeSet::new();
        for seed in 0..seeds {
            let outcome = simulate(seed, info.name, None);
            assert!(outcome.verdict.is_completed(), "{} {seed}: {:?}", info.name, outcome.verdict);
            marks.extend(outcome.marks);
        }
        assert!(marks.contains("dropped table taken apart"), "{}: {marks:?}", info.name);
        assert!(marks.contains("dropped table in use"), "{}: {marks:?}", info.name);
    }
}

/// The rig can fail: a view that is not seen in time costs its transaction the table.
#[test]
fn the_planted_bug_is_caught() {
    let fault = chiliad_engine::faults().find(|it| it.name == "ruin-without-fence");
    let fault = fault.expect("declared");
    // From where it is found by this build's interleavings.
    let seed = (1_000..3_000)
        .step_by(2)
        .find(|&seed| {
            let outcome = simulate(seed, "silo", Some(fault));
            matches!(outcome.verdict, Verdict::UseOfFreedMemory(_))
        })
        .expect("caught");
    assert!(simulate(seed, "silo", None).verdict.is_completed(), "seed {seed}");
}

/// Fills a table with rows of all sorts and takes some of them away again.
fn insert_delete(session: &mut dyn Session<Interleaved>, table: TableId, rows: u64) {
    let commit = |session: &mut dyn Session<_>, body: &mut dyn FnMut(&mut dyn Transaction)| {
        let mut tx = Running::begin(session, &Intent::update()).expect("begins");
        body(&mut tx);
        tx.commit().expect("alone");
    };
    for number in 0..rows {
        let bytes = [0, 20, 3_000, 40_000][(number % 64 / 21) as usize];
        session.load(table, &key(number), &value(table, number, bytes % 5_000)).expect("loads");
        if number.is_multiple_of(5) {
            // Outgrows its record, and leaves an old version behind.
            commit(session, &mut |tx| {
                tx.put(table, &key(number), &value(table, number, bytes)).expect("puts");
            });
        }
        if number.is_multiple_of(7) {
            commit(session, &mut |tx| assert!(tx.remove(table, &key(number)).is_ok()));
        }
    }
}

/// Tables come and go, and the memory in use stays what it was after the first few.
fn stays_flat(scheme: &str) {
    let options = Options { snapshots: Snapshots::Always, snapshot_every: 2, ..Options::default() };
    let db = kit::Db::<Interleaved>::open(scheme, options);
    let mut worker = db.worker().expect("a slot");
    // Has seen the first table, and never looks again.
    let mut idle = db.worker().expect("a slot");
    let mut reserved = Vec::new();
    for turn in 0..12 {
        for sort in 0..4 {
            let table = db.create_table(spec(&format!("t{sort}"), sort)).expect("created");
            insert_delete(&mut *worker, table, 2_000);
            if turn == 0 {
                let mut tx = idle.begin(&Intent::update()).expect("begins");
                assert!(tx.get(table, &key(1)).expect("reads").is_some());
                tx.commit().expect("alone");
            }
            db.tick();
        }
        (0..4).for_each(|sort| db.drop_table(&format!("t{sort}")).expect("dropped"));
        assert_eq!(db.stats().tables_dropped, 0);
        let memory = db.stats().memory;
        reserved.push(memory.reserved_bytes - memory.spare_bytes);
    }
    let (early, late) = (reserved[3], reserved[11]);
    // A heap grows by blocks, of which one may come late. A table that is left costs a tenth of this in each turn.
    assert!(late <= early + early / 20, "{scheme}: {early} bytes, then {late}");
}

#[test]
fn memory_stays_flat_while_tables_come_and_go() {
    for info in chiliad_engine::names::all::<Interleaved>() {
        stays_flat(info.name);
    }
}

type Db = Database<Interleaved, Silo<Interleaved>>;

fn open(options: Options) -> Db {
    Db::open(options).expect("opens")
}

#[test]
fn a_transaction_that_has_begun_holds_a_dropped_table() {
    let db = open(Options::default());
    let table = db.create_table(spec("t", 2)).expect("created");
    let [mut one, mut two] = [0, 1].map(|_| db.worker().expect("a slot"));
    for number in 0..100 {
        one.load(table, &key(number), &value(table, number, 0)).expect("loads");
    }
    let mut tx = one.begin(&Intent::update()).expect("begins");
    assert_eq!(tx.scan(table, Range::all()).expect("scans").len(), 100);
    db.drop_table("t").expect("dropped");
    db.tick();
    let stats = db.stats();
    assert_eq!(stats.tables_dropped, 2, "the table and its index");
    assert_eq!(stats.holds.len(), 1);
    assert!(stats.holds[0].dropped, "who holds it back is told");
    // Others go on without it, and hold nothing.
    let mut other = two.begin(&Intent::update()).expect("begins");
    assert!(matches!(other.get(table, &key(1)), Err(Error::UnknownTable(_))));
    assert_eq!(db.stats().holds.len(), 1);
    assert_eq!(tx.scan_index(table, 0, Range::all()).expect("scans").len(), 100);
    tx.put(table, &key(1), &value(table, 1, 500)).expect("puts");
    tx.commit().expect("may finish with it");
    assert!(db.stats().holds.is_empty());
    while db.stats().tables_dropped > 0 {
        db.tick();
    }
    drop(other);
}

#[test]
fn ticks_take_a_large_table_apart_bit_by_bit() {
    for sort in [0, 1] {
        let db =
            Database::<Interleaved, Silo<Interleaved>>::open(Options::default()).expect("opens");
        let table = db.create_table(spec("t", sort)).expect("created");
        let mut worker = db.worker().expect("a slot");
        for number in 0..40_000 {
            worker.load(table, &u64::to_be_bytes(number), b"row").expect("loads");
        }
        let tx = worker.begin(&Intent::update()).expect("begins");
        db.drop_table("t").expect("dropped");
        tx.rollback();
        let ticks = (0..).take_while(|_| {
            db.tick();
            db.stats().tables_dropped > 0
        });
        let ticks = ticks.count();
        assert!((1..10).contains(&ticks), "{ticks} ticks");
    }
}

/// What a dropped table has left with the collectors does not reach into its records' next lives.
#[test]
fn garbage_of_a_dropped_table_is_forgotten() {
    let options = Options { snapshots: Snapshots::Always, snapshot_every: 1, ..Options::default() };
    let db = open(options);
    let mut worker = db.worker().expect("a slot");
    for turn in 0..20 {
        let old = db.create_table(TableSpec::ordered("old")).expect("created");
        insert_delete(&mut worker, old, 60);
        db.drop_table("old").expect("dropped");
        assert_eq!(db.stats().tables_dropped, 0);
        let new = db.create_table(TableSpec::ordered("new")).expect("created");
        for number in 0..60 {
            worker.load(new, &key(number), &value(new, number, 20)).expect("loads");
        }
        db.tick();
        // On every other turn somebody else's, who has gone.
        if turn % 2 == 0 {
            drop(core::mem::replace(&mut worker, db.worker().expect("a slot")));
        }
        worker.maintain();
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        for number in 0..60 {
            let row = tx.get(new, &key(number)).expect("reads").expect("there");
            assert_is_of(tx.bytes(row).expect("its own"), new, Some(number));
        }
        tx.commit().expect("alone");
        db.drop_table("new").expect("dropped");
    }
}

/// What a creation that fails half-way has allocated is not lost.
#[test]
fn a_table_that_finds_no_memory_leaves_none_behind() {
    let memory_bytes_max = 4 << 20;
    let db = Database::<Interleaved, Silo<Interleaved>>::open(Options {
        memory_bytes_max,
        ..Options::default()
    })
    .expect("opens");
    let mut worker = db.worker().expect("a slot");
    let full = Error::OutOfMemory { limit_bytes: memory_bytes_max };
    let table = db.create_table(TableSpec::ordered("rows")).expect("created");
    let mut indexed = TableSpec::hash("indexed", 1 << 20);
    for number in 0..200 {
        indexed.secondary.push(SecondarySpec { name: number.to_string(), ..by_head(false) });
    }
    let before = db.stats().memory;
    for _ in 0..1_000 {
        assert_eq!(db.create_table(indexed.clone()), Err(full.clone()));
    }
    assert_eq!(db.stats().memory.reserved_bytes, before.reserved_bytes);
    worker.load(table, b"key", b"row").expect("there is room");
    // A database that is full has room again once a table is dropped.
    for turn in 0..5 {
        let name = format!("turn {turn}");
        let table = db.create_table(TableSpec::ordered(&name)).expect("created");
        let rows = (0..100_000_u64)
            .take_while(|number| worker.load(table, &number.to_be_bytes(), &[7; 100]).is_ok());
        let rows = rows.count();
        assert!((5_000..90_000).contains(&rows), "{rows} rows in turn {turn}");
        db.drop_table(&name).expect("dropped");
    }
}

/// On threads: one replaces a table over and over while another uses whichever there is.
#[test]
fn tables_are_replaced_under_a_thread_that_uses_them() {
    let db = Database::<Interleaved, Silo<Interleaved>>::open(Options::default()).expect("opens");
    let create = |sort| db.create_table(spec("t", sort)).expect("created");
    let newest = AtomicU32::new(create(0).0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut worker = db.worker().expect("a slot");
            let mut number = 0;
            while !done.load(Relaxed) {
                number = (number + 1) % 50;
                let table = TableId(newest.load(Relaxed));
                let mut tx = worker.begin(&Intent::update()).expect("begins");
                for _ in 0..3 {
                    match tx.get(table, &key(number)) {
                        Ok(Some(row)) => {
                            assert_is_of(tx.bytes(row).expect("its own"), table, Some(number))
                        }
                        Ok(None) | Err(Error::UnknownTable(_)) => {}
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                    std::thread::yield_now();
                }
                match tx.put(table, &key(number), &value(table, number, number * 10)) {
                    Ok(()) => drop(tx.commit()),
                    Err(_) => tx.rollback(),
                }
            }
        });
        for turn in 1..300 {
            db.drop_table("t").expect("dropped");
            newest.store(create(turn).0, Relaxed);
            db.tick();
            std::thread::yield_now();
        }
        done.store(true, Relaxed);
    });
    while db.stats().tables_dropped > 0 {
        db.tick();
    }
}

/// A collector comes back to a record whose slot has moved on, to a table that is being dropped.
fn late_collector(seed: u64) -> Outcome {
    let memory_model = if seed.is_multiple_of(2) { MemoryModel::Tso } else { MemoryModel::Sc };
    let mut run = Run::new(Config { memory_model, ..Config::new(seed) });
    let options = Options { snapshots: Snapshots::Always, snapshot_every: 1, ..Options::default() };
    let (db, late, other) = run.outside(|| {
        let db = Database::<Sim, Silo<Sim>>::open(options).expect("opens");
        let [mut late, mut other] = [0, 1].map(|_| db.worker().expect("a slot"));
        let write = |worker: &mut Worker<Sim, Silo<Sim>>, table, value: &[u8]| {
            db.tick();
            let mut tx = worker.begin(&Intent::update()).expect("begins");
            tx.put(table, b"row", value).expect("puts");
            tx.commit().expect("alone");
        };
        let first = db.create_table(TableSpec::ordered("first")).expect("created");
        write(&mut other, first, b"old");
        // Leaves an item about the old version, to which it does not come for a long time.
        write(&mut late, first, b"new");
        let mut tx = other.begin(&Intent::update()).expect("begins");
        assert_eq!(tx.remove(first, b"row"), Ok(true));
        tx.commit().expect("alone");
        let second = db.create_table(TableSpec::ordered("second")).expect("created");
        for _ in 0..4 {
            db.tick();
            other.maintain();
            // A transaction reclaims what has left its index.
            drop(other.begin(&Intent::read_only()).expect("begins").commit());
        }
        write(&mut other, second, b"old");
        write(&mut other, second, b"new");
        (Rc::new(db), late, other)
    });
    let dropper = Rc::clone(&db);
    run.spawn("drops", move || dropper.drop_table("second").expect("dropped"));
    let mut worker = late;
    run.spawn("collects", move || worker.maintain());
    let outcome = run.go();
    if outcome.verdict.is_completed() {
        run.outside(|| drop((db, other)));
    } else {
        core::mem::forget((db, other));
    }
    outcome
}

#[test]
fn a_late_collector_and_a_drop_do_not_meet_on_a_record() {
    for seed in 0..400 {
        let outcome = late_collector(seed);
        assert!(outcome.verdict.is_completed(), "{seed}: {:?}", outcome.verdict);
    }
}
