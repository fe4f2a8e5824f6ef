//! Several transactions in flight on one thread: results, conflicts among them, panics, errors,
//! deadlines, nesting, limits.

use crate::common::{Dice, counters, open, others_can_write, serializable};
use chiliad::{
    Backoff, Database, Error, IN_FLIGHT_MAX, Options, Result, RunOptions, Scheme, Snapshots, Table,
    Transaction,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

fn in_flight(in_flight: usize) -> RunOptions {
    RunOptions::default().in_flight(in_flight)
}

fn all(db: &Database, rows: Table<u64, u64>) -> Vec<u64> {
    db.run(|tx| tx.scan(&rows, ..).values()).unwrap()
}

#[test]
fn results_are_in_the_order_of_the_inputs_and_equal_a_model() {
    for scheme in Scheme::ALL {
        for members in [1, 2, 7, IN_FLIGHT_MAX] {
            let db = open(scheme);
            let rows = counters(&db, 300);
            let mut dice = Dice::new(members as u64);
            // Each has a few rows of its own, so that the order of commits makes no difference.
            let inputs: Vec<(u64, u64)> = (0..300).map(|key| (key, dice.below(1000))).collect();
            let mut model: BTreeMap<u64, u64> = (0..300).map(|key| (key, 0)).collect();
            let expected: Vec<Result<Option<u64>>> = inputs
                .iter()
                .map(|&(key, add)| match add % 3 {
                    0 => Ok(model.remove(&key)),
                    1 => Ok(model.insert(key, add)),
                    _ => Ok(model.insert(1000 + key, add)),
                })
                .collect();
            let results = db.run_each_with(&in_flight(members), &inputs, |tx, (key, add)| {
                let old = tx.get(&rows, key)?;
                match add % 3 {
                    0 => tx.remove(&rows, key).map(|_| old),
                    1 => tx.put(&rows, key, add).map(|()| old),
                    _ => tx.insert(&rows, &(1000 + *key), add).map(|()| None),
                }
            });
            assert_eq!(results, Ok(expected), "{scheme}, {members}");
            let found = db.run(|tx| tx.scan(&rows, ..).rows()).unwrap();
            assert_eq!(found, model.into_iter().collect::<Vec<_>>(), "{scheme}, {members}");
        }
    }
}

#[test]
fn siblings_that_conflict_on_one_row_add_up() {
    for scheme in serializable() {
        for backoff in
            [Backoff::None, Backoff::default(), Backoff::Random(Duration::from_millis(2))]
        {
            let db = Database::in_memory_with(Options::default().scheme(scheme).backoff(backoff))
                .unwrap();
            let rows = counters(&db, 1);
            let results = db.run_each_with(&in_flight(16), 0..100, |tx, number| {
                // Some ask for the row as one that they will write, some read first.
                let mut count = 0;
                if *number % 2 == 0 {
                    tx.update(&rows, &0, |row| {
                        *row += 1;
                        count = *row;
                    })?;
                } else {
                    count = tx.get(&rows, &0)?.unwrap_or(0) + 1;
                    tx.put(&rows, &0, &count)?;
                }
                Ok::<_, Error>(count)
            });
            let mut counts: Vec<u64> = results.unwrap().into_iter().map(Result::unwrap).collect();
            counts.sort_unstable();
            assert_eq!(counts, (1..=100).collect::<Vec<_>>(), "{scheme}, {backoff:?}");
            others_can_write(&db, rows, [(0, 7)]);
        }
    }
}

#[test]
fn siblings_and_threads_that_lock_in_any_order_all_commit() {
    const THREADS: u64 = 3;
    const EACH: u64 = 300;
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 5);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let db = &db;
                scope.spawn(move || {
                    let mut dice = Dice::new(thread + 1);
                    let pairs = (0..EACH).map(|_| (dice.below(5), dice.below(5)));
                    let results = db.run_each(pairs, |tx, (from, to)| {
                        tx.update(&rows, from, |count| *count += 1)?;
                        tx.update(&rows, to, |count| *count += 1)
                    });
                    assert!(results.unwrap().iter().all(|result| *result == Ok(Some(()))));
                });
            }
        });
        assert_eq!(all(&db, rows).iter().sum::<u64>(), 2 * THREADS * EACH, "{scheme}");
    }
}

