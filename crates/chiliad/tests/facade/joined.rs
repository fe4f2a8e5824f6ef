//! Servers that share a log, as applications see them.

use chiliad::{Database, Error, Options, RunOptions, Table};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

static NAMES: AtomicU64 = AtomicU64::new(0);

fn name() -> String {
    format!("memory:joined-{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

fn join(log: &str) -> Database {
    Database::join(log, Options::default()).expect("a server")
}

#[test]
fn increments_of_all_servers_add_up() {
    let log = name();
    let servers: Vec<_> = (0..3).map(|_| join(&log)).collect();
    let counters: Table<u64, u64> = servers[0].create_table("counters").expect("a table");
    servers[0].bulk_load(&counters, (0..4).map(|key| (key, 0))).expect("rows");
    let newest = RunOptions::default().linearizable();
    thread::scope(|scope| {
        for (at, server) in servers.iter().enumerate() {
            for _ in 0..2 {
                scope.spawn(move || {
                    // The table may be declared a moment later here than there.
                    server.run_with(&newest_of(), |_| Ok::<_, Error>(())).expect("caught up");
                    let counters: Table<u64, u64> = server.table("counters").expect("declared");
                    for turn in 0..200 {
                        let key = (at as u64 + turn) % 4;
                        server
                            .run(|tx| tx.update(&counters, &key, |count| *count += 1))
                            .expect("counted");
                    }
                });
            }
        }
    });
    for server in &servers {
        let counters: Table<u64, u64> = server.table("counters").expect("declared");
        let sum = server.run_with(&newest, |tx| {
            Ok::<u64, Error>(tx.scan(&counters, ..).values()?.iter().sum())
        });
        assert_eq!(sum, Ok(3 * 2 * 200));
    }
}

fn newest_of() -> RunOptions {
    RunOptions::default().linearizable()
}

#[test]
fn a_linearizable_read_sees_what_another_server_has_acknowledged() {
    let log = name();
    let (one, other) = (join(&log), join(&log));
    let there: Table<u64, u64> = one.create_table("t").expect("a table");
    for value in 0..200 {
        one.run(|tx| tx.put(&there, &1, &value)).expect("written");
        let seen = other.run_with(&newest_of(), |tx| {
            let here: Table<u64, u64> = other.table("t")?;
            tx.get(&here, &1)
        });
        assert_eq!(seen, Ok(Some(value)));
    }
}

#[test]
fn a_directory_is_joined_again_with_all_that_was_in_it() {
    let directory = std::env::temp_dir().join(format!("chiliad-joined-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let place = directory.display().to_string();
    for round in 0..3_u64 {
        let db = join(&place);
        let table: Table<u64, u64> = match round {
            0 => db.create_table("t").expect("a table"),
            _ => db.table("t").expect("declared before"),
        };
        let rows = db.run(|tx| tx.scan(&table, ..).count()).expect("counted");
        assert_eq!(rows as u64, 50 * round);
        for key in 50 * round..50 * (round + 1) {
            db.run(|tx| tx.insert(&table, &key, &key)).expect("inserted");
        }
        let second = Database::join(&place, Options::default());
        assert!(matches!(second, Err(Error::Data(_))), "one server at a time: {second:?}");
    }
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for log in ["", "file:", "kafka://one/two", "nats://"] {
        let refused = Database::join(log, Options::default()).expect_err("refused");
        assert!(matches!(refused, Error::InvalidOption(_)), "{log}: {refused}");
        assert_eq!(refused.to_string().lines().count(), 1);
    }
}

#[test]
fn sessions_outlive_their_server_without_harm() {
    let db = join("memory:");
    let table: Table<u64, u64> = db.create_table("t").expect("a table");
    let worker = db.worker().expect("a worker");
    db.run(|tx| tx.insert(&table, &1, &1)).expect("inserted");
    drop(worker);
    drop(db);
}
