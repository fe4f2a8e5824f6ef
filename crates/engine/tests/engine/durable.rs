//! A database on a disk, closed and opened again: what was durable is there, under any scheme.

use crate::kit::index;
use chiliad_engine::Session;
use chiliad_engine::{
    Alone, Cancel, Database, DurableOptions, Error, GlobalTid, Intent, LogError, LogOptions,
    LogRunner, Mode, Opened, Options, Partitioned, Scheme, Silo, Stepped, TableId, TableSpec,
    Transaction,
};
use chiliad_engine::{Range, Recovered};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Interleaved, Machine};
use chiliad_simulator::{DiskFaults, FaultyDisk};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A database with its writers, run by hand.
pub struct Open<S: Scheme<Interleaved>> {
    pub database: Database<Interleaved, S>,
    runners: Vec<LogRunner<Interleaved, S>>,
    recovered: Recovered,
}

fn durable_options() -> DurableOptions {
    let log = LogOptions { segment_bytes: 64 << 10, writers: 2, ..LogOptions::default() };
    DurableOptions { log, ..DurableOptions::default() }
}

fn try_open<S: Scheme<Interleaved>>(disk: &FaultyDisk, mode: Mode) -> Result<Open<S>, Error> {
    try_open_with(disk, mode, durable_options())
}

pub fn try_open_with<S: Scheme<Interleaved>>(
    disk: &FaultyDisk,
    mode: Mode,
    durable: DurableOptions,
) -> Result<Open<S>, Error> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let opened = Database::open_on(disk, mode, Options::default(), durable, &Alone)?;
    let Opened { database, runners, recovered } = opened;
    Ok(Open { database, runners, recovered })
}

pub fn open<S: Scheme<Interleaved>>(disk: &FaultyDisk) -> Open<S> {
    try_open(disk, Mode::Write).expect("sound")
}

impl<S: Scheme<Interleaved>> Open<S> {
    pub fn sync(&mut self) {
        self.database.tick();
        for runner in &mut self.runners {
            runner.step();
        }
    }

    pub fn put(&self, table: TableId, key: &[u8], value: &[u8]) -> u64 {
        self.write(|tx| tx.put(table, key, value))
    }

    fn remove(&self, table: TableId, key: &[u8]) -> u64 {
        self.write(|tx| tx.remove(table, key).map(|_| ()))
    }

    fn write(&self, body: impl Fn(&mut dyn Transaction) -> chiliad_engine::Result<()>) -> u64 {
        let mut worker = self.database.worker().expect("room");
        let mut tx = worker.begin(&Intent::update()).expect("begun");
        body(&mut tx).expect("written");
        tx.commit().expect("committed").epoch
    }

    pub fn rows(&self, table: TableId) -> Model {
        let mut worker = self.database.worker().expect("room");
        let mut tx = worker.begin(&Intent::read_only()).expect("begun");
        let scanned = tx.scan(table, Range::all()).expect("scanned");
        let entries = tx.entries(scanned).expect("its own").to_vec();
        let row = |entry: chiliad_engine::Entry| {
            (
                tx.key(entry).expect("its own").to_vec(),
                tx.bytes(entry.row).expect("its own").to_vec(),
            )
        };
        entries.into_iter().map(row).collect()
    }

    pub fn close(self) {
        for runner in self.runners {
            assert_ne!(runner.finish(), Stepped::Failed);
        }
    }
}

/// A database with a table of rows, and its disk.
fn with_rows() -> (FaultyDisk, Open<Silo<Interleaved>>, TableId) {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let db = open::<Silo<Interleaved>>(&disk);
    let table = db.database.create_table(TableSpec::ordered("rows")).expect("new");
    (disk, db, table)
}

/// Fills a table with what a seed says and keeps a model of it.
fn fill<S: Scheme<Interleaved>>(db: &mut Open<S>, table: TableId, model: &mut Model, seed: u64) {
    let mut random = seed | 1;
    let mut next = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for step in 0..400 {
        let key = format!("key {}", next(60)).into_bytes();
        if next(4) == 0 {
            db.remove(table, &key);
            model.remove(&key);
        } else {
            let value = vec![next(256) as u8; 1 + next(300) as usize];
            db.put(table, &key, &value);
            model.insert(key, value);
        }
        if step % 37 == 0 {
            db.sync();
        }
    }
}

