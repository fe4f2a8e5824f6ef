//! Closures as transactions: retries, errors, swallowed conflicts, panics, nesting, deadlines.

use crate::common::{Dice, OPTIMISTIC, counters, open, others_can_write, serializable};
use chiliad::{Backoff, Database, Error, Options, Reason, RunOptions, Scheme, Timestamps};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_refused_transaction_is_run_again() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut attempts = 0;
        let seen = db.run(|tx| {
            attempts += 1;
            let seen = tx.get(&rows, &0)?;
            if attempts < 4 {
                db.run(|other| other.update(&rows, &0, |count| *count += 1))?;
            }
            tx.put(&rows, &1, &100)?;
            Ok(seen)
        });
        assert_eq!((attempts, seen), (4, Ok(Some(3))), "{scheme}");
        others_can_write(&db, rows, [(0, 7), (1, 7)]);
    }
}

#[test]
fn retries_have_a_limit_if_one_is_set() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut attempts = 0;
        let options = RunOptions::default().retries_max(2);
        let result = db.run_with(&options, |tx| {
            attempts += 1;
            tx.get(&rows, &0)?;
            db.run(|other| other.update(&rows, &0, |count| *count += 1))?;
            tx.put(&rows, &1, &100)
        });
        assert!(matches!(result, Err(Error::Conflict(_))), "{scheme}: {result:?}");
        assert_eq!(attempts, 3);
        assert_eq!(db.run(|tx| tx.get(&rows, &1)), Ok(Some(0)));
    }
}

/// Reads row 0, then has another transaction overwrite it.
fn always_aborted(
    db: &Database,
    tx: &mut chiliad::Transaction<'_>,
    rows: chiliad::Table<u64, u64>,
) -> Result<(), Error> {
    tx.get(&rows, &0)?;
    db.run(|other| other.update(&rows, &0, |count| *count += 1))?;
    Ok(())
}

#[test]
fn a_swallowed_conflict_does_not_commit() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 3);
        let mut attempts = 0;
        db.run(|tx| {
            attempts += 1;
            if attempts == 1 {
                always_aborted(&db, tx, rows)?;
                // Whatever these say is ignored.
                let _ = tx.get(&rows, &0);
                let _ = tx.scan(&rows, ..).rows();
                let _ = tx.put(&rows, &1, &1_000);
            } else {
                tx.put(&rows, &2, &attempts)?;
            }
            Ok(())
        })
        .unwrap();
        let all = db.run(|tx| tx.scan(&rows, ..).values()).unwrap();
        assert_eq!((attempts, all), (2, vec![1, 0, 2]), "{scheme}");
        others_can_write(&db, rows, [(0, 7), (1, 7), (2, 7)]);
    }
}

#[derive(Debug, PartialEq)]
enum Refusal {
    TooLittle(u64),
    Database(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

#[test]
fn an_error_of_the_application_rolls_back() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let result = db.run_with(&RunOptions::default(), |tx| {
            tx.put(&rows, &0, &5)?;
            tx.insert(&rows, &9, &5)?;
            tx.remove(&rows, &1)?;
            match tx.get(&rows, &0)? {
                Some(found) if found < 10 => Err(Refusal::TooLittle(found)),
                _ => Ok(()),
            }
        });
        assert_eq!(result, Err(Refusal::TooLittle(5)), "its own writes were seen");
        let all = db.run(|tx| tx.scan(&rows, ..).rows()).unwrap();
        assert_eq!(all, [(0, 0), (1, 0)], "{scheme}");
        assert_eq!(db.run::<()>(|_| Err(Error::RolledBack)), Err(Error::RolledBack));
        others_can_write(&db, rows, [(0, 7), (1, 7), (9, 7)]);
    }
}

#[test]
fn an_error_that_came_of_a_conflict_does_not_come_out() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut attempts = 0;
        let result = db.run_with(&RunOptions::default(), |tx| {
            attempts += 1;
            if attempts == 1 {
                always_aborted(&db, tx, rows)?;
                return Err(Refusal::TooLittle(0));
            }
            Ok(attempts)
        });
        assert_eq!(result, Ok(2), "{scheme}");
    }
}

