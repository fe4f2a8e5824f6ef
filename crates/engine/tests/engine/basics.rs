//! One worker, every scheme: what each operation does.

use crate::kit::{Db, Worker};
use chiliad_engine::Session;
use chiliad_engine::names;
use chiliad_engine::{
    Database, Error, Get, Info, Intent, KeyPart, Options, PartType, Range, Reason, SecondarySpec,
    Snapshots, Source, TableId, TableSpec, Transaction,
};
use chiliad_machine::{Interleaved, Plain};

/// Calls `body` with a database under each scheme, verified and not.
fn on_all(body: fn(&Db<Interleaved>)) {
    for Info { name, .. } in names::all::<Interleaved>() {
        for verify in [false, true] {
            body(&Db::<Interleaved>::open(name, Options { verify, ..Options::default() }));
        }
    }
}

fn read(db: &Db<Interleaved>, table: TableId, key: &[u8]) -> Option<Vec<u8>> {
    let mut worker = db.worker().expect("a slot");
    let mut tx = worker.begin(&Intent::read_only()).expect("begins");
    let row = tx.get(table, key).expect("no conflict");
    let bytes = row.map(|row| tx.bytes(row).expect("its own").to_vec());
    tx.commit().expect("no conflict");
    bytes
}

fn crud(db: &Db<Interleaved>) {
    for spec in [TableSpec::ordered("o"), TableSpec::hash("h", 10)] {
        let name = spec.name.clone();
        let table = db.create_table(spec).expect("created");
        let mut worker = db.worker().expect("a slot");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        assert_eq!(tx.get(table, b"a").expect("reads"), None);
        tx.insert(table, b"a", b"one").expect("inserts");
        let taken = Error::duplicate_key(&name, b"a");
        assert_eq!(tx.insert(table, b"a", b"two"), Err(taken));
        let row = tx.get(table, b"a").expect("reads").expect("own write");
        assert_eq!(tx.bytes(row).expect("its own"), b"one");
        tx.modify(row).expect("modifies")[0] = b'O';
        assert_eq!(tx.bytes(row).expect("its own"), b"One");
        tx.commit().expect("commits");
        assert_eq!(read(db, table, b"a").as_deref(), Some(&b"One"[..]));

        // Growth beyond the record, and back.
        for length in [1000, 3, 70_000, 0] {
            let mut tx = worker.begin(&Intent::update()).expect("begins");
            let row = tx.get(table, b"a").expect("reads").expect("present");
            let value = vec![7; length];
            tx.update(row, &value).expect("updates");
            tx.commit().expect("commits");
            assert_eq!(read(db, table, b"a"), Some(value));
        }

        // A roll-back leaves nothing.
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        tx.insert(table, b"b", b"gone").expect("inserts");
        let row = tx.get(table, b"a").expect("reads").expect("present");
        tx.remove_row(row).expect("removes");
        assert_eq!(tx.get(table, b"a").expect("reads"), None);
        tx.rollback();
        assert_eq!(read(db, table, b"b"), None);
        assert!(read(db, table, b"a").is_some());

        // Remove, insert again, put.
        for round in 0..3u8 {
            let mut tx = worker.begin(&Intent::update()).expect("begins");
            assert!(tx.remove(table, b"a").expect("removes"));
            assert!(!tx.remove(table, b"a").expect("removes"));
            tx.commit().expect("commits");
            assert_eq!(read(db, table, b"a"), None);
            let mut tx = worker.begin(&Intent::update()).expect("begins");
            match round {
                0 => tx.insert(table, b"a", &[round]).expect("inserts"),
                _ => tx.put(table, b"a", &[round]).expect("puts"),
            }
            tx.put(table, b"p", &[round]).expect("puts");
            tx.commit().expect("commits");
            assert_eq!(read(db, table, b"a"), Some(vec![round]));
            assert_eq!(read(db, table, b"p"), Some(vec![round]));
        }
    }
}

#[test]
fn rows_come_change_and_go() {
    on_all(crud);
}

