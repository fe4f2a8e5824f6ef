//! A table's schema changes, and its rows stay: as a program in its second release finds them.

use crate::common;
use crate::common::Scratch;
use chiliad::row::SchemaChange;
use chiliad::{Column, Database, Error, LayoutDiffers, Options, Row, Scheme, Stored, Table, Typed};

#[derive(Stored, Debug, PartialEq, Clone, Copy)]
enum Level {
    Low,
    High,
}

/// The releases of a program, each with one struct for the same table.
mod release {
    use super::Level;
    use chiliad::Row;

    #[derive(Row, Debug, PartialEq, Clone)]
    #[index(by_city(city, age desc))]
    pub struct One {
        pub name: String,
        pub age: u8,
        pub city: String,
    }

    #[derive(Row, Debug, PartialEq, Clone)]
    #[index(by_city(city, age desc))]
    pub struct Two {
        pub name: String,
        #[row(default = Level::High)]
        pub level: Level,
        pub age: u8,
        pub city: String,
        #[row(default)]
        pub tags: Vec<String>,
    }

    #[derive(Row, Debug, PartialEq, Clone)]
    #[index(by_city(city, age desc))]
    pub struct Three {
        pub full_name: String,
        pub level: Option<Level>,
        pub age: u8,
        pub city: String,
    }
}
use release::{One, Three, Two};

fn one(name: &str, age: u8) -> One {
    One { name: name.into(), age, city: "Oslo".into() }
}

fn two(name: &str, age: u8) -> Two {
    let (name, city) = (name.into(), "Oslo".into());
    Two { name, level: Level::High, age, city, tags: vec![] }
}

fn three(name: &str, age: u8, level: Option<Level>) -> Three {
    Three { full_name: name.into(), level, age, city: "Oslo".into() }
}

fn of_release_3() -> [SchemaChange; 3] {
    [
        SchemaChange::Rename { from: "name".into(), to: "full_name".into() },
        SchemaChange::Drop { name: "tags".into() },
        SchemaChange::Widen { name: "level".into(), column_type: Option::<Level>::column_type() },
    ]
}

/// Three releases on one database; `reopen` is what happens between them.
fn three_releases(mut db: Database, reopen: impl Fn(Database) -> Database) {
    let people: Table<u64, One> = db.create_table("people").unwrap();
    db.run(|tx| tx.insert(&people, &1, &one("ann", 30))).unwrap();
    db = reopen(db);

    let people: Table<u64, Two> = db.table("people").unwrap();
    assert_eq!(db.run(|tx| tx.get(&people, &1)), Ok(Some(two("ann", 30))));
    let bob = Two { level: Level::Low, tags: vec!["new".into()], ..two("bob", 40) };
    db.run(|tx| tx.insert(&people, &2, &bob)).unwrap();
    db = reopen(db);

    let people: Table<u64, Two> = db.table("people").unwrap();
    // The old row is changed as it is, and found in the index under its new key.
    db.run(|tx| tx.update(&people, &1, |ann| ann.age += 20)).unwrap();
    let oslo = |db: &Database| {
        let people: Table<u64, Two> = db.table("people").unwrap();
        let found = db.run(|tx| tx.find(&people, Two::BY_CITY, &("Oslo",)).values()).unwrap();
        found.into_iter().map(|person| (person.name, person.age)).collect::<Vec<_>>()
    };
    assert_eq!(oslo(&db), [("ann".to_owned(), 50), ("bob".to_owned(), 40)]);
    assert!(differs::<One>(&db).to_string().contains("a column is missing"), "a downgrade");
    db = reopen(db);

    db.change_schema("people", &of_release_3()).unwrap();
    db = reopen(db);
    let people: Table<u64, Three> = db.table("people").unwrap();
    db.run(|tx| tx.insert(&people, &3, &three("eve", 45, None))).unwrap();
    let expected = [
        (1, three("ann", 50, Some(Level::High))),
        (2, three("bob", 40, Some(Level::Low))),
        (3, three("eve", 45, None)),
    ];
    assert_eq!(db.run(|tx| tx.scan(&people, ..).rows()).unwrap(), expected);
    let ages = db.run(|tx| tx.find(&people, Three::BY_CITY, &("Oslo",)).values()).unwrap();
    assert_eq!(ages.iter().map(|person| person.age).collect::<Vec<_>>(), [50, 45, 40]);
    assert!(db.table::<u64, Two>("people").is_err(), "a downgrade");
}

