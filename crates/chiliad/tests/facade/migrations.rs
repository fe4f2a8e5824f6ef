//! Migrations: each made once, with its number, or not at all.

use crate::common;
use crate::common::Scratch;
use chiliad::row::SchemaChange;
use chiliad::{Database, Error, Migration, Result, Row, Scheme, Table, TableChanges};
use std::cell::Cell;

#[derive(Row, Debug, PartialEq, Clone)]
struct One {
    name: String,
    age: u8,
}

#[derive(Row, Debug, PartialEq, Clone)]
#[index(by_last(last))]
#[index(by_mail(mail), unique)]
struct Two {
    first: String,
    last: String,
    mail: String,
}

fn one(key: u64) -> One {
    One { name: format!("ann{key} lee{}", key % 7), age: key as u8 }
}

fn two(key: u64) -> Two {
    let (first, last) = (format!("ann{key}"), format!("lee{}", key % 7));
    Two { mail: format!("{first}@{last}"), first, last }
}

fn split(changes: &mut TableChanges<'_>) -> Result<()> {
    changes.rewrite("people", |key: u64, one: One| {
        let (first, last) = one.name.split_once(' ').ok_or("a name of one word")?;
        let (first, last) = (first.to_owned(), last.to_owned());
        Ok((key, Two { mail: format!("{first}@{last}"), first, last }))
    })
}

fn create(changes: &mut TableChanges<'_>) -> Result<()> {
    changes.create_table::<u64, One>("people")
}

fn fill(db: &Database, rows: u64) -> Table<u64, One> {
    let people: Table<u64, One> = db.table("people").unwrap();
    db.bulk_load(&people, (0..rows).map(|key| (key, one(key)))).unwrap();
    people
}

#[test]
fn rows_are_written_anew_under_every_scheme() {
    for scheme in Scheme::ALL {
        let db = common::open(scheme);
        assert_eq!(db.migrate(&[Migration::new(1, "people", create)]), Ok(vec![1]));
        let old = fill(&db, 500);
        let migrations = [Migration::new(1, "people", create), Migration::new(2, "split", split)];
        assert_eq!(db.migrate(&migrations), Ok(vec![2]));
        assert_eq!(db.migrate(&migrations), Ok(vec![]), "once");
        assert_eq!(db.migrations(), [(1, "people".into()), (2, "split".into())]);
        let people: Table<u64, Two> = db.table("people").unwrap();
        let rows = db.run(|tx| tx.scan(&people, ..).rows()).unwrap();
        assert_eq!(rows, (0..500).map(|key| (key, two(key))).collect::<Vec<_>>());
        assert_eq!(db.snapshot(|tx| tx.scan(&people, ..).count()), Ok(500));
        let lee3 = db.run(|tx| tx.find(&people, Two::BY_LAST, &("lee3",)).count());
        assert_eq!(lee3, Ok(71));
        assert!(matches!(db.run(|tx| tx.get(&old, &1)), Err(Error::UnknownTable(_))));
        db.run(|tx| tx.insert(&people, &500, &two(500))).unwrap();
    }
}

#[test]
fn old_rows_are_read_and_not_written_meanwhile() {
    let db = Database::in_memory().unwrap();
    db.migrate(&[Migration::new(1, "people", create)]).unwrap();
    let people = fill(&db, 100);
    let looked = Cell::new(0);
    db.change_tables(|changes| {
        changes.rewrite("people", |key: u64, row: One| {
            if key == 50 {
                // Other threads' transactions, while the rewrite is under way.
                std::thread::scope(|scope| {
                    let other = scope.spawn(|| {
                        assert_eq!(db.run(|tx| tx.get(&people, &7)), Ok(Some(one(7))));
                        let refused = db.run(|tx| tx.insert(&people, &1_000, &one(1)));
                        assert_eq!(refused, Err(Error::Migrating("people".into())));
                        assert!(refused.unwrap_err().to_string().contains("only read"));
                    });
                    other.join().unwrap();
                });
                looked.set(looked.get() + 1);
            }
            Ok((key + 1, row))
        })
    })
    .unwrap();
    assert!(looked.get() > 0);
    let people: Table<u64, One> = db.table("people").unwrap();
    let rows = db.run(|tx| tx.scan(&people, ..).rows()).unwrap();
    assert_eq!(rows, (0..100).map(|key| (key + 1, one(key))).collect::<Vec<_>>());
}

