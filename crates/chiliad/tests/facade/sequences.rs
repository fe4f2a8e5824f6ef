//! Sequences: each number once, whatever happens to the transactions and the process that draw them.

use crate::common::{Scratch, killed, open, serializable};
use chiliad::{Database, Error, Options, Result, RunOptions, Scheme, Sequence, Table};
use std::collections::BTreeSet;
use std::thread;

/// Numbers that some threads draw at the same time.
fn drawn(sequences: &[Sequence], each: usize) -> Vec<u64> {
    thread::scope(|scope| {
        let draw = |numbers: Sequence| {
            move || (0..each).map(|_| numbers.next().unwrap()).collect::<Vec<u64>>()
        };
        let threads: Vec<_> =
            sequences.iter().map(|numbers| scope.spawn(draw(numbers.clone()))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn are_distinct(numbers: &[u64]) -> bool {
    numbers.iter().collect::<BTreeSet<_>>().len() == numbers.len()
}

#[test]
fn threads_never_get_the_same_number() {
    for scheme in serializable() {
        let db = open(scheme);
        let numbers = db.sequence("numbers").unwrap();
        // Handles that were opened apart have blocks of their own.
        let all = [numbers.clone(), numbers, db.sequence("numbers").unwrap()];
        let drawn = drawn(&all, 1_300);
        assert!(are_distinct(&drawn), "{scheme}");
        assert_eq!(drawn.iter().min(), Some(&1), "{scheme}");
    }
}

#[test]
fn a_number_is_not_given_out_again_after_a_restart() {
    let directory = Scratch::new();
    let mut all = Vec::new();
    for _ in 0..3 {
        let db = Database::open(&directory).unwrap();
        all.extend(drawn(&[db.sequence("numbers").unwrap()], 600));
        db.close().unwrap();
    }
    assert!(are_distinct(&all));
}

/// After a crash the sequence may repeat numbers that no durable row has, and repeats no other.
#[test]
fn a_number_of_a_durable_row_is_not_given_out_again_after_a_crash() {
    let directory = Scratch::new();
    let db = Database::open(&directory).unwrap();
    let (rows, numbers) = (db.create_table("rows").unwrap(), db.sequence("numbers").unwrap());
    for _ in 0..600 {
        db.run(|tx| tx.insert_next::<u64, u64>(&rows, &numbers, &7)).unwrap();
    }
    db.sync().unwrap();
    let copy = killed(&directory);
    let db = Database::open(&copy).unwrap();
    let (rows, numbers) = (db.table("rows").unwrap(), db.sequence("numbers").unwrap());
    for _ in 0..600 {
        db.run(|tx| tx.insert_next::<u64, u64>(&rows, &numbers, &7)).unwrap();
    }
    assert_eq!(db.run(|tx| tx.scan(&rows, ..).count()), Ok(1_200));
}

#[test]
fn servers_of_a_log_never_get_the_same_number() {
    let join = || Database::join("memory:sequences", Options::default()).unwrap();
    let (one, other) = (join(), join());
    let numbers = [one.sequence("numbers").unwrap(), other.sequence("numbers").unwrap()];
    assert!(are_distinct(&drawn(&numbers, 1_200)));
}

/// Two transactions that insert under the next numbers at the same time: neither is refused, under schemes that refuse
/// at once, nor when they commit. In neighbouring keys they would meet on a leaf.
#[test]
fn rows_of_two_threads_lie_apart() {
    for scheme in [Scheme::Silo, Scheme::NoWait, Scheme::Occ, Scheme::Timestamp] {
        let db = open(scheme);
        let (rows, numbers) = (&db.create_table("rows").unwrap(), &db.sequence("numbers").unwrap());
        let fill = |tx: &mut chiliad::Transaction<'_>| -> Result<u64> {
            for _ in 0..20 {
                tx.insert_next(rows, numbers, &0_u64)?;
            }
            tx.insert_next(rows, numbers, &0_u64)
        };
        // Leaves of both ranges are there, and have been divided.
        db.run(fill).unwrap();
        thread::scope(|scope| scope.spawn(|| db.run(fill).unwrap()).join().unwrap());
        let mut worker = db.worker().unwrap();
        let mut tx = worker.begin(&RunOptions::default()).unwrap();
        let own = fill(&mut tx).unwrap();
        let others = thread::scope(|scope| {
            let other = || {
                let mut worker = db.worker().unwrap();
                let mut tx = worker.begin(&RunOptions::default()).unwrap();
                let others = fill(&mut tx).unwrap();
                tx.commit().unwrap_or_else(|error| panic!("{scheme}: {error}"));
                others
            };
            scope.spawn(other).join().unwrap()
        });
        tx.commit().unwrap_or_else(|error| panic!("{scheme}: {error}"));
        assert!(own.abs_diff(others) > 100, "{scheme}: {own}, {others}");
    }
}

#[test]
fn a_number_that_a_rolled_back_transaction_drew_is_left_out() {
    let db = open(Scheme::Silo);
    let (rows, numbers) = (db.create_table("rows").unwrap(), db.sequence("numbers").unwrap());
    let mut seen = Vec::new();
    let undone: Result<()> = db.run(|tx| {
        seen.push(tx.insert_next::<u64, u64>(&rows, &numbers, &0)?);
        Err(Error::RolledBack)
    });
    assert_eq!(undone, Err(Error::RolledBack));
    seen.push(db.run(|tx| tx.insert_next(&rows, &numbers, &0)).unwrap());
    assert!(are_distinct(&seen));
}

#[test]
fn a_number_that_is_taken_is_a_duplicate() {
    let db = open(Scheme::Silo);
    let (rows, numbers) = (db.create_table("rows").unwrap(), db.sequence("numbers").unwrap());
    db.bulk_load(&rows, [(1_u64, 0_u64)]).unwrap();
    let refused = db.run(|tx| tx.insert_next(&rows, &numbers, &0));
    assert!(matches!(refused, Err(Error::DuplicateKey(_))), "{refused:?}");
}

#[test]
fn the_last_number_is_followed_by_an_error() {
    let db = open(Scheme::Silo);
    let table: Table<(), u64> = db.create_table("numbers").unwrap();
    db.bulk_load(&table, [((), u64::MAX - 600)]).unwrap();
    let numbers = db.sequence("numbers").unwrap();
    for _ in 0..512 {
        numbers.next().unwrap();
    }
    let refused = numbers.next().unwrap_err();
    assert!(matches!(refused, Error::InvalidOption(_)));
    assert!(
        refused.to_string().contains("sequence numbers: no numbers are left after"),
        "{refused}"
    );
}

#[test]
fn a_scheme_without_transactions_has_no_sequences() {
    let refused = open(Scheme::KeyValue).sequence("numbers").unwrap_err();
    assert!(matches!(refused, Error::InvalidOption(_)), "{refused}");
}
