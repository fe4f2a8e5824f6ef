//! Read-only tables: loads are their only writers, until they are sealed; then they are read without
//! the scheme, and what is read is what was loaded.

use crate::kit::{Db, Worker, index};
use chiliad_engine::Session;
use chiliad_engine::names;
use chiliad_engine::{
    Alone, Database, DurableOptions, Error, Get, Intent, Isolation, Mode, Options, Range, Reason,
    Silo, Snapshots, Stepped, TableId, TableSpec, Transaction, Writes,
};
use chiliad_machine::Interleaved;
use chiliad_machine::disk::Disk;
use chiliad_simulator::{Config, DiskFaults, FaultyDisk, MemoryModel, Run, Schedule, Sim};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    matches!(&result, Err(Error::ReadOnlyTable(name)) if name == "rates")
}

/// Every way to write is refused, before and after the seal, and the transaction goes on.
fn every_write(scheme: &str) {
    for hash in [false, true] {
        let options = Options { verify: hash, ..Options::default() };
        let db = Db::<Interleaved>::open(scheme, options);
        let spec = if hash { TableSpec::hash("rates", 8) } else { TableSpec::ordered("rates") };
        let rates = db
            .create_table(spec.with_index(index("by_value", 0, 1, false)).read_only())
            .expect("new");
        let other = db.create_table(TableSpec::ordered("other")).expect("new");
        let mut worker = db.worker().expect("a slot");
        worker.load(rates, b"a", b"1").expect("loads");
        for sealed in [false, true] {
            if sealed {
                db.seal("rates").expect("sealed");
                db.seal("rates").expect("sealed already");
                assert!(is_refused(worker.load(rates, b"c", b"3")), "{scheme}");
            }
            let mut tx = worker.begin(&Intent::update()).expect("begins");
            let row = tx.get(rates, b"a").expect("reads").expect("there");
            assert_eq!(tx.bytes(row).expect("its own"), b"1");
            assert_eq!(tx.get(rates, b"z").expect("reads"), None);
            assert!(is_refused(tx.insert(rates, b"b", b"2")));
            assert!(is_refused(tx.put(rates, b"a", b"2")));
            assert!(is_refused(tx.update(row, b"2")));
            assert!(is_refused(tx.modify(row).map(|_| ())));
            assert!(is_refused(tx.remove_row(row)));
            assert!(is_refused(tx.get_for_update(rates, b"a")));
            assert!(is_refused(tx.get_many(&[Get::update(rates, b"a")], &mut [None])));
            tx.put(other, b"x", b"y").expect("another table");
            tx.commit().expect("alone");
            if !sealed {
                worker.load(rates, b"b", b"2").expect("loads");
            }
        }
        let mut tx = worker.begin(&Intent::read_only()).expect("begins");
        let mut rows = [None; 3];
        let gets = [b"a", b"b", b"c"].map(|key| Get::read(rates, key));
        tx.get_many(&gets, &mut rows).expect("reads");
        assert_eq!(rows.map(|row| row.is_some()), [true, true, false]);
        let found = tx.scan_index(rates, 0, Range::all()).expect("scans");
        assert_eq!(found.len(), 2);
        tx.commit().expect("alone");
        assert_eq!(db.tables()[0].1.writes, Writes::Nobody);
    }
}

#[test]
fn transactions_do_not_write() {
    for info in names::all::<Interleaved>() {
        every_write(info.name);
    }
}

#[test]
fn only_what_is_declared_read_only_is_sealed() {
    let db = Database::<Interleaved, Silo<Interleaved>>::open(Options::default()).expect("opens");
    db.create_table(TableSpec::ordered("plain")).expect("new");
    let refused = db.seal("plain").expect_err("not declared");
    assert!(refused.to_string().contains("table plain: not declared read-only"), "{refused}");
    assert_eq!(db.seal("none"), Err(Error::UnknownTable("none".into())));
}

#[test]
fn a_snapshot_of_before_does_not_see_what_was_loaded_since() {
    let options = Options { snapshots: Snapshots::Always, snapshot_every: 1, ..Options::default() };
    let db = Database::<Interleaved, Silo<Interleaved>>::open(options).expect("opens");
    let rates = db.create_table(TableSpec::ordered("rates").read_only()).expect("new");
    let [mut loader, mut reader] = [0, 1].map(|_| db.worker().expect("a slot"));
    loader.load(rates, b"a", b"1").expect("loads");
    db.reach_snapshot();
    let mut past = reader.begin(&Intent::snapshot()).expect("begins");
    loader.load(rates, b"b", b"2").expect("loads");
    db.seal("rates").expect("sealed");
    assert_eq!(past.scan(rates, Range::all()).expect("scans").len(), 1);
    assert_eq!(past.get(rates, b"b").expect("reads"), None);
    past.commit().expect("a snapshot never aborts");
}

/// Rows that a transaction sees by a scan, twice, and by single look-ups.
fn count(worker: &mut Worker<Sim>, table: TableId) -> Result<[usize; 3], Error> {
    let mut tx = worker.begin(&Intent::read_only())?;
    let first = tx.scan(table, Range::all())?.len();
    let mut single = 0;
    for key in 0..KEYS {
        single += usize::from(tx.get(table, &key.to_be_bytes())?.is_some());
    }
    let second = tx.scan(table, Range::all())?.len();
    tx.commit()?;
    Ok([first, single, second])
}

