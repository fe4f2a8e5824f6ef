//! Closing a database on purpose, tables that are opened or created, and the list of them.

use crate::common::{Scratch, counters, open};
use chiliad::raw::TableSpec;
use chiliad::{Database, Durability, Error, Options, Row, Scheme, Table};
use std::sync::Barrier;
use std::time::Duration;

#[test]
fn a_closed_directory_has_everything_and_can_be_opened_at_once() {
    let path = Scratch::new();
    // Nothing waits for the disk but the end.
    let options = Options::default().durability(Durability::Epoch).epoch(Duration::from_secs(60));
    for round in 0..5_u64 {
        let db = Database::open_with(&path, options.clone()).unwrap();
        let rows: Table<u64, u64> = db.open_or_create_table("rows").unwrap();
        assert_eq!(db.run(|tx| tx.scan(&rows, ..).count()), Ok(100 * round as usize));
        for key in 0..100 {
            db.run(|tx| tx.insert(&rows, &(100 * round + key), &key)).unwrap();
        }
        assert_eq!(db.close(), Ok(()));
    }
}

#[test]
fn a_database_that_others_hold_is_not_closed() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let rows = counters(&db, 1);
    let clone = db.clone();
    let mut worker = db.worker().unwrap();
    let queue = db.queue(1).unwrap();
    assert_eq!(clone.close(), Err(Error::InUse { handles: 3 }));
    assert_eq!(Error::InUse { handles: 3 }.to_string(), "it stays open for 3 other handles of it");
    assert_eq!(db.close(), Err(Error::InUse { handles: 2 }));
    drop(queue);
    worker.run(|tx| tx.put(&rows, &0, &7)).unwrap();
    let db = worker.database().clone();
    drop(worker);
    assert_eq!(db.close(), Ok(()));
    let db = Database::open(&path).unwrap();
    let rows: Table<u64, u64> = db.table("counters").unwrap();
    assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(7)));
    assert_eq!(db.close(), Ok(()));
}

#[test]
fn of_threads_that_close_the_last_handles_one_closes_the_database() {
    for _ in 0..50 {
        let db = open(Scheme::Silo);
        let (other, barrier) = (db.clone(), Barrier::new(2));
        let barrier = &barrier;
        let close = move |db: Database| {
            barrier.wait();
            db.close()
        };
        let results = std::thread::scope(|scope| {
            [db, other]
                .map(|db| scope.spawn(move || close(db)))
                .map(|thread| thread.join().unwrap())
        });
        let closed = results.iter().filter(|result| result.is_ok()).count();
        assert_eq!(closed, 1, "{results:?}");
        assert!(results.contains(&Err(Error::InUse { handles: 1 })));
    }
}

#[test]
fn memory_and_joined_databases_are_closed_too() {
    let db = open(Scheme::Silo);
    counters(&db, 10);
    assert_eq!(db.close(), Ok(()));
    // The log lives as long as somebody has joined it.
    let other = Database::join("memory:closing", Options::default()).unwrap();
    let db = Database::join("memory:closing", Options::default()).unwrap();
    let rows: Table<u64, u64> = db.open_or_create_table("rows").unwrap();
    db.run(|tx| tx.put(&rows, &1, &1)).unwrap();
    assert_eq!(db.close(), Ok(()));
    let db = Database::join("memory:closing", Options::default()).unwrap();
    assert_eq!(other.close(), Ok(()));
    let rows: Table<u64, u64> = db.open_or_create_table("rows").unwrap();
    let newest = chiliad::RunOptions::default().linearizable();
    assert_eq!(db.run_with(&newest, |tx| tx.get(&rows, &1)), Ok::<_, Error>(Some(1)));
    assert_eq!(db.close(), Ok(()));
}

#[derive(Row)]
#[index(by_age(age))]
struct Person {
    age: u32,
}

#[test]
fn tables_are_listed_as_they_were_declared() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    assert_eq!(db.tables(), []);
    db.create_table::<u64, Person>("people").unwrap();
    let hashed: Table<u64, u64> = db.create_table_with(TableSpec::hash("hashed", 9)).unwrap();
    db.create_table_raw(TableSpec::ordered("bytes")).unwrap();
    db.open_or_create_table::<u64, u64>("hashed").map(|table| assert_eq!(table, hashed)).unwrap();
    let listed = db.tables();
    let names: Vec<_> = listed.iter().map(|table| &*table.name).collect();
    assert_eq!(names, ["people", "hashed", "bytes"]);
    assert_eq!(listed[0].secondary.len(), 1);
    for table in &listed {
        assert_eq!(db.table_raw(&table.name).unwrap().1, *table);
    }
    db.drop_table("hashed").unwrap();
    assert_eq!(db.tables().len(), 2);
    db.close().unwrap();
    let db = Database::open(&path).unwrap();
    let names: Vec<_> = db.tables().into_iter().map(|table| table.name).collect();
    assert_eq!(names, ["people", "bytes"]);
}

#[test]
fn threads_that_open_or_create_a_table_get_the_same_one() {
    let db = open(Scheme::Silo);
    for round in 0..20 {
        let (name, barrier) = (format!("table {round}"), Barrier::new(3));
        let tables: Vec<Table<u64, u64>> = std::thread::scope(|scope| {
            let open = || {
                barrier.wait();
                db.open_or_create_table(&name).unwrap()
            };
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(tables.iter().all(|table| *table == tables[0]));
    }
    assert_eq!(db.tables().len(), 20);
    assert!(matches!(db.open_or_create_table::<u64, u64>("a/b"), Err(Error::InvalidOption(_))));
}