fn differs<V: Row>(db: &Database) -> LayoutDiffers {
    match db.table::<u64, V>("people") {
        Err(Error::LayoutDiffers(differs)) => *differs,
        other => panic!("{:?}", other.map(|_| "opened")),
    }
}

#[test]
fn releases_follow_each_other_under_every_scheme() {
    for scheme in Scheme::ALL {
        let db = Database::in_memory_with(Options::default().scheme(scheme)).unwrap();
        three_releases(db, |db| db);
    }
}

#[test]
fn releases_follow_each_other_on_one_directory() {
    let path = Scratch::new();
    let checkpointed = core::cell::Cell::new(false);
    three_releases(Database::open(&path).unwrap(), |db| {
        // From the log and from a checkpoint in turns.
        if checkpointed.replace(!checkpointed.get()) {
            db.checkpoint().unwrap();
        }
        drop(db);
        Database::open(&path).unwrap()
    });
    let killed = common::killed(&path);
    let db = Database::open(&killed).unwrap();
    let people: Table<u64, Three> = db.table("people").unwrap();
    assert_eq!(db.run(|tx| tx.scan(&people, ..).count()), Ok(3));
}

#[test]
fn releases_follow_each_other_on_servers_of_one_log() {
    let log = std::sync::Arc::new(chiliad::shared_log::MemoryLog::new());
    let join = || Database::join_log(log.clone(), Options::default()).unwrap();
    let other = join();
    three_releases(join(), |_| join());
    let people: Table<u64, Three> = other.table("people").unwrap();
    let newest = chiliad::RunOptions::default().linearizable();
    assert_eq!(other.run_with(&newest, |tx| tx.scan(&people, ..).count()), Ok(3));
}

#[test]
fn a_handle_of_the_type_before_is_told_so() {
    let db = Database::in_memory().unwrap();
    let before: Table<u64, One> = db.create_table("people").unwrap();
    db.run(|tx| tx.insert(&before, &1, &one("ann", 30))).unwrap();
    let after: Table<u64, Two> = db.table("people").unwrap();
    db.run(|tx| tx.insert(&after, &2, &two("bob", 40))).unwrap();
    // Its own rows it knows, and may write.
    assert_eq!(db.run(|tx| tx.get(&before, &1)), Ok(Some(one("ann", 30))));
    db.run(|tx| tx.insert(&before, &3, &one("eve", 50))).unwrap();
    let refused = db.run(|tx| tx.get(&before, &2)).unwrap_err();
    assert_eq!(refused, Error::SchemaChanged("people".into()));
    assert!(!refused.is_retryable());
    assert_eq!(db.run(|tx| tx.get(&after, &3)), Ok(Some(two("eve", 50))));
    let found = db.run(|tx| tx.find(&after, Two::BY_CITY, &("Oslo",)).count());
    assert_eq!(found, Ok(3), "rows of both versions are in the index");
}

