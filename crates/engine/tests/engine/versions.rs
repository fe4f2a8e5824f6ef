//! Older versions are counted where a scheme keeps them, and are gone when no snapshot needs them.

use chiliad_engine::{
    Database, Intent, Occ, Options, Scheme, Silo, Snapshots, TableId, TableSpec, Transaction,
};
use chiliad_machine::Interleaved;

/// Rows of each table.
const KEYS: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];

fn loaded<S: Scheme<Interleaved>>() -> (Database<Interleaved, S>, [TableId; 2]) {
    let options = Options { snapshots: Snapshots::Always, snapshot_every: 2, ..Options::default() };
    let db = Database::<Interleaved, S>::open(options).expect("opens");
    let specs = [TableSpec::ordered("o"), TableSpec::hash("h", 10)];
    let tables = specs.map(|spec| db.create_table(spec).expect("created"));
    let mut worker = db.worker().expect("a slot");
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    for (table, key) in tables.iter().flat_map(|&table| KEYS.map(|key| (table, key))) {
        tx.insert(table, key, b"first").expect("inserts");
    }
    tx.commit().expect("commits");
    db.reach_snapshot();
    (db, tables)
}

fn update<S: Scheme<Interleaved>>(db: &Database<Interleaved, S>, tables: &[TableId], value: &[u8]) {
    let mut worker = db.worker().expect("a slot");
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    for &table in tables {
        let row = tx.get(table, b"a").expect("reads").expect("present");
        tx.update(row, value).expect("updates");
    }
    tx.commit().expect("commits");
}

#[test]
fn versions_come_and_go() {
    let (db, tables) = loaded::<Silo<Interleaved>>();
    assert_eq!(db.count_versions().expect("counts"), [8]);
    // A value that outgrows its record lives in a block, which is no version.
    update(&db, &tables, &[7; 1000]);
    assert_eq!(db.count_versions().expect("counts"), [6, 2]);
    update(&db, &tables[..1], b"once more, in the same epoch");
    assert_eq!(db.count_versions().expect("counts"), [6, 2]);
    for _ in 0..8 {
        db.reach_snapshot();
        update(&db, &tables, b"newest");
        let counts = db.count_versions().expect("counts");
        assert_eq!(counts.iter().sum::<u64>(), 8);
        assert_eq!(counts[0], 6);
        assert!(counts.len() <= 4, "{counts:?}");
    }
    // All snapshots are younger than the last update.
    db.reach_snapshot();
    assert_eq!(db.count_versions().expect("counts"), [8]);
}

#[test]
fn a_scheme_without_versions_has_none() {
    let (db, tables) = loaded::<Occ<Interleaved>>();
    update(&db, &tables, &[7; 1000]);
    assert_eq!(db.count_versions().expect("counts"), [8]);
}