const KEYS: u64 = 40;

/// Cores load, one seals, others read all the while. Returns whether a load came too late.
fn read_beside(scheme: &str, seed: u64) -> bool {
    let mut config = Config::new(seed);
    config.memory_model = if seed % 2 == 1 { MemoryModel::Tso } else { MemoryModel::Sc };
    if seed / 2 % 2 == 1 {
        config.schedule = Schedule::few_preemptions();
    }
    let mut run = Run::new(config);
    let db = run.outside(|| Db::<Sim>::open(scheme, Options::default()));
    let spec = TableSpec::ordered("rates").read_only();
    let table = run.outside(|| db.create_table(spec).expect("new"));
    let loaded = Rc::new(Cell::new(0));
    let counts = Rc::new(RefCell::new(Vec::new()));
    let sealed = Rc::new(Cell::new(false));
    for part in 0..2 {
        let (db, loaded) = (db.clone(), loaded.clone());
        run.spawn(format!("loader {part}"), move || {
            let mut worker = db.worker().expect("a slot");
            for key in (part..KEYS).step_by(2) {
                match worker.load(table, &key.to_be_bytes(), b"row") {
                    Ok(()) => loaded.set(loaded.get() + 1),
                    Err(error) => return assert!(is_refused::<()>(Err(error))),
                }
            }
        });
    }
    let (sealing, done) = (db.clone(), sealed.clone());
    run.spawn("sealer", move || {
        // Some rows are there by then, and some come too late.
        let mut worker = sealing.worker().expect("a slot");
        while count(&mut worker, table).is_ok_and(|[first, ..]| first < KEYS as usize / 4) {}
        sealing.seal("rates").expect("sealed");
        done.set(true);
    });
    for reader in 0..2 {
        let (db, counts, sealed) = (db.clone(), counts.clone(), sealed.clone());
        run.spawn(format!("reader {reader}"), move || {
            let mut worker = db.worker().expect("a slot");
            for _ in 0..12 {
                let after = sealed.get();
                match count(&mut worker, table) {
                    Ok(seen) => counts.borrow_mut().push((after, seen)),
                    Err(Error::Conflict(reason)) => {
                        // The scheme may still refuse a row that was found before the seal, and none that was found later.
                        assert!(!after || reason == Reason::Phantom, "{reason:?}");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{scheme} seed {seed}: {outcome:?}");
    let loaded = loaded.get();
    for (after, seen) in counts.borrow().iter() {
        let [first, single, second] = *seen;
        assert!(first == single && first == second, "{scheme} seed {seed}: {seen:?}");
        assert!(!after || first == loaded, "{scheme} seed {seed}: {loaded}");
    }
    run.outside(|| {
        let mut worker = db.worker().expect("a slot");
        assert_eq!(count(&mut worker, table), Ok([loaded; 3]));
        drop((worker, db));
    });
    loaded < KEYS as usize
}

#[test]
fn readers_beside_the_seal_see_one_state() {
    let transactional = |info: &chiliad_engine::Info| {
        // Without its partitions a load is beside everybody.
        info.isolation != Isolation::None && !info.needs_partitions
    };
    for info in names::all::<Sim>().into_iter().filter(transactional) {
        let late = |seed: &u64| read_beside(info.name, *seed);
        let cut_short = (0..40).filter(late).count();
        assert!(cut_short > 0, "{}: no load came too late", info.name);
    }
}

#[test]
fn a_seal_outlives_the_database() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let open = || {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let durable = DurableOptions::default();
        Database::<Interleaved, Silo<Interleaved>>::open_on(
            disk,
            Mode::Write,
            Options::default(),
            durable,
            &Alone,
        )
        .expect("sound")
    };
    for round in 0..3 {
        let mut opened = open();
        let db = opened.database.clone();
        if round == 0 {
            let spec =
                TableSpec::ordered("rates").with_index(index("by_value", 0, 1, false)).read_only();
            let rates = db.create_table(spec).expect("new");
            db.worker().expect("a slot").load(rates, b"a", b"1").expect("loads");
        }
        let rates = db.table("rates").expect("kept");
        let mut worker = db.worker().expect("a slot");
        if round == 1 {
            assert_eq!(db.tables()[0].1.writes, Writes::Loads);
            worker.load(rates, b"b", b"2").expect("not sealed yet");
            thread::scope(|scope| {
                let sealing = scope.spawn(|| db.seal("rates").expect("sealed"));
                while !sealing.is_finished() {
                    db.tick();
                    opened.runners.iter_mut().for_each(|runner| _ = runner.step());
                }
            });
        }
        if round == 2 {
            assert_eq!(db.tables()[0].1.writes, Writes::Nobody);
            assert!(is_refused(worker.load(rates, b"c", b"3")));
            let mut tx = worker.begin(&Intent::read_only()).expect("begins");
            assert_eq!(tx.scan(rates, Range::all()).expect("scans").len(), 2);
            assert_eq!(tx.scan_index(rates, 0, Range::all()).expect("scans").len(), 2);
            tx.commit().expect("alone");
        }
        drop(worker);
        opened.runners.into_iter().for_each(|runner| assert_ne!(runner.finish(), Stepped::Failed));
    }
}
