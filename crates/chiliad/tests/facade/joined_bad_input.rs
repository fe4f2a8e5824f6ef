//! Shared logs that are full, damaged or of another program, and transactions that are too large: each is one error of one
//! line, and nothing is appended.

use crate::common;
use crate::common::Scratch;
use crate::common::gated_log::{Call, GatedLog};
use chiliad::shared_log::{FileLog, FileLogOptions, MemoryLog, SharedLog, SharedLogError};
use chiliad::{Database, Error, LogError, Options, RunOptions, Table};
use chiliad_machine::Native;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn one_line(error: &Error, part: &str) {
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(part), "{text}");
}

#[test]
fn a_full_log_ends_updates_and_not_reads() {
    // For so many records.
    let room = Arc::new(AtomicU64::new(20));
    let left = Arc::clone(&room);
    let log = GatedLog::new(Arc::new(MemoryLog::new()), move |call| {
        let Call::Append(records) = call else { return Ok(()) };
        let take = |room: u64| room.checked_sub(records);
        let taken = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        taken.map(drop).map_err(|_| SharedLogError::Full("no room".into()))
    });
    let join = || Database::join_log(log.clone(), Options::default());
    let (db, other) = (join().expect("a server"), join().expect("a server"));
    let table: Table<u64, u64> = db.create_table("t").expect("a table");
    let mut written = 0;
    let failed = loop {
        match db.run(|tx| tx.insert(&table, &written, &written)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(failed, Error::LogFailed(_)), "{failed}");
    one_line(&failed, "full");
    assert_eq!(db.storage().expect("a place").failure, Some(failed));
    assert_eq!(db.run(|tx| tx.scan(&table, ..).count()), Ok(written as usize));
    let last = db.run(|tx| tx.insert(&table, &1000, &1));
    assert!(matches!(last, Err(Error::LogFailed(_))), "{last:?}");
    // The other one finds out when it appends, and with room it could have.
    room.store(10, Ordering::SeqCst);
    let newest = RunOptions::default().linearizable();
    let there = other.run_with(&newest, |tx| {
        let table: Table<u64, u64> = other.table("t")?;
        tx.scan(&table, ..).count()
    });
    assert_eq!(there, Ok(written as usize));
    drop(db);
    let again = join().expect("a server");
    let table: Table<u64, u64> = again.table("t").expect("declared");
    again.run(|tx| tx.insert(&table, &1000, &1)).expect("inserted");
}

#[test]
fn a_transaction_that_is_too_large_is_refused_before_it_is_appended() {
    let log = Arc::new(MemoryLog::new());
    let db = Database::join_log(log.clone(), Options::default()).expect("a server");
    let table: Table<u64, Vec<u8>> = db.create_table("t").expect("a table");
    let before = log.bounds().expect("bounds");
    let block = vec![7; (1 << 20) - 6];
    let large = db.run(|tx| (0..40).try_for_each(|key| tx.insert(&table, &key, &block)));
    assert!(matches!(large, Err(Error::TransactionTooLarge { .. })), "{large:?}");
    one_line(&large.expect_err("refused"), "accepted");
    assert_eq!(log.bounds().expect("bounds"), before, "nothing was appended");
    db.run(|tx| tx.insert(&table, &1, &block)).expect("smaller ones go on");
}

#[test]
fn records_of_somebody_else_are_no_transactions() {
    let log = Arc::new(MemoryLog::new());
    let db = Database::join_log(log.clone(), Options::default()).expect("a server");
    let table: Table<u64, u64> = db.create_table("t").expect("a table");
    for (number, foreign) in
        [&b""[..], b"x", &[0; 100], &[255; 3000], b"CHHY rubbish"].iter().enumerate()
    {
        log.append(&[foreign]).expect("appended");
        db.run(|tx| tx.insert(&table, &(number as u64), &1)).expect("inserted");
    }
    let other = Database::join_log(log.clone(), Options::default()).expect("a server");
    assert_eq!(db.fingerprint(), other.fingerprint());
    let table: Table<u64, u64> = other.table("t").expect("declared");
    assert_eq!(other.run(|tx| tx.scan(&table, ..).count()), Ok(5));
}

#[test]
fn a_log_of_a_newer_format_is_refused() {
    let log = Arc::new(MemoryLog::new());
    drop(Database::join_log(log.clone(), Options::default()).expect("a server"));
    let mut record = Vec::new();
    log.read(1, 1, Duration::ZERO, &mut |_, bytes| record = bytes.to_vec()).expect("read");
    common::records::make_newer(&mut record);
    log.append(&[&record]).expect("appended");
    let before = log.bounds().expect("bounds");
    let refused = Database::join_log(log.clone(), Options::default()).expect_err("refused");
    one_line(&refused, "2");
    assert_eq!(log.bounds().expect("bounds"), before, "nothing was appended");
}

#[test]
fn a_damaged_log_in_files_is_refused() {
    let place = Scratch::new();
    let text = place.display().to_string();
    {
        let db = Database::join(&text, Options::default()).expect("a server");
        let table: Table<u64, u64> = db.create_table("t").expect("a table");
        (0..50).for_each(|key| db.run(|tx| tx.insert(&table, &key, &key)).expect("inserted"));
    }
    let segment = place.join("shared-log-00000000000000000001");
    let mut bytes = std::fs::read(&segment).expect("a segment");
    let sound = bytes.clone();
    let at = bytes[..8192].iter().rposition(|byte| *byte != 0).expect("a record");
    bytes[at] ^= 1;
    std::fs::write(&segment, &bytes).expect("written");
    let refused = Database::join(&text, Options::default()).expect_err("refused");
    assert!(matches!(refused, Error::Data(LogError::Io { .. })), "{refused:?}");
    one_line(&refused, "damaged");
    assert_eq!(std::fs::read(&segment).expect("a segment"), bytes, "left as it was");
    std::fs::write(&segment, &sound).expect("written");
    let log = FileLog::<Native>::open_directory(&place, FileLogOptions::default()).expect("a log");
    assert!(log.bounds().expect("bounds").end > 50);
}
