//! Transactions handed to the thread that owns their partition.

use crate::common::{Scratch, block_on, counters, serializable};
use chiliad::{Cancel, Database, Error, Options, RunOptions, Table, Ticket};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

fn open(owners: usize) -> Database {
    Database::in_memory_with(Options::default().owner_threads(owners)).unwrap()
}

#[test]
fn a_partition_is_always_run_by_one_thread_and_partitions_are_spread() {
    let db = open(3);
    let owner = |partition: u64| {
        let ticket = db.submit_to(partition, |_| Ok(thread::current().id())).unwrap();
        ticket.wait().unwrap()
    };
    let mut counts = BTreeMap::<String, u32>::new();
    for partition in (0..300).chain([u64::MAX, 1 << 40]) {
        let first: ThreadId = owner(partition);
        assert_ne!(first, thread::current().id());
        assert_eq!(first, owner(partition));
        *counts.entry(format!("{first:?}")).or_default() += 1;
    }
    assert_eq!(counts.len(), 3);
    assert!(counts.values().all(|count| (80..=120).contains(count)), "{counts:?}");
    // As many at a distance, such as addresses have.
    let owners: BTreeSet<String> = (0..64).map(|at| format!("{:?}", owner(at << 12))).collect();
    assert_eq!(owners.len(), 3);
}

#[test]
fn transactions_of_a_partition_run_in_the_order_in_which_they_were_handed_over() {
    for scheme in serializable() {
        let options = Options::default().scheme(scheme).owner_threads(2);
        let db = Database::in_memory_with(options).unwrap();
        let last: Table<u64, u64> = db.create_table("last").unwrap();
        let start = Barrier::new(4);
        thread::scope(|threads| {
            for partition in 0..4_u64 {
                let (db, start) = (&db, &start);
                threads.spawn(move || {
                    start.wait();
                    let step = |at: u64| {
                        db.submit_to(partition, move |tx| {
                            let before = tx.get(&last, &partition)?.unwrap_or(0);
                            tx.put(&last, &partition, &at)?;
                            Ok(before)
                        })
                    };
                    let tickets: Vec<_> = (1..=500).map(|at| step(at).unwrap()).collect();
                    for (before, ticket) in (0..).zip(tickets) {
                        assert_eq!(ticket.wait(), Ok(before), "{scheme}");
                    }
                });
            }
        });
    }
}

#[test]
fn transactions_of_a_partition_are_never_in_flight_together() {
    let db = open(4);
    let table = counters(&db, 1);
    let inside = Arc::new(AtomicUsize::new(0));
    let enter = || {
        let inside = Arc::clone(&inside);
        db.submit_to(5, move |tx| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "another one is in flight");
            thread::yield_now();
            let changed = tx.update(&table, &0, |count| *count += 1);
            inside.fetch_sub(1, Ordering::SeqCst);
            changed
        })
    };
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let tickets: Vec<Ticket<_>> = (0..100).map(|_| enter().unwrap()).collect();
                tickets.into_iter().for_each(|ticket| assert_eq!(ticket.wait(), Ok(Some(()))));
            });
        }
    });
    assert_eq!(db.run(|tx| tx.get(&table, &0)), Ok(Some(300)));
    // They have not been in each other's way, and nobody else was there.
    assert_eq!(db.stats().refused.values().sum::<u64>(), 0);
}

#[test]
fn futures_are_handed_over_in_the_same_way() {
    let db = open(2);
    let done = Arc::new(Mutex::new(Vec::new()));
    let add = |at: u32| {
        let done = Arc::clone(&done);
        move |_: &mut chiliad::Transaction<'_>| {
            done.lock().unwrap().push(at);
            Ok(thread::current().id())
        }
    };
    let first = db.submit_to(9, add(1)).unwrap();
    let owner = block_on(db.submit_to_async(9, add(2))).0.unwrap();
    assert_eq!(first.wait(), Ok(owner));
    assert_eq!(*done.lock().unwrap(), [1, 2]);
    // One that nobody has polled is nowhere.
    drop(db.submit_to_async(9, add(3)));
    assert_eq!(db.submit_to(9, add(4)).unwrap().wait(), Ok(owner));
    assert_eq!(*done.lock().unwrap(), [1, 2, 4]);
}

