//! Databases that share a log and live long: checkpoints, trimmed logs, restarts.

use crate::common::Scratch;
use crate::common::gated_log::GatedLog;
use chiliad::shared_log::{FileLog, FileLogOptions, MemoryLog, SharedLog, SharedLogError};
use chiliad::{Database, Error, LogError, Options, RunOptions, Table};
use chiliad_machine::Native;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{fs, thread};

/// The directory of a log.
struct Place(Scratch);

impl Place {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn join(&self, options: Options) -> Result<Database, Error> {
        Database::join(&self.0.display().to_string(), options)
    }

    fn open(&self) -> Database {
        self.join(Options::default()).expect("a server")
    }

    /// The first record that the log in it has.
    fn first_record(&self) -> u64 {
        let log = FileLog::<Native>::open_directory(&self.0, FileLogOptions::default());
        log.expect("a log").bounds().expect("bounds").start
    }

    fn checkpoints(&self) -> Vec<PathBuf> {
        checkpoints(&self.0.join("checkpoints"))
    }
}

/// The checkpoints in a directory, the newest first.
fn checkpoints(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| {
        path.extension().is_none() && path.file_name().is_some_and(|it| it != "LOCK")
    });
    paths.sort();
    paths.reverse();
    paths
}

/// Turns a bit of a file.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[9] ^= 2;
    fs::write(path, bytes).expect("written");
}

fn newest() -> RunOptions {
    RunOptions::default().linearizable()
}

type Rows = BTreeMap<u64, String>;

fn rows(db: &Database) -> Rows {
    db.run_with(&newest(), |_| Ok::<_, Error>(())).expect("caught up");
    let table: Table<u64, String> = db.table("t").expect("declared");
    let rows = db.run(|tx| tx.scan(&table, ..).rows()).expect("scanned");
    rows.into_iter().collect()
}

/// Inserts, updates and removes rows, in the database and in the model.
fn change(db: &Database, model: &mut Rows, round: u64) {
    let table: Table<u64, String> = db.table("t").expect("declared");
    for turn in 0..20 {
        let key = (round * 7 + turn * 13) % 97;
        if turn % 5 == 4 {
            db.run(|tx| tx.remove(&table, &key).map(|_| ())).expect("removed");
            model.remove(&key);
        } else {
            let value = format!("{round}.{turn}");
            db.run(|tx| tx.put(&table, &key, &value)).expect("put");
            model.insert(key, value);
        }
    }
}

fn declare(db: &Database) {
    db.create_table::<u64, String>("t").expect("a table");
}

#[test]
fn a_database_that_is_joined_a_hundred_times_stays_the_same() {
    let place = Place::new();
    let mut model = Rows::new();
    declare(&place.open());
    for round in 0..100 {
        let db = place.open();
        assert_eq!(rows(&db), model, "round {round}");
        change(&db, &mut model, round);
        if round % 3 == 1 {
            db.checkpoint().expect("a checkpoint");
        }
        if round % 7 == 2 {
            change(&db, &mut model, round + 1000);
        }
    }
    assert!(place.first_record() > 500, "the log is trimmed");
    assert_eq!(place.checkpoints().len(), 2);
    assert_eq!(rows(&place.open()), model);
}