#[test]
fn a_panic_in_a_valid_transaction_goes_on() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut attempts = 0;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            db.run(|tx| {
                attempts += 1;
                tx.put(&rows, &0, &5)?;
                tx.insert(&rows, &9, &5)?;
                if attempts > 0 {
                    panic!("a bug of the application");
                }
                Ok(())
            })
        }));
        let message = panicked.unwrap_err();
        assert_eq!(message.downcast_ref::<&str>(), Some(&"a bug of the application"));
        assert_eq!(attempts, 1, "{scheme}");
        assert_eq!(db.run(|tx| tx.scan(&rows, ..).rows()).unwrap(), [(0, 0), (1, 0)]);
        others_can_write(&db, rows, [(0, 7), (1, 7), (9, 7)]);
        // Nor is the worker of this thread lost.
        db.run(|tx| tx.put(&rows, &0, &1)).unwrap();
    }
}

#[test]
fn a_panic_in_an_invalid_transaction_is_a_conflict() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut attempts = 0;
        let result = db.run(|tx| {
            attempts += 1;
            if attempts == 1 {
                always_aborted(&db, tx, rows)?;
                tx.put(&rows, &1, &5)?;
                panic!("a consequence of what was read");
            }
            Ok(attempts)
        });
        assert_eq!(result, Ok(2), "{scheme}");
        assert_eq!(db.run(|tx| tx.get(&rows, &1)), Ok(Some(0)));
        others_can_write(&db, rows, [(0, 7), (1, 7)]);
    }
}

#[test]
fn a_transaction_in_a_transaction_is_one_of_its_own() {
    for scheme in [Scheme::Silo, Scheme::GlobalTid, Scheme::KeyValue] {
        let db = open(scheme);
        let rows = counters(&db, 8);
        let depth = AtomicU32::new(0);
        fn nest(db: &Database, rows: chiliad::Table<u64, u64>, level: u64, depth: &AtomicU32) {
            db.run(|tx| {
                tx.put(&rows, &level, &(10 + level))?;
                if level < 7 {
                    nest(db, rows, level + 1, depth);
                    assert_eq!(tx.get(&rows, &(level + 1))?, Some(11 + level));
                }
                depth.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
        }
        nest(&db, rows, 0, &depth);
        assert_eq!(depth.load(Ordering::Relaxed), 8, "{scheme}");
        // What the inner one committed stays when the outer one rolls back.
        let outer = db.run::<()>(|tx| {
            tx.put(&rows, &0, &99)?;
            db.run(|inner| inner.put(&rows, &1, &99))?;
            Err(Error::RolledBack)
        });
        assert_eq!(outer, Err(Error::RolledBack));
        assert_eq!(db.run(|tx| tx.get(&rows, &1)), Ok(Some(99)));
        if scheme != Scheme::KeyValue {
            assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(10)), "{scheme}");
        }
    }
}

#[test]
fn no_attempt_outlives_the_deadline() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let options = RunOptions::default().deadline(Duration::from_millis(30));

        // Before the commit.
        let late = db.run_with(&options, |tx| {
            tx.put(&rows, &0, &1)?;
            std::thread::sleep(Duration::from_millis(60));
            Ok::<_, Error>(())
        });
        assert_eq!(late, Err(Error::DeadlineExceeded), "{scheme}");

        // In an operation of a closure that would never end.
        let start = Instant::now();
        let endless = db.run_with(&options, |tx| -> Result<(), Error> {
            loop {
                tx.get(&rows, &0)?;
            }
        });
        assert_eq!(endless, Err(Error::DeadlineExceeded), "{scheme}");
        assert!(start.elapsed() < Duration::from_secs(10));

        // At once.
        let mut ran = false;
        let none = RunOptions::default().deadline(Duration::ZERO);
        let result = db.run_with(&none, |_| {
            ran = true;
            Ok::<_, Error>(())
        });
        assert_eq!((result, ran), (Err(Error::DeadlineExceeded), false));

        assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(0)), "{scheme}: nothing happened");
        others_can_write(&db, rows, [(0, 7), (1, 7)]);
    }
}

