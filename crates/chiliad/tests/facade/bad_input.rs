//! Bad input is refused by a typed error, leaves nothing latched, and the database goes on.

use crate::common::{OPTIMISTIC, counters, open, open_with_snapshots, others_can_write, patience};
use chiliad::raw::{self, TableSpec, Transaction as _};
use chiliad::{Database, Error, Options, Row, RunOptions, Scheme, Table, Text, Timestamps};
use std::time::Duration;

#[test]
fn a_key_over_the_limit() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let names: Table<String, u64> = db.create_table("names").unwrap();
        let long = "x".repeat(raw::KEY_BYTES_MAX + 1);
        let result = db.run(|tx| {
            tx.put(&rows, &1, &5)?;
            tx.insert(&names, long.as_str(), &1)
        });
        assert!(matches!(result, Err(Error::KeyTooLong { .. })), "{scheme}: {result:?}");
        assert!(matches!(
            db.run(|tx| tx.get(&names, long.as_str())),
            Err(Error::KeyTooLong { .. })
        ));
        assert!(matches!(
            db.run(|tx| tx.remove(&names, long.as_str())),
            Err(Error::KeyTooLong { .. })
        ));
        others_can_write(&db, rows, [(0, 7), (1, 7)]);
    }
}

#[test]
fn keys_up_to_the_limit_are_fine() {
    let db = open(Scheme::Silo);
    let pages = db.create_table_raw(TableSpec::ordered("pages")).unwrap();
    for length in [0, 1, 8, 9, raw::KEY_BYTES_MAX] {
        let key = vec![0xab; length];
        db.run(|tx| tx.raw().insert(pages, &key, &key)).unwrap();
        let found = db.run(|tx| {
            let tx = tx.raw();
            let row = tx.get(pages, &key)?;
            row.map(|row| tx.bytes(row).map(<[u8]>::to_vec)).transpose()
        });
        assert_eq!(found.unwrap(), Some(key));
    }
}

#[test]
fn a_load_that_ends_early_keeps_what_it_has_loaded() {
    let db = open(Scheme::Silo);
    let seats: Table<(String, u32), u64> = db.create_table("seats").unwrap();
    let seat = |row: &str, place| ((row.to_owned(), place), 1);
    let refused = db.bulk_load(&seats, [seat("a", 1), seat("a", 2), seat("a", 1), seat("b", 1)]);
    let told = refused.unwrap_err().to_string();
    assert_eq!(told, "the table seats has the key (\"a\", 1) already");
    let rows = (5..8).map(|place| if place < 7 { seat("a", place) } else { panic!("no more") });
    let load = std::panic::AssertUnwindSafe(|| db.bulk_load(&seats, rows));
    assert!(std::panic::catch_unwind(load).is_err());
    let places = db.run(|tx| tx.scan(&seats, ..).keys()).unwrap();
    assert_eq!(places, [1, 2, 5, 6].map(|place| seat("a", place).0));
    // Of the untyped interface the key is bytes.
    let refused = db.bulk_load_raw(seats.id(), [(b"a\0\0\0\0\x01", [0; 8])]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the table seats has the key b\"a\\x00\\x00\\x00\\x00\\x01\" already"
    );
}

#[test]
fn a_duplicate_insert() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let result = db.run(|tx| {
            tx.insert(&rows, &7, &1)?;
            tx.insert(&rows, &1, &1)
        });
        let taken = Error::duplicate_key("counters", &1_u64.to_be_bytes());
        assert_eq!(result, Err(taken.clone()));
        let told = result.unwrap_err().to_string();
        assert_eq!(told, "the table counters has the key 1 already", "{scheme}");
        if scheme != Scheme::KeyValue {
            assert_eq!(db.run(|tx| tx.get(&rows, &7)).unwrap(), None, "{scheme}: rolled back");
        }
        // The transaction may also go on.
        db.run(|tx| {
            assert_eq!(tx.insert(&rows, &1, &1), Err(taken.clone()));
            tx.put(&rows, &0, &9)
        })
        .unwrap();
        assert_eq!(db.run(|tx| tx.get(&rows, &0)).unwrap(), Some(9));
        others_can_write(&db, rows, [(0, 7), (1, 7), (7, 7)]);
    }
}

