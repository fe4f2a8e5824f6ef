//! Aborts under a lock table: a lock beyond the limit, a wait beyond its time or theirs; and nothing stays locked
//! after one.

use crate::common::{counters, others_can_write};
use chiliad::{Database, Error, Options, Reason, RunOptions, Scheme};
use std::time::Duration;

/// They alone wait for as long as it takes.
fn lock_tables() -> impl Iterator<Item = Scheme> {
    Scheme::ALL.into_iter().filter(|scheme| scheme.info().wait_timeout == Duration::MAX)
}

fn open(scheme: Scheme, with: impl FnOnce(Options) -> Options) -> Database {
    Database::in_memory_with(with(Options::default().scheme(scheme))).unwrap()
}

/// A transaction that needs more locks than there may be fails, and is not run again for ever.
#[test]
fn the_limit_of_locks() {
    const LOCKS: u64 = 1024;
    for scheme in lock_tables() {
        let db = open(scheme, |options| options.locks_max(LOCKS));
        let rows = counters(&db, 3 * LOCKS);
        let all = || db.run(|tx| (0..3 * LOCKS).try_for_each(|key| tx.put(&rows, &key, &1)));
        let exhausted = Err(Error::LocksExhausted { locks_max: LOCKS });
        for _ in 0..3 {
            assert_eq!(all(), exhausted, "{scheme}");
        }
        // A closure that swallows it does not commit half of its work.
        let swallowed = db.run(|tx| {
            let failed = (0..3 * LOCKS).any(|key| tx.put(&rows, &key, &1).is_err());
            assert!(failed);
            Ok(())
        });
        assert_eq!(swallowed, exhausted, "{scheme}");
        // What it had locked is free, for others and for itself: five times the limit, one at a time.
        others_can_write(&db, rows, [(0, 2), (LOCKS, 2)]);
        for turn in 0..5 * LOCKS {
            db.run(|tx| tx.put(&rows, &(turn % LOCKS), &3)).unwrap();
        }
        let sum: u64 =
            db.run(|tx| tx.scan(&rows, LOCKS..LOCKS + 10).values()).unwrap().iter().sum();
        assert_eq!(sum, 2, "{scheme}: nothing of what failed was written");
    }
}

/// A wait that ends by its time is a conflict, which may go better the next time.
#[test]
fn the_time_to_wait() {
    for scheme in lock_tables() {
        let db = open(scheme, |options| options.wait_timeout(Duration::from_millis(1)));
        let rows = counters(&db, 2);
        let once = RunOptions::default().retries_max(0);
        let refused = db.run(|tx| {
            tx.put(&rows, &0, &1)?;
            let refused = db.run_with(&once, |other| {
                other.put(&rows, &1, &1)?;
                other.put(&rows, &0, &2)
            });
            // The other has let go of what it had got.
            tx.put(&rows, &1, &5)?;
            Ok::<_, Error>(refused)
        });
        let refused = refused.unwrap().expect_err("the row is locked");
        assert_eq!(refused, Error::Conflict(Reason::LockTimeout), "{scheme}");
        assert!(refused.is_retryable());
        db.run_with(&once, |other| other.put(&rows, &0, &2)).unwrap();
        assert_eq!(db.run(|tx| tx.scan(&rows, ..).values()).unwrap(), [2, 5], "{scheme}");
    }
}

/// A transaction without a time limit for locks waits until its deadline.
#[test]
fn the_deadline() {
    for scheme in lock_tables() {
        let db = open(scheme, |options| options.wait_timeout(Duration::MAX));
        let rows = counters(&db, 2);
        let late = RunOptions::default().deadline(Duration::from_millis(5));
        let refused = db.run(|tx| {
            tx.put(&rows, &0, &1)?;
            Ok::<_, Error>(db.run_with(&late, |other| other.put(&rows, &0, &2)))
        });
        assert_eq!(refused, Ok(Err(Error::DeadlineExceeded)), "{scheme}");
        assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(1)), "{scheme}");
    }
}
