//! Rows and their secondary indexes when something goes wrong on the way: no row is ever visible
//! without its entries, and nothing stays latched. And the names of the tables that hold entries.

use crate::kit::{self, Worker, index};
use chiliad_engine::Session;
use chiliad_engine::names::all;
use chiliad_engine::{
    Database, Error, Intent, KEY_BYTES_MAX, Options, Range, Silo, TableId, TableSpec, Transaction,
};
use chiliad_machine::Interleaved;

fn spec() -> TableSpec {
    TableSpec::ordered("rows")
        .with_index(index("first", 0, 4, false))
        .with_index(index("second", 4, 60, false))
        .with_index(index("third", 0, 12, true))
}

fn value(number: u64) -> Vec<u8> {
    let mut value = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes().to_vec();
    value.extend_from_slice(&number.to_be_bytes());
    value.resize(64, 7);
    value
}

/// Every row has its entries and every entry its row. Returns the keys.
fn keys(scheme: &str, worker: &mut Worker<Interleaved>, table: TableId) -> Vec<u64> {
    let mut tx = worker.begin(&Intent::read_only()).expect("begins");
    let scanned = tx.scan(table, Range::all()).expect("scans");
    let rows: Vec<Vec<u8>> = tx
        .entries(scanned)
        .expect("its own")
        .iter()
        .map(|it| tx.bytes(it.row).expect("its own").to_vec())
        .collect();
    let keys = tx.entries(scanned).expect("its own").iter().map(|it| {
        u64::from_be_bytes(tx.key(*it).expect("its own").try_into().expect("eight bytes"))
    });
    let keys: Vec<u64> = keys.collect();
    for at in 0..3 {
        let entries = tx.scan(TableId(table.0 + 1 + at), Range::all()).expect("scans").len();
        assert_eq!(entries, rows.len(), "{scheme}: entries of index {at}");
        let found = tx.scan_index(table, at as usize, Range::all()).expect("scans");
        let mut found: Vec<_> = tx
            .entries(found)
            .expect("its own")
            .iter()
            .map(|it| tx.bytes(it.row).expect("its own"))
            .collect();
        let mut rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
        found.sort_unstable();
        rows.sort_unstable();
        assert!(found == rows, "{scheme}: rows by index {at}");
    }
    tx.commit().expect("alone");
    keys
}

fn without_memory(scheme: &str) {
    let options = Options { memory_bytes_max: 3 << 20, ..Options::default() };
    let full = Error::OutOfMemory { limit_bytes: options.memory_bytes_max };
    let db = kit::Db::<Interleaved>::open(scheme, options);
    let table = db.create_table(spec()).expect("created");
    let mut worker = db.worker().expect("a slot");
    let mut other = db.worker().expect("a slot");
    let mut refused = Vec::new();
    for number in 0.. {
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let inserted = tx.insert(table, &u64::to_be_bytes(number), &value(number));
        let after = tx.get(table, &u64::to_be_bytes(0)).map(drop);
        // Whatever came of the insertion, its caller would have it committed.
        let committed = tx.commit().map(drop);
        assert_eq!(committed, inserted);
        if let Err(error) = inserted {
            assert_eq!((error, after), (full.clone(), Err(Error::TransactionOver)));
            refused.push(number);
        }
        if refused.len() == 500 {
            break;
        }
    }
    let there = keys(scheme, &mut worker, table);
    assert!(there.len() > 1_000, "{scheme}: {} rows", there.len());
    assert!(refused.iter().all(|number| !there.contains(number)));
    // Rows are moved in their indexes or stay where they are, with all of their entries.
    let mut moved = [0, 0];
    for &number in &there {
        let mut tx = other.begin(&Intent::update()).expect("begins");
        let key = number.to_be_bytes();
        let row = tx.get(table, &key).expect("nobody holds it").expect("there");
        let bytes = [&number.to_le_bytes()[..], &value(number)[8..]].concat();
        let updated = tx.update(row, &bytes);
        assert!(matches!(&updated, Ok(()) | Err(Error::OutOfMemory { .. })), "{updated:?}");
        assert_eq!(tx.commit().map(drop), updated);
        moved[usize::from(updated.is_ok())] += 1;
    }
    assert_eq!(keys(scheme, &mut worker, table), there, "{moved:?}");
    // Nothing stays latched, and what is removed makes room for what was refused.
    for number in &there {
        let mut tx = other.begin(&Intent::update()).expect("begins");
        assert_eq!(tx.remove(table, &number.to_be_bytes()), Ok(true));
        tx.commit().expect("alone");
    }
    worker.rest(usize::MAX);
    other.rest(usize::MAX);
    for number in &refused {
        let mut tx = other.begin(&Intent::update()).expect("begins");
        tx.insert(table, &number.to_be_bytes(), &value(*number)).expect("there is room");
        tx.commit().expect("alone");
    }
    assert_eq!(keys(scheme, &mut worker, table), refused);
}

