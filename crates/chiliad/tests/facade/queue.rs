//! Transactions from any thread, run by threads that serve.

use crate::common::{block_on, counters, open, serializable};
use chiliad::{Database, Error, Options, Queue, Refused, RunOptions, Scheme, Table, Ticket};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn plain() -> RunOptions {
    RunOptions::default()
}

/// Adds one to row 0, and says what it was.
fn add(queue: &Queue, rows: Table<u64, u64>) -> Result<Ticket<u64>, Refused> {
    queue.submit(&plain(), move |tx| {
        let mut before = 0;
        tx.update(&rows, &0, |count| {
            before = *count;
            *count += 1;
        })?;
        Ok(before)
    })
}

#[test]
fn what_many_threads_submit_is_run_once_each() {
    const SUBMITTERS: u64 = 4;
    const EACH: u64 = 200;
    for scheme in serializable() {
        for in_flight in [1, 8] {
            let db = open(scheme);
            let rows = counters(&db, 1);
            let queue = db.queue(20).unwrap();
            let mut seen: Vec<u64> = std::thread::scope(|scope| {
                let servers: Vec<_> =
                    (0..2).map(|_| scope.spawn(|| queue.serve(in_flight))).collect();
                let submitters: Vec<_> = (0..SUBMITTERS)
                    .map(|_| {
                        scope.spawn(|| {
                            // More than there is room for.
                            let tickets: Vec<_> =
                                (0..EACH).map(|_| add(&queue, rows).unwrap()).collect();
                            tickets.into_iter().map(|it| it.wait().unwrap()).collect::<Vec<_>>()
                        })
                    })
                    .collect();
                let seen = submitters.into_iter().flat_map(|it| it.join().unwrap()).collect();
                queue.close();
                servers.into_iter().for_each(|server| server.join().unwrap().unwrap());
                seen
            });
            seen.sort_unstable();
            assert_eq!(seen, (0..SUBMITTERS * EACH).collect::<Vec<_>>(), "{scheme}, {in_flight}");
        }
    }
}

#[test]
fn it_has_a_greatest_length() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    assert!(matches!(db.queue(0), Err(Error::InvalidOption(message))
        if message == "length_max 0: 1 or more is accepted"));
    let queue = db.queue(3).unwrap();
    let mut tickets: Vec<_> = (0..3).map(|_| add(&queue, rows).unwrap()).collect();
    let refused = queue.try_submit(&plain(), |_| Ok::<_, Error>(())).unwrap_err();
    assert_eq!(refused, Refused::Full);
    assert_eq!(refused.to_string(), "the queue is full: try again when requests have ended");
    assert!(tickets.iter().all(|ticket| !ticket.is_ready()), "nobody serves");
    std::thread::scope(|scope| {
        // This one waits for room, until somebody serves.
        let waits = scope.spawn(|| add(&queue, rows).unwrap());
        scope.spawn(|| queue.serve(2));
        tickets.push(waits.join().unwrap());
        let first = tickets.swap_remove(0);
        assert!(first.wait().is_ok());
        for ticket in tickets {
            while !ticket.is_ready() {
                std::thread::yield_now();
            }
            assert!(ticket.wait().is_ok());
        }
        let taken = queue.try_submit(&plain(), |_| Ok::<_, Error>(5)).unwrap();
        assert_eq!(taken.wait(), Ok(5));
        queue.close();
    });
    assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(4)));
}

#[test]
fn what_was_accepted_is_run_after_the_close() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let queue = db.queue(10).unwrap();
    let tickets: Vec<_> = (0..10).map(|_| add(&queue, rows).unwrap()).collect();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| add(&queue, rows).map(drop));
        // Perhaps it waits for room by now; it is refused either way.
        std::thread::yield_now();
        queue.close();
        assert_eq!(waits.join().unwrap(), Err(Refused::Closed));
    });
    assert_eq!(add(&queue, rows).map(drop), Err(Refused::Closed));
    let refused = queue.try_submit(&plain(), |_| Ok::<_, Error>(()));
    assert_eq!(refused.map(drop), Err(Refused::Closed));
    assert_eq!(queue.serve(4), Ok(()));
    let seen: Vec<u64> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    assert_eq!(seen, (0..10).collect::<Vec<_>>());
    assert_eq!(queue.serve(4), Ok(()), "there is nothing to do any more");
}

#[test]
fn a_dropped_queue_cancels() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let queue = db.queue(10).unwrap();
    let (waited, awaited) = (add(&queue, rows).unwrap(), add(&queue, rows).unwrap());
    let waits = std::thread::spawn(|| waited.wait());
    drop(queue);
    assert_eq!(waits.join().unwrap(), Err(Error::Canceled));
    assert_eq!(block_on(awaited).0, Err(Error::Canceled));
    assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(0)));
}