#[test]
fn partitions_may_be_declared() {
    for scheme in [Scheme::Partitioned, Scheme::HStore] {
        let db = Database::in_memory_with(Options::default().scheme(scheme).partitions(2)).unwrap();
        let rows = counters(&db, 2);
        for partition in 0..2 {
            let options = in_flight(8).partitions([partition]);
            let results = db.run_each_with(&options, 0..50, |tx, _| {
                tx.update(&rows, &u64::from(partition), |count| *count += 1)
            });
            assert_eq!(results, Ok(vec![Ok(Some(())); 50]));
        }
        assert_eq!(all(&db, rows), [50, 50], "{scheme}");
    }
}

#[test]
fn an_error_rolls_back_its_own_transaction_alone() {
    #[derive(Debug, PartialEq)]
    enum Refusal {
        Odd(u64),
        Database(Error),
    }
    impl From<Error> for Refusal {
        fn from(error: Error) -> Self {
            Self::Database(error)
        }
    }
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 40);
        let results = db.run_each_with(&in_flight(8), 0..40, |tx, key| {
            tx.put(&rows, key, &1)?;
            if *key == 10 {
                // After it the transaction may go on, or fail with it.
                tx.insert(&rows, key, &1)?;
            }
            if *key % 2 == 1 { Err(Refusal::Odd(*key)) } else { Ok(*key) }
        });
        let expected = (0..40).map(|key| match key {
            10 => Err(Refusal::Database(Error::duplicate_key("counters", &10_u64.to_be_bytes()))),
            key if key % 2 == 1 => Err(Refusal::Odd(key)),
            key => Ok(key),
        });
        assert_eq!(results, Ok(expected.collect()), "{scheme}");
        let expected: Vec<u64> = (0..40).map(|key| u64::from(key % 2 == 0 && key != 10)).collect();
        assert_eq!(all(&db, rows), expected, "{scheme}");
        others_can_write(&db, rows, (0..40).map(|key| (key, 7)));
    }
}

#[test]
fn a_panic_goes_on_when_all_others_have_run() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 40);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            db.run_each(0..40, |tx, key| {
                tx.put(&rows, key, &1)?;
                assert!(*key % 16 != 5, "the bug of {key}");
                tx.get(&rows, &((*key + 1) % 40))
            })
        }));
        let message = panicked.unwrap_err();
        assert_eq!(message.downcast_ref::<String>().map(String::as_str), Some("the bug of 5"));
        let expected: Vec<u64> = (0..40).map(|key| u64::from(key % 16 != 5)).collect();
        assert_eq!(all(&db, rows), expected, "{scheme}");
        others_can_write(&db, rows, (0..40).map(|key| (key, 7)));
        // Nor are the workers of this thread lost.
        let again = db.run_each(0..40, |tx, key| tx.put(&rows, key, &2));
        assert_eq!(again, Ok(vec![Ok(()); 40]));
    }
}

#[test]
fn the_deadline_of_one_is_nothing_to_the_others() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 20);
        let options = in_flight(4).deadline(Duration::from_millis(200));
        let results = db.run_each_with(&options, 0..20, |tx, key| {
            tx.put(&rows, key, &1)?;
            if *key == 3 {
                loop {
                    tx.get(&rows, &3)?;
                }
            }
            Ok::<_, Error>(())
        });
        let results = results.unwrap();
        assert_eq!(results[3], Err(Error::DeadlineExceeded), "{scheme}");
        let values = all(&db, rows);
        // Where one transaction locks all others out, they may be late with it.
        for (key, (result, value)) in results.iter().zip(values).enumerate() {
            assert_eq!(value, u64::from(result.is_ok()), "{scheme}: {key}");
            let may_wait = matches!(scheme, Scheme::Partitioned | Scheme::HStore);
            assert!(key == 3 || may_wait || result.is_ok(), "{scheme}: {key} {result:?}");
        }
        others_can_write(&db, rows, (0..20).map(|key| (key, 7)));
    }
}