#[test]
fn no_row_without_its_entries_when_memory_runs_out() {
    for info in all::<Interleaved>() {
        without_memory(info.name);
    }
}

type Db = Database<Interleaved, Silo<Interleaved>>;

#[test]
fn a_secondary_key_that_is_too_long_aborts_the_transaction() {
    let db = Db::open(Options::default()).expect("opens");
    let spec = TableSpec::ordered("t").with_index(index("long", 0, KEY_BYTES_MAX - 4, false));
    let table = db.create_table(spec).expect("created");
    let mut worker = db.worker().expect("a slot");
    let value = vec![1; KEY_BYTES_MAX];
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    tx.insert(table, b"fits", &value).expect("inserts");
    let failed = tx.insert(table, b"too long", &value);
    assert_eq!(failed, Err(Error::KeyTooLong { bytes: KEY_BYTES_MAX + 4 }));
    assert_eq!(tx.get(table, b"fits"), Err(Error::TransactionOver));
    assert_eq!(tx.commit().map(drop), failed, "the row is written, but not its entry");
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    assert!(tx.scan(table, Range::all()).expect("scans").is_empty());
    tx.insert(table, b"fits", &value).expect("nothing is latched");
    tx.commit().expect("alone");
}

/// A removed row that cannot come back stays removed, by `update` and by `modify`.
#[test]
fn a_row_that_its_indexes_refuse_stays_removed() {
    let db = Db::open(Options::default()).expect("opens");
    let spec = TableSpec::ordered("t").with_index(index("unique", 0, 2, true));
    let table = db.create_table(spec).expect("created");
    let mut worker = db.worker().expect("a slot");
    worker.load(table, b"a", b"aa").expect("loads");
    for modify in [false, true] {
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let row = tx.get(table, b"a").expect("reads").expect("there");
        tx.remove_row(row).expect("removes");
        tx.insert(table, b"b", b"aa").expect("inserts");
        let back = if modify { tx.modify(row).map(drop) } else { tx.update(row, b"aa") };
        assert_eq!(back, Err(Error::UniqueViolation { index: "unique".into() }));
        let scanned = tx.scan(table, Range::all()).expect("scans");
        assert_eq!(
            tx.entries(scanned).expect("its own").len(),
            1,
            "the transaction goes on without it"
        );
        tx.commit().expect("alone");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        assert_eq!(tx.get(table, b"a").expect("reads"), None);
        assert_eq!(tx.scan_index(table, 0, Range::all()).expect("scans").len(), 1);
        assert_eq!(tx.remove(table, b"b"), Ok(true));
        tx.insert(table, b"a", b"aa").expect("inserts");
        tx.commit().expect("alone");
    }
}

/// A row that is changed in place after another transaction has changed it finds that one's entry, which is its own:
/// a conflict and no violation.
#[test]
fn no_violation_comes_of_a_state_that_never_was() {
    for scheme in ["silo", "global-tid", "occ", "occ-serial"] {
        let db = kit::Db::<Interleaved>::open(scheme, Options::default());
        let spec = TableSpec::ordered("t").with_index(index("unique", 0, 2, true));
        let table = db.create_table(spec).expect("created");
        let (mut one, mut other) = (db.worker().expect("a slot"), db.worker().expect("a slot"));
        one.load(table, b"a", b"a0").expect("loads");
        let mut tx = one.begin(&Intent::update()).expect("begins");
        let row = tx.get(table, b"a").expect("reads").expect("there");
        let mut later = other.begin(&Intent::update()).expect("begins");
        later.put(table, b"a", b"a1").expect("puts");
        later.commit().expect("nobody is in the way");
        tx.modify(row).expect("it has read the row")[1] = b'1';
        let ended = tx.commit().map(drop);
        assert!(matches!(ended, Err(Error::Conflict(_))), "{scheme}: {ended:?}");
    }
}

#[test]
fn tables_of_indexes_have_no_name_for_users() {
    let db = Db::open(Options::default()).expect("opens");
    let spec = TableSpec::ordered("t").with_index(index("by", 0, 1, false));
    let table = db.create_table(spec.clone()).expect("created");
    let unknown = Err(Error::UnknownTable("t/by".into()));
    assert_eq!(db.table("t/by"), unknown);
    assert_eq!(db.drop_table("t/by"), unknown.map(drop));
    // Nor can a user's table take the name.
    assert!(matches!(db.create_table(TableSpec::ordered("t/by")), Err(Error::InvalidOption(_))));
    let mut worker = db.worker().expect("a slot");
    worker.load(table, b"key", b"value").expect("loads");
    let mut tx = worker.begin(&Intent::read_only()).expect("begins");
    assert_eq!(tx.scan_index(table, 0, Range::all()).expect("scans").len(), 1);
    tx.commit().expect("alone");
    assert_eq!(db.table("t"), Ok(table));
    db.drop_table("t").expect("dropped");
    assert_ne!(db.create_table(spec), Ok(table));
}
