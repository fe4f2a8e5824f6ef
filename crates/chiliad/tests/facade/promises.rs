//! Sentences of the front page and the guide, each attacked as a reader would.

use crate::common::{
    OPTIMISTIC, Scratch, counters, killed, open, open_with_snapshots, serializable,
};
use chiliad::raw::{TableSpec, Transaction as _};
use chiliad::{Database, Durability, Error, Options, RunOptions, Scheme, Table, Transaction, raw};
use std::cell::RefCell;

/// A small database in a directory.
fn open_in(path: &std::path::Path, options: Options) -> Database {
    Database::open_with(path, options.log_segment_bytes(1 << 20)).unwrap()
}

/// Scans three rows from `from` on, and between the scan and the commit writes the row `key` in another
/// transaction: how often the first one was run.
fn limited_scan(db: &Database, rows: Table<u64, u64>, from: u64, key: u64) -> u32 {
    let mut attempts = 0;
    db.run(|tx| {
        attempts += 1;
        let seen = tx.scan(&rows, from..).limit(3).keys()?;
        if attempts == 1 {
            assert_eq!(seen, [from, from + 10, from + 20]);
            db.run(|tx| tx.put(&rows, &key, &9))?;
        }
        tx.put(&rows, &0, &1)
    })
    .unwrap();
    attempts
}

/// "Of what lies beyond, only rows that come or go in the leaf where it ended can refuse the transaction":
/// wherever in a leaf that is.
#[test]
fn a_limited_scan_conflicts_with_no_row_beyond() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows: Table<u64, u64> = db.create_table("rows").unwrap();
        db.bulk_load(&rows, (0..5000).map(|key| (key * 10, 0))).unwrap();
        for from in (1000..40_000).step_by(410) {
            let attempts = |key: u64| limited_scan(&db, rows, from, key);
            let place = format!("{scheme}, from {from}");
            assert_eq!([from + 30, from + 165, 45_000].map(attempts), [1; 3], "{place}: beyond");
            assert!(attempts(from + 25) <= 2, "{place}");
            assert_eq!([from + 20, from + 15].map(attempts), [2; 2], "{place}: what was read");
        }
    }
}

/// "may go on": what a transaction does after such an error is committed.
#[test]
fn errors_that_let_a_transaction_go_on() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let hash: Table<u64, u64> = db.create_table_with(TableSpec::hash("hash", 8)).unwrap();
        let fixed: Table<u64, u64> =
            db.create_table_with(TableSpec::ordered("fixed").read_only()).unwrap();
        let long: Table<Vec<u8>, Vec<u8>> = db.create_table("long").unwrap();
        let nowhere = raw::TableId(99);
        db.run(|tx| {
            let taken = tx.insert(&rows, &0, &1);
            assert!(matches!(taken, Err(Error::DuplicateKey(_))), "{scheme}: {taken:?}");
            assert_eq!(tx.scan(&hash, ..).count(), Err(Error::NotOrdered), "{scheme}");
            assert_eq!(tx.put(&fixed, &0, &1), Err(Error::ReadOnlyTable("fixed".into())));
            let key = tx.put(&long, &vec![7; 10_000], &Vec::new());
            assert!(matches!(key, Err(Error::KeyTooLong { .. })), "{scheme}: {key:?}");
            let value = tx.put(&long, &vec![7], &vec![7; (1 << 20) + 1]);
            assert!(matches!(value, Err(Error::ValueSize { .. })), "{scheme}: {value:?}");
            let table = tx.raw().put(nowhere, b"key", b"value");
            assert!(matches!(table, Err(Error::UnknownTable(_))), "{scheme}: {table:?}");
            tx.put(&rows, &1, &5)
        })
        .unwrap();
        assert_eq!(db.run(|tx| tx.scan(&rows, ..).values()), Ok(vec![0, 5]), "{scheme}");
        let looked = db.run_with(&RunOptions::default().read_only(), |tx| {
            assert_eq!(tx.put(&rows, &1, &6), Err(Error::ReadOnly), "{scheme}");
            tx.get(&rows, &1)
        });
        assert_eq!(looked, Ok(Some(5)), "{scheme}");
    }
}