#[test]
fn retries_have_a_limit_if_one_is_set() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 2);
    let options = in_flight(2).retries_max(2);
    let attempts = Cell::new(0);
    let results = db.run_each_with(&options, 0..2, |tx, number| {
        if *number == 0 {
            attempts.set(attempts.get() + 1);
            tx.get(&rows, &0)?;
            db.run(|other| other.update(&rows, &0, |count| *count += 1))?;
        }
        tx.put(&rows, &1, &100)
    });
    let results = results.unwrap();
    assert!(matches!(results[..], [Err(Error::Conflict(_)), Ok(())]), "{results:?}");
    assert_eq!(attempts.get(), 3);
}

#[test]
fn transactions_take_turns() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 100_000);
    let open_now = Cell::new(0);
    let most = Cell::new(0);
    // One after the other at first. What was tried is known from one call to the next.
    while most.get() < 8 {
        let results = db.run_each_with(&in_flight(8), 0..100, |tx, number| {
            open_now.set(open_now.get() + 1);
            most.set(open_now.get().max(most.get()));
            for step in 0..20 {
                tx.get(&rows, &((*number + step * 4_999) % 100_000))?;
            }
            open_now.set(open_now.get() - 1);
            Ok::<_, Error>(())
        });
        assert_eq!(results, Ok(vec![Ok(()); 100]));
        assert!(most.get() <= 8);
    }
}

#[test]
fn closures_may_be_inputs() {
    type Closure<'a> = Box<dyn FnMut(&mut Transaction<'_>) -> Result<u64> + 'a>;
    let db = open(Scheme::Silo);
    let rows = counters(&db, 3);
    let attempts = Cell::new(0);
    let mut changed_by_one = 0;
    let closures: Vec<Closure<'_>> = vec![
        Box::new(|tx| tx.put(&rows, &0, &5).map(|()| 1)),
        Box::new(|_| {
            attempts.set(attempts.get() + 1);
            Err(Error::RolledBack)
        }),
        Box::new(|tx| {
            changed_by_one += 1;
            tx.update(&rows, &2, |count| *count += 1).map(|_| 3)
        }),
    ];
    let results = db.run_each(closures, |tx, closure| closure(tx));
    assert_eq!(results, Ok(vec![Ok(1), Err(Error::RolledBack), Ok(3)]));
    assert_eq!((attempts.get(), changed_by_one), (1, 1));
    let none = db.run_each(Vec::<Closure<'_>>::new(), |tx, closure| closure(tx));
    assert_eq!(none, Ok(Vec::new()));
}

#[test]
fn a_number_in_flight_that_no_thread_can_have_is_refused() {
    let db = open(Scheme::Silo);
    for number in [0, IN_FLIGHT_MAX + 1, usize::MAX] {
        let ran = Cell::new(false);
        let refused = db.run_each_with(&in_flight(number), 0..3, |_, _| {
            ran.set(true);
            Ok::<_, Error>(())
        });
        let message = format!("in_flight {number}: 1 to 256 are accepted");
        assert_eq!(refused, Err(Error::InvalidOption(message)));
        assert!(!ran.get());
    }
}

#[test]
fn with_few_workers_left_there_are_fewer_in_flight() {
    for scheme in serializable() {
        let db =
            Database::in_memory_with(Options::default().scheme(scheme).workers_max(4)).unwrap();
        let rows = counters(&db, 1);
        let add = |tx: &mut Transaction<'_>, _: &mut i32| tx.update(&rows, &0, |count| *count += 1);
        for _ in 0..10 {
            assert_eq!(db.run_each(0..20, add), Ok(vec![Ok(Some(())); 20]), "{scheme}");
        }
        assert_eq!(all(&db, rows), [200]);
    }
    let db = Database::in_memory_with(Options::default().workers_max(2)).unwrap();
    let rows = db.create_table("rows").unwrap();
    let workers = [db.worker().unwrap(), db.worker().unwrap()];
    let put = |tx: &mut Transaction<'_>, key: &mut u64| tx.put(&rows, key, &1);
    assert_eq!(db.run_each(0..20, put), Err(Error::TooManyWorkers { workers_max: 2 }));
    drop(workers);
    assert!(all(&db, rows).is_empty(), "nothing was run");
    assert_eq!(db.run_each(0..20, put), Ok(vec![Ok(()); 20]));
    assert_eq!(all(&db, rows), [1; 20]);
}