#[test]
fn errors_and_panics_go_to_the_ticket_and_the_owner_goes_on() {
    let db = open(1);
    let table = counters(&db, 1);
    let failed = db.submit_to(1, move |tx| {
        tx.put(&table, &0, &9)?;
        Err::<(), _>(Error::InvalidOption("not so".into()))
    });
    assert_eq!(failed.unwrap().wait(), Err(Error::InvalidOption("not so".into())));
    let panicked = db
        .submit_to(1, move |tx| -> Result<(), Error> {
            tx.put(&table, &0, &9)?;
            panic!("of the application")
        })
        .unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| panicked.wait())).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the application"));
    let read = db.submit_to(1, move |tx| tx.get(&table, &0)).unwrap();
    assert_eq!(read.wait(), Ok(Some(0)));
}

#[test]
fn what_was_handed_over_is_run_before_the_database_is_closed() {
    let scratch = Scratch::new();
    let db = Database::open_with(&scratch, Options::default().owner_threads(2)).unwrap();
    let table = counters(&db, 8);
    let (go_on, waits) = mpsc::channel::<()>();
    let first = db.submit_to(0, move |_| {
        waits.recv().unwrap();
        Ok(())
    });
    let count =
        |at: u64| db.submit_to(at % 8, move |tx| tx.update(&table, &(at % 8), |it| *it += 1));
    for at in 0..800 {
        // Nobody waits for these.
        drop(count(at).unwrap());
    }
    let closing = thread::spawn(move || db.close());
    go_on.send(()).unwrap();
    closing.join().unwrap().unwrap();
    assert_eq!(first.unwrap().wait(), Ok(()));
    let db = Database::open(&scratch).unwrap();
    let table: Table<u64, u64> = db.table("counters").unwrap();
    assert_eq!(db.run(|tx| tx.scan(&table, ..).values()).unwrap(), [100; 8]);
}

#[test]
fn a_transaction_whose_turn_comes_too_late_is_not_run() {
    let db = open(1);
    let (go_on, waits) = mpsc::channel::<()>();
    let busy = db.submit_to(0, move |_| {
        waits.recv().unwrap();
        Ok(())
    });
    let soon = RunOptions::default().deadline(Duration::from_millis(1));
    let late = db.submit_to_with(1, &soon, |_| Ok::<_, Error>(())).unwrap();
    assert_eq!(late.wait(), Err(Error::DeadlineExceeded));
    let cancel = Cancel::new();
    let options = RunOptions::default().cancel(&cancel);
    let ticket = db.submit_to_with(2, &options, |_| Ok::<_, Error>(())).unwrap();
    cancel.cancel();
    assert_eq!(ticket.wait(), Err(Error::Canceled));
    go_on.send(()).unwrap();
    assert_eq!(busy.unwrap().wait(), Ok(()));
}

#[test]
fn one_owner_may_hand_work_to_another() {
    let db = open(4);
    let table = counters(&db, 2);
    // Partitions of different owners.
    let owner = |at: u64| db.submit_to(at, |_| Ok(thread::current().id())).unwrap().wait().unwrap();
    let other = (1..).find(|&at| owner(at) != owner(0)).unwrap();
    let inner = db.clone();
    let handed = db.submit_to(0, move |_| {
        inner.submit_to(other, move |tx| tx.update(&table, &1, |it| *it += 1))
    });
    let ticket = handed.unwrap().wait().unwrap();
    assert_eq!(ticket.wait(), Ok(Some(())));
}

#[test]
fn a_number_of_owners_that_cannot_be_is_refused() {
    for owners in [0, 1_025] {
        let refused = Database::in_memory_with(Options::default().owner_threads(owners));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(&format!("owner_threads {owners}: 1 to 1024")), "{refused}");
    }
}
