//! The memory of tables and the age of snapshots, against what is known from outside: the sizes of slots, what the heap has
//! handed out, and a clock.

use crate::common::{self, Scratch};
use chiliad::raw::{Range, TableId, TableSpec, Transaction as _};
use chiliad::{Database, Footprint, Options, Row, RunOptions, Scheme, Snapshots, Table};
use std::time::{Duration, Instant};

const ROWS: u64 = 10_000;

/// With the 16 bytes that a record has before its value, a slot of 112 bytes.
const VALUE_BYTES: usize = 90;

/// With a word or two more for the scheme, one of 128 at most.
const SLOTS: std::ops::RangeInclusive<u64> = 112..=128;

fn rows_of(db: &Database, table: &str) -> Footprint {
    let memory = db.table_memory().unwrap();
    memory.iter().find(|it| it.table == table).expect("a table that there is").rows
}

fn fill(db: &Database, table: TableId, key: impl Fn(u64) -> Vec<u8> + Sync) {
    for first in (0..ROWS).step_by(100) {
        db.run(|tx| {
            (first..first + 100)
                .try_for_each(|number| tx.raw().insert(table, &key(number), &[7; VALUE_BYTES]))
        })
        .unwrap();
    }
}

/// Waits until the collector has done what it can.
fn until(db: &Database, table: &str, there: impl Fn(&Footprint) -> bool) -> Footprint {
    let begun = Instant::now();
    loop {
        let found = rows_of(db, table);
        if there(&found) {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{found:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_row_has_its_slot_under_every_scheme() {
    for scheme in Scheme::ALL {
        let db = common::open(scheme);
        let ordered = db.create_table_raw(TableSpec::ordered("ordered")).unwrap();
        fill(&db, ordered, |number| number.to_be_bytes().into());
        let rows = rows_of(&db, "ordered");
        assert_eq!(rows.records, ROWS, "{scheme}");
        assert!(SLOTS.contains(&(rows.record_bytes / ROWS)), "{scheme}: {rows:?}");
        assert_eq!((rows.key_bytes, rows.versions, rows.version_bytes), (0, 0, 0), "{scheme}");
        // Between full leaves of 13 and half-full ones, of 256 bytes, with some inner nodes above.
        let nodes = rows.node_bytes;
        assert!((ROWS / 13 * 256..ROWS / 6 * 256 * 6 / 5).contains(&nodes), "{scheme}: {rows:?}");
    }
}

#[test]
fn long_keys_and_hash_tables_are_counted() {
    let db = common::open(Scheme::Silo);
    let long = |number: u64| [&number.to_be_bytes()[..], &[5; 16]].concat();
    let ordered = db.create_table_raw(TableSpec::ordered("ordered")).unwrap();
    fill(&db, ordered, long);
    // The rest after eight bytes, with 16 bytes before it.
    assert_eq!(rows_of(&db, "ordered").key_bytes, 32 * ROWS);
    let hash = db.create_table_raw(TableSpec::hash("hash", ROWS as usize)).unwrap();
    fill(&db, hash, long);
    let rows = rows_of(&db, "hash");
    // The whole key, likewise.
    assert_eq!((rows.records, rows.key_bytes), (ROWS, 40 * ROWS));
    // Four rows to a bucket of 128 bytes, and room to grow.
    assert!((ROWS / 4 * 128..ROWS * 128).contains(&rows.node_bytes), "{rows:?}");
    assert_eq!(rows_of(&db, "ordered").records, ROWS, "each table has its own");
}

/// What tables have, with what is set aside, is what the heap has handed out: nothing is left out, nothing counted twice.
#[test]
fn tables_have_what_the_heap_has_handed_out() {
    let db = common::open(Scheme::Silo);
    let before = db.stats().memory;
    let tables = ["one", "two", "three"];
    for name in tables {
        let table: Table<String, Vec<u8>> = db.create_table(name).unwrap();
        let row = |number: u64| (format!("a rather long key {number:08}"), vec![1; 500]);
        db.bulk_load(&table, (0..20_000).map(row)).unwrap();
    }
    let after = db.stats().memory;
    let used = |usage: chiliad::Usage| usage.reserved_bytes - usage.spare_bytes;
    let handed_out = used(after) - used(before);
    let counted: u64 = db.table_memory().unwrap().iter().map(chiliad::TableMemory::bytes).sum();
    assert!(counted <= handed_out, "{counted} of {handed_out}");
    // The rest is in the workers' pools: a tenth, and what a pool holds at most.
    assert!(counted + (4 << 20) >= handed_out * 9 / 10, "{counted} of {handed_out}");
    assert!(handed_out > 30 << 20, "{handed_out}");
}

#[derive(Row)]
#[index(by_age(age))]
#[index(by_name(name))]
struct Person {
    name: String,
    age: u8,
}

#[test]
fn secondary_indexes_have_names_and_bytes_of_their_own() {
    let db = common::open(Scheme::Silo);
    let people: Table<u64, Person> = db.create_table("people").unwrap();
    let person = |key: u64| Person { name: format!("somebody called {key}"), age: key as u8 };
    db.bulk_load(&people, (0..ROWS).map(|key| (key, person(key)))).unwrap();
    let memory = db.table_memory().unwrap();
    assert_eq!(memory.len(), 1, "{memory:?}");
    let names: Vec<&str> = memory[0].indexes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["by_age", "by_name"]);
    for (name, index) in &memory[0].indexes {
        assert_eq!(index.records, ROWS, "{name}");
        assert!(index.node_bytes > ROWS / 13 * 256 && index.record_bytes >= 16 * ROWS, "{name}");
        assert!(index.key_bytes > 0, "{name}: its keys end in the primary key");
    }
    let parts = memory[0].rows.bytes()
        + memory[0].indexes.iter().map(|(_, index)| index.bytes()).sum::<u64>();
    assert_eq!(memory[0].bytes(), parts);
}

#[test]
fn versions_are_there_as_long_as_a_snapshot_needs_them() {
    let options = Options::default()
        .snapshots(Snapshots::Always)
        .epoch(Duration::from_millis(1))
        .snapshot_every(3);
    let db = Database::in_memory_with(options).unwrap();
    let table = db.create_table_raw(TableSpec::ordered("rows")).unwrap();
    fill(&db, table, |number| number.to_be_bytes().into());
    // A boundary above what was inserted, and one below what is written next.
    std::thread::sleep(Duration::from_millis(50));
    let mut snapshot = db.open_snapshot(&RunOptions::default()).unwrap();
    let rows = snapshot.with(|tx| tx.raw().scan(table, Range::all()).map(|rows| rows.len()));
    assert_eq!(rows, Ok(ROWS as usize), "it sees them all");
    std::thread::sleep(Duration::from_millis(50));
    for number in 0..ROWS / 2 {
        db.run(|tx| tx.raw().put(table, &number.to_be_bytes(), &[8; VALUE_BYTES])).unwrap();
    }
    let held = rows_of(&db, "rows");
    assert_eq!((held.records, held.versions), (ROWS, ROWS / 2));
    assert!(SLOTS.contains(&(held.version_bytes / held.versions)), "{held:?}");
    snapshot.rollback();
    let after = until(&db, "rows", |rows| rows.versions == 0);
    assert_eq!((after.version_bytes, after.record_bytes), (0, held.record_bytes));
    for number in 0..ROWS / 4 {
        db.run(|tx| tx.raw().remove(table, &number.to_be_bytes())).unwrap();
    }
    until(&db, "rows", |rows| rows.records == ROWS * 3 / 4);
    db.drop_table("rows").unwrap();
    assert!(db.table_memory().unwrap().is_empty());
}

#[test]
fn a_joined_database_counts_one_state() {
    let db = Database::join("memory:table-memory", Options::default()).unwrap();
    let rows: Table<u64, Vec<u8>> = db.create_table("rows").unwrap();
    db.run(|tx| (0..1000_u64).try_for_each(|key| tx.insert(&rows, &key, &vec![1; 1000]))).unwrap();
    let found = rows_of(&db, "rows");
    assert_eq!((found.records, found.versions), (1000, 0));
    assert!((1_000_000..1_300_000).contains(&found.record_bytes), "{found:?}");
    assert!((64_000..100_000).contains(&found.node_bytes), "{found:?}");
}

/// A directory that was opened again has the same tables in memory.
#[test]
fn what_was_recovered_is_counted() {
    let place = Scratch::new();
    let db = Database::open(&*place).unwrap();
    let table = db.create_table_raw(TableSpec::ordered("rows")).unwrap();
    fill(&db, table, |number| number.to_be_bytes().into());
    let before = rows_of(&db, "rows");
    db.close().unwrap();
    let db = Database::open(&*place).unwrap();
    let after = rows_of(&db, "rows");
    assert_eq!((after.records, after.record_bytes), (ROWS, before.record_bytes));
}

#[test]
fn a_snapshot_has_the_age_of_its_state() {
    let options = Options::default()
        .snapshots(Snapshots::Always)
        .epoch(Duration::from_millis(1))
        .snapshot_every(3);
    let db = Database::in_memory_with(options).unwrap();
    let rows = common::counters(&db, 10);
    let opened = Instant::now();
    assert_eq!(db.stats().snapshot_age, None, "none is open");
    std::thread::sleep(Duration::from_millis(300));
    let before = opened.elapsed();
    let mut old = db.open_snapshot(&RunOptions::default()).unwrap();
    old.with(|tx| tx.get(&rows, &1)).unwrap();
    let held = Instant::now();
    std::thread::sleep(Duration::from_millis(400));
    let mut young = db.open_snapshot(&RunOptions::default()).unwrap();
    young.with(|tx| tx.get(&rows, &1)).unwrap();
    let young_held = Instant::now();
    let (least, age) = (held.elapsed(), db.stats().snapshot_age.expect("one is open"));
    // Its state was the present a moment before it was opened; long after the database was.
    assert!(age >= least && age <= opened.elapsed() - before / 2, "{age:?} of {least:?}");
    old.rollback();
    let age = db.stats().snapshot_age.expect("the other one is open");
    assert!(age >= young_held.elapsed() / 2 && age < least, "{age:?} of {least:?}");
    young.rollback();
    assert_eq!(db.stats().snapshot_age, None, "none is open any more");
}
