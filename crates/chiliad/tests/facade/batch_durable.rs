//! Several transactions in flight on one thread, in a directory: nobody is told before the disk has it,
//! and the disk is waited for together.

use crate::common;
use crate::common::{Scratch, killed};
use chiliad::raw::TableSpec;
use chiliad::{Database, Durability, Error, Options, RunOptions, Table};
use std::path::Path;
use std::time::Duration;

/// Epochs that end only when somebody asks for it.
fn open(path: &Path, durability: Durability) -> Database {
    let options = Options::default().epoch(Duration::from_secs(3600)).durability(durability);
    Database::open_with(path, options).unwrap()
}

fn rows_in(path: &Path, table: &str) -> Vec<(u64, u64)> {
    let db = Database::open(path).unwrap();
    let table: Table<u64, u64> = db.table(table).unwrap();
    db.run(|tx| tx.scan(&table, ..).rows()).unwrap()
}

#[test]
fn all_results_wait_for_the_disk_together() {
    let path = Scratch::new();
    let db = open(&path, Durability::Sync);
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    let before = db.storage().unwrap().epoch;
    let results = db.run_each(0..500, |tx, key| {
        tx.insert(&rows, key, &1)?;
        if *key % 10 == 9 { Err(Error::RolledBack) } else { Ok(*key) }
    });
    let after = db.storage().unwrap();
    let expected = (0..500).map(|key| if key % 10 == 9 { Err(Error::RolledBack) } else { Ok(key) });
    assert_eq!(results, Ok(expected.collect()));
    // One after the other, each would have ended an epoch.
    assert!(after.epoch - before < 50, "{before} {after:?}");
    assert!(after.durable_epoch >= before, "{before} {after:?}");
    let copy = killed(&path);
    let expected: Vec<_> = (0..500).filter(|key| key % 10 != 9).map(|key| (key, 1)).collect();
    assert_eq!(rows_in(&copy, "rows"), expected);
}

#[test]
fn one_that_waits_for_the_disk_leaves_the_thread_to_its_siblings() {
    const IN_FLIGHT: u64 = 64;
    let path = Scratch::new();
    let db = open(&path, Durability::Sync);
    let outer: Table<u64, u64> = db.create_table("outer").unwrap();
    let inner: Table<u64, u64> = db.create_table("inner").unwrap();
    let before = db.storage().unwrap().epoch;
    let options = RunOptions::default().in_flight(IN_FLIGHT as usize);
    let results = db.run_each_with(&options, 0..IN_FLIGHT, |tx, key| {
        tx.insert(&outer, key, &1)?;
        // A transaction of its own, which returns when it is durable.
        db.run(|tx| tx.insert(&inner, key, &2))
    });
    assert_eq!(results, Ok(vec![Ok(()); IN_FLIGHT as usize]));
    let after = db.storage().unwrap().epoch;
    assert!(after - before < IN_FLIGHT / 2, "{before} {after}");
    let copy = killed(&path);
    assert_eq!(rows_in(&copy, "outer").len() as u64, IN_FLIGHT);
    assert_eq!(rows_in(&copy, "inner").len() as u64, IN_FLIGHT);
}

#[test]
fn without_waiting_nobody_waits() {
    let path = Scratch::new();
    let db = open(&path, Durability::Epoch);
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    let before = db.storage().unwrap().epoch;
    let results = db.run_each(0..100, |tx, key| tx.insert(&rows, key, &1));
    assert_eq!(results, Ok(vec![Ok(()); 100]));
    assert_eq!(db.storage().unwrap().epoch, before);
    drop(db);
    assert_eq!(rows_in(&path, "rows").len(), 100);
}

#[test]
fn a_queues_tickets_are_held_back_and_its_servers_are_not() {
    let path = Scratch::new();
    let db = open(&path, Durability::Sync);
    let rows: Table<u64, u64> = db.create_table_with(TableSpec::ordered("rows")).unwrap();
    let queue = db.queue(1000).unwrap();
    let options = RunOptions::default();
    let tickets: Vec<_> = (0..300)
        .map(|key| queue.submit(&options, move |tx| tx.insert(&rows, &key, &key)).unwrap())
        .collect();
    let failing = queue.submit(&options, move |tx| {
        tx.get(&rows, &0)?;
        Err::<(), _>(Error::RolledBack)
    });
    queue.close();
    let before = db.storage().unwrap().epoch;
    std::thread::scope(|scope| {
        scope.spawn(|| queue.serve(4)).join().unwrap().unwrap();
        for (number, ticket) in tickets.into_iter().enumerate() {
            if number % 2 == 0 {
                ticket.wait().unwrap();
            } else {
                common::block_on(ticket).0.unwrap();
            }
        }
        assert_eq!(common::block_on(failing.unwrap()).0, Err(Error::RolledBack));
    });
    let after = db.storage().unwrap().epoch;
    assert!(after - before < 100, "{before} {after}");
    assert_eq!(rows_in(&killed(&path), "rows").len(), 300);
}
