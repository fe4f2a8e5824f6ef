//! Memory and workers of threads that have nothing to do come back to others, under every scheme.

use crate::common;
use chiliad::{Database, Error, Options, Result, Scheme, Snapshots, Table};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

type Rows = Table<u64, Vec<u8>>;
type Job = Box<dyn FnOnce() -> u64 + Send>;

const ROW_BYTES: usize = 16 << 10;

/// A thread that lives on, with its worker, when it has done what it was told.
struct Hand {
    jobs: Option<Sender<Job>>,
    answers: Receiver<u64>,
    thread: Option<JoinHandle<()>>,
}

impl Hand {
    fn new() -> Self {
        let (jobs, received) = channel::<Job>();
        let (answer, answers) = channel();
        let thread = std::thread::spawn(move || {
            received.iter().for_each(|job| answer.send(job()).expect("somebody waits"));
        });
        Self { jobs: Some(jobs), answers, thread: Some(thread) }
    }

    fn told(&self, job: impl FnOnce() -> u64 + Send + 'static) -> u64 {
        self.jobs.as_ref().unwrap().send(Box::new(job)).unwrap();
        self.answers.recv().expect("it has not panicked")
    }

    /// Inserts rows until the limit is met: how many there are.
    fn fills(&self, db: &Database, rows: Rows) -> u64 {
        let db = db.clone();
        self.told(move || {
            for key in 0.. {
                match db.run(|tx| tx.insert(&rows, &key, &vec![7; ROW_BYTES])) {
                    Ok(()) => {}
                    Err(Error::OutOfMemory { .. }) => return key,
                    Err(error) => panic!("{error}"),
                }
            }
            unreachable!("there is a limit")
        })
    }