fn rereads(db: &Db<Interleaved>) {
    let table = db.create_table(TableSpec::ordered("t")).expect("created");
    let mut worker = db.worker().expect("a slot");
    for key in [b"a", b"b", b"c"] {
        worker.load(table, key, key).expect("loads");
    }
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    let scanned = tx.scan(table, Range::all()).expect("scans");
    let entries = tx.entries(scanned).expect("its own").to_vec();
    let [a, b, c] = [0, 1, 2].map(|at| entries[at].row);
    let again = tx.reread_for_update(a).expect("no conflict").expect("present");
    assert_eq!(tx.bytes(again).expect("its own"), b"a");
    tx.update(again, b"A").expect("updates");
    tx.remove_row(b).expect("removes");
    assert_eq!(tx.reread_for_update(b).expect("no conflict"), None, "its own removal");
    tx.put(table, b"c", b"C").expect("puts");
    let again = tx.reread_for_update(c).expect("no conflict").expect("present");
    assert_eq!(tx.bytes(again).expect("its own"), b"C", "its own write");
    tx.commit().expect("commits");
    assert_eq!(read(db, table, b"a").as_deref(), Some(&b"A"[..]));
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    assert_eq!(tx.reread_for_update(a), Err(Error::ForeignHandle));
    tx.rollback();
    let mut tx = worker.begin(&Intent::read_only()).expect("begins");
    let a = tx.get(table, b"a").expect("reads").expect("present");
    assert_eq!(tx.reread_for_update(a), Err(Error::ReadOnly));
}

#[test]
fn rows_are_read_again_to_be_written() {
    on_all(rereads);
}

fn scans(db: &Db<Interleaved>) {
    let table = db.create_table(TableSpec::ordered("t")).expect("created");
    let mut worker = db.worker().expect("a slot");
    for key in 0..100u32 {
        worker.load(table, &key.to_be_bytes(), &[key as u8]).expect("loads");
    }
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    let (low, high) = (10u32.to_be_bytes(), 20u32.to_be_bytes());
    let keys = |tx: &dyn Transaction, scanned| -> Vec<u8> {
        tx.entries(scanned)
            .expect("its own")
            .iter()
            .map(|entry| tx.bytes(entry.row).expect("its own")[0])
            .collect()
    };
    let scanned = tx.scan(table, Range::between(&low, &high)).expect("scans");
    assert_eq!(keys(&tx, scanned), (10..20).collect::<Vec<_>>());
    let entry = tx.entries(scanned).expect("its own")[3];
    assert_eq!(tx.key(entry).expect("its own"), 13u32.to_be_bytes());
    tx.remove_row(entry.row).expect("removes");
    tx.insert(table, &[0, 0, 0, 15, 1], b"\xff").expect("inserts");
    let range = Range::closed(&low, &high).reverse().limit(7);
    let scanned = tx.scan(table, range).expect("scans");
    assert_eq!(keys(&tx, scanned), [20, 19, 18, 17, 16, 0xff, 15]);
    let scanned = tx.scan(table, Range::all()).expect("scans");
    assert_eq!(scanned.len(), 100);
    tx.commit().expect("commits");
    assert_eq!(read(db, table, &13u32.to_be_bytes()), None);

    let mut tx = worker.begin(&Intent::update()).expect("begins");
    let keys: Vec<_> = (0..100u32).map(u32::to_be_bytes).collect();
    let requests: Vec<_> = keys.iter().map(|key| Get::read(table, key)).collect();
    let mut rows = vec![None; 100];
    tx.get_many(&requests, &mut rows).expect("reads");
    for (key, row) in rows.iter().enumerate() {
        assert_eq!(
            row.map(|row| tx.bytes(row).expect("its own")[0] as usize),
            (key != 13).then_some(key)
        );
    }
    tx.commit().expect("commits");
}

#[test]
fn scans_see_committed_and_own_rows() {
    on_all(scans);
}

