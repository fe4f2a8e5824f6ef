//! Rows that expire, under every serializable scheme, by a clock that the tests set.

use chiliad::raw::{Range, TableLayout, TableSpec, Transaction as _};
use chiliad::{Clock, Database, Durability, Error, Isolation, Options, Row, Scheme, Table};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Row, Debug, PartialEq, Clone)]
#[row(expires = "until")]
#[index(by_user(user))]
struct Session {
    user: u64,
    until: Option<SystemTime>,
    note: String,
}

fn serializable() -> Vec<Scheme> {
    let keeps = |scheme: &Scheme| scheme.info().isolation == Isolation::Serializable;
    Scheme::ALL.into_iter().filter(keeps).collect()
}

/// A session of the user `key % 3` that ends after so many seconds, or never.
fn session(key: u64, seconds: Option<u64>) -> Session {
    let until = seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
    Session { user: key % 3, until, note: format!("number {key}") }
}

fn open(scheme: Scheme) -> (Database, Clock, Table<u64, Session>) {
    let clock = Clock::set_to(UNIX_EPOCH);
    let options = Options::default().scheme(scheme).clock(clock.clone());
    let db = Database::in_memory_with(options).unwrap();
    let table = db.create_table("sessions").unwrap();
    (db, clock, table)
}

/// Rows that are there, past their time or not.
fn held(db: &Database, table: Table<u64, Session>) -> usize {
    db.run(|tx| {
        let tx = tx.raw();
        let scanned = tx.scan(table.id(), Range::all())?;
        Ok(tx.entries(scanned)?.len())
    })
    .unwrap()
}