fn reopened_under<A: Scheme<Interleaved>, B: Scheme<Interleaved>>() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let mut model = Model::new();
    let mut db = open::<A>(&disk);
    let spec = TableSpec::ordered("rows").with_index(index("by_first", 0, 1, false));
    let table = db.database.create_table(spec).expect("new");
    fill(&mut db, table, &mut model, 7);
    db.close();
    for round in 0..3 {
        let mut db = open::<B>(&disk);
        assert_eq!(db.recovered.incarnation, 2 + round);
        assert!(db.recovered.closed && !db.recovered.torn, "{:?}", db.recovered);
        let table = db.database.table("rows").expect("kept");
        assert_eq!(db.rows(table), model);
        let mut worker = db.database.worker().expect("room");
        let mut tx = worker.begin(&Intent::read_only()).expect("begun");
        let by_first = tx.scan_index(table, 0, Range::all()).expect("scanned");
        assert_eq!(by_first.len(), model.len());
        drop(tx);
        drop(worker);
        fill(&mut db, table, &mut model, 11 + u64::from(round));
        db.close();
    }
}

#[test]
fn what_was_written_under_one_scheme_is_read_under_another() {
    reopened_under::<Silo<Interleaved>, Silo<Interleaved>>();
    reopened_under::<Silo<Interleaved>, Partitioned<Interleaved>>();
    reopened_under::<Partitioned<Interleaved>, GlobalTid<Interleaved>>();
    reopened_under::<GlobalTid<Interleaved>, Silo<Interleaved>>();
}

#[test]
fn a_crash_loses_what_was_not_durable_and_nothing_else() {
    for seed in 0..40 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let mut db = open::<Silo<Interleaved>>(&disk);
        let table = db.database.create_table(TableSpec::ordered("rows")).expect("new");
        let mut model = Model::new();
        fill(&mut db, table, &mut model, seed);
        db.sync();
        assert!(db.database.durable_epoch() + 1 >= db.database.epoch());
        // The next epoch, of which nothing is synced.
        let lost = db.put(table, b"lost", b"lost");
        assert!(lost > db.database.durable_epoch());
        let after = disk.crash(seed);
        let db = open::<Silo<Interleaved>>(&after);
        let table = db.database.table("rows").expect("kept");
        assert_eq!(db.rows(table), model, "seed {seed}");
    }
}

#[test]
fn a_checkpoint_replaces_the_log() {
    let (disk, mut db, table) = with_rows();
    let other = db.database.create_table(TableSpec::hash("other", 100)).expect("new");
    let mut model = Model::new();
    for round in 0..4 {
        fill(&mut db, table, &mut model, round);
        db.put(other, b"round", &[round as u8]);
        db.sync();
        // What the checkpoint waits for is durable already.
        let runner = std::thread::scope(|scope| {
            let Open { database, mut runners, recovered } = db;
            let again = database.clone();
            let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let over = Arc::clone(&done);
            let ticking = scope.spawn(move || {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    again.tick();
                    runners.iter_mut().for_each(|runner| {
                        runner.step();
                    });
                    std::thread::yield_now();
                }
                runners
            });
            let made = database.checkpoint(&Alone).expect("made");
            assert_eq!(made.rows, model.len() as u64 + 1);
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            Open { database, runners: ticking.join().expect("ended"), recovered }
        });
        db = runner;
    }
    let names = disk.file_names();
    let checkpoints = names.iter().filter(|name| name.starts_with("checkpoint")).count();
    assert_eq!(checkpoints, 1, "{names:?}");
    fill(&mut db, table, &mut model, 99);
    db.sync();
    let after = disk.crash(3);
    let db = open::<Silo<Interleaved>>(&after);
    assert_eq!(db.recovered.checkpoint.map(|it| it.number), Some(4));
    assert_eq!(db.rows(db.database.table("rows").expect("kept")), model);
}

#[test]
fn tables_come_and_go_for_good() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let mut db = open::<Silo<Interleaved>>(&disk);
    let first = db.database.create_table(TableSpec::ordered("first")).expect("new");
    db.put(first, b"a", b"1");
    // Dropping waits for what was written before.
    std::thread::scope(|scope| {
        let database = db.database.clone();
        let dropping = scope.spawn(move || database.drop_table("first"));
        while !dropping.is_finished() {
            db.sync();
        }
        dropping.join().expect("ended").expect("dropped");
    });
    let second = db.database.create_table(TableSpec::ordered("second")).expect("new");
    assert!(second > first);
    db.close();
    let db = open::<Silo<Interleaved>>(&disk);
    assert!(matches!(db.database.table("first"), Err(Error::UnknownTable(_))));
    assert_eq!(db.database.table("second").expect("kept"), second);
    let third = db.database.create_table(TableSpec::ordered("third")).expect("new");
    assert!(third > second);
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    disk.create("notes.txt", 4096).expect("made");
    let error = try_open::<Silo<Interleaved>>(&disk, Mode::Write).err().expect("refused");
    assert!(matches!(error, Error::Data(LogError::NotOurs { .. })), "{error}");
    assert_eq!(disk.file_names(), ["notes.txt"]);
    let empty = FaultyDisk::new(1, DiskFaults::default());
    let error = try_open::<Silo<Interleaved>>(&empty, Mode::Read).err().expect("refused");
    assert!(matches!(error, Error::Data(LogError::Missing { .. })), "{error}");
    assert!(empty.file_names().is_empty());
}

