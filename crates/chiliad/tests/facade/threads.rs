//! Threads and databases come and go in any order.

use crate::common::{counters, open};
use chiliad::{Database, Options, Scheme, Table};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

#[test]
fn a_thread_ends_before_its_database() {
    for scheme in Scheme::ALL {
        let db =
            Database::in_memory_with(Options::default().scheme(scheme).workers_max(3)).unwrap();
        let rows = counters(&db, 1);
        // More threads, one after another, than there may be workers: each gives its own back.
        for _ in 0..50 {
            let db = db.clone();
            std::thread::spawn(move || {
                db.run(|tx| tx.update(&rows, &0, |count| *count += 1)).unwrap();
            })
            .join()
            .unwrap();
        }
        assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(50)), "{scheme}");
    }
}

#[test]
fn a_database_ends_before_its_threads() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 1);
        let (used, is_used) = channel();
        let (end, may_end) = channel::<()>();
        let clone = db.clone();
        let thread = std::thread::spawn(move || {
            clone.run(|tx| tx.put(&rows, &0, &1)).unwrap();
            drop(clone);
            used.send(()).unwrap();
            may_end.recv().unwrap();
            // Its cache still knows the database that has gone; another one takes its place.
            let other = open(scheme);
            let rows = counters(&other, 1);
            other.run(|tx| tx.put(&rows, &0, &2)).unwrap();
        });
        is_used.recv().unwrap();
        db.run(|tx| tx.put(&rows, &0, &3)).unwrap();
        drop(db);
        end.send(()).unwrap();
        thread.join().unwrap();
    }
}

#[test]
fn a_database_is_dropped_by_a_thread_that_ends() {
    struct Last(Database, Table<u64, u64>);
    impl Drop for Last {
        fn drop(&mut self) {
            // The thread's own cache may be gone already.
            self.0.run(|tx| tx.put(&self.1, &0, &1)).unwrap();
        }
    }
    thread_local! {
        static EARLY: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
        static LATE: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 1);
        std::thread::spawn(move || {
            EARLY.with_borrow_mut(|early| *early = Some(Last(db.clone(), rows)));
            db.run(|tx| tx.put(&rows, &0, &1)).unwrap();
            LATE.with_borrow_mut(|late| *late = Some(Last(db, rows)));
        })
        .join()
        .unwrap();
    }
}

#[test]
fn one_thread_uses_several_databases() {
    let databases: Vec<(Database, Table<u64, u64>)> = Scheme::ALL
        .into_iter()
        .cycle()
        .take(20)
        .map(|scheme| {
            let db = open(scheme);
            let rows = counters(&db, 1);
            (db, rows)
        })
        .collect();
    for round in 0..100 {
        let (db, rows) = &databases[round % databases.len()];
        db.run(|tx| {
            tx.update(rows, &0, |count| *count += 1)?;
            // And one inside a transaction of another.
            let (other, rows) = &databases[(round + 7) % databases.len()];
            other.run(|tx| tx.update(rows, &0, |count| *count += 1))
        })
        .unwrap();
    }
    let total: u64 =
        databases.iter().map(|(db, rows)| db.run(|tx| tx.get(rows, &0)).unwrap().unwrap()).sum();
    assert_eq!(total, 200);
}

#[test]
fn a_worker_keeps_its_database_open() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let mut worker = db.worker().unwrap();
    drop(db);
    worker.run(|tx| tx.put(&rows, &0, &1)).unwrap();
    let moved = std::thread::spawn(move || worker.run(|tx| tx.get(&rows, &0)).unwrap());
    assert_eq!(moved.join().unwrap(), Some(1));
}

#[test]
fn a_transaction_dropped_is_rolled_back() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let mut worker = db.worker().unwrap();
    let mut tx = worker.begin(&chiliad::RunOptions::default()).unwrap();
    tx.put(&rows, &0, &1).unwrap();
    tx.insert(&rows, &5, &1).unwrap();
    drop(tx);
    assert_eq!(db.run(|tx| tx.scan(&rows, ..).rows()).unwrap(), [(0, 0)]);
    db.run(|tx| tx.insert(&rows, &5, &2)).unwrap();
}

#[test]
fn databases_do_not_wait_for_their_ticker() {
    let start = Instant::now();
    for _ in 0..5 {
        let options = Options::default().epoch(Duration::from_secs(60));
        let db = Database::in_memory_with(options).unwrap();
        let rows = counters(&db, 1);
        db.run(|tx| tx.put(&rows, &0, &1)).unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}