#[test]
fn changes_that_cannot_be_made_change_nothing() {
    let db = Database::in_memory().unwrap();
    let people: Table<u64, One> = db.create_table("people").unwrap();
    db.run(|tx| tx.insert(&people, &1, &one("ann", 30))).unwrap();
    let add = |column_type: &str| SchemaChange::Add {
        name: "more".into(),
        column_type: column_type.parse().unwrap(),
        default: None,
    };
    let widen = |name: &str, to: &str| SchemaChange::Widen {
        name: name.into(),
        column_type: to.parse().unwrap(),
    };
    let drop = |name: &str| SchemaChange::Drop { name: name.into() };
    for (change, says) in [
        (add("u8"), "\"more\" is new: it needs a default"),
        (add("option(desc(u8))"), "has the type option(desc(u8))"),
        (drop("weight"), "there is no column \"weight\""),
        (widen("name", "blob"), "blob does not hold all values of string"),
        (SchemaChange::Rename { from: "name".into(), to: "age".into() }, "two of this name"),
        (SchemaChange::Rename { from: "name".into(), to: "a b".into() }, "no blanks"),
    ] {
        // What comes before it is undone.
        let spare = SchemaChange::Rename { from: "city".into(), to: "town".into() };
        for changes in [&[spare, change.clone()][..], &[change]] {
            let refused = db.change_schema("people", changes).unwrap_err();
            assert!(matches!(refused, Error::Schema(_)), "{refused}");
            assert!(refused.to_string().contains(says), "{refused}");
        }
    }
    for change in [drop("city"), widen("age", "u16")] {
        let refused = db.change_schema("people", &[change]).unwrap_err();
        assert!(matches!(refused, Error::InvalidOption(_)), "{refused}");
        assert!(refused.to_string().contains("index by_city of table people"), "{refused}");
    }
    let nobody = db.change_schema("nobody", &[drop("name")]);
    assert_eq!(nobody, Err(Error::UnknownTable("nobody".into())));
    db.create_table_raw(chiliad::raw::TableSpec::ordered("bytes")).unwrap();
    assert!(matches!(db.change_schema("bytes", &[drop("a")]), Err(Error::InvalidOption(_))));
    let people: Table<u64, One> = db.table("people").unwrap();
    assert_eq!(db.run(|tx| tx.get(&people, &1)), Ok(Some(one("ann", 30))));
}

/// A type that lacks a default, or differs besides, is told by its first difference, and opens nothing.
#[test]
fn a_type_grows_by_columns_with_defaults_alone() {
    mod other {
        use chiliad::Row;

        #[derive(Row)]
        #[index(by_city(city, age desc))]
        pub struct NoDefault {
            pub name: String,
            pub age: u8,
            pub city: String,
            pub more: Option<u8>,
        }

        #[derive(Row)]
        #[index(by_city(city, age desc))]
        pub struct Moved {
            pub age: u8,
            pub name: String,
            pub city: String,
            #[row(default)]
            pub more: u8,
        }

        #[derive(Row)]
        pub struct NoIndex {
            pub name: String,
            pub age: u8,
            pub city: String,
            #[row(default)]
            pub more: u8,
        }
    }
    let db = Database::in_memory().unwrap();
    db.create_table::<u64, One>("people").unwrap();
    let layout = || db.table_raw("people").unwrap().1.layout;
    let before = layout();
    assert!(differs::<other::NoDefault>(&db).to_string().contains("more option(u8) in the type"));
    assert!(differs::<other::Moved>(&db).to_string().contains("another order"));
    assert!(differs::<other::NoIndex>(&db).to_string().contains("by_city"));
    assert_eq!(layout(), before);
    let column = Column::new("level", Level::column_type());
    assert_eq!(column.to_string(), "level enum(0 Low, 1 High)");
}

/// Rows of versions before are read while a table is declared inside of a transaction of the same thread.
#[test]
fn old_rows_are_read_while_others_declare() {
    let db = Database::in_memory().unwrap();
    let before: Table<u64, One> = db.create_table("people").unwrap();
    db.bulk_load(&before, (0..100).map(|key| (key, one("ann", 30)))).unwrap();
    let after: Table<u64, Two> = db.table("people").unwrap();
    let results = db.run_each(0..100_u64, |tx, key| {
        if key.is_multiple_of(10) {
            db.open_or_create_table::<u64, u64>(&format!("table {key}"))?;
            db.table::<u64, Two>("people")?;
        }
        tx.get(&after, &*key)
    });
    assert!(results.unwrap().iter().all(|row| *row == Ok(Some(two("ann", 30)))));
}