#[test]
fn an_unknown_table() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 2);
        let unknown = db.table::<u64, u64>("accounts");
        assert_eq!(unknown, Err(Error::UnknownTable("accounts".into())));
        assert_eq!(db.drop_table("accounts"), Err(Error::UnknownTable("accounts".into())));

        let dropped: Table<u64, u64> = db.create_table("dropped").unwrap();
        db.drop_table("dropped").unwrap();
        let again: Table<u64, u64> = db.create_table("dropped").unwrap();
        assert_ne!(dropped.id(), again.id(), "numbers are never used again");
        let result = db.run(|tx| {
            tx.put(&rows, &0, &1)?;
            tx.put(&dropped, &0, &1)
        });
        assert!(matches!(result, Err(Error::UnknownTable(_))), "{scheme}: {result:?}");

        let other = open(scheme);
        let elsewhere: Table<u64, u64> = other.create_table("a").unwrap();
        let result = db.run(|tx| tx.get(&elsewhere, &0));
        assert!(matches!(result, Err(Error::UnknownTable(_))), "{result:?}");
        let result = db.bulk_load(&elsewhere, [(1, 1)]);
        assert!(matches!(result, Err(Error::UnknownTable(_))), "{result:?}");
        others_can_write(&db, rows, [(0, 7), (1, 7)]);
    }
}

#[test]
fn a_table_that_exists_or_has_no_proper_name() {
    let db = open(Scheme::Silo);
    let _: Table<u64, u64> = db.create_table("a").unwrap();
    let twice = db.create_table::<u64, u64>("a");
    assert_eq!(twice, Err(Error::TableExists("a".into())));
    for name in ["", "a/b"] {
        let unnamed = db.create_table::<u64, u64>(name);
        assert!(matches!(unnamed, Err(Error::InvalidOption(_))), "{unnamed:?}");
    }
}

#[derive(Row, Clone, Copy)]
#[index(by_group(group))]
struct Grouped {
    group: u32,
    name: Text<4>,
}

#[test]
fn a_table_opened_as_something_else() {
    let db = open(Scheme::Silo);
    let _: Table<u64, u64> = db.create_table("plain").unwrap();
    let _: Table<u64, Grouped> = db.create_table("grouped").unwrap();
    assert!(db.table::<u64, u64>("plain").is_ok());
    assert!(db.table::<u64, Grouped>("grouped").is_ok());
    assert!(matches!(db.table::<u64, Grouped>("plain"), Err(Error::LayoutDiffers(_))));
    assert!(matches!(db.table::<u64, u64>("grouped"), Err(Error::LayoutDiffers(_))));
    let (id, spec) = db.table_raw("grouped").unwrap();
    assert_eq!((id, spec.secondary.len()), (db.table::<u64, Grouped>("grouped").unwrap().id(), 1));
}

#[test]
fn a_value_that_does_not_fit() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let blobs: Table<u64, Vec<u8>> = db.create_table("blobs").unwrap();
        let grouped: Table<u64, Grouped> = db.create_table("grouped").unwrap();
        db.bulk_load(&blobs, [(1, vec![1])]).unwrap();
        // A row has its version and the end of the column besides.
        let most = raw::VALUE_BYTES_MAX - 6;
        let huge = vec![0; most + 1];
        let refused = |result| matches!(result, Err(Error::ValueSize { .. }));
        assert!(refused(db.run(|tx| tx.insert(&blobs, &2, &huge))));
        assert!(refused(db.run(|tx| tx.put(&blobs, &1, &huge))));
        assert!(refused(db.run(|tx| tx.update(&blobs, &1, |blob| *blob = huge.clone()).map(drop))));
        // No row of which the index's key can be made, which only the untyped interface can write.
        let bad = |result| matches!(result, Err(Error::BadRow(_)));
        for row in [&[0][..], &[0, 0, 1], &[1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(bad(db.run(|tx| tx.raw().insert(grouped.id(), b"k", row))));
        }
        assert!(Text::<4>::new("five!").is_err());
        // Bytes of another type, which only the untyped interface can write, too.
        let numbers = counters(&db, 1);
        db.run(|tx| tx.raw().insert(numbers.id(), &9_u64.to_be_bytes(), b"abc")).unwrap();
        assert!(bad(db.run(|tx| tx.get(&numbers, &9).map(drop))));
        others_can_write(&db, blobs, [(1, vec![7]), (2, vec![7; most])]);
        let group = Grouped { group: 1, name: Text::default() };
        others_can_write(&db, grouped, [(1, group)]);
    }
}