#[test]
fn transactions_in_transactions_are_their_own() {
    for scheme in [Scheme::Silo, Scheme::GlobalTid, Scheme::NoWait, Scheme::Occ, Scheme::Mvcc] {
        let db = open(scheme);
        let rows = counters(&db, 200);
        let results = db.run_each(0..40, |tx, key| {
            tx.update(&rows, key, |count| *count += 1)?;
            db.run(|inner| inner.put(&rows, &(100 + *key), &2))?;
            let inner = db.run_each(0..3, |inner, number| {
                inner.put(&rows, &(140 + *number * 20 + *key % 20), &3)
            })?;
            assert_eq!(inner, [Ok(()), Ok(()), Ok(())]);
            if *key % 4 == 0 { Err(Error::RolledBack) } else { Ok(*key) }
        });
        let expected =
            (0..40).map(|key| if key % 4 == 0 { Err(Error::RolledBack) } else { Ok(key) });
        assert_eq!(results, Ok(expected.collect()), "{scheme}");
        let values = all(&db, rows);
        let outer: Vec<u64> = (0..40).map(|key| u64::from(key % 4 != 0)).collect();
        assert_eq!(values[..40], outer, "{scheme}");
        assert!(values[100..140].iter().all(|&value| value == 2), "{scheme}");
        assert!(values[140..].iter().all(|&value| value == 3), "{scheme}");
    }
}

#[test]
fn snapshots_wait_for_their_boundary_without_the_thread() {
    let options = Options::default()
        .snapshots(Snapshots::OnDemand)
        .epoch(Duration::from_millis(1))
        .snapshot_every(3);
    let db = Database::in_memory_with(options).unwrap();
    let rows = counters(&db, 20);
    let results = db.run_each(0..20, |tx, key| {
        tx.put(&rows, key, &1)?;
        db.snapshot(|snapshot| snapshot.get(&rows, key))
    });
    assert_eq!(results, Ok(vec![Ok(Some(0)); 20]));
}

#[test]
fn a_closure_that_blocks_the_thread_keeps_its_siblings_waiting_and_no_more() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 12);
        let order = RefCell::new(Vec::new());
        let results = db.run_each(0..12, |tx, key| {
            tx.put(&rows, key, &1)?;
            if *key == 2 {
                std::thread::sleep(Duration::from_millis(20));
            }
            order.borrow_mut().push(*key);
            Ok(())
        });
        assert_eq!(results, Ok(vec![Ok(()); 12]), "{scheme}");
        assert!(order.borrow().len() >= 12);
        assert_eq!(all(&db, rows), [1; 12]);
    }
}

#[test]
fn one_thread_uses_several_databases_in_turns() {
    let databases: Vec<(Database, Table<u64, u64>)> = Scheme::ALL
        .into_iter()
        .map(|scheme| {
            let db = open(scheme);
            let rows = counters(&db, 1);
            (db, rows)
        })
        .collect();
    let (first, rows) = &databases[0];
    let results = first.run_each(0..100, |tx, number| {
        tx.get(rows, &0)?;
        let (other, rows) = &databases[1 + *number % (databases.len() - 1)];
        other.run(|tx| tx.update(rows, &0, |count| *count += 1))
    });
    assert_eq!(results, Ok(vec![Ok(Some(())); 100]));
    for (at, (db, rows)) in databases.iter().enumerate() {
        let calls = (0..100).filter(|number| 1 + number % (databases.len() - 1) == at).count();
        // Without transactions, updates of siblings may be lost.
        let lossy = db.options().scheme == Scheme::KeyValue;
        assert!(all(db, *rows)[0] == calls as u64 || lossy, "{}", db.options().scheme);
    }
}
