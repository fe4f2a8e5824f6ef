//! Every wait ends, under every scheme: at the deadline, when the transaction is told to give up, and where it is
//! for a transaction that it runs inside.

use crate::common;
use crate::common::{Scratch, counters, open, others_can_write};
use chiliad::{
    Cancel, Database, Durability, Error, Nested, Options, Refused, RunOptions, Scheme, Table,
};
use chiliad::{Snapshots, Transaction};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Turns what hangs into a failure: no case takes a hundredth of it.
const HANGS: Duration = Duration::from_secs(60);

/// The operation of the transaction that has to wait, on a row that another transaction holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touch {
    Read,
    Write,
    /// Under a key that has no row yet.
    Insert,
}

const TOUCHES: [Touch; 3] = [Touch::Read, Touch::Write, Touch::Insert];

fn touch(tx: &mut Transaction<'_>, rows: &Table<u64, u64>, how: Touch) -> Result<(), Error> {
    match how {
        Touch::Read => tx.get(rows, &0).map(|_| ()),
        Touch::Write => tx.update(rows, &0, |count| *count += 1).map(|_| ()),
        Touch::Insert => match tx.insert(rows, &100, &1) {
            Err(Error::DuplicateKey(_)) => Ok(()),
            other => other,
        },
    }
}

/// Runs `case` for each scheme and each pair of touches, the schemes side by side.
fn under_all_schemes(case: impl Fn(Scheme, Touch, Touch) + Copy + Send + 'static) {
    let (ended, end) = mpsc::channel();
    for scheme in Scheme::ALL {
        let ended = ended.clone();
        thread::spawn(move || {
            for first in TOUCHES {
                for second in TOUCHES {
                    case(scheme, first, second);
                    ended.send((scheme, first, second)).unwrap();
                }
            }
        });
    }
    drop(ended);
    let mut missing: Vec<_> = Scheme::ALL
        .into_iter()
        .flat_map(|scheme| TOUCHES.map(|first| TOUCHES.map(|second| (scheme, first, second))))
        .flatten()
        .collect();
    while !missing.is_empty() {
        match end.recv_timeout(HANGS) {
            Ok(case) => missing.retain(|it| *it != case),
            Err(_) => panic!("failed, or hang: {missing:?}"),
        }
    }
}

/// While a transaction that has touched a row does nothing, another one touches it: what comes of that.
fn beside_an_idle_holder(
    scheme: Scheme,
    (first, second): (Touch, Touch),
    options: &RunOptions,
) -> Result<(), Error> {
    let db = open(scheme);
    let rows = counters(&db, 2);
    let over = AtomicBool::new(false);
    let (holds, held) = mpsc::channel();
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            db.run(|tx| {
                touch(tx, &rows, first)?;
                let _ = holds.send(());
                while !over.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            })
            .unwrap();
        });
        held.recv().unwrap();
        let result = db.run_with(options, |tx| touch(tx, &rows, second));
        over.store(true, Ordering::Relaxed);
        result
    });
    others_can_write(&db, rows, [(0, 7), (1, 7), (100, 7)]);
    result
}

#[test]
fn waits_for_an_idle_holder_end_at_the_deadline() {
    under_all_schemes(|scheme, first, second| {
        let options = RunOptions::default().deadline(Duration::from_millis(30));
        let result = beside_an_idle_holder(scheme, (first, second), &options);
        let good = matches!(result, Ok(()) | Err(Error::DeadlineExceeded));
        assert!(good, "{scheme}: {first:?}, {second:?}: {result:?}");
    });
}

#[test]
fn waits_for_an_idle_holder_end_when_told_to() {
    under_all_schemes(|scheme, first, second| {
        let cancel = Cancel::new();
        let options = RunOptions::default().cancel(&cancel);
        let teller = thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            cancel.cancel();
        });
        let result = beside_an_idle_holder(scheme, (first, second), &options);
        teller.join().unwrap();
        let good = matches!(result, Ok(()) | Err(Error::Canceled));
        assert!(good, "{scheme}: {first:?}, {second:?}: {result:?}");
    });
}

