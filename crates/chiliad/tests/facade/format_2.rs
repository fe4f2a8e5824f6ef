//! A directory that format version 2 has written, whose catalog says nothing of columns.
//!
//! `format_2/` holds its files without the zeros at their ends. There are two incarnations and a
//! checkpoint: `people` (by `u64`, with an index) has the rows 1 and 3, after a removal of 2; `pages`,
//! a hash table of bytes, has one.

use crate::common::Scratch;
use chiliad::raw::{TableLayout, Transaction as _};
use chiliad::{Database, Error, Options, Row, Table, directory};
use std::fs;
use std::path::Path;

#[derive(Row, Debug, PartialEq)]
#[index(by_age(age))]
struct Person {
    age: u32,
    height: u32,
    name: String,
}

/// A row with the same bytes in another order.
#[derive(Row, Debug, PartialEq)]
#[index(by_age(age))]
struct Turned {
    height: u32,
    age: u32,
    name: String,
}

#[derive(Row, Debug)]
struct NoIndex {
    age: u32,
    height: u32,
    name: String,
}

const FILES: [(&str, usize); 6] = [
    ("MANIFEST", 4096),
    ("checkpoint-00000001-0000", 12_288),
    ("checkpoint-00000001-0001", 8192),
    ("log-00000001-0000-00000000", 12_288),
    ("log-00000001-0000-00000001", 65_536),
    ("log-00000002-0000-00000000", 65_536),
];

fn unpacked() -> Scratch {
    let path = Scratch::new();
    fs::create_dir(&path).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facade/format_2");
    for (name, bytes) in FILES {
        let mut content = fs::read(from.join(name)).unwrap();
        content.resize(bytes, 0);
        fs::write(path.join(name), content).unwrap();
    }
    path
}

fn version(path: &Path) -> u32 {
    let manifest = fs::read(path.join("MANIFEST")).unwrap();
    u32::from_le_bytes(manifest[8..12].try_into().unwrap())
}

fn has_its_rows(db: &Database) {
    let people: Table<u64, Person> = db.table("people").unwrap();
    let person = |age, height, name: &str| Person { age, height, name: name.into() };
    let rows = db.run(|tx| tx.scan(&people, ..).rows()).unwrap();
    assert_eq!(rows, [(1, person(30, 170, "ann")), (3, person(50, 190, "cid"))]);
    let found = db.run(|tx| tx.find(&people, Person::BY_AGE, &(50,)).first()).unwrap();
    assert_eq!(found.unwrap().1.name, "cid");
    let (pages, _) = db.table_raw("pages").unwrap();
    db.run(|tx| {
        let row = tx.raw().get(pages, b"/index")?.expect("there");
        assert_eq!(tx.raw().bytes(row)?, b"hello");
        Ok(())
    })
    .unwrap();
}

fn refused<V: Row>(db: &Database) -> String {
    let error = db.table::<u64, V>("people").map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::LayoutDiffers(_)), "{error}");
    error.to_string()
}

#[test]
fn the_first_opening_of_a_table_declares_its_columns() {
    let path = unpacked();
    assert_eq!(version(&path), 2);
    {
        let db = Database::open(&path).unwrap();
        assert!(version(&path) > 2, "what is written is of the newest version");
        assert_eq!(db.table_raw("people").unwrap().1.layout, TableLayout::Unknown);
        // What version 2 has kept is checked before anything is declared.
        assert!(refused::<NoIndex>(&db).contains("index 1 is by_age(age) in the table"));
        has_its_rows(&db);
        assert!(refused::<Turned>(&db).contains("column 1 of the row is age u32 in the table"));
    }
    for _ in 0..2 {
        let db = Database::open(&path).unwrap();
        assert!(refused::<Turned>(&db).contains("another order"));
        has_its_rows(&db);
        db.checkpoint().unwrap();
        assert_eq!(db.table_raw("pages").unwrap().1.layout, TableLayout::Unknown);
    }
}

#[test]
fn what_is_opened_for_reading_is_declared_for_that_long() {
    let path = unpacked();
    for _ in 0..2 {
        let db = Database::open_with(&path, Options::default().read_only(true)).unwrap();
        has_its_rows(&db);
        assert!(refused::<Turned>(&db).contains("another order"));
    }
    assert_eq!(version(&path), 2);
}

#[test]
fn copies_of_it_can_be_opened() {
    let path = unpacked();
    let to = Scratch::new();
    fs::create_dir(&to).unwrap();
    let format = |path: &Path| directory::inspect(path, &|_, _, _| {}).unwrap().format;
    assert_eq!(format(&path), 2);
    directory::copy(&path, to.join("copy")).unwrap();
    directory::salvage(&path, to.join("salvaged"), &|_, _, _| {}).unwrap();
    assert_eq!(version(&path), 2, "the original is as it was");
    for place in ["copy", "salvaged"] {
        let db = Database::open(to.join(place)).unwrap();
        has_its_rows(&db);
        db.backup(to.join("backup")).unwrap();
        let backup = Database::open(to.join("backup")).unwrap();
        assert!(refused::<Turned>(&backup).contains("another order"));
        has_its_rows(&backup);
        drop(backup);
        assert_eq!(format(&to.join("backup")), 4);
        fs::remove_dir_all(to.join("backup")).unwrap();
    }
}