#[test]
fn retries_end_at_the_deadline() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let options = RunOptions::default().deadline(Duration::from_millis(50));
        let result = db.run_with(&options, |tx| {
            tx.get(&rows, &0)?;
            // By another thread: what its own undo again and again is told to it.
            let add = || db.run(|other| other.update(&rows, &0, |count| *count += 1));
            std::thread::scope(|scope| scope.spawn(add).join().unwrap())?;
            tx.put(&rows, &1, &5)
        });
        assert_eq!(result, Err(Error::DeadlineExceeded), "{scheme}");
    }
}

#[test]
fn no_update_is_lost_between_threads() {
    const THREADS: u64 = 4;
    const EACH: u64 = 2_000;
    for scheme in serializable() {
        for backoff in
            [Backoff::None, Backoff::Random(Duration::from_micros(50)), Backoff::default()]
        {
            let db = Database::in_memory_with(Options::default().scheme(scheme).backoff(backoff))
                .unwrap();
            let rows = counters(&db, 3);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let db = &db;
                    scope.spawn(move || {
                        let mut dice = Dice::new(thread + 1);
                        for _ in 0..EACH {
                            let (from, to) = (dice.below(3), dice.below(3));
                            db.run(|tx| {
                                tx.update(&rows, &from, |count| *count += 1)?;
                                tx.update(&rows, &to, |count| *count += 1)
                            })
                            .unwrap();
                        }
                    });
                }
            });
            let total: u64 = db.run(|tx| tx.scan(&rows, ..).values()).unwrap().iter().sum();
            assert_eq!(total, 2 * THREADS * EACH, "{scheme}, {backoff:?}");
        }
    }
}

#[test]
fn partitions_may_be_declared() {
    for scheme in [Scheme::Partitioned, Scheme::HStore] {
        for timestamps in [Timestamps::Atomic, Timestamps::Clock] {
            let options = Options::default().scheme(scheme).partitions(4).timestamps(timestamps);
            use_partitions(&Database::in_memory_with(options).unwrap());
        }
    }
}

fn use_partitions(db: &Database) {
    let rows = counters(db, 4);
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            scope.spawn(move || {
                let own = RunOptions::default().partitions([thread]);
                let two = RunOptions::default().partitions([thread, (thread + 1) % 4]);
                let key = u64::from(thread);
                for _ in 0..1_000 {
                    let add = |count: &mut u64| *count += 1;
                    db.run_with(&own, |tx| tx.update(&rows, &key, add)).unwrap();
                    db.run_with(&two, |tx| {
                        tx.update(&rows, &key, add)?;
                        tx.update(&rows, &((key + 1) % 4), add)
                    })
                    .unwrap();
                    db.run(|tx| tx.update(&rows, &key, add)).unwrap();
                }
            });
        }
    });
    assert_eq!(db.run(|tx| tx.scan(&rows, ..).values()).unwrap(), [4_000; 4]);
}

#[test]
fn statistics_tell_conflicts() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 2);
    let mut worker = db.worker().unwrap();
    let options = RunOptions::default().retries_max(0);
    for _ in 0..10 {
        let refused = worker.run_with(&options, |tx| {
            always_aborted(&db, tx, rows)?;
            tx.put(&rows, &1, &5)
        });
        assert!(matches!(refused, Err(Error::Conflict(_))));
    }
    drop(worker);
    let stats = db.stats();
    let refused: u64 =
        Reason::ALL.iter().filter_map(|reason| stats.refused.get(reason.name())).sum();
    assert!(refused >= 10, "{stats:?}");
    assert_eq!(stats.hottest.first().map(|hot| hot.table.as_str()), Some("counters"));
}
