//! Indexes that come and go while a database is at work.

use crate::common;
use crate::common::{Dice, Scratch};
use chiliad::raw::TableSpec;
use chiliad::{Database, Error, Nested, Options, Row, Scheme, Table};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Row, Debug, PartialEq, Clone)]
struct Plain {
    city: u16,
    badge: u64,
    note: String,
}

/// The same columns, found by both.
#[derive(Row, Debug, PartialEq, Clone)]
#[index(by_city(city, note))]
#[index(by_badge(badge), unique)]
struct Indexed {
    city: u16,
    badge: u64,
    note: String,
}

/// One of the indexes, and another one before it.
#[derive(Row, Debug, PartialEq, Clone)]
#[index(by_note(note))]
#[index(by_badge(badge), unique)]
struct Other {
    city: u16,
    badge: u64,
    note: String,
}

fn plain(key: u64, city: u16) -> Plain {
    Plain { city, badge: 1_000_000 + key, note: format!("note {key}") }
}

/// A change of a random row, by one that knows no index.
fn change(db: &Database, table: &Table<u64, Plain>, dice: &mut Dice, rows: u64) {
    let (key, city, what) = (dice.below(rows), dice.below(50) as u16, dice.below(4));
    let changed = db.run(|tx| match what {
        0 => tx.remove(table, &key).map(|_| ()),
        1 => tx.put(table, &key, &plain(key, city)),
        2 => tx.insert_if_absent(table, &key, &plain(key, city)).map(|_| ()),
        _ => tx.update(table, &key, |row| row.city = city).map(|_| ()),
    });
    changed.unwrap();
}

/// All rows are in both indexes, and nothing else is.
fn check(db: &Database, table: &Table<u64, Indexed>) {
    let all = |tx: &mut chiliad::Reader<'_>| {
        let rows = tx.scan(table, ..).rows()?;
        let by_city = tx.find_range(table, Indexed::BY_CITY, ..).rows()?;
        let by_badge = tx.find_range(table, Indexed::BY_BADGE, ..).rows()?;
        Ok((rows, by_city, by_badge))
    };
    let seen = [db.run(|tx| all(tx)).unwrap(), db.snapshot(|tx| all(tx)).unwrap()];
    for (at, (rows, mut by_city, mut by_badge)) in seen.into_iter().enumerate() {
        let order = |(key, row): &(u64, Indexed)| (row.city, row.note.clone(), *key);
        assert!(by_city.is_sorted_by_key(order));
        assert!(by_badge.is_sorted_by_key(|(_, row)| row.badge));
        by_city.sort_by_key(|(key, _)| *key);
        by_badge.sort_by_key(|(key, _)| *key);
        let what = if at == 0 { "the present" } else { "a snapshot" };
        assert!(rows == by_city, "{what}: {} of {}", by_city.len(), rows.len());
        assert!(rows == by_badge, "{what}: {} of {}", by_badge.len(), rows.len());
    }
}

#[test]
fn an_index_is_added_while_writers_go_on_under_every_scheme() {
    for scheme in common::serializable() {
        // The scheme of a failure.
        println!("{}", scheme.name());
        let db = common::open_with_snapshots(scheme);
        let rows = 600;
        let table: Table<u64, Plain> = db.create_table("guests").unwrap();
        db.bulk_load(&table, (0..rows).map(|key| (key, plain(key, 7)))).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for seed in 0..2 {
                let (db, over) = (&db, &over);
                scope.spawn(move || {
                    let mut dice = Dice::new(seed);
                    while !over.load(Ordering::Relaxed) {
                        change(db, &table, &mut dice, rows);
                        // Now and then a reader of all rows gets through, which no change invalidates.
                        if dice.below(32) == 0 {
                            std::thread::sleep(Duration::from_millis(dice.below(20)));
                        }
                    }
                });
            }
            for _ in 0..3 {
                db.change_indexes::<u64, Indexed>("guests").unwrap();
                let indexed = db.table("guests").unwrap();
                for _ in 0..5 {
                    check(&db, &indexed);
                }
                db.change_indexes::<u64, Plain>("guests").unwrap();
            }
            over.store(true, Ordering::Relaxed);
        });
        db.change_indexes::<u64, Indexed>("guests").unwrap();
        check(&db, &db.table("guests").unwrap());
    }
}

#[test]
fn a_duplicate_under_a_new_unique_index_is_named_by_both_keys() {
    for scheme in Scheme::ALL {
        let db = common::open(scheme);
        let table: Table<(u8, u64), Plain> = db.create_table("guests").unwrap();
        db.run(|tx| {
            (0..100).try_for_each(|key| tx.insert(&table, &(1, key), &plain(key, 3)))?;
            tx.insert(&table, &(2, 5), &plain(77, 3))
        })
        .unwrap();
        let error = db.change_indexes::<(u8, u64), Indexed>("guests").unwrap_err();
        let Error::NotUnique(rows) = &error else { panic!("{error:?}") };
        assert_eq!((&*rows.index, &*rows.keys[0].table), ("by_badge", "guests"));
        let text = error.to_string();
        assert!(text.contains("(1, 77) and (2, 5) of the table guests"), "{text}");
        // Nothing was lost, and no index is there.
        assert_eq!(db.run(|tx| tx.scan(&table, ..).count()).unwrap(), 101);
        assert_eq!(db.tables()[0].secondary, []);
        assert!(db.table::<(u8, u64), Indexed>("guests").is_err());
        db.run(|tx| tx.insert(&table, &(3, 1), &plain(77, 4))).unwrap();
        db.run(|tx| tx.remove_range(&table, (2, 0)..)).unwrap();
        db.change_indexes::<(u8, u64), Indexed>("guests").unwrap();
        let found: Table<(u8, u64), Indexed> = db.table("guests").unwrap();
        let first = db.run(|tx| tx.find(&found, Indexed::BY_BADGE, &(1_000_077,)).keys());
        assert_eq!(first.unwrap(), [(1, 77)]);
        let refused = db.run(|tx| tx.insert(&table, &(9, 9), &plain(77, 3)));
        assert_eq!(refused, Err(Error::UniqueViolation { index: "by_badge".into() }));
    }
}