fn indexes(db: &Db<Interleaved>) {
    let part = |offset, length, part_type| KeyPart {
        source: Source::Value,
        offset,
        length,
        part_type,
        descending: false,
    };
    let spec = TableSpec::ordered("people")
        .with_index(SecondarySpec {
            name: "by_age".into(),
            parts: vec![part(0, 2, PartType::Unsigned)].into(),
            unique: false,
        })
        .with_index(SecondarySpec {
            name: "by_badge".into(),
            parts: vec![part(2, 1, PartType::Bytes)].into(),
            unique: true,
        });
    let table = db.create_table(spec).expect("created");
    let mut worker = db.worker().expect("a slot");
    let row = |age: u16, badge: u8| [age.to_le_bytes().to_vec(), vec![badge]].concat();
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    tx.insert(table, b"ann", &row(300, 1)).expect("inserts");
    tx.insert(table, b"bob", &row(40, 2)).expect("inserts");
    tx.insert(table, b"cid", &row(300, 3)).expect("inserts");
    let twice = tx.insert(table, b"dan", &row(1, 2));
    assert_eq!(twice, Err(Error::UniqueViolation { index: "by_badge".into() }));
    assert!(matches!(tx.insert(table, b"e", &[1]), Err(Error::ValueSize { .. })));
    tx.commit().expect("commits");

    let names = |worker: &mut Worker<Interleaved>, age: u16| -> Vec<Vec<u8>> {
        let mut tx = worker.begin(&Intent::read_only()).expect("begins");
        let (low, high) = (age.to_be_bytes(), (age + 1).to_be_bytes());
        let scanned = tx.scan_index(table, 0, Range::between(&low, &high)).expect("scans");
        let keys = tx
            .entries(scanned)
            .expect("its own")
            .iter()
            .map(|&entry| tx.key(entry).expect("its own")[2..].to_vec())
            .collect();
        tx.commit().expect("commits");
        keys
    };
    assert_eq!(names(&mut worker, 300), [b"ann".to_vec(), b"cid".to_vec()]);
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    let ann = tx.get(table, b"ann").expect("reads").expect("present");
    tx.modify(ann).expect("modifies")[..2].copy_from_slice(&40u16.to_le_bytes());
    let bob = tx.get(table, b"bob").expect("reads").expect("present");
    tx.remove_row(bob).expect("removes");
    tx.commit().expect("commits");
    assert_eq!(names(&mut worker, 300), [b"cid".to_vec()]);
    assert_eq!(names(&mut worker, 40), [b"ann".to_vec()]);
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    let cid = tx.get(table, b"cid").expect("reads").expect("present");
    tx.modify(cid).expect("modifies")[2] = 1;
    assert_eq!(tx.commit(), Err(Error::UniqueViolation { index: "by_badge".into() }));
    assert_eq!(names(&mut worker, 300), [b"cid".to_vec()]);
}

#[test]
fn secondary_indexes_follow_their_rows() {
    on_all(indexes);
}

#[test]
fn a_snapshot_sees_the_past() {
    use chiliad_engine::{Silo, Snapshots};
    type Db = Database<Plain, Silo<Plain>>;
    for snapshots in [Snapshots::Always, Snapshots::OnDemand] {
        let options = Options { snapshots, snapshot_every: 2, ..Options::default() };
        let db = Db::open(options).expect("opens");
        let table = db.create_table(TableSpec::ordered("t")).expect("created");
        let mut writer = db.worker().expect("a slot");
        let mut reader = db.worker().expect("a slot");
        writer.load(table, b"k", b"old").expect("loads");
        writer.load(table, b"gone", b"old").expect("loads");
        for _ in 0..3 {
            db.tick();
        }
        if snapshots == Snapshots::OnDemand {
            // The first asks for versions to be kept; nobody ticks but us, so ask from a thread's
            // point of view: arm, tick past the boundary, then read.
            db.keep_versions();
            for _ in 0..4 {
                db.tick();
            }
        }
        let mut past = reader.begin(&Intent::snapshot()).expect("begins");
        for round in 0..10u8 {
            let mut tx = writer.begin(&Intent::update()).expect("begins");
            tx.put(table, b"k", &vec![round; 10 + usize::from(round) * 40]).expect("puts");
            tx.remove(table, b"gone").expect("removes");
            tx.put(table, &[round], b"new").expect("puts");
            tx.commit().expect("commits");
            db.tick();
            writer.maintain();
            let row = past.get(table, b"k").expect("reads").expect("present");
            assert_eq!(past.bytes(row).expect("its own"), b"old");
            assert!(past.get(table, b"gone").expect("reads").is_some());
            assert_eq!(past.scan(table, Range::all()).expect("scans").len(), 2);
        }
        past.commit().expect("a snapshot never aborts");
        for _ in 0..4 {
            db.tick();
        }
        writer.maintain();
        let mut now = reader.begin(&Intent::snapshot()).expect("begins");
        assert_eq!(now.scan(table, Range::all()).expect("scans").len(), 11);
        now.commit().expect("commits");
    }
}

