//! When the log has failed the database reads: every transaction that has written nothing returns its result,
//! under every scheme and durability, and none that has written anything does.

use crate::common;
use crate::common::Scratch;
use chiliad::{Database, Durability, Error, Options, RunOptions, Scheme, Table};
use std::fs;
use std::path::Path;
use std::time::Duration;

type Rows = Table<u64, Vec<u8>>;

const ROW_BYTES: usize = 16 << 10;

/// Makes the log fail when it is done with its segment: the names of the next ones are taken.
fn block_next_segments(path: &Path) {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let logs = names.filter_map(|name| Some(name.to_str()?.strip_prefix("log-")?.to_owned()));
    let (log, number) = logs
        .map(|log| {
            let (log, number) = log.rsplit_once('-').unwrap();
            (log.to_owned(), u32::from_str_radix(number, 16).unwrap())
        })
        .max()
        .unwrap();
    for next in number + 1..number + 17 {
        // Not empty, so that no file is renamed to it either. Where the log has come first, it stops at the
        // next one.
        let _ = fs::create_dir_all(path.join(format!("log-{log}-{next:08x}")).join("taken"));
    }
}

/// A database whose log has just failed: its rows, and the key of the last transaction that has committed.
fn failed(path: &Path, scheme: Scheme, durability: Durability) -> (Database, Rows, u64) {
    let options = Options::default()
        .scheme(scheme)
        .durability(durability)
        .log_writers(1)
        .log_segment_bytes(64 << 10)
        .epoch(Duration::from_millis(1));
    let db = Database::open_with(path, options).unwrap();
    let rows: Rows = db.create_table("rows").unwrap();
    db.run(|tx| tx.put(&rows, &0, &b"durable".to_vec())).unwrap();
    db.run(|tx| tx.put(&rows, &1, &vec![7; ROW_BYTES])).unwrap();
    db.sync().unwrap();
    block_next_segments(path);
    for key in 2..1_000 {
        let put = match db.submit(|tx| tx.put(&rows, &key, &vec![7; ROW_BYTES])) {
            Ok(put) => put,
            // It failed meanwhile, and this transaction did not happen.
            Err(error) => return (db, rows, told(error, key - 1)),
        };
        // Waits for the disk as the writer does, and is told as little.
        let read = db.submit(|tx| tx.get(&rows, &key)).unwrap();
        let put = put.wait();
        assert_eq!(read.wait().unwrap().map(|row| row.len()), Some(ROW_BYTES));
        if let Err(error) = put {
            return (db, rows, told(error, key));
        }
    }
    panic!("there is no next segment")
}

fn told(error: Error, last: u64) -> u64 {
    assert!(matches!(error, Error::LogFailed(_)), "{error:?}");
    last
}

fn reads(db: &Database, rows: &Rows, last: u64) {
    // What is in memory is read, whether it will be there after the next opening or not.
    let unknown = Some(ROW_BYTES);
    let bytes = |row: Option<Vec<u8>>| row.map(|row| row.len());
    let all = last as usize + 1;
    assert_eq!(db.run(|tx| tx.get(rows, &0)), Ok(Some(b"durable".to_vec())));
    assert_eq!(db.run(|tx| tx.get(rows, &last)).map(bytes), Ok(unknown));
    let options = RunOptions::default().read_only();
    assert_eq!(db.run_with(&options, |tx| tx.get(rows, &last)).map(bytes), Ok(unknown));
    assert_eq!(db.submit(|tx| tx.get(rows, &last)).unwrap().wait().map(bytes), Ok(unknown));
    let pending = db.submit(|tx| tx.get(rows, &last)).unwrap();
    assert!(matches!(pending.is_durable(), Err(Error::LogFailed(_))));
    assert_eq!(common::block_on(pending).0.map(bytes), Ok(unknown));
    assert_eq!(db.run(|tx| tx.scan(rows, ..).count()), Ok(all));
    assert!(db.snapshot(|snapshot| snapshot.scan(rows, ..).count()).unwrap() <= all);
    let each = db.run_each([0, last], |tx, key| tx.get(rows, key)).unwrap();
    assert!(each.iter().all(|row| matches!(row, Ok(Some(_)))));
    let mut worker = db.worker().unwrap();
    let mut tx = worker.begin(&RunOptions::default()).unwrap();
    assert_eq!(tx.get(rows, &last).map(bytes), Ok(unknown));
    assert_eq!(tx.commit(), Ok(()));
    let queue = db.queue(1).unwrap();
    let (table, key) = (*rows, last);
    let ticket = queue.submit(&RunOptions::default(), move |tx| tx.get(&table, &key)).unwrap();
    queue.close();
    queue.serve(1).unwrap();
    assert_eq!(ticket.wait().map(bytes), Ok(unknown));
}

fn refuses_to_write(db: &Database, rows: &Rows) {
    let put = db.run(|tx| tx.put(rows, &5_000, &b"late".to_vec()));
    assert!(matches!(put, Err(Error::LogFailed(_))), "{put:?}");
    let submitted = db.submit(|tx| tx.put(rows, &5_000, &b"late".to_vec()));
    assert!(matches!(submitted, Err(Error::LogFailed(_))), "{submitted:?}");
    let removed = db.run(|tx| tx.remove(rows, &0));
    assert!(matches!(removed, Err(Error::LogFailed(_))), "{removed:?}");
    assert!(matches!(db.create_table::<u64, u64>("more"), Err(Error::LogFailed(_))));
    assert!(matches!(db.sync(), Err(Error::LogFailed(_))));
    // Neither has happened.
    assert_eq!(db.run(|tx| tx.get(rows, &5_000)), Ok(None));
    assert_eq!(db.run(|tx| tx.get(rows, &0)), Ok(Some(b"durable".to_vec())));
    assert!(db.storage().unwrap().failure.is_some());
}

fn survives(durability: Durability) {
    for scheme in common::serializable() {
        let path = Scratch::new();
        let (db, rows, last) = failed(path.as_ref(), scheme, durability);
        reads(&db, &rows, last);
        refuses_to_write(&db, &rows);
        let closed = db.close();
        assert!(matches!(closed, Err(Error::LogFailed(_))), "{closed:?}");
    }
}

#[test]
fn a_database_whose_log_has_failed_reads_where_results_are_held_back() {
    survives(Durability::Sync);
}

#[test]
fn a_database_whose_log_has_failed_reads_where_they_are_not() {
    survives(Durability::Epoch);
}