#[test]
fn types_find_their_indexes_wherever_they_are() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let table: Table<u64, Indexed> = db.create_table("guests").unwrap();
    let row = |key| Indexed { city: 3, badge: 100 - key, note: format!("note {}", key % 3) };
    db.run(|tx| (0..10).try_for_each(|key| tx.insert(&table, &key, &row(key)))).unwrap();
    db.change_indexes::<u64, Other>("guests").unwrap();
    let look = |db: &Database| {
        let other: Table<u64, Other> = db.table("guests").unwrap();
        let found = db.run(|tx| {
            let by_note = tx.find(&other, Other::BY_NOTE, &("note 1",)).keys()?;
            Ok((by_note, tx.find(&other, Other::BY_BADGE, &(97,)).keys()?))
        });
        assert_eq!(found, Ok((vec![1, 4, 7], vec![3])));
    };
    look(&db);
    // A handle of before: its first index is gone, the second one is where it was.
    let gone = db.run(|tx| tx.find(&table, Indexed::BY_CITY, &(3,)).count());
    assert!(matches!(gone, Err(Error::UnknownIndex(_))), "{gone:?}");
    assert_eq!(db.run(|tx| tx.find(&table, Indexed::BY_BADGE, &(97,)).keys()), Ok(vec![3]));
    db.change_indexes::<u64, Indexed>("guests").unwrap();
    check(&db, &db.table("guests").unwrap());
    db.change_indexes::<u64, Other>("guests").unwrap();
    // A table after it has a number after those of its new indexes.
    let hits: Table<u64, u64> = db.create_table("hits").unwrap();
    db.run(|tx| tx.insert(&hits, &1, &2)).unwrap();
    let copy = common::killed(&path);
    for db in [Database::open(&copy).unwrap(), {
        db.close().unwrap();
        Database::open(&path).unwrap()
    }] {
        look(&db);
        let hits: Table<u64, u64> = db.table("hits").unwrap();
        assert_eq!(db.run(|tx| tx.get(&hits, &1)), Ok(Some(2)));
        db.change_indexes::<u64, Indexed>("guests").unwrap();
        check(&db, &db.table("guests").unwrap());
    }
}

#[test]
fn tables_without_an_order_and_without_snapshots_get_indexes_too() {
    let db = common::open(Scheme::Silo);
    for spec in [TableSpec::hash("guests", 10), TableSpec::ordered("guests").present_only()] {
        let table: Table<u64, Plain> = db.create_table_with(spec).unwrap();
        db.bulk_load(&table, (0..1_000).map(|key| (key, plain(key, key as u16 % 10)))).unwrap();
        db.change_indexes::<u64, Indexed>("guests").unwrap();
        let table: Table<u64, Indexed> = db.table("guests").unwrap();
        let found = db.run(|tx| tx.find(&table, Indexed::BY_CITY, &(4,)).count());
        assert_eq!(found, Ok(100));
        db.drop_table("guests").unwrap();
    }
    let loaded = TableSpec::ordered("loaded").read_only();
    let _: Table<u64, Plain> = db.create_table_with(loaded).unwrap();
    let refused = db.change_indexes::<u64, Indexed>("loaded");
    assert_eq!(refused, Err(Error::ReadOnlyTable("loaded".into())));
}

#[test]
fn what_cannot_be_is_refused() {
    let db = Database::in_memory_with(Options::default()).unwrap();
    let table: Table<u64, Plain> = db.create_table("guests").unwrap();
    let unknown = Error::UnknownTable("nobody".into());
    assert_eq!(db.change_indexes::<u64, Indexed>("nobody"), Err(unknown));
    let differs = db.change_indexes::<u32, Indexed>("guests");
    assert!(matches!(differs, Err(Error::LayoutDiffers(_))), "{differs:?}");
    let dropped = db.change_tables(|changes| changes.drop_index("guests", "by_city"));
    assert_eq!(dropped, Err(Error::UnknownIndex("by_city".into())));
    // It would wait for the transaction that it runs in.
    let nested = db.run(|tx| {
        tx.get(&table, &1)?;
        Ok(db.change_indexes::<u64, Indexed>("guests"))
    });
    assert_eq!(nested, Ok(Err(Error::Nested(Nested::WaitsForOuter))));
    assert_eq!(db.tables()[0].secondary, []);
}