#[test]
fn an_index_that_is_not_there() {
    let db = open(Scheme::Silo);
    let rows = counters(&db, 1);
    let result = db.run(|tx| tx.raw().scan_index(rows.id(), 3, raw::Range::all()).map(|_| ()));
    assert!(matches!(result, Err(Error::UnknownIndex(_))), "{result:?}");
    others_can_write(&db, rows, [(0, 7)]);
}

#[test]
fn a_hash_table_has_no_order() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows: Table<u64, u64> = db.create_table_with(TableSpec::hash("rows", 100)).unwrap();
        db.bulk_load(&rows, (0..100).map(|key| (key, key))).unwrap();
        let result = db.run(|tx| {
            tx.put(&rows, &5, &6)?;
            tx.scan(&rows, ..).rows()
        });
        assert_eq!(result, Err(Error::NotOrdered));
        assert_eq!(db.run(|tx| tx.get_many(&rows, &[99, 100])).unwrap(), [Some(99), None]);
        others_can_write(&db, rows, [(5, 7)]);
    }
}

#[test]
fn a_table_closed_to_snapshots() {
    let db = open_with_snapshots(Scheme::Silo);
    let queue: Table<u64, u64> =
        db.create_table_with(TableSpec::ordered("queue").present_only()).unwrap();
    db.bulk_load(&queue, [(1, 1)]).unwrap();
    assert_eq!(db.snapshot(|snapshot| snapshot.get(&queue, &1)), Err(Error::PresentOnly));
    assert_eq!(db.run(|tx| tx.get(&queue, &1)), Ok(Some(1)));
    others_can_write(&db, queue, [(1, 7)]);
}

#[test]
fn a_read_only_table() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rates: Table<u64, u64> =
            db.create_table_with(TableSpec::ordered("rates").read_only()).unwrap();
        let rows = counters(&db, 2);
        let refused = Err(Error::ReadOnlyTable("rates".into()));
        assert_eq!(db.bulk_load(&rates, [(1, 10)]), Ok(1));
        assert_eq!(db.run(|tx| tx.put(&rates, &1, &11)), refused);
        assert_eq!(db.bulk_load(&rates, [(2, 20)]), Ok(1));
        db.seal(&rates).unwrap();
        assert_eq!(db.bulk_load(&rates, [(3, 30)]).map(drop), refused);
        assert_eq!(db.run(|tx| tx.remove(&rates, &1).map(drop)), refused);
        assert_eq!(db.run(|tx| tx.get(&rates, &2)), Ok(Some(20)));
        assert_eq!(db.table_raw("rates").unwrap().1.writes, raw::Writes::Nobody);
        let error = db.seal(&rows).unwrap_err();
        assert!(matches!(&error, Error::InvalidOption(what) if what.contains("not declared")));
        others_can_write(&db, rows, [(0, 7)]);
    }
}

#[test]
fn the_memory_limit() {
    for scheme in Scheme::ALL {
        let limit_bytes = 64 << 20;
        let options = Options::default().scheme(scheme).memory_bytes_max(limit_bytes);
        let db = Database::in_memory_with(options).unwrap();
        let blobs: Table<u64, Vec<u8>> = db.create_table("blobs").unwrap();
        let blob = vec![5; 8_000];
        let mut stored = 0;
        let error = loop {
            match db.run(|tx| tx.insert(&blobs, &stored, &blob)) {
                Ok(()) => stored += 1,
                Err(error) => break error,
            }
            assert!(stored < 20_000, "{scheme}: the limit is not kept");
        };
        assert_eq!(error, Error::OutOfMemory { limit_bytes });
        assert!(stored > 1_000, "{scheme}: only {stored} rows");
        // A closure that swallows it does not commit half of its work.
        let swallowed = db.run(|tx| {
            let failed = (stored..stored + 50).any(|key| tx.insert(&blobs, &key, &blob).is_err());
            assert!(failed);
            Ok(())
        });
        assert_eq!(swallowed, Err(Error::OutOfMemory { limit_bytes }), "{scheme}");
        // It goes on: rows can be read, changed in place and removed, and there is room again.
        assert_eq!(db.run(|tx| tx.get(&blobs, &0)).unwrap().as_ref(), Some(&blob));
        others_can_write(&db, blobs, [(0, vec![6; 8_000]), (1, vec![6; 100])]);
        for key in 0..stored / 2 {
            db.run_with(&patience(), |tx| tx.remove(&blobs, &key)).unwrap();
        }
        let mut inserted = Err(Error::RolledBack);
        for _ in 0..200 {
            inserted = db.run(|tx| tx.insert(&blobs, &(1 << 40), &blob));
            if inserted.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            // Transactions collect what others have left behind.
            db.run(|tx| tx.get(&blobs, &(stored - 1)).map(drop)).unwrap();
        }
        assert_eq!(inserted, Ok(()), "{scheme}: removed rows make room");
    }
}