#[test]
fn damage_is_told_with_file_and_place_and_can_be_salvaged() {
    let (disk, mut db, table) = with_rows();
    for number in 0..50_u8 {
        db.put(table, &[number], &[number; 100]);
        db.sync();
    }
    drop(db);
    let after = disk.kill();
    after.flip("log-00000001-0000-00000000", 8 * 4096 + 60, 3).expect("flipped");
    let before: Vec<_> = after.file_names().into_iter().map(|name| after.contents(&name)).collect();
    for mode in [Mode::Write, Mode::Read] {
        match try_open::<Silo<Interleaved>>(&after, mode).err() {
            Some(Error::Data(LogError::Damaged { file, offset, .. })) => {
                assert_eq!((file.as_str(), offset), ("log-00000001-0000-00000000", 8 * 4096));
            }
            other => panic!("{other:?}"),
        }
    }
    let now: Vec<_> = after.file_names().into_iter().map(|name| after.contents(&name)).collect();
    assert_eq!(before, now, "nothing was changed");
    let saved = try_open::<Silo<Interleaved>>(&after, Mode::Salvage).expect("what there is");
    assert_eq!(saved.recovered.losses.len(), 1, "{:?}", saved.recovered);
    let rows = saved.rows(saved.database.table("rows").expect("kept"));
    assert!(rows.len() >= 48 && rows.len() < 50, "{}", rows.len());
    let to = FaultyDisk::new(2, DiskFaults::default());
    saved.database.export(&to, &Alone).expect("written");
    let db = open::<Silo<Interleaved>>(&to.crash(1));
    assert_eq!(db.rows(db.database.table("rows").expect("kept")), rows);
}

#[test]
fn a_failed_sync_leaves_a_database_that_reads() {
    let (disk, mut db, table) = with_rows();
    db.put(table, b"kept", b"1");
    db.sync();
    disk.set_faults(DiskFaults { sync_errors_one_in: 1, ..DiskFaults::default() });
    let epoch = db.put(table, b"lost", b"2");
    db.sync();
    assert!(db.database.durable_epoch() < epoch);
    assert!(matches!(db.database.log_failure(), Some(Error::LogFailed(_))));
    let mut worker = db.database.worker().expect("room");
    let mut tx = worker.begin(&Intent::update()).expect("may read");
    assert!(tx.get(table, b"kept").expect("reads").is_some());
    assert!(!tx.commit().expect("has read").wrote);
    let mut tx = worker.begin(&Intent::update()).expect("may read");
    tx.put(table, b"late", b"3").expect("not refused yet");
    assert!(matches!(tx.commit(), Err(Error::LogFailed(_))));
    assert!(matches!(
        db.database.create_table(TableSpec::ordered("more")),
        Err(Error::LogFailed(_))
    ));
    drop(worker);
    assert_eq!(db.rows(table).len(), 2);
    disk.set_faults(DiskFaults::default());
    let db = open::<Silo<Interleaved>>(&disk.crash(5));
    let rows = db.rows(db.database.table("rows").expect("kept"));
    assert_eq!(rows.get(&b"kept"[..]).map(Vec::as_slice), Some(&b"1"[..]));
}

#[test]
fn a_copy_made_meanwhile_is_a_database() {
    let (_, mut db, table) = with_rows();
    let mut model = Model::new();
    fill(&mut db, table, &mut model, 5);
    let to = FaultyDisk::new(2, DiskFaults::default());
    std::thread::scope(|scope| {
        let (database, target) = (db.database.clone(), to.clone());
        let copying = scope.spawn(move || database.backup(&target));
        while !copying.is_finished() {
            db.sync();
        }
        copying.join().expect("ended").expect("copied");
    });
    let error = db.database.backup(&to).err();
    assert!(matches!(error, Some(Error::Data(LogError::NotEmpty { .. }))), "{error:?}");
    let copy = open::<Silo<Interleaved>>(&to.crash(9));
    assert_eq!(copy.rows(copy.database.table("rows").expect("kept")), model);
}

#[test]
fn a_checkpoint_of_an_idle_database_counts() {
    let (disk, mut db, table) = with_rows();
    db.put(table, b"kept", b"1");
    // Epochs pass in which nothing is written: no log says that they are durable.
    (0..5).for_each(|_| db.sync());
    db.database.checkpoint(&Alone).expect("made");
    drop(db);
    let db = open::<Silo<Interleaved>>(&disk.crash(1));
    assert_eq!(db.rows(db.database.table("rows").expect("kept")).len(), 1);
}