/// "A directory that one scheme wrote can be opened under another": each adds to what all others left.
#[test]
fn a_directory_goes_through_all_schemes() {
    let path = Scratch::new();
    for (number, scheme) in (0..).zip(serializable()) {
        let db = open_in(&path, Options::default().scheme(scheme));
        let rows: Table<u64, u64> =
            if number == 0 { db.create_table("rows") } else { db.table("rows") }.unwrap();
        let before: Vec<u64> = vec![number; number as usize];
        db.run(|tx| {
            assert_eq!(tx.scan(&rows, ..).values()?, before, "{scheme}");
            for key in 0..number {
                tx.update(&rows, &key, |value| *value += 1)?;
            }
            tx.insert(&rows, &number, &(number + 1))
        })
        .unwrap();
    }
}

/// "A table exists once the manifest that has it is durable": before the call has returned. And one
/// that was dropped stays away.
#[test]
fn tables_come_and_go_for_good() {
    let path = Scratch::new();
    let db = open_in(&path, Options::default());
    db.create_table::<u64, u64>("stays").unwrap();
    db.create_table::<u64, u64>("goes").unwrap();
    let created = killed(&path);
    db.drop_table("goes").unwrap();
    let dropped = killed(&path);
    let names = |path: &std::path::Path| {
        let db = open_in(path, Options::default());
        ["stays", "goes"].map(|name| db.table::<u64, u64>(name).is_ok())
    };
    assert_eq!((names(&created), names(&dropped)), ([true, true], [true, false]));
}

/// "The last one dropped closes the database, and a directory then holds all that was committed", though
/// nobody waited for any of it; and as long as there is one, nobody else opens it.
#[test]
fn the_last_handle_closes_the_database() {
    let path = Scratch::new();
    let db = open_in(&path, Options::default().durability(Durability::Epoch));
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    for key in 0..50 {
        db.run(|tx| tx.insert(&rows, &key, &key)).unwrap();
        drop(db.submit(|tx| tx.update(&rows, &key, |value| *value += 1)).unwrap());
    }
    let (first, second) = (db.clone(), db);
    drop(first);
    assert!(matches!(Database::open(&path), Err(Error::Data(_))));
    std::thread::scope(|scope| {
        scope.spawn(move || second.run(|tx| tx.insert(&rows, &50, &51)).map(|()| drop(second)));
    });
    let db = open_in(&path, Options::default());
    let rows: Table<u64, u64> = db.table("rows").unwrap();
    let all: Vec<(u64, u64)> = (0..51).map(|key| (key, key + 1)).collect();
    assert_eq!(db.run(|tx| tx.scan(&rows, ..).rows()), Ok(all));
}

/// "disturb nobody": writers of what a snapshot has read are not refused.
#[test]
fn a_snapshot_disturbs_no_writer() {
    for scheme in [Scheme::Silo, Scheme::Mvcc] {
        let db = open_with_snapshots(scheme);
        let rows = counters(&db, 20);
        let attempts = db
            .snapshot(|snapshot| {
                let before = snapshot.scan(&rows, ..).values()?;
                let attempts = std::thread::scope(|scope| {
                    let writer = scope.spawn(|| {
                        let mut attempts = 0;
                        for key in 0..20 {
                            db.run(|tx| {
                                attempts += 1;
                                tx.update(&rows, &key, |value| *value += 1)
                            })?;
                        }
                        Ok::<_, Error>(attempts)
                    });
                    writer.join().unwrap()
                })?;
                assert_eq!(snapshot.scan(&rows, ..).values()?, before, "{scheme}");
                Ok(attempts)
            })
            .unwrap();
        assert_eq!(attempts, 20, "{scheme}");
    }
}

