//! Transactions that stay open between calls, and go from thread to thread.

use crate::common::{OPTIMISTIC, Scratch, counters, keys_of, open, others_can_write, serializable};
use chiliad::raw::{Columns, TableId, Transaction as _};
use chiliad::{
    Cancel, Database, Durability, Error, OpenTransaction, Options, Result, RunOptions, Scheme,
    Table,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Turns what hangs into a failure.
const HANGS: Duration = Duration::from_secs(60);

fn begin(db: &Database) -> OpenTransaction {
    db.open_transaction(&RunOptions::default()).unwrap()
}

fn add(tx: &mut OpenTransaction, table: Table<u64, u64>, key: u64, n: u64) -> Result<()> {
    tx.with(|tx| tx.update(&table, &key, |count| *count += n).map(|_| ()))
}

fn all(db: &Database, table: Table<u64, u64>) -> Vec<u64> {
    db.run(|tx| tx.scan(&table, ..).values()).unwrap()
}

/// Databases of two counters whose transactions wait longer for a lock than a test may take: under all schemes but those
/// that hold everything from the begin.
fn patient() -> impl Iterator<Item = (Scheme, Database, Table<u64, u64>)> {
    let locks_later = |scheme: &Scheme| !scheme.info().needs_partitions;
    serializable().into_iter().filter(locks_later).map(|scheme| {
        let options = Options::default().scheme(scheme).wait_timeout(HANGS * 2);
        let db = Database::in_memory_with(options).unwrap();
        let rows = counters(&db, 2);
        (scheme, db, rows)
    })
}

#[test]
fn each_part_may_run_on_another_thread() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 4);
        let mut tx = begin(&db);
        for key in 0..4 {
            let part = thread::spawn(move || add(&mut tx, rows, key, key + 1).map(|()| tx));
            tx = part.join().unwrap().unwrap();
            let seen = tx.with(|tx| tx.get(&rows, &key)).unwrap();
            assert_eq!(seen, Some(key + 1), "{scheme}: its own writes");
        }
        thread::spawn(move || tx.commit()).join().unwrap().unwrap();
        assert_eq!(all(&db, rows), [1, 2, 3, 4], "{scheme}");
    }
}

/// The older transaction begins here, waits on another thread for the younger one, and is woken there.
#[test]
fn a_grant_wakes_the_thread_that_waits() {
    for (scheme, db, rows) in patient() {
        let mut older = begin(&db);
        older.with(|tx| tx.get(&rows, &1)).unwrap();
        let mut younger = begin(&db);
        add(&mut younger, rows, 0, 10).unwrap();
        let (tells, told) = mpsc::channel();
        thread::spawn(move || {
            let waited = add(&mut older, rows, 0, 1).and_then(|()| older.commit());
            _ = tells.send(waited);
        });
        // It sleeps by now, where it does not wait awake.
        thread::sleep(Duration::from_millis(30));
        let held = younger.commit();
        let waited = told.recv_timeout(HANGS).unwrap_or_else(|_| panic!("{scheme}: sleeps on"));
        let refused = |it: &Result<()>| matches!(it, Err(Error::Conflict(_)));
        assert!(waited.is_ok() || refused(&waited), "{scheme}: {waited:?}");
        assert!(held.is_ok() || refused(&held), "{scheme}: {held:?}");
        let expected = if held.is_ok() { 10 } else { 0 } + u64::from(waited.is_ok());
        assert_eq!(all(&db, rows), [expected, 0], "{scheme}");
    }
}

#[test]
fn dropped_it_is_rolled_back() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let mut tx = begin(&db);
        add(&mut tx, rows, 0, 1).unwrap();
        thread::spawn(move || drop(tx)).join().unwrap();
        let mut tx = begin(&db);
        add(&mut tx, rows, 1, 1).unwrap();
        tx.rollback();
        assert_eq!(all(&db, rows), [0, 0], "{scheme}");
        others_can_write(&db, rows, [(0, 5), (1, 5)]);
    }
}

#[test]
fn a_panic_in_a_part_rolls_back() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 1);
        let mut tx = begin(&db);
        add(&mut tx, rows, 0, 1).unwrap();
        let part = || tx.with(|_| -> Result<()> { panic!("of the application") });
        catch_unwind(AssertUnwindSafe(part)).unwrap_err();
        others_can_write(&db, rows, [(0, 7)]);
        assert_eq!(add(&mut tx, rows, 0, 1), Err(Error::TransactionOver), "{scheme}");
        assert_eq!(tx.commit(), Err(Error::TransactionOver), "{scheme}");
        assert_eq!(all(&db, rows), [7], "{scheme}");
    }
}