#[test]
fn a_panic_goes_to_its_own_ticket() {
    for in_flight in [1, 8] {
        let db = open(Scheme::Silo);
        let rows = counters(&db, 1);
        let queue = db.queue(100).unwrap();
        std::thread::scope(|scope| {
            let server = scope.spawn(|| queue.serve(in_flight));
            let tickets: Vec<_> = (0..40)
                .map(|number| {
                    let body = move |tx: &mut chiliad::Transaction<'_>| {
                        tx.update(&rows, &0, |count| *count += 1)?;
                        assert!(number % 4 != 1, "the bug of {number}");
                        Ok::<_, Error>(number)
                    };
                    queue.submit(&plain(), body).unwrap()
                })
                .collect();
            for (number, ticket) in tickets.into_iter().enumerate() {
                let ended = catch_unwind(AssertUnwindSafe(|| match number % 3 {
                    0 => ticket.wait(),
                    _ => block_on(ticket).0,
                }));
                match ended {
                    Ok(result) => assert_eq!(result, Ok(number)),
                    Err(panic) => {
                        let message = panic.downcast_ref::<String>().unwrap();
                        assert_eq!(*message, format!("the bug of {number}"));
                        assert_eq!(number % 4, 1);
                    }
                }
            }
            queue.close();
            assert_eq!(server.join().unwrap(), Ok(()));
        });
        assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(30)));
    }
}

#[derive(Debug, PartialEq)]
enum Refusal {
    Late,
    Database(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::DeadlineExceeded => Self::Late,
            other => Self::Database(other),
        }
    }
}

#[test]
fn a_deadline_counts_from_the_submission() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let queue = db.queue(10).unwrap();
    let late = plain().deadline(Duration::from_millis(10));
    let late = queue.submit(&late, move |tx| -> Result<(), Refusal> {
        tx.put(&rows, &0, &100)?;
        Ok(())
    });
    let sound = add(&queue, rows).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    queue.close();
    queue.serve(2).unwrap();
    assert_eq!(late.unwrap().wait(), Err(Refusal::Late));
    assert_eq!(sound.wait(), Ok(0));
}

#[test]
fn one_that_waits_leaves_the_thread_to_its_siblings() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 2);
    let queue = Arc::new(db.queue(1).unwrap());
    std::thread::scope(|scope| {
        let server = scope.spawn(|| queue.serve(2));
        // Waits for room and for a ticket on the only thread that serves: a sibling answers.
        let inner = Arc::clone(&queue);
        let outer = queue.submit(&plain(), move |tx| {
            tx.update(&rows, &1, |count| *count += 1)?;
            let tickets = [add(&inner, rows), add(&inner, rows), add(&inner, rows)];
            tickets.into_iter().map(|it| it.expect("open").wait()).sum::<Result<u64, Error>>()
        });
        assert_eq!(outer.unwrap().wait(), Ok(3));
        // A transaction in a transaction.
        let other = db.clone();
        let nested = queue.submit(&plain(), move |tx| {
            other.run(|tx| tx.update(&rows, &0, |count| *count += 1))?;
            tx.get(&rows, &0)
        });
        assert_eq!(nested.unwrap().wait(), Ok(Some(4)));
        queue.close();
        assert_eq!(server.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_thread_that_blocks_leaves_the_rest_to_the_others() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let queue = db.queue(100).unwrap();
    let (begin, begun) = channel::<()>();
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    std::thread::scope(|scope| {
        let mut servers = vec![scope.spawn(|| queue.serve(8))];
        let blocking = queue.submit(&plain(), move |tx| {
            begin.send(()).unwrap();
            released.lock().unwrap().recv().unwrap();
            tx.get(&rows, &0)
        });
        begun.recv().unwrap();
        // It has fewer sleepers, and more time.
        servers.push(scope.spawn(|| queue.serve(2)));
        for number in 0..100 {
            assert_eq!(add(&queue, rows).unwrap().wait(), Ok(number));
        }
        release.send(()).unwrap();
        assert_eq!(blocking.unwrap().wait(), Ok(Some(100)));
        queue.close();
        servers.into_iter().for_each(|server| server.join().unwrap().unwrap());
    });
}

#[test]
fn bad_numbers_in_flight_are_refused_and_too_few_workers_reported() {
    let db = Database::in_memory_with(Options::default().workers_max(2)).unwrap();
    let rows: Table<u64, u64> = db.create_table("counters").unwrap();
    let queue = db.queue(10).unwrap();
    for number in [0, 257] {
        let message = format!("in_flight {number}: 1 to 256 are accepted");
        assert_eq!(queue.serve(number), Err(Error::InvalidOption(message)));
    }
    let ticket = queue.submit(&plain(), move |tx| tx.insert(&rows, &0, &1)).unwrap();
    queue.close();
    let workers = [db.worker().unwrap(), db.worker().unwrap()];
    assert_eq!(queue.serve(8), Err(Error::TooManyWorkers { workers_max: 2 }));
    assert!(!ticket.is_ready(), "it waits for those who can");
    drop(workers);
    assert_eq!(queue.serve(8), Ok(()), "two of eight are enough");
    assert_eq!(ticket.wait(), Ok(()));
}

/// Seconds of processor time that the calling thread has used.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // User and system time, in hundredths of a second.
    let ticks = |field: &str| field.parse::<f64>().unwrap();
    (ticks(fields[11]) + ticks(fields[12])) / 100.0
}

#[test]
fn servers_with_nothing_to_do_sleep() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let queue = db.queue(10).unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            queue.serve(8).unwrap();
            processor_seconds()
        });
        add(&queue, rows).unwrap().wait().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(add(&queue, rows).unwrap().wait(), Ok(1));
        queue.close();
        let used = server.join().unwrap();
        assert!(used < 0.3, "{used} s of processor time for two transactions");
    });
}