#[test]
fn what_recovery_has_seen_stays_although_its_sync_had_failed() {
    for seed in 0..40 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let mut options = durable_options();
        options.log.writers = 1;
        let db = try_open_with::<Silo<Interleaved>>(&disk, Mode::Write, options);
        let mut db = db.expect("sound");
        let table = db.database.create_table(TableSpec::ordered("rows")).expect("new");
        db.put(table, b"kept", b"1");
        db.sync();
        disk.set_faults(DiskFaults { sync_errors_one_in: 1, ..DiskFaults::default() });
        db.put(table, b"seen", b"2");
        db.sync();
        drop(db);
        // The process starts again; the system, whose memory still has it all, has gone on.
        disk.set_faults(DiskFaults::default());
        let disk = disk.kill();
        let db = open::<Silo<Interleaved>>(&disk);
        let seen = db.rows(db.database.table("rows").expect("kept"));
        assert_eq!(seen.len(), 2);
        drop(db);
        let db = open::<Silo<Interleaved>>(&disk.crash(seed));
        assert_eq!(db.rows(db.database.table("rows").expect("kept")), seen, "seed {seed}");
    }
}

#[test]
fn the_end_of_a_checkpoint_cut_short_and_the_recovery_too() {
    for operations in 6..14 {
        let disk = FaultyDisk::new(operations, DiskFaults::default());
        let mut db = open::<Silo<Interleaved>>(&disk);
        let table = db.database.create_table(TableSpec::ordered("rows")).expect("new");
        let off_after = |disk: &FaultyDisk, operations: u64| {
            let off_after_operations = Some(disk.counters().operations + operations);
            disk.set_faults(DiskFaults { off_after_operations, ..DiskFaults::default() });
        };
        for round in 0..2 {
            db.put(table, b"key", &[round]);
            db.sync();
            if round == 1 {
                off_after(&disk, operations);
            }
            // Its end is durable already. The second one may be cut short.
            assert!(db.database.checkpoint(&Alone).is_ok() || round == 1);
        }
        drop(db);
        for cut in 3..8 {
            // The process was killed; power is lost while it starts again.
            let again = disk.kill();
            off_after(&again, cut);
            let _ = try_open::<Silo<Interleaved>>(&again, Mode::Write);
            for seed in 0..120 {
                let db = open::<Silo<Interleaved>>(&again.crash(seed));
                let rows = db.rows(db.database.table("rows").expect("kept"));
                assert_eq!(rows.get(&b"key"[..]), Some(&vec![1]), "{operations} {cut} {seed}");
            }
        }
    }
}

/// A log that takes nothing, be it for a disk that hangs: who commits is not held up, and who begins is no longer than
/// it may be.
#[test]
fn room_in_a_full_log_is_waited_for_within_the_limits() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let log = LogOptions { buffer_bytes_max: 4096, ..LogOptions::default() };
    let durable = DurableOptions { log, ..DurableOptions::default() };
    let mut db: Open<Silo<Interleaved>> =
        try_open_with(&disk, Mode::Write, durable).expect("sound");
    let table = db.database.create_table(TableSpec::ordered("rows")).expect("new");
    db.sync();
    let mut worker = db.database.worker().expect("room");
    // Nobody runs the writers from here on.
    let mut tx = worker.begin(&Intent::update()).expect("begun");
    tx.put(table, b"large", &[7; 20_000]).expect("written");
    tx.commit().expect("whatever room there is");
    let soon = Interleaved::now() + Interleaved::ticks_per_second() / 100;
    let limited = Intent { deadline: Some(soon), ..Intent::update() };
    assert_eq!(worker.begin(&limited).err(), Some(Error::DeadlineExceeded));
    let cancel = Cancel::new();
    worker.cancel_by(Some(&cancel));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(10));
            cancel.cancel();
        });
        assert_eq!(worker.begin(&Intent::update()).err(), Some(Error::Canceled));
    });
    worker.cancel_by(None);
    // Who says that it only reads waits for nothing.
    let mut tx = worker.begin(&Intent::read_only()).expect("begun");
    assert!(tx.get(table, b"large").expect("read").is_some());
    assert!(tx.get(table, b"small").expect("read").is_none(), "what was given up has not happened");
    tx.commit().expect("committed");
    // Once the disk is there again, so is the room.
    db.sync();
    let mut tx = worker.begin(&Intent::update()).expect("begun");
    tx.put(table, b"small", b"7").expect("written");
    tx.commit().expect("committed");
    drop(worker);
    db.close();
}