#[test]
fn a_failure_at_a_row_changes_nothing_and_names_the_key() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    db.migrate(&[Migration::new(1, "people", create)]).unwrap();
    let people = fill(&db, 3_000);
    let odd = One { name: "plato".into(), age: 80 };
    db.run(|tx| tx.put(&people, &2_345, &odd)).unwrap();
    let with_more = |changes: &mut TableChanges<'_>| {
        changes.create_table::<u64, u64>("more")?;
        split(changes)
    };
    let migrations = [Migration::new(1, "people", create), Migration::new(2, "split", with_more)];
    let error = db.migrate(&migrations).unwrap_err();
    let text = "the row 2345 of the table people cannot be written anew: a name of one word";
    assert_eq!(error.to_string(), text);
    let unchanged = |db: &Database| {
        assert_eq!(db.migrations(), [(1, "people".into())]);
        let names: Vec<_> = db.tables().into_iter().map(|table| table.name).collect();
        assert_eq!(names, ["people"]);
        let people: Table<u64, One> = db.table("people").unwrap();
        assert_eq!(db.run(|tx| tx.scan(&people, ..).count()), Ok(3_000));
        assert_eq!(db.run(|tx| tx.get(&people, &2_345)), Ok(Some(odd.clone())));
        db.run(|tx| tx.put(&people, &2_345, &odd)).unwrap();
    };
    unchanged(&db);
    unchanged(&Database::open(common::killed(&path)).unwrap());
    // Two rows of one key in the unique index of the type after.
    db.run(|tx| tx.put(&people, &2_345, &one(77))).unwrap();
    let error = db.migrate(&migrations).unwrap_err().to_string();
    assert!(error.contains("2345") && error.contains("by_mail"), "{error}");
    db.run(|tx| tx.remove(&people, &2_345)).unwrap();
    assert_eq!(db.migrate(&migrations), Ok(vec![2]));
    let look = |db: &Database| {
        let people: Table<u64, Two> = db.table("people").unwrap();
        assert_eq!(db.run(|tx| tx.scan(&people, ..).count()), Ok(2_999));
        assert_eq!(db.run(|tx| tx.get(&people, &7)), Ok(Some(two(7))));
        assert_eq!(
            db.run(|tx| tx.find(&people, Two::BY_MAIL, &("ann7@lee0",)).keys()),
            Ok(vec![7])
        );
    };
    look(&db);
    look(&Database::open(common::killed(&path)).unwrap());
    db.checkpoint().unwrap();
    db.close().unwrap();
    look(&Database::open(&path).unwrap());
}

/// The changes of a step come into force together, and each sees those before it.
#[test]
fn changes_see_each_other() {
    #[derive(Row, Debug, PartialEq)]
    #[index(by_level(level, alias))]
    struct After {
        alias: String,
        age: u16,
        level: u8,
    }
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    db.migrate(&[Migration::new(1, "people", create)]).unwrap();
    fill(&db, 50);
    let _: Table<u64, u64> = db.create_table("unused").unwrap();
    let level = || SchemaChange::Add {
        name: "level".into(),
        column_type: "u8".parse().unwrap(),
        default: Some(chiliad::row::Value::Unsigned(9)),
    };
    db.change_tables(|changes| {
        changes.drop_table("unused")?;
        changes.rename_table("people", "unused")?;
        changes.change_schema(
            "unused",
            &[
                SchemaChange::Rename { from: "name".into(), to: "alias".into() },
                SchemaChange::Widen { name: "age".into(), column_type: "u16".parse().unwrap() },
                level(),
            ],
        )?;
        changes.change_indexes::<u64, After>("unused")?;
        let again = changes.rename_table("unused", "a/b");
        assert!(matches!(again, Err(Error::InvalidOption(_))), "{again:?}");
        assert!(matches!(changes.drop_table("people"), Err(Error::UnknownTable(_))));
        changes.rename_table("unused", "guests")
    })
    .unwrap();
    let look = |db: &Database| {
        let names: Vec<_> = db.tables().into_iter().map(|table| table.name).collect();
        assert_eq!(names, ["guests"]);
        let guests: Table<u64, After> = db.table("guests").unwrap();
        let found = db.run(|tx| tx.find(&guests, After::BY_LEVEL, &(9,)).rows()).unwrap();
        assert_eq!(found.len(), 50);
        assert_eq!(found[0], (0, After { alias: "ann0 lee0".into(), age: 0, level: 9 }));
    };
    look(&db);
    look(&Database::open(common::killed(&path)).unwrap());
    let guests: Table<u64, After> = db.table("guests").unwrap();
    let fresh = After { alias: "zoe".into(), age: 300, level: 10 };
    db.run(|tx| tx.insert(&guests, &99, &fresh)).unwrap();
    assert_eq!(
        db.run(|tx| tx.find(&guests, After::BY_LEVEL, &(10,)).first()),
        Ok(Some((99, fresh)))
    );
}