#[test]
fn nested_transactions_that_meet_end() {
    under_all_schemes(|scheme, first, second| {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let result = db.run(|tx| {
            touch(tx, &rows, first)?;
            db.run(|inner| touch(inner, &rows, second))?;
            touch(tx, &rows, first)
        });
        let good = matches!(result, Ok(()) | Err(Error::Nested(_)));
        assert!(good, "{scheme}: {first:?}, {second:?}: {result:?}");
        // A worker of one's own is as good as the thread's.
        let mut worker = db.worker().unwrap();
        let result = worker.run(|tx| {
            touch(tx, &rows, first)?;
            db.worker()?.begin(&RunOptions::default()).and_then(|mut inner| {
                touch(&mut inner, &rows, second)?;
                inner.commit()
            })
        });
        // These are run again by their callers alone.
        let good = matches!(result, Ok(()) | Err(Error::Nested(_) | Error::Conflict(_)));
        assert!(good, "{scheme}: {first:?}, {second:?}: {result:?}");
        others_can_write(&db, rows, [(0, 7), (1, 7), (100, 7)]);
    });
}

#[test]
fn what_waits_for_its_own_thread_is_told_at_once() {
    let knowing = [
        Scheme::Partitioned,
        Scheme::HStore,
        Scheme::WaitDie,
        Scheme::DlDetect,
        Scheme::Timestamp,
        Scheme::Mvcc,
    ];
    for scheme in knowing {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut attempts = 0;
        let result = db.run(|tx| {
            attempts += 1;
            touch(tx, &rows, Touch::Write)?;
            db.run(|inner| touch(inner, &rows, Touch::Write))
        });
        let expected = Err(Error::Nested(Nested::WaitsForOuter));
        assert_eq!((result, attempts), (expected, 1), "{scheme}");
        others_can_write(&db, rows, [(0, 7)]);
    }
}

#[test]
fn a_transaction_held_up_by_an_unknown_one_gives_up() {
    let unknowing = [
        (Scheme::NoWait, Touch::Write),
        (Scheme::LockTable, Touch::Write),
        (Scheme::LockTableGlobal, Touch::Write),
        (Scheme::LockTableBucket, Touch::Write),
        (Scheme::LockTableSli, Touch::Write),
        (Scheme::LockTableNoEbr, Touch::Write),
        // What they write they show when they commit, but for what is inserted.
        (Scheme::Silo, Touch::Insert),
        (Scheme::GlobalTid, Touch::Insert),
        (Scheme::Occ, Touch::Insert),
        (Scheme::OccSerial, Touch::Insert),
    ];
    for (scheme, how) in unknowing {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut attempts = 0;
        let result = db.run(|tx| {
            attempts += 1;
            touch(tx, &rows, how)?;
            db.run(|inner| touch(inner, &rows, how))
        });
        let expected = Err(Error::Nested(Nested::HeldUp));
        assert_eq!((result, attempts), (expected, 1), "{scheme}");
        others_can_write(&db, rows, [(0, 7), (100, 7)]);
    }
}

#[test]
fn what_its_inner_transactions_undo_is_not_run_for_ever() {
    for scheme in common::OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let result = db.run(|tx| {
            touch(tx, &rows, Touch::Read)?;
            db.run(|inner| touch(inner, &rows, Touch::Write))?;
            tx.put(&rows, &1, &1)
        });
        assert_eq!(result, Err(Error::Nested(Nested::UndoneByInner)), "{scheme}");
        assert_eq!(db.run(|tx| tx.get(&rows, &1)), Ok(Some(0)), "{scheme}");
    }
}

/// Rows are loaded outside of transactions, but not outside of time.
#[test]
fn a_load_that_meets_its_outer_transaction_ends() {
    under_all_schemes(|scheme, first, second| {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let key = if second == Touch::Insert { 100 } else { 0 };
        let result = db.run(|tx| {
            touch(tx, &rows, first)?;
            db.bulk_load(&rows, [(key, 1)])?;
            touch(tx, &rows, first)
        });
        let good = matches!(result, Ok(()) | Err(Error::Nested(_) | Error::DuplicateKey(_)));
        assert!(good, "{scheme}: {first:?}, a row loaded at {key}: {result:?}");
        others_can_write(&db, rows, [(0, 7), (1, 7), (100, 7)]);
        // One of its own rows after the other, each of which undoes what the transaction has seen.
        let mut number = 200;
        let result = db.run(|tx| {
            tx.scan(&rows, 150..).count()?;
            number += 1;
            db.bulk_load(&rows, [(number, 1)])?;
            touch(tx, &rows, Touch::Write)
        });
        let good = matches!(result, Ok(()) | Err(Error::Nested(_)));
        assert!(good, "{scheme}: a row loaded at {number}: {result:?}");
        others_can_write(&db, rows, [(0, 7), (1, 7), (300, 7)]);
    });
}

/// Members of a crew are others to each other: one that waits lets the others run.
#[test]
fn siblings_are_waited_for() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let ended = db.run_each(0..40, |tx, _| touch(tx, &rows, Touch::Write)).unwrap();
        assert!(ended.iter().all(Result::is_ok), "{scheme}: {ended:?}");
        if scheme != Scheme::KeyValue {
            assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(40)), "{scheme}");
        }
    }
}