#[test]
fn marks_lead_back_and_stay() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 1);
        let value = |tx: &mut OpenTransaction| tx.with(|tx| tx.get(&rows, &0)).unwrap().unwrap();
        let mut tx = begin(&db);
        add(&mut tx, rows, 0, 1).unwrap();
        let outer = tx.set_savepoint().unwrap();
        add(&mut tx, rows, 0, 10).unwrap();
        let inner = tx.set_savepoint().unwrap();
        add(&mut tx, rows, 0, 100).unwrap();
        tx.roll_back_to(inner).unwrap();
        assert_eq!(value(&mut tx), 11, "{scheme}");
        add(&mut tx, rows, 0, 200).unwrap();
        // As often as one likes; those that were set later end.
        for _ in 0..2 {
            tx.roll_back_to(outer).unwrap();
            assert_eq!(value(&mut tx), 1, "{scheme}");
            add(&mut tx, rows, 0, 1000).unwrap();
        }
        assert_eq!(tx.roll_back_to(inner), Err(Error::UnknownSavepoint), "{scheme}");
        tx.release(outer).unwrap();
        assert_eq!(tx.release(outer), Err(Error::UnknownSavepoint), "{scheme}");
        let mark = tx.set_savepoint().unwrap();
        add(&mut tx, rows, 0, 5).unwrap();
        tx.release(mark).unwrap();
        tx.commit().unwrap();
        assert_eq!(all(&db, rows), [1006], "{scheme}");
        let mut other = begin(&db);
        assert_eq!(other.roll_back_to(outer), Err(Error::UnknownSavepoint), "{scheme}");
    }
}

/// Each part has limits of its own, and those of one part do not end the next.
#[test]
fn a_part_has_limits_of_its_own() {
    for (scheme, db, rows) in patient() {
        let mut waits = begin(&db);
        let mut holds = begin(&db);
        add(&mut holds, rows, 0, 1).unwrap();
        waits.limit(&RunOptions::default().deadline(Duration::from_millis(20)));
        let found = add(&mut waits, rows, 0, 1);
        let expected = matches!(found, Err(Error::DeadlineExceeded | Error::Conflict(_)));
        assert!(expected || found.is_ok() && OPTIMISTIC.contains(&scheme), "{scheme}: {found:?}");
        drop(waits);
        holds.commit().unwrap();

        let mut idle = begin(&db);
        idle.limit(&RunOptions::default().deadline(Duration::ZERO));
        assert_eq!(add(&mut idle, rows, 1, 1), Err(Error::DeadlineExceeded), "{scheme}");
        idle.limit(&RunOptions::default());
        add(&mut idle, rows, 1, 1).unwrap();
        let cancel = Cancel::new();
        idle.limit(&RunOptions::default().cancel(&cancel));
        add(&mut idle, rows, 1, 1).unwrap();
        cancel.cancel();
        assert_eq!(add(&mut idle, rows, 1, 1), Err(Error::Canceled), "{scheme}");
        assert_eq!(idle.commit(), Err(Error::Canceled), "{scheme}");
        assert_eq!(all(&db, rows), [1, 0], "{scheme}");
    }
}

/// `validate` finds, before the commit, that a transaction has read two states.
#[test]
fn validate_tells_of_a_state_that_never_was() {
    for scheme in OPTIMISTIC {
        let options = Options::default().scheme(scheme).opacity(false);
        let db = Database::in_memory_with(options).unwrap();
        let rows = counters(&db, 2);
        let mut tx = begin(&db);
        let first = tx.with(|tx| tx.get(&rows, &0)).unwrap();
        tx.validate().unwrap();
        db.run(|tx| {
            tx.put(&rows, &0, &1)?;
            tx.put(&rows, &1, &1)
        })
        .unwrap();
        match tx.with(|tx| tx.get(&rows, &1)) {
            // It is known at the read already.
            Err(Error::Conflict(_)) => {}
            second => {
                assert_eq!((first, second), (Some(0), Ok(Some(1))), "{scheme}: of two states")
            }
        }
        assert!(matches!(tx.validate(), Err(Error::Conflict(_))), "{scheme}");
        tx.restart().unwrap();
        assert_eq!(tx.with(|tx| tx.get_many(&rows, &[0, 1])).unwrap(), [Some(1); 2]);
        tx.validate().unwrap();
        tx.commit().unwrap();
    }
}

/// An old transaction that starts again keeps its age: a younger one does not make it die for ever.
#[test]
fn a_restart_keeps_the_age() {
    let db = open(Scheme::WaitDie);
    let rows = counters(&db, 1);
    let mut old = begin(&db);
    let mut tx = begin(&db);
    add(&mut tx, rows, 0, 1).unwrap();
    // The younger one dies beside the elder.
    let mut young = begin(&db);
    assert!(matches!(add(&mut young, rows, 0, 1), Err(Error::Conflict(_))));
    old.restart().unwrap();
    old.limit(&RunOptions::default().deadline(Duration::from_millis(20)));
    // This one waits: it is older still.
    assert_eq!(add(&mut old, rows, 0, 1), Err(Error::DeadlineExceeded));
    tx.commit().unwrap();
}