#[test]
fn a_change_that_the_closure_goes_on_after_leaves_nothing() {
    let db = Database::in_memory().unwrap();
    db.migrate(&[Migration::new(1, "people", create)]).unwrap();
    let people = fill(&db, 10);
    db.change_tables(|changes| {
        let failed = changes
            .rewrite("people", |_: u64, _: One| -> std::result::Result<(u64, One), _> {
                Err("never".into())
            });
        assert!(matches!(failed, Err(Error::Migration(_))));
        changes.create_table::<u64, u64>("more")
    })
    .unwrap();
    assert_eq!(db.tables().len(), 2);
    db.run(|tx| tx.insert(&people, &100, &one(100))).unwrap();
    // A panic is no other end.
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        db.change_tables(|changes| {
            changes.rewrite("people", |_: u64, _: One| -> std::result::Result<(u64, One), _> {
                panic!("in the middle")
            })
        })
    }));
    assert!(panicked.is_err());
    db.run(|tx| tx.insert(&people, &101, &one(101))).unwrap();
    db.change_tables(split).unwrap();
}

#[test]
fn migrations_that_do_not_go_on_are_refused() {
    let nothing = |_: &mut TableChanges<'_>| Ok(());
    let step = |number, name| Migration::new(number, name, nothing);
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let refused = |db: &Database, migrations: &[Migration<'_>], text: &str| {
        let error = db.migrate(migrations).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    };
    refused(&db, &[step(0, "none")], "migration 0 comes after 0");
    refused(&db, &[step(2, "a"), step(2, "b")], "migration 2 comes after 2");
    assert_eq!(db.migrate(&[step(1, "a"), step(3, "c")]), Ok(vec![1, 3]));
    db.close().unwrap();
    let db = Database::open(&path).unwrap();
    assert_eq!(db.migrations(), [(1, "a".into()), (3, "c".into())]);
    let later = Error::LaterRelease { made: (3, "c".into()), known: 1 };
    assert_eq!(db.migrate(&[step(1, "a")]), Err(later));
    refused(
        &db,
        &[],
        "migrated by a later release: migration 3 (c) was made, this release knows up to 0",
    );
    refused(
        &db,
        &[step(1, "x"), step(3, "c")],
        "has seen migration 1 (a), here it is Migration 1 (x)",
    );
    refused(&db, &[step(3, "c")], "has seen migration 1 (a), here it is none");
    refused(&db, &[step(1, "a"), step(2, "b"), step(3, "c")], "Migration 2 (b) comes too late");
    assert_eq!(db.migrate(&[step(1, "a"), step(3, "c"), step(4, "d")]), Ok(vec![4]));
}

#[test]
fn a_server_of_a_shared_log_says_what_it_does_not_do() {
    let options = chiliad::Options::default();
    let db = Database::join("memory:migrations", options).unwrap();
    let _: Table<u64, One> = db.create_table("people").unwrap();
    let refused = db.migrate(&[Migration::new(1, "people", create)]);
    assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    let refused = db.change_indexes::<u64, One>("people");
    assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("servers that share a log"));
    // Columns change there, too.
    let renamed = SchemaChange::Rename { from: "age".into(), to: "years".into() };
    db.change_schema("people", &[renamed]).unwrap();
}