#[test]
fn a_transaction_canceled_before_it_begins_does_not_begin() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let cancel = Cancel::new();
        cancel.cancel();
        let options = RunOptions::default().cancel(&cancel);
        let mut began = false;
        let result = db.run_with(&options, |_| {
            began = true;
            Ok::<_, Error>(())
        });
        assert_eq!((result, began), (Err(Error::Canceled), false), "{scheme}");
        // Nor is the thread's worker told.
        assert_eq!(db.run(|_| Ok(1)), Ok(1), "{scheme}");
    }
}

#[test]
fn a_closure_is_told_at_its_next_operation() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let cancel = Cancel::new();
        let result = db.run_with(&RunOptions::default().cancel(&cancel), |tx| {
            tx.put(&rows, &0, &5)?;
            cancel.cancel();
            tx.get(&rows, &1).map(|_| ())
        });
        assert_eq!(result, Err(Error::Canceled), "{scheme}");
        // Or at its commit.
        let cancel = Cancel::new();
        let result = db.run_with(&RunOptions::default().cancel(&cancel), |tx| {
            cancel.cancel();
            let _ = tx.put(&rows, &0, &5);
            Ok::<_, Error>(())
        });
        assert_eq!(result, Err(Error::Canceled), "{scheme}");
        if scheme != Scheme::KeyValue {
            assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(0)), "{scheme}");
        }
        others_can_write(&db, rows, [(0, 7)]);
    }
}

#[test]
fn a_snapshot_waits_no_longer_than_it_may() {
    let options = Options::default().snapshots(Snapshots::OnDemand).epoch(Duration::from_secs(5));
    let db = Database::in_memory_with(options).unwrap();
    let rows = counters(&db, 2);
    let limit = RunOptions::default().deadline(Duration::from_millis(30));
    let late = db.snapshot_with(&limit, |snapshot| snapshot.get(&rows, &0));
    assert_eq!(late, Err(Error::DeadlineExceeded));
    let cancel = Cancel::new();
    let told = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(30));
            cancel.cancel();
        });
        let limit = RunOptions::default().cancel(&cancel);
        db.snapshot_with(&limit, |snapshot| snapshot.get(&rows, &0))
    });
    assert_eq!(told, Err(Error::Canceled));
}

/// The boundary of a snapshot comes with time, not by the end of the transaction that it is taken inside.
#[test]
fn a_snapshot_inside_a_transaction_waits_for_its_boundary() {
    let options =
        Options::default().snapshots(Snapshots::OnDemand).epoch(Duration::from_millis(20));
    let db = Database::in_memory_with(options).unwrap();
    let rows = counters(&db, 2);
    let seen = db.run(|tx| {
        tx.put(&rows, &0, &5)?;
        db.snapshot(|snapshot| snapshot.get(&rows, &0))
    });
    assert_eq!(seen, Ok(Some(0)));
}

#[test]
fn a_queue_that_nobody_serves_is_not_waited_for() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 2);
    let queue = db.queue(1).unwrap();
    let limit = RunOptions::default().deadline(Duration::from_millis(30));
    let ticket = queue.submit(&limit, move |tx| tx.put(&rows, &0, &5)).unwrap();
    let full = queue.submit(&limit, move |tx| tx.put(&rows, &0, &6));
    assert_eq!(full.err(), Some(Refused::Full));
    assert_eq!(ticket.wait(), Err(Error::DeadlineExceeded));
    // A transaction whose ticket reached its deadline is not run.
    queue.close();
    queue.serve(1).unwrap();
    assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(0)));
}

/// Runs a wait that is told to give up in a moment.
fn told_soon<T>(wait: impl FnOnce(&RunOptions) -> T) -> T {
    let cancel = Cancel::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(30));
            cancel.cancel();
        });
        wait(&RunOptions::default().cancel(&cancel))
    })
}

