//! Handles of rows, entries and scans are of use in the transaction that gave them out, and in no
//! other: what the compiler cannot see fails with a typed error, and nothing is written.

use chiliad::raw::{Entry, Range, Row, Scanned, Transaction as _};
use chiliad::{Database, Error, Options, Result, RunOptions, Scheme, Table};
use core::num::NonZeroU64;

/// Rows 0 to 9 of ten times their keys.
fn filled(options: Options) -> (Database, Table<u64, i64>) {
    let db = Database::in_memory_with(options).unwrap();
    let rows = db.create_table("rows").unwrap();
    db.bulk_load(&rows, (0..10).map(|key| (key, 10 * key as i64))).unwrap();
    (db, rows)
}

/// The bytes of a row: the version of the table's schema, and its only column.
fn row_of(value: i64) -> Vec<u8> {
    [&[0, 0][..], &value.to_le_bytes()].concat()
}

fn all(db: &Database, rows: Table<u64, i64>) -> Vec<(u64, i64)> {
    db.run(|tx| tx.scan(&rows, ..).rows()).unwrap()
}

#[test]
fn a_fetched_row_is_refused_by_another_transaction() {
    for scheme in Scheme::ALL {
        let (db, rows) = filled(Options::default().scheme(scheme));
        let before = all(&db, rows);
        let mut workers = [db.worker().unwrap(), db.worker().unwrap()];
        let [one, other] = &mut workers;
        // Partitions of their own, for the schemes that lock them.
        let options = RunOptions::default();
        let mut t1 = one.begin(&options).unwrap();
        let kept = t1.fetch(&rows, &1).unwrap().unwrap();
        let scanned = t1.scan(&rows, 3..5).fetch().unwrap();
        t1.rollback();
        let mut t2 = other.begin(&options).unwrap();
        assert_eq!(t2.get(&rows, &7), Ok(Some(70)));
        assert_eq!(t2.store(&kept), Err(Error::ForeignHandle), "{scheme:?}");
        assert_eq!(t2.store(&scanned[0].1), Err(Error::ForeignHandle), "{scheme:?}");
        assert_eq!(t2.delete(kept), Err(Error::ForeignHandle), "{scheme:?}");
        t2.commit().expect("a refused handle is no end of a transaction");
        assert_eq!(all(&db, rows), before, "{scheme:?}");
    }
}

#[test]
fn of_two_transactions_at_once_each_keeps_to_its_own() {
    let (db, rows) = filled(Options::default());
    let (mut one, mut other) = (db.worker().unwrap(), db.worker().unwrap());
    let mut t1 = one.begin(&RunOptions::default()).unwrap();
    let mut t2 = other.begin(&RunOptions::default()).unwrap();
    let mut of_one = t1.fetch(&rows, &1).unwrap().unwrap();
    let mut of_two = t2.fetch(&rows, &7).unwrap().unwrap();
    *of_one += 1;
    *of_two += 1;
    assert_eq!(t2.store(&of_one), Err(Error::ForeignHandle));
    assert_eq!(t1.store(&of_two), Err(Error::ForeignHandle));
    t1.store(&of_one).unwrap();
    t2.store(&of_two).unwrap();
    t1.commit().unwrap();
    t2.commit().unwrap();
    let after = all(&db, rows);
    assert_eq!((after[1], after[7]), ((1, 11), (7, 71)));
}

/// The handles of a transaction that reads and scans.
#[derive(Clone, Copy)]
struct Handles {
    row: Row,
    scanned: Scanned,
    entry: Entry,
}

fn handles(db: &Database, rows: Table<u64, i64>) -> Handles {
    let read = db.run(|tx| {
        let tx = tx.raw();
        let row = tx.get(rows.id(), &1_u64.to_be_bytes())?.expect("there");
        let scanned = tx.scan(rows.id(), Range::all())?;
        let entry = tx.entries(scanned)?[9];
        assert_eq!(tx.key(entry)?, 9_u64.to_be_bytes());
        assert_eq!(tx.bytes(entry.row)?, row_of(90));
        Ok(Handles { row, scanned, entry })
    });
    read.unwrap()
}