/// The background removes rows until so many are left.
fn swept_to(db: &Database, table: Table<u64, Session>, left: usize) {
    let begun = Instant::now();
    while held(db, table) != left {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} are left", held(db, table));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Rows 0 to 99: every other one stays, the rest end after as many seconds as their key.
fn fill(db: &Database, table: Table<u64, Session>) {
    db.run(|tx| {
        (0..100).try_for_each(|key| {
            tx.insert(&table, &key, &session(key, (key % 2 == 1).then_some(key)))
        })
    })
    .unwrap();
}

#[test]
fn what_is_over_is_absent_to_every_reader() {
    for scheme in serializable() {
        let (db, clock, table) = open(scheme);
        fill(&db, table);
        assert_eq!(db.run(|tx| tx.scan(&table, ..).count()).unwrap(), 100);
        clock.advance(Duration::from_secs(51));
        // 1, 3, .. 51 are over.
        let live: Vec<u64> = (0..100).filter(|key| key % 2 == 0 || *key > 51).collect();
        db.run(|tx| {
            assert_eq!(tx.get(&table, &51)?, None);
            assert!(tx.get(&table, &53)?.is_some());
            assert!(!tx.contains(&table, &1)?);
            assert!(tx.fetch(&table, &1)?.is_none());
            assert!(tx.fetch_for_update(&table, &1)?.is_none());
            let many = tx.get_many(&table, &[1, 2, 51, 53])?;
            assert_eq!(
                many.iter().map(Option::is_some).collect::<Vec<_>>(),
                [false, true, false, true]
            );
            assert_eq!(tx.scan(&table, ..).keys()?, live);
            assert_eq!(tx.scan(&table, ..).values()?.len(), live.len());
            assert_eq!(tx.scan(&table, ..).count()?, live.len());
            // A limit counts what is there.
            assert_eq!(tx.scan(&table, 1..).limit(3).keys()?, [2, 4, 6]);
            assert_eq!(tx.scan(&table, ..=51).rev().limit(2).keys()?, [50, 48]);
            assert_eq!(tx.scan(&table, 51..).first()?.map(|(key, _)| key), Some(52));
            let one_by_one = tx.scan(&table, ..).limit(40).into_iter();
            let keys: Result<Vec<u64>, _> = one_by_one.map(|row| row.map(|(key, _)| key)).collect();
            assert_eq!(keys?, live[..40]);
            let mut visited = 0;
            tx.scan(&table, ..).for_each(|_, _| {
                visited += 1;
                Ok(())
            })?;
            assert_eq!(visited, live.len());
            let of_user = tx.find(&table, Session::BY_USER, &(1,)).keys()?;
            let expected = live.iter().copied().filter(|key| key % 3 == 1);
            assert_eq!(of_user, expected.collect::<Vec<_>>());
            let ranged = tx.find_range(&table, Session::BY_USER, (0,)..=(2,)).count()?;
            assert_eq!(ranged, live.len());
            Ok(())
        })
        .unwrap();
        let by_snapshot = db.snapshot(|snapshot| snapshot.scan(&table, ..).count());
        assert!(by_snapshot.unwrap() <= live.len(), "{scheme:?}");
    }
}

#[test]
fn what_is_over_is_absent_to_writers_and_its_key_is_free() {
    for scheme in serializable() {
        let (db, clock, table) = open(scheme);
        fill(&db, table);
        clock.advance(Duration::from_secs(51));
        let new = |key| session(key, Some(1_000));
        db.run(|tx| {
            assert!(!tx.remove(&table, &1)?, "{scheme:?}");
            assert_eq!(tx.take(&table, &3)?, None);
            assert_eq!(tx.update(&table, &5, |row| row.note.clear())?, None);
            assert_eq!(tx.retain(&table, 0..8, |key, _| *key != 7 && *key != 6)?, 1);
            tx.insert(&table, &9, &new(9))?;
            assert!(matches!(tx.insert(&table, &9, &new(9)), Err(Error::DuplicateKey(_))));
            assert_eq!(tx.insert_if_absent(&table, &11, &new(11))?, None);
            assert_eq!(tx.replace(&table, &13, &new(13))?, None);
            assert!(!tx.upsert(&table, &15, |row| row.unwrap_or_else(|| new(15)))?);
            tx.put(&table, &17, &new(17))
        })
        .unwrap();
        db.run(|tx| {
            let keys = tx.scan(&table, ..19).keys()?;
            assert_eq!(keys, [0, 2, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18], "{scheme:?}");
            assert_eq!(tx.pop_first(&table)?.map(|(key, _)| key), Some(0));
            assert_eq!(tx.pop_first(&table)?.map(|(key, _)| key), Some(2));
            assert_eq!(tx.remove_range(&table, 18..30)?, 6);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn what_is_over_is_removed_in_the_background() {
    for scheme in serializable() {
        let (db, clock, table) = open(scheme);
        fill(&db, table);
        clock.advance(Duration::from_secs(30));
        swept_to(&db, table, 85);
        clock.advance(Duration::from_secs(1_000));
        swept_to(&db, table, 50);
        db.close().unwrap();
    }
}

#[test]
fn a_transaction_sees_one_time() {
    let (db, clock, table) = open(Scheme::default());
    fill(&db, table);
    db.run(|tx| {
        if tx.get(&table, &1)?.is_none() {
            // Run again, since the background has come in between.
            return Err(Error::RolledBack);
        }
        clock.advance(Duration::from_secs(10));
        // The transaction still sees the row after its time: it has read the clock already.
        assert!(tx.contains(&table, &9)?);
        Err::<(), _>(Error::RolledBack)
    })
    .unwrap_err();
    assert!(!db.run(|tx| tx.contains(&table, &9)).unwrap());
}

#[derive(Row, Debug, PartialEq)]
struct Lasting {
    user: u64,
    until: SystemTime,
}

#[derive(Row, Debug, PartialEq)]
#[row(expires = "until")]
struct Passing {
    user: u64,
    until: SystemTime,
}

#[test]
fn the_catalog_keeps_which_column_says_when() {
    let path = std::env::temp_dir().join(format!("chiliad-expiry-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let clock = Clock::set_to(UNIX_EPOCH);
    let options = || Options::default().durability(Durability::Epoch).clock(clock.clone());
    let expires = |db: &Database| match &db.tables()[0].layout {
        TableLayout::Schema(schema) => schema.expires,
        other => panic!("{other:?}"),
    };
    // A release in which they stay, one in which they expire, and back.
    for (round, column) in [(0, None), (1, Some(1)), (2, Some(1)), (3, None)] {
        let db = Database::open_with(&path, options()).unwrap();
        let until = UNIX_EPOCH + Duration::from_secs(5);
        match column {
            None => {
                let table: Table<u64, Lasting> = db.open_or_create_table("rows").unwrap();
                db.run(|tx| tx.put(&table, &round, &Lasting { user: 1, until })).unwrap();
            }
            Some(_) => {
                let table: Table<u64, Passing> = db.open_or_create_table("rows").unwrap();
                db.run(|tx| tx.put(&table, &round, &Passing { user: 1, until })).unwrap();
            }
        }
        assert_eq!(expires(&db), column, "round {round}");
        db.close().unwrap();
        let db = Database::open_with(&path, options()).unwrap();
        assert_eq!(expires(&db), column, "round {round}, opened again");
        db.close().unwrap();
    }
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_hash_table_of_rows_that_expire_is_refused() {
    let db = Database::in_memory().unwrap();
    let refused = db.create_table_with::<u64, Session>(TableSpec::hash("sessions", 10));
    assert!(matches!(refused, Err(Error::InvalidOption(what)) if what.contains("sessions")));
}