/// The wait for a ticket ends, and its transaction goes on.
#[test]
fn a_ticket_is_waited_for_as_long_as_asked() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 2);
    let queue = db.queue(4).unwrap();
    let mut ticket = queue
        .submit(&RunOptions::default(), move |tx| {
            tx.put(&rows, &0, &5)?;
            Ok::<_, Error>(50)
        })
        .unwrap();
    let moment = RunOptions::default().deadline(Duration::from_millis(30));
    assert_eq!(ticket.wait_with(&moment), Err(Error::DeadlineExceeded));
    assert_eq!(told_soon(|limit| ticket.wait_with(limit)), Err(Error::Canceled));
    // One whose transaction has a limit of its own, and one that panics.
    let mut limited = queue.submit(&moment, move |tx| tx.put(&rows, &0, &6)).unwrap();
    let patient = RunOptions::default().deadline(HANGS);
    assert_eq!(limited.wait_with(&patient), Ok(Err(Error::DeadlineExceeded)));
    assert_eq!(limited.wait_with(&patient), Err(Error::TransactionOver));
    assert_eq!(limited.wait(), Err(Error::TransactionOver));
    queue.close();
    queue.serve(1).unwrap();
    assert_eq!(ticket.wait_with(&moment), Ok(Ok(50)));
    assert_eq!(ticket.wait_with(&moment), Err(Error::TransactionOver));
    assert_eq!(ticket.wait(), Err(Error::TransactionOver));
    assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(5)));
}

/// One that is being run is no more waited for than another, though its own limits have come.
#[test]
fn a_ticket_of_a_slow_closure_is_waited_for_as_long_as_asked() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 2);
    let queue = db.queue(4).unwrap();
    let (begins, begun) = mpsc::channel();
    let (goes_on, go_on) = mpsc::channel();
    let limit = RunOptions::default().deadline(Duration::from_millis(30));
    thread::scope(|scope| {
        scope.spawn(|| queue.serve(1));
        let ticket = queue.submit(&RunOptions::default(), move |tx| {
            let _ = begins.send(());
            let _: Result<(), _> = go_on.recv();
            tx.put(&rows, &0, &5)
        });
        let mut ticket = ticket.unwrap();
        begun.recv().unwrap();
        assert_eq!(ticket.wait_with(&limit), Err(Error::DeadlineExceeded));
        assert_eq!(told_soon(|limit| ticket.wait_with(limit)), Err(Error::Canceled));
        goes_on.send(()).unwrap();
        assert_eq!(ticket.wait_with(&common::patience()), Ok(Ok(())));
        queue.close();
    });
}

/// Waits for a disk that takes its time; nothing of what has committed is lost by them.
#[test]
fn the_disk_is_waited_for_as_long_as_asked() {
    let path = Scratch::new();
    let options = Options::default().durability(Durability::Epoch).epoch(Duration::from_secs(5));
    let db = Database::open_with(&path, options).unwrap();
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    let mut pending = db.submit(|tx| tx.put(&rows, &0, &5).map(|()| 50)).unwrap();
    let not_yet = Err(Error::NotYetDurable { epoch: pending.epoch() });
    let moment = RunOptions::default().deadline(Duration::from_millis(30));
    assert_eq!(pending.wait_with(&moment), not_yet);
    assert_eq!(told_soon(|limit| pending.wait_with(limit)), not_yet);
    db.sync_with(&common::patience()).unwrap();
    assert_eq!(pending.wait_with(&moment), Ok(50));
    assert_eq!(pending.wait_with(&moment), Err(Error::TransactionOver));
    assert_eq!(pending.wait(), Err(Error::TransactionOver));
    // Now and then the disk is quicker.
    let over = Cancel::new();
    over.cancel();
    let limit = RunOptions::default().cancel(&over);
    let told = (0..100).any(|turn| {
        let committed = db.submit(|tx| tx.put(&rows, &0, &turn)).unwrap();
        let told = db.sync_with(&limit);
        assert!(matches!(told, Ok(()) | Err(Error::NotYetDurable { .. })), "{told:?}");
        drop(committed);
        told.is_err()
    });
    assert!(told, "never told while it waits for the disk");
}

/// Told in the moment between the commit and the disk, now and then.
#[test]
fn what_has_committed_is_not_taken_back() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    let mut not_yet = 0;
    for turn in 0..3_000 {
        let cancel = Cancel::new();
        let ready = AtomicBool::new(false);
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                while !ready.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                (0..turn % 100 * 100).for_each(|_| std::hint::spin_loop());
                cancel.cancel();
            });
            db.run_with(&RunOptions::default().cancel(&cancel), |tx| {
                let put = tx.put(&rows, &turn, &turn);
                ready.store(true, Ordering::Release);
                put
            })
        });
        let there = db.run(|tx| tx.get(&rows, &turn)).unwrap().is_some();
        match result {
            Ok(()) => assert!(there),
            Err(Error::NotYetDurable { .. }) => {
                assert!(there, "it has committed");
                not_yet += 1;
            }
            Err(Error::Canceled) => assert!(!there, "nothing has happened"),
            other => panic!("{other:?}"),
        }
        if not_yet == 3 {
            return;
        }
    }
    panic!("never told while it waits for the disk");
}