/// That a transaction that has read `reads` rows itself refuses them all.
fn refused(db: &Database, rows: Table<u64, i64>, from: Handles, reads: u64) {
    let before = all(db, rows);
    db.run(|tx| {
        let tx = tx.raw();
        for key in 0..reads {
            tx.get(rows.id(), &(key % 10).to_be_bytes())?;
        }
        let own = tx.get(rows.id(), &2_u64.to_be_bytes())?.expect("there");
        let foreign = Error::ForeignHandle;
        for row in [from.row, from.entry.row] {
            assert_eq!(tx.bytes(row), Err(foreign.clone()));
            assert_eq!(tx.update(row, b"overwritten"), Err(foreign.clone()));
            assert_eq!(tx.modify(row).map(|_| ()), Err(foreign.clone()));
            assert_eq!(tx.remove_row(row), Err(foreign.clone()));
        }
        assert_eq!(tx.entries(from.scanned), Err(foreign.clone()));
        assert_eq!(tx.key(from.entry), Err(foreign.clone()));
        // Another one's key under a row of its own.
        let mut mixed = from.entry;
        mixed.row = own;
        assert_eq!(tx.key(mixed), Err(foreign));
        assert_eq!(tx.bytes(own)?, row_of(20));
        Ok(())
    })
    .unwrap();
    assert_eq!(all(db, rows), before);
}

#[test]
fn raw_handles_end_with_their_transaction() {
    let (db, rows) = filled(Options::default());
    for reads in [0, 1, 10, 100] {
        refused(&db, rows, handles(&db, rows), reads);
    }
}

#[test]
fn raw_handles_of_another_database_are_refused() {
    let (db, rows) = filled(Options::default());
    let (other, others_rows) = filled(Options::default());
    refused(&other, others_rows, handles(&db, rows), 30);
}

#[test]
fn raw_handles_of_a_transaction_around_another_are_refused() {
    let (db, rows) = filled(Options::default());
    db.run(|outer| {
        let row = outer.raw().get(rows.id(), &1_u64.to_be_bytes())?.expect("there");
        db.run(|inner| {
            inner.raw().get(rows.id(), &7_u64.to_be_bytes())?;
            assert_eq!(inner.raw().update(row, &[0; 8]), Err(Error::ForeignHandle));
            Ok(())
        })?;
        outer.raw().update(row, &row_of(11))
    })
    .unwrap();
    assert_eq!(all(&db, rows)[1], (1, 11));
    assert_eq!(all(&db, rows)[7], (7, 70));
}

#[test]
fn handles_that_were_never_given_out_are_refused() {
    let (db, rows) = filled(Options::default());
    let given = handles(&db, rows);
    let number = given.row.number().get();
    let made_up = [1, 2, 3, number - 1, number + 64, number ^ (1 << 40), u64::MAX / 2, u64::MAX];
    for number in made_up {
        let row = Row::from_number(NonZeroU64::new(number).expect("not zero"));
        let entry = Entry::new(row, row);
        for scanned in [(number, 1), (number, u32::MAX), (0, u32::MAX)] {
            let scanned = Scanned::from_parts(scanned.0, scanned.1);
            // Of another worker, whose transactions have other numbers.
            let mut worker = db.worker().unwrap();
            worker.run(|tx| Ok(refuses(tx.raw(), rows, row, scanned, entry))).unwrap().unwrap();
        }
    }
}

fn refuses(
    tx: &mut chiliad::raw::Untyped<'_>,
    rows: Table<u64, i64>,
    row: Row,
    scanned: Scanned,
    entry: Entry,
) -> Result<()> {
    tx.get(rows.id(), &1_u64.to_be_bytes())?;
    assert_eq!(tx.bytes(row), Err(Error::ForeignHandle));
    assert_eq!(tx.remove_row(row), Err(Error::ForeignHandle));
    assert_eq!(tx.entries(scanned), Err(Error::ForeignHandle));
    assert_eq!(tx.key(entry), Err(Error::ForeignHandle));
    Ok(())
}

#[test]
fn handles_live_as_long_as_their_transaction() {
    let (db, rows) = filled(Options::default());
    db.run(|tx| {
        let early = tx.fetch(&rows, &1)?.expect("there");
        for _ in 0..1_000 {
            tx.scan(&rows, ..).rows()?;
        }
        let empty = tx.raw().scan(rows.id(), Range::between(&[0xff], &[0xff]))?;
        assert_eq!(tx.raw().entries(empty), Ok(&[][..]));
        tx.store(&early)
    })
    .unwrap();
}