#[test]
fn too_many_workers() {
    for scheme in Scheme::ALL {
        let options = Options::default().scheme(scheme).workers_max(5);
        let db = Database::in_memory_with(options).unwrap();
        let rows: Table<u64, u64> = db.create_table("rows").unwrap();
        let mut workers: Vec<_> = (0..5).map(|_| db.worker().unwrap()).collect();
        let full = Error::TooManyWorkers { workers_max: 5 };
        assert!(full.to_string().contains("all 5 workers"));
        assert_eq!(db.worker().err(), Some(full.clone()));
        assert_eq!(db.run(|tx| tx.put(&rows, &1, &1)), Err(full.clone()));
        assert_eq!(db.snapshot(|tx| tx.get(&rows, &1)), Err(full.clone()));
        assert_eq!(db.bulk_load(&rows, [(1, 1)]), Err(full));
        workers[4].run(|tx| tx.put(&rows, &1, &1)).unwrap();
        workers.pop();
        others_can_write(&db, rows, [(1, 7)]);
        db.run(|tx| tx.put(&rows, &1, &2)).unwrap();
    }
}

#[test]
fn a_transaction_used_after_it_failed() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 4);
        let mut worker = db.worker().unwrap();
        let mut tx = worker.begin(&RunOptions::default()).unwrap();
        tx.get(&rows, &0).unwrap();
        db.run(|other| other.put(&rows, &0, &1)).unwrap();
        // Whichever operation notices: after it there is only the end.
        let mut failed = None;
        for key in (0..4).cycle().take(1_000) {
            match tx.get(&rows, &key) {
                Ok(_) => assert!(failed.is_none(), "{scheme}: {failed:?} and then it went on"),
                Err(error) if failed.is_none() => failed = Some(error),
                Err(error) => assert_eq!(error, Error::TransactionOver),
            }
        }
        if failed.is_some() {
            assert_eq!(tx.put(&rows, &1, &9), Err(Error::TransactionOver));
        } else {
            tx.put(&rows, &1, &9).unwrap();
        }
        let committed = tx.commit();
        assert!(matches!(committed, Err(Error::Conflict(_))), "{scheme}: {committed:?}");
        assert_eq!(db.run(|tx| tx.get(&rows, &1)).unwrap(), Some(0), "nothing of it is there");
        others_can_write(&db, rows, (0..4).map(|key| (key, 7)));
        // The worker goes on as well.
        worker.run(|tx| tx.put(&rows, &1, &3)).unwrap();
    }
}

#[test]
fn writes_in_read_only_transactions() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = counters(&db, 1);
        let options = RunOptions::default().read_only();
        let result = db.run_with(&options, |tx| tx.put(&rows, &0, &1));
        assert_eq!(result, Err(Error::ReadOnly), "{scheme}");
        let result = db.snapshot(|snapshot| snapshot.raw().put(rows.id(), b"k", b"v"));
        assert_eq!(result, Err(Error::ReadOnly), "{scheme}");
        others_can_write(&db, rows, [(0, 7)]);
    }
}

#[test]
fn a_partition_that_is_not_there() {
    let db = open(Scheme::Partitioned);
    let rows = counters(&db, 1);
    let options = RunOptions::default().partitions([0, 1]);
    let result = db.run_with(&options, |tx| tx.put(&rows, &0, &1));
    assert!(matches!(result, Err(Error::InvalidOption(_))), "{result:?}");
    others_can_write(&db, rows, [(0, 7)]);
}

#[test]
fn options_out_of_range() {
    for options in [
        Options::default().epoch(Duration::ZERO),
        Options::default().partitions(0),
        Options::default().snapshot_every(0),
        Options::default().workers_max(0),
        Options::default().timestamps(Timestamps::Hardware),
    ] {
        let opened = Database::in_memory_with(options.clone());
        assert!(matches!(opened, Err(Error::InvalidOption(_))), "{options:?}");
    }
}