/// "begin in their order".
#[test]
fn inputs_begin_in_their_order() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 100);
    let begun = RefCell::new(Vec::new());
    let results = db
        .run_each(0..100, |tx, number: &mut u64| {
            let first = !begun.borrow().contains(number);
            if first {
                begun.borrow_mut().push(*number);
            }
            tx.update(&rows, number, |value| *value += 1)
        })
        .unwrap();
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(begun.into_inner(), (0..100).collect::<Vec<u64>>());
}

/// "To drop a ticket takes nothing back".
#[test]
fn a_dropped_ticket_takes_nothing_back() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 20);
    let queue = db.queue(100).unwrap();
    for key in 0..20 {
        let add = move |tx: &mut Transaction<'_>| tx.update(&rows, &key, |value| *value += 1);
        drop(queue.submit(&RunOptions::default(), add).unwrap());
    }
    queue.close();
    queue.serve(4).unwrap();
    assert_eq!(db.run(|tx| tx.scan(&rows, ..).values()), Ok(vec![1; 20]));
}

/// "Nothing is changed where there is something, and where the copy fails nothing stays".
#[test]
fn a_copy_touches_nothing_of_others() {
    let (path, target) = (Scratch::new(), Scratch::new());
    let db = open_in(&path, Options::default());
    let rows = counters(&db, 3);
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("letter"), "dear").unwrap();
    let refused = db.backup(&target);
    assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
    let below = db.backup(target.join("letter"));
    assert!(matches!(below, Err(Error::Data(_))), "{below:?}");
    let left: Vec<_> = std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!((left.len(), std::fs::read(left[0].path()).unwrap()), (1, b"dear".to_vec()));
    assert_eq!(db.run(|tx| tx.get(&rows, &0)), Ok(Some(0)));
}

/// The guide's table of options has the defaults that the options have.
#[test]
fn defaults_are_those_of_the_guide() {
    let guide = include_str!("../../../../docs/embedding.md");
    let o = Options::default();
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let gib = |bytes: u64| format!("{} GiB", bytes >> 30);
    let thousands = |n: u64| match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{},{:03}", n / 1_000, n % 1_000),
        _ => format!("{},{:03},{:03}", n / 1_000_000, n / 1_000 % 1_000, n % 1_000),
    };
    let rows = [
        format!("`scheme` | `{:?}`", o.scheme),
        format!("`memory_bytes_ready` | {}", o.memory_bytes_ready),
        format!("`transaction_bytes_max` | {}", gib(o.transaction_bytes_max)),
        format!("`snapshots` | `{:?}`", o.snapshots),
        format!("`epoch`, `snapshot_every` | {} ms, {}", o.epoch.as_millis(), o.snapshot_every),
        format!("`opacity` | {}", if o.opacity { "on" } else { "off" }),
        format!("`partitions` | {}", o.partitions),
        format!("`timestamps` | `{:?}`", o.timestamps),
        format!("`workers_max` | {}", thousands(o.workers_max as u64)),
        format!("`deadlock_check` | {} us", o.deadlock_check.as_micros()),
        format!("`locks_max` | {}", thousands(o.locks_max)),
        format!(
            "`log_writers`, `log_segment_bytes`, `log_compress` | {}, {}, {}",
            o.log_writers,
            mib(o.log_segment_bytes),
            if o.log_compress { "yes" } else { "no" }
        ),
        format!(
            "`checkpoint_log_bytes`, `checkpoint_effort` | {}, {} %",
            gib(o.checkpoint_log_bytes),
            o.checkpoint_effort
        ),
        format!("`read_only` | {}", if o.read_only { "yes" } else { "no" }),
    ];
    for row in rows {
        assert!(guide.contains(&format!("\n| {row} |")), "the guide has no row `| {row} |`");
    }
    assert_eq!((o.memory_bytes_max, o.wait_timeout), (u64::MAX, None), "none");
}