#[test]
fn checkpoints_are_made_while_transactions_run() {
    let place = Place::new();
    let db = place.join(Options::default().checkpoint_log_bytes(32 << 10)).expect("a server");
    let counters: Table<u64, u64> = db.create_table("counters").expect("a table");
    db.bulk_load(&counters, (0..4).map(|key| (key, 0))).expect("rows");
    let (made, counted) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for client in 0..3_u64 {
            let (db, made, counted) = (&db, &made, &counted);
            scope.spawn(move || {
                // Until checkpoints were made, and one of them long ago.
                while !made.load(Ordering::Relaxed) {
                    db.run(|tx| tx.update(&counters, &(client % 4), |count| *count += 1))
                        .expect("counted");
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let directory = place.0.join("checkpoints");
        let mut seen = BTreeMap::new();
        while seen.len() < 6 {
            seen.extend(checkpoints(&directory).into_iter().map(|path| (path, ())));
            thread::yield_now();
        }
        made.store(true, Ordering::Relaxed);
    });
    let storage = db.storage().expect("a place");
    assert_eq!((storage.failure, storage.checkpoint_failure), (None, None));
    assert_eq!(storage.epoch, storage.durable_epoch);
    assert!(storage.epoch >= counted.load(Ordering::Relaxed));
    let stats = db.stats();
    // A checkpoint that is just being made tells of itself.
    assert!(stats.log_lag <= 1, "{stats:?}");
    assert!(stats.snapshot_oldest <= stats.epoch, "{stats:?}");
    let rolled = stats.rolled;
    assert!(rolled.intentions > 0 && rolled.intentions <= stats.epoch, "{rolled:?}");
    assert!(rolled.zone_max <= rolled.zone_total, "{rolled:?}");
    assert!([rolled.reading, rolled.building, rolled.deciding].iter().all(|it| !it.is_zero()));
    drop(db);
    assert!(place.first_record() > 1, "the log is trimmed");
    let db = place.open();
    let counters: Table<u64, u64> = db.table("counters").expect("declared");
    let sum = db.run(|tx| Ok(tx.scan(&counters, ..).values()?.iter().sum::<u64>()));
    assert_eq!(sum, Ok(counted.into_inner()));
}

/// A place whose log is trimmed, and what is in it.
fn trimmed() -> (Place, Rows) {
    let (place, mut model) = (Place::new(), Rows::new());
    let db = place.open();
    declare(&db);
    for round in 0..4 {
        change(&db, &mut model, round);
        db.checkpoint().expect("a checkpoint");
    }
    change(&db, &mut model, 4);
    drop(db);
    assert!(place.first_record() > 1);
    (place, model)
}

#[test]
fn a_damaged_checkpoint_costs_nothing_and_two_are_told() {
    let (place, model) = trimmed();
    let files = place.checkpoints();
    damage(&files[0]);
    assert_eq!(rows(&place.open()), model, "by the one before");
    damage(&files[1]);
    let refused = place.join(Options::default()).expect_err("refused");
    assert!(matches!(refused, Error::Data(LogError::Damaged { .. })), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("checkpoint-") && text.lines().count() == 1, "{text}");
}

#[test]
fn a_log_that_was_trimmed_beyond_all_checkpoints_is_refused() {
    let (place, model) = trimmed();
    let (here, away) = (place.0.join("checkpoints"), place.0.join("away"));
    fs::rename(&here, &away).expect("moved");
    let first = place.first_record();
    let refused = place.join(Options::default()).expect_err("refused");
    assert!(matches!(refused, Error::LogRefused { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains(&format!("first record is number {first}")), "{text}");
    assert!(text.contains("no checkpoint") && text.lines().count() == 1, "{text}");
    assert!(!here.exists(), "nothing is left of what was refused");
    // With the place of the checkpoints all is well.
    let found = place.join(Options::default().checkpoints(&away)).expect("a server");
    assert_eq!(rows(&found), model);
}

#[test]
fn a_log_that_was_made_anew_is_refused() {
    let (place, _) = trimmed();
    for entry in fs::read_dir(&place.0).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            fs::remove_file(path).expect("removed");
        }
    }
    let refused = place.join(Options::default()).expect_err("refused");
    assert!(matches!(refused, Error::LogRefused { .. }), "{refused}");
    assert!(refused.to_string().contains("made anew"), "{refused}");
}

#[test]
fn checkpoints_do_not_lie_among_other_files() {
    let place = Place::new();
    let data = place.0.join("data");
    fs::create_dir_all(&place.0).expect("a directory");
    drop(Database::open(&data).expect("a database"));
    let refused = Database::join("memory:", Options::default().checkpoints(&data));
    let refused = refused.expect_err("refused");
    assert!(matches!(refused, Error::Data(LogError::NotOurs { .. })), "{refused}");
    let refused = Database::join(&data.display().to_string(), Options::default());
    let refused = refused.expect_err("no log among them either");
    assert!(matches!(refused, Error::Data(LogError::NotOurs { .. })), "{refused}");
    let refused = Database::join("memory:", Options::default().checkpoints(data.join("a/b")));
    assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
    let db = Database::join("memory:", Options::default()).expect("a server");
    assert!(matches!(db.checkpoint(), Err(Error::InvalidOption(_))), "no place for any");
}

#[test]
fn servers_share_a_place_for_checkpoints() {
    let place = Place::new();
    let log = Arc::new(MemoryLog::new());
    let options = Options::default().checkpoints(&*place.0).checkpoint_log_bytes(16 << 10);
    let join = |options: &Options| Database::join_log(log.clone(), options.clone());
    let servers: Vec<_> = (0..3).map(|_| join(&options).expect("a server")).collect();
    let counters: Table<u64, u64> = servers[0].create_table("counters").expect("a table");
    servers[0].bulk_load(&counters, (0..8).map(|key| (key, 0))).expect("rows");
    thread::scope(|scope| {
        for (at, server) in servers.iter().enumerate() {
            scope.spawn(move || {
                server.run_with(&newest(), |_| Ok::<_, Error>(())).expect("caught up");
                let counters: Table<u64, u64> = server.table("counters").expect("declared");
                for turn in 0..1000 {
                    let key = (at as u64 * 3 + turn) % 8;
                    server.run(|tx| tx.update(&counters, &key, |it| *it += 1)).expect("counted");
                    if turn % 100 == 50 {
                        server.checkpoint().expect("a checkpoint");
                    }
                }
            });
        }
    });
    assert!(log.bounds().expect("bounds").start > 1, "the log is trimmed");
    assert!(checkpoints(&place.0).len() <= 3, "{:?}", checkpoints(&place.0));
    let fourth = join(&options).expect("a server");
    for server in servers.iter().chain([&fourth]) {
        let sum = server.run_with(&newest(), |tx| {
            let counters: Table<u64, u64> = server.table("counters")?;
            Ok::<u64, Error>(tx.scan(&counters, ..).values()?.iter().sum())
        });
        assert_eq!(sum, Ok(3000));
        assert_eq!(server.storage().expect("a place").checkpoint_failure, None);
    }
    let stranger = join(&Options::default()).expect_err("without the checkpoints");
    assert!(matches!(stranger, Error::LogRefused { .. }), "{stranger}");
}

/// A directory as it is at any moment of a checkpoint: what a killed process leaves.
#[test]
fn what_a_killed_checkpoint_leaves_is_in_nobodys_way() {
    let (place, mut model) = trimmed();
    let whole = fs::read(&place.checkpoints()[0]).expect("a checkpoint");
    let left = place.0.join("checkpoints").join(format!("checkpoint-{:020}.7.new", 50));
    for bytes in [0, 1, 4096, whole.len() / 2] {
        fs::write(&left, &whole[..bytes.min(whole.len())]).expect("written");
        assert_eq!(rows(&place.open()), model);
    }
    let db = place.open();
    for round in 10..13 {
        change(&db, &mut model, round);
        db.checkpoint().expect("a checkpoint");
    }
    assert!(!left.exists(), "it goes with the next checkpoints");
    assert_eq!(rows(&db), model);
}

/// A switch that cuts a log off.
#[derive(Default)]
struct Cut {
    is_cut: AtomicBool,
    refused: AtomicU64,
}

impl Cut {
    /// A way to `log` that can be cut off.
    fn off(self: &Arc<Self>, log: Arc<MemoryLog>) -> Arc<GatedLog> {
        let cut = Arc::clone(self);
        GatedLog::new(log, move |_| {
            if !cut.is_cut.load(Ordering::SeqCst) {
                return Ok(());
            }
            cut.refused.fetch_add(1, Ordering::SeqCst);
            Err(SharedLogError::Unavailable("cut off".into()))
        })
    }
}

#[test]
fn a_server_that_was_left_behind_begins_with_a_checkpoint() {
    let place = Place::new();
    let options = Options::default().checkpoints(&*place.0);
    let log = Arc::new(MemoryLog::new());
    let cut = Arc::new(Cut::default());
    let away = cut.off(log.clone());
    let db = Database::join_log(log, options.clone()).expect("a server");
    declare(&db);
    let mut model = Rows::new();
    change(&db, &mut model, 1);
    let behind = Database::join_log(away.clone(), options.clone()).expect("a server");
    let old = rows(&behind);
    assert_eq!(old, model);
    cut.is_cut.store(true, Ordering::SeqCst);
    // A read that had begun before has returned by then.
    while cut.refused.load(Ordering::SeqCst) < 3 {
        thread::yield_now();
    }
    for round in 2..5 {
        change(&db, &mut model, round);
        db.checkpoint().expect("a checkpoint");
    }
    cut.is_cut.store(false, Ordering::SeqCst);
    let table: Table<u64, String> = behind.table("t").expect("declared");
    // An update might be in the log when its call fails.
    let failed = behind.run_with(&newest(), |tx| tx.get(&table, &1)).expect_err("left behind");
    assert!(matches!(failed, Error::LogFailed(_)), "{failed}");
    assert!(failed.to_string().contains("trimmed"), "{failed}");
    let there: Rows =
        behind.run(|tx| tx.scan(&table, ..).rows()).expect("reads go on").into_iter().collect();
    assert_eq!(there, old);
    drop(behind);
    let again = Database::join_log(away, options).expect("a server");
    assert_eq!(rows(&again), model);
    assert_eq!(again.fingerprint(), db.fingerprint());
}

/// Others make checkpoints and trim the log at any moment of a join: the server begins with theirs then.
#[test]
fn a_server_joins_while_the_log_is_trimmed() {
    let mut trimmed = 0;
    while joins_while_trimmed_before(trimmed + 1) {
        trimmed += 1;
    }
    assert!(trimmed >= 3, "{trimmed} calls");
}

/// Joins a log that others trim before this call of the join. Returns whether it had so many.
fn joins_while_trimmed_before(call: u64) -> bool {
    let place = Place::new();
    let options = Options::default().checkpoints(&*place.0);
    let log = Arc::new(MemoryLog::new());
    let db = Arc::new(Database::join_log(log.clone(), options.clone()).expect("a server"));
    declare(&db);
    change(&db, &mut Rows::new(), 0);
    db.checkpoint().expect("a checkpoint");
    let (calls, others, joins) = (AtomicU64::new(0), Arc::clone(&db), thread::current().id());
    let gated = GatedLog::new(log.clone(), move |_| {
        // A server that runs is left behind by so many checkpoints in a row: not those of its threads.
        let own = thread::current().id() == joins;
        if own && calls.fetch_add(1, Ordering::SeqCst) + 1 == call {
            for round in 1..4 {
                change(&others, &mut Rows::new(), round);
                others.checkpoint().expect("a checkpoint");
            }
        }
        Ok(())
    });
    let first = log.bounds().expect("bounds").start;
    let joined = Database::join_log(gated, options).expect("a server");
    let is_trimmed = log.bounds().expect("bounds").start > first;
    if is_trimmed {
        assert_eq!(rows(&joined), rows(&db), "trimmed before call {call}");
    }
    is_trimmed
}

#[test]
fn a_database_is_dropped_while_its_log_is_cut_off() {
    let place = Place::new();
    // A checkpoint follows the other, since each grows the log by a record.
    let options = Options::default().checkpoints(&*place.0).checkpoint_log_bytes(1);
    let cut = Arc::new(Cut::default());
    let log = cut.off(Arc::new(MemoryLog::new()));
    let db = Database::join_log(log, options).expect("a server");
    declare(&db);
    let mut model = Rows::new();
    change(&db, &mut model, 1);
    while checkpoints(&place.0).is_empty() {
        thread::yield_now();
    }
    cut.is_cut.store(true, Ordering::SeqCst);
    // The next checkpoint is written, and cannot be told.
    while cut.refused.load(Ordering::SeqCst) < 200 {
        thread::yield_now();
    }
    let table: Table<u64, String> = db.table("t").expect("declared");
    let there = db.run(|tx| tx.scan(&table, ..).count()).expect("reads go on");
    assert_eq!(there, model.len());
    // Returns, though nobody answers the one that makes the checkpoint.
    drop(db);
    assert!(!checkpoints(&place.0).is_empty());
}