#[test]
fn a_thousand_may_be_open_at_once() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1_000);
    let mut open: Vec<_> = (0..1_000).map(|_| begin(&db)).collect();
    for (key, tx) in open.iter_mut().enumerate() {
        add(tx, rows, key as u64, 1).unwrap();
    }
    // Rows of their own: all commit.
    open.into_iter().for_each(|tx| tx.commit().unwrap());
    assert!(all(&db, rows).iter().all(|&count| count == 1));
    // Their workers serve those that follow.
    let options = Options::default().workers_max(20);
    let db = Database::in_memory_with(options).unwrap();
    let rows = counters(&db, 1);
    for _ in 0..200 {
        let mut tx = begin(&db);
        add(&mut tx, rows, 0, 1).unwrap();
        tx.commit().unwrap();
    }
    let open: Vec<_> =
        (0..100).map_while(|_| db.open_transaction(&RunOptions::default()).ok()).collect();
    assert!((1..=20).contains(&open.len()), "{}", open.len());
    let refused = db.open_transaction(&RunOptions::default()).unwrap_err();
    assert!(matches!(refused, Error::TooManyWorkers { .. }), "{refused}");
}

/// A snapshot that is left and taken up again reads one state, whatever is written meanwhile.
#[test]
fn a_snapshot_may_stay_open() {
    for scheme in serializable() {
        let db = crate::common::open_with_snapshots(scheme);
        let rows = counters(&db, 2);
        thread::sleep(Duration::from_millis(20));
        let mut snapshot = db.open_snapshot(&RunOptions::default()).unwrap();
        let first = snapshot.with(|tx| tx.get(&rows, &0)).unwrap();
        assert_eq!(first, Some(0), "{scheme}");
        if scheme.info().snapshots {
            for _ in 0..3 {
                db.run(|tx| {
                    tx.update(&rows, &0, |count| *count += 1)?;
                    tx.update(&rows, &1, |count| *count += 1)
                })
                .unwrap();
                thread::sleep(Duration::from_millis(5));
                let seen = snapshot.with(|tx| tx.get_many(&rows, &[0, 1])).unwrap();
                assert_eq!(seen, [Some(0); 2], "{scheme}");
            }
        }
        let refused = snapshot.with(|tx| tx.put(&rows, &0, &9));
        assert_eq!(refused, Err(Error::ReadOnly), "{scheme}");
        _ = snapshot.commit();
    }
}

/// A transaction that reads or writes more than it may is refused in every way, and the next one finds all room.
#[test]
fn a_transaction_has_no_more_memory_than_it_may() {
    for scheme in serializable() {
        let options = Options::default().scheme(scheme).transaction_bytes_max(64 << 10);
        let db = Database::in_memory_with(options).unwrap();
        let rows: Table<u64, Vec<u8>> = db.create_table("rows").unwrap();
        db.bulk_load(&rows, (0..2_000).map(|key| (key, vec![1; 100]))).unwrap();
        let too_large = |done: Result<()>, how: &str| {
            let refused = matches!(done, Err(Error::TransactionTooLarge { .. }));
            assert!(refused, "{scheme}, {how}: {done:?}");
        };
        too_large(db.run(|tx| tx.scan(&rows, ..).rows().map(|_| ())), "a scan");
        let keys: Vec<u64> = (0..2_000).collect();
        // Of look-ups at once the transaction keeps nothing.
        let many = db.run(|tx| tx.get_many(&rows, &keys)).unwrap();
        assert_eq!(many, vec![Some(vec![1; 100]); 2_000], "{scheme}");
        too_large(
            db.run(|tx| keys.iter().try_for_each(|key| tx.get(&rows, key).map(|_| ()))),
            "look-ups",
        );
        too_large(
            db.run(|tx| keys.iter().try_for_each(|key| tx.put(&rows, key, &vec![2; 100]))),
            "writes",
        );
        // Rows that are only shown are not kept.
        assert_eq!(db.run(|tx| tx.scan(&rows, ..).count()).unwrap(), 2_000, "{scheme}");
        db.run(|tx| tx.put(&rows, &0, &vec![3; 100])).unwrap();
        assert_eq!(db.run(|tx| tx.get(&rows, &0)).unwrap().unwrap(), [3; 100], "{scheme}");
    }
    let refused = Database::in_memory_with(Options::default().transaction_bytes_max(1 << 40));
    let refused = refused.expect_err("too much").to_string();
    assert!(refused.contains("transaction_bytes_max 1099511627776: 65536 to"), "{refused}");
}

