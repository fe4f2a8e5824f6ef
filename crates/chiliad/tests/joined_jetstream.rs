//! Databases on a log over NATS JetStream that is full, made anew, trimmed or of a newer format: each is one error of one
//! line, and nothing is appended.

#![cfg(feature = "jetstream")]

#[path = "facade/common/mod.rs"]
mod common;
#[path = "../../jetstream/tests/common/mod.rs"]
mod nats;

use chiliad::jetstream::{JetStream, Options as LogOptions};
use chiliad::shared_log::SharedLog;
use chiliad::{Database, Error, Options, Table};
use common::Scratch;
use nats::Servers;
use std::time::Duration;

fn refused(url: &str, options: Options) -> Error {
    let error = Database::join(url, options).expect_err("refused");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

/// Joins with checkpoints in `place`, and makes so many, after each of which the log is trimmed.
fn with_checkpoints(url: &str, place: &Scratch, checkpoints: u64) -> Database {
    let db = Database::join(url, Options::default().checkpoints(&**place)).expect("a server");
    let table: Table<u64, u64> = db.create_table("t").expect("a table");
    for round in 0..checkpoints {
        db.run(|tx| tx.put(&table, &round, &round)).expect("put");
        db.checkpoint().expect("a checkpoint");
    }
    db
}

#[test]
fn a_full_stream_ends_updates_and_not_reads() {
    let Some(servers) = Servers::start("joined-full", 3) else { return };
    let url = servers.url("full");
    let small = LogOptions::default().bytes_max(1 << 20);
    let log = JetStream::open(&url, small).expect("a log");
    let db = Database::join(&url, Options::default()).expect("a server");
    let table: Table<u64, Vec<u8>> = db.create_table("t").expect("a table");
    let value = vec![7; 10_000];
    let mut written = 0;
    let failed = loop {
        match db.run(|tx| tx.insert(&table, &written, &value)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(failed, Error::LogFailed(_)) && written > 50, "{failed}");
    assert!(failed.to_string().contains("full"), "{failed}");
    assert_eq!(db.storage().expect("a place").failure, Some(failed));
    assert_eq!(db.run(|tx| tx.scan(&table, ..).count()), Ok(written as usize));
    // The record of a server that joins is smaller than what did not fit, so the first of these may find room.
    let full = loop {
        if let Err(error) = Database::join(&url, Options::default()) {
            break error.to_string();
        }
    };
    assert!(full.contains("full") && full.lines().count() == 1, "{full}");
    let bounds = log.bounds().expect("bounds");
    refused(&url, Options::default());
    assert_eq!(log.bounds().expect("bounds"), bounds, "nothing was appended");
    assert_eq!(db.run(|tx| tx.scan(&table, ..).count()), Ok(written as usize));
}

#[test]
fn a_stream_that_was_trimmed_beyond_all_checkpoints_is_refused() {
    let Some(servers) = Servers::start("joined-trimmed", 3) else { return };
    let (url, place) = (servers.url("trimmed"), Scratch::new());
    drop(with_checkpoints(&url, &place, 4));
    let log = servers.open("trimmed");
    let bounds = log.bounds().expect("bounds");
    assert!(bounds.start > 1, "{bounds:?}");
    let error = refused(&url, Options::default());
    assert!(matches!(error, Error::LogRefused { .. }), "{error}");
    assert!(error.to_string().contains(&format!("number {}", bounds.start)), "{error}");
    assert_eq!(log.bounds().expect("bounds"), bounds, "nothing was appended");
    let db = Database::join(&url, Options::default().checkpoints(&*place)).expect("a server");
    let table: Table<u64, u64> = db.table("t").expect("declared");
    assert_eq!(db.run(|tx| tx.scan(&table, ..).count()), Ok(4));
}

#[test]
fn a_stream_that_was_made_anew_or_emptied_is_refused() {
    let Some(servers) = Servers::start("joined-anew", 3) else { return };
    let (url, place) = (servers.url("anew"), Scratch::new());
    drop(with_checkpoints(&url, &place, 2));
    servers.script(&["stop"]);
    for server in ["n1", "n2", "n3"] {
        std::fs::remove_dir_all(servers.directory.join(server)).expect("removed");
    }
    servers.script(&["start", "3"]);
    let error = refused(&url, Options::default().checkpoints(&*place));
    assert!(matches!(error, Error::LogRefused { .. }), "{error}");
    assert!(error.to_string().contains("made anew"), "{error}");
    assert_eq!(servers.open("anew").bounds().expect("bounds"), 1..1, "nothing was appended");
    // Another database's checkpoints are no better.
    let other = servers.url("other");
    drop(Database::join(&other, Options::default()).expect("a server"));
    let bounds = servers.open("other").bounds().expect("bounds");
    let error = refused(&other, Options::default().checkpoints(&*place));
    assert!(matches!(error, Error::LogRefused { .. }), "{error}");
    assert_eq!(servers.open("other").bounds().expect("bounds"), bounds, "nothing was appended");
}

#[test]
fn a_stream_of_a_newer_format_is_refused() {
    let Some(servers) = Servers::start("joined-newer", 3) else { return };
    let url = servers.url("newer");
    drop(Database::join(&url, Options::default()).expect("a server"));
    let log = servers.open("newer");
    let mut record = Vec::new();
    let take = &mut |_, bytes: &[u8]| record = bytes.to_vec();
    log.read(1, 1, Duration::from_secs(1), take).expect("read");
    common::records::make_newer(&mut record);
    log.append(&[&record]).expect("appended");
    let bounds = log.bounds().expect("bounds");
    refused(&url, Options::default());
    assert_eq!(log.bounds().expect("bounds"), bounds, "nothing was appended");
}