    fn empties(&self, db: &Database, rows: Rows, count: u64) {
        let db = db.clone();
        self.told(move || {
            for first in (0..count).step_by(64) {
                let remove = |key| db.run(|tx| tx.remove(&rows, &key));
                (first..count.min(first + 64)).for_each(|key| assert!(remove(key).unwrap()));
            }
            0
        });
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.jobs.take();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn limited(scheme: Scheme) -> Database {
    let options = Options::default().scheme(scheme).memory_bytes_max(12 << 20);
    Database::in_memory_with(options).unwrap()
}

/// Each thread finds as much room as the first, though those before it live on and do nothing.
#[test]
fn what_an_idle_thread_has_freed_serves_others() {
    for scheme in Scheme::ALL {
        let db = limited(scheme);
        let rows: Rows = db.create_table("rows").unwrap();
        let hands = [0; 3].map(|_| Hand::new());
        let mut counts = Vec::new();
        for hand in &hands {
            let count = hand.fills(&db, rows);
            hand.empties(&db, rows, count);
            counts.push(count);
        }
        assert!(counts[0] > 500, "{scheme}: {counts:?}");
        assert!(counts.iter().all(|count| count * 20 > counts[0] * 19), "{scheme}: {counts:?}");
    }
}

/// The same bound for a transaction that removes everything at once, and for workers that are held.
#[test]
fn what_one_transaction_has_removed_serves_others() -> Result<()> {
    for scheme in Scheme::ALL {
        let db = limited(scheme);
        let rows: Rows = db.create_table("rows")?;
        let mut counts = Vec::new();
        let mut workers = [db.worker()?, db.worker()?, db.worker()?];
        for worker in &mut workers {
            let insert = |key| worker.run(|tx| tx.insert(&rows, &key, &vec![7; ROW_BYTES]));
            let (full, count) =
                (0..).map(insert).zip(0..).find(|it| it.0.is_err()).expect("a limit");
            assert!(matches!(full, Err(Error::OutOfMemory { .. })), "{scheme}: {full:?}");
            worker.run(|tx| {
                for key in 0..count {
                    tx.remove(&rows, &key)?;
                }
                Ok(())
            })?;
            counts.push(count);
        }
        assert!(counts.iter().all(|count| count * 20 > counts[0] * 19), "{scheme}: {counts:?}");
    }
    Ok(())
}

/// Without a shortage the database's own thread does it.
#[test]
fn idle_threads_give_back_by_themselves() {
    for scheme in [Scheme::Silo, Scheme::Mvcc, Scheme::NoWait] {
        let db = limited(scheme);
        let rows: Rows = db.create_table("rows").unwrap();
        let hands = [0; 2].map(|_| Hand::new());
        let count = hands[0].fills(&db, rows);
        hands[0].empties(&db, rows, count);
        let before = db.stats().memory.reserved_bytes;
        // It takes as long as it takes; without it this does not end.
        let mut worker = db.worker().unwrap();
        let mut next = 0;
        while next < count * 4 / 5 {
            let mut tx = worker.begin(&chiliad::RunOptions::default()).unwrap();
            let inserted = tx.insert(&rows, &next, &vec![7; ROW_BYTES]).and_then(|()| tx.commit());
            match inserted {
                Ok(()) => next += 1,
                Err(Error::OutOfMemory { .. }) => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => panic!("{scheme}: {error}"),
            }
        }
        assert!(db.stats().memory.reserved_bytes <= before + (4 << 20), "{scheme}");
    }
}

/// Old versions that a long snapshot has held back are gone when it has ended, though their writers are idle.
#[test]
fn what_a_long_snapshot_has_held_back_serves_others() {
    for scheme in [Scheme::Silo, Scheme::Mvcc, Scheme::LockTableRepeatableRead] {
        let options = Options::default()
            .scheme(scheme)
            .memory_bytes_max(12 << 20)
            .snapshots(Snapshots::Always)
            .epoch(Duration::from_millis(1))
            .snapshot_every(2);
        let db = Database::in_memory_with(options).unwrap();
        let rows: Rows = db.create_table("rows").unwrap();
        let hands = [0; 2].map(|_| Hand::new());
        db.bulk_load(&rows, (0..100).map(|key| (key, vec![7; ROW_BYTES]))).unwrap();
        let written = db.snapshot(|snapshot| {
            snapshot.get(&rows, &0)?;
            let writer = db.clone();
            Ok(hands[0].told(move || {
                for round in 0..4_000 {
                    let put = writer.run(|tx| tx.put(&rows, &(round % 100), &vec![8; ROW_BYTES]));
                    if put.is_err() {
                        return round;
                    }
                }
                4_000
            }))
        });
        assert!(written.unwrap() > 100, "{scheme}");
        // What the versions took serves rows now. When all readers have left cannot be told, but that they do.
        loop {
            let others: Rows = db.create_table("others").unwrap();
            let count = hands[1].fills(&db, others);
            if count > 400 {
                break;
            }
            db.drop_table("others").unwrap();
        }
    }
}

fn nested(db: &Database, rows: &Rows, depth: u64) -> Result<()> {
    db.run(|tx| {
        tx.get(rows, &depth)?;
        if depth > 1 { nested(db, rows, depth - 1) } else { Ok(()) }
    })
}

/// As many workers as there may be serve one thread after the other.
#[test]
fn workers_of_calls_that_have_ended_serve_other_threads() {
    for scheme in common::serializable() {
        // One partition, which one transaction holds, is all that there is.
        if matches!(scheme, Scheme::Partitioned | Scheme::HStore) {
            continue;
        }
        let options = Options::default().scheme(scheme).workers_max(4);
        let db = Database::in_memory_with(options).unwrap();
        let rows: Rows = db.create_table("rows").unwrap();
        let hands = [0; 6].map(|_| Hand::new());
        for hand in hands.iter().chain(&hands) {
            let db = db.clone();
            hand.told(move || {
                nested(&db, &rows, 4).unwrap();
                let more = nested(&db, &rows, 5);
                assert_eq!(more, Err(Error::TooManyWorkers { workers_max: 4 }));
                0
            });
        }
        // Workers in use are not shared: a fifth is refused.
        let workers = [0; 4].map(|_| db.worker().unwrap());
        let full = Error::TooManyWorkers { workers_max: 4 };
        assert_eq!(full.to_string(), "all 4 workers that there may be are in use");
        assert_eq!(db.run(|tx| tx.get(&rows, &0)), Err(full));
        drop(workers);
        assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(None));
    }
}