/// A part uses a table that was made after the transaction began, and one that was dropped since.
#[test]
fn tables_may_come_and_go_meanwhile() {
    for scheme in serializable() {
        let db = open(scheme);
        let old = counters(&db, 2);
        let mut tx = begin(&db);
        add(&mut tx, old, 0, 1).unwrap();
        let new: Table<u64, u64> = db.create_table("new").unwrap();
        tx.with(|tx| tx.insert(&new, &7, &7)).unwrap();
        db.drop_table("counters").unwrap();
        add(&mut tx, old, 1, 1).unwrap();
        let newer: Table<u64, u64> = db.create_table("newer").unwrap();
        let both = tx.with(|tx| {
            tx.insert(&newer, &8, &8)?;
            Ok::<_, Error>((tx.get(&new, &7)?, tx.get(&newer, &8)?))
        });
        assert_eq!(both.unwrap(), (Some(7), Some(8)), "{scheme}");
        tx.commit().unwrap();
        assert_eq!((all(&db, new), all(&db, newer)), (vec![7], vec![8]), "{scheme}");
    }
}

/// A database in which nothing becomes durable unless somebody asks for it, and two columns of its rows.
struct ByColumn {
    db: Database,
    id: TableId,
    keys: Vec<Vec<u8>>,
    parts: [Columns; 2],
    _place: Scratch,
}

impl ByColumn {
    fn new(scheme: Scheme, rows: u64) -> Self {
        let place = Scratch::new();
        let options = Options::default().scheme(scheme).epoch(Duration::from_secs(3600));
        let db = Database::open_with(&place, options.durability(Durability::Epoch)).unwrap();
        let id = counters(&db, rows).id();
        let keys = keys_of(&db, id);
        let parts = [0, 1].map(|place| Columns::of(id, place));
        Self { db, id, keys, parts, _place: place }
    }

    /// Changes rows in one transaction, each in this column or as a whole; what was before is durable.
    fn change(&self, changes: impl IntoIterator<Item = (usize, Option<usize>)> + Clone) {
        self.db.sync().unwrap();
        let changed = self.db.run(|tx| {
            for (at, column) in changes.clone() {
                let row = tx.raw().get_for_update(self.id, &self.keys[at])?.expect("a row");
                match column {
                    Some(column) => tx.raw().update_columns(row, &[7; 8], self.parts[column])?,
                    None => tx.raw().update(row, &[8; 8])?,
                }
            }
            Ok(())
        });
        changed.unwrap();
    }

    /// Whether what a transaction sees of a row is durable: all of it, and each of the two columns.
    fn is_durable(&self, at: usize) -> (bool, [bool; 2]) {
        let mut open = begin(&self.db);
        open.with(|tx| tx.raw().get(self.id, &self.keys[at]).map(|_| ())).unwrap();
        let all = open.seen().unwrap().is_durable().unwrap();
        (all, self.parts.map(|it| open.seen_columns(it).unwrap().is_durable().unwrap()))
    }
}

/// A column counts by its last change. Under `silo` changes of other columns by `update_columns` do not make it younger.
#[test]
fn columns_are_as_durable_as_their_last_change() {
    for scheme in serializable() {
        let rows = ByColumn::new(scheme, 1);
        // For each of two columns, whether it is durable after these changes of the row in one transaction.
        let durable_after = |changes: &[Option<usize>]| {
            rows.change(changes.iter().map(|column| (0, *column)));
            let (all, columns) = rows.is_durable(0);
            assert!(!all, "{scheme}: the row has changed");
            columns
        };
        let knows = scheme == Scheme::Silo;
        assert_eq!(durable_after(&[Some(1)]), [knows, false], "{scheme}");
        assert_eq!(durable_after(&[Some(0), Some(0)]), [false, knows], "{scheme}");
        for changes in [&[None][..], &[Some(0), Some(1)], &[Some(1), None], &[None, Some(1)]] {
            assert_eq!(durable_after(changes), [false; 2], "{scheme}: {changes:?}");
        }
    }
}

/// Rows that one transaction changes count each by its own columns, in whatever order they come.
#[test]
fn columns_of_many_rows_count_apart() {
    let rows = ByColumn::new(Scheme::Silo, 5);
    rows.change([
        (0, Some(0)),
        (3, Some(1)),
        (1, Some(1)),
        (2, Some(0)),
        (1, Some(1)),
        (0, Some(0)),
        (3, None),
        (2, None),
        (4, Some(1)),
        (3, Some(0)),
    ]);
    let expected = [[false, true], [true, false], [false; 2], [false; 2], [true, false]];
    assert_eq!([0, 1, 2, 3, 4].map(|at| rows.is_durable(at).1), expected);
}