#[test]
fn a_snapshot_does_not_wait_for_rows_that_are_being_inserted() {
    use chiliad_engine::{Silo, Snapshots};
    let options = Options { snapshots: Snapshots::Always, ..Options::default() };
    let db = Database::<Plain, Silo<Plain>>::open(options).expect("opens");
    let queue = db.create_table(TableSpec::ordered("queue").present_only()).expect("created");
    let table = db.create_table(TableSpec::ordered("table")).expect("created");
    let mut writer = db.worker().expect("a slot");
    let mut reader = db.worker().expect("a slot");
    // Slots come back to the heap with identifiers of this epoch in them, which is not below the
    // boundary that the snapshot reads at.
    for round in 0..4000u32 {
        let key = round.to_be_bytes();
        let mut tx = writer.begin(&Intent::update()).expect("begins");
        tx.insert(queue, &key, b"12345678").expect("inserts");
        tx.commit().expect("commits");
        let mut tx = writer.begin(&Intent::update()).expect("begins");
        assert!(tx.remove(queue, &key).expect("removes"));
        tx.commit().expect("commits");
    }
    let mut open = writer.begin(&Intent::update()).expect("begins");
    for key in 0..300u32 {
        open.insert(table, &key.to_be_bytes(), b"12345678").expect("inserts");
    }
    // A wait would never end on this machine, and panics.
    let mut past = reader.begin(&Intent::snapshot()).expect("begins");
    assert!(past.scan(table, Range::all()).expect("scans").is_empty());
    past.commit().expect("commits");
    open.commit().expect("commits");
}

/// A transaction means to write a row blindly; before it commits the row is removed, and its slot holds other rows.
fn writes_late(db: &Db<Interleaved>) {
    let table = db.create_table(TableSpec::ordered("t")).expect("created");
    let (mut slow, mut busy) = (db.worker().expect("a slot"), db.worker().expect("a slot"));
    let mut change = |remove: std::ops::Range<u64>, insert: std::ops::Range<u64>| {
        let mut tx = busy.begin(&Intent::update()).expect("begins");
        for key in remove.map(u64::to_be_bytes) {
            let row = tx.get(table, &key).expect("reads").expect("there");
            tx.remove_row(row).expect("removes");
        }
        for key in insert.map(u64::to_be_bytes) {
            tx.insert(table, &key, b"here").expect("inserts");
        }
        tx.commit().expect("no conflict");
    };
    change(0..0, 0..100);
    let mut tx = slow.begin(&Intent::update()).expect("begins");
    tx.put(table, &50_u64.to_be_bytes(), b"gone").expect("puts");
    for round in 0..200 {
        change(round * 100..round * 100 + 100, round * 100 + 100..round * 100 + 200);
    }
    assert!(matches!(tx.commit(), Err(Error::Conflict(Reason::Vanished))), "{}", db.scheme());
    let mut tx = slow.begin(&Intent::update()).expect("begins");
    let rows = tx.scan(table, Range::all()).expect("scans");
    assert_eq!(rows.len(), 100);
    assert!(
        tx.entries(rows)
            .expect("its own")
            .iter()
            .all(|entry| tx.bytes(entry.row).expect("its own") == b"here")
    );
}

#[test]
fn a_write_does_not_hit_who_moved_in_since() {
    for name in ["silo", "global-tid", "key-value"] {
        let options = Options { snapshots: Snapshots::Off, ..Options::default() };
        writes_late(&Db::<Interleaved>::open(name, options));
    }
}

fn is_shareable<T: Send + Sync>() {}
fn can_move<T: Send>() {}

fn shares<S: chiliad_engine::names::NativeScheme>() {
    is_shareable::<Database<Interleaved, S>>();
    can_move::<chiliad_engine::Worker<Interleaved, S>>();
}

#[test]
fn a_native_database_is_shared_between_threads() {
    shares::<chiliad_engine::Silo<Interleaved>>();
    shares::<chiliad_engine::Partitioned<Interleaved>>();
}
