//! Rows that are shown one after another and not kept: the same rows as those of a scan or of look-ups, under every scheme.

use crate::kit::{Db, Dice, index, rows_of};
use chiliad_engine::names::all;
use chiliad_engine::{
    Error, GroupSpec, Integer, Intent, KEY_BYTES_MAX, Number, Options, Range, Snapshots, TableId,
    TableSpec, Transaction,
};
use chiliad_machine::Interleaved;
use core::ops::{Bound, ControlFlow};

const ROWS: u64 = 2_000;

type Shown = Vec<(Vec<u8>, Vec<u8>)>;

fn by_visit(tx: &mut dyn Transaction, table: chiliad_engine::TableId, range: Range<'_>) -> Shown {
    let mut shown = Vec::new();
    tx.visit(table, range, &mut |key, row| {
        shown.push((key.to_vec(), row.to_vec()));
        ControlFlow::Continue(())
    })
    .expect("no conflict");
    shown
}

fn compare(db: &Db<Interleaved>) {
    let spec = TableSpec::ordered("rows").with_index(index("by_group", 0, 1, false));
    let table = db.create_table(spec).expect("created");
    let mut worker = db.worker().expect("a slot");
    let mut dice = Dice(7);
    for key in 0..ROWS {
        let mut row = vec![b'a' + dice.below(5) as u8; 1 + dice.below(60) as usize];
        row[0] = b'a' + dice.below(5) as u8;
        worker.load(table, &key.to_be_bytes(), &row).expect("loaded");
    }
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    // Its own writes are among them.
    for key in (0..ROWS).step_by(97) {
        let row = tx.get_for_update(table, &key.to_be_bytes()).expect("no conflict");
        let row = row.expect("loaded");
        match key % 2 {
            0 => tx.update(row, b"abc").expect("written"),
            _ => tx.remove_row(row).expect("removed"),
        }
    }
    tx.insert(table, b"zz", b"aaa").expect("a new key");
    // Handles of before stay good.
    let first = tx.get(table, &1_u64.to_be_bytes()).expect("no conflict").expect("loaded");
    let before = tx.bytes(first).expect("its own").to_vec();
    for round in 0..40 {
        let low = dice.below(ROWS).to_be_bytes();
        let high = dice.below(ROWS).to_be_bytes();
        let low = if round % 5 == 0 { Bound::Unbounded } else { Bound::Included(&low[..]) };
        let high = if round % 3 == 0 { Bound::Unbounded } else { Bound::Excluded(&high[..]) };
        let limit = if round % 4 == 0 { dice.below(70) as usize } else { usize::MAX };
        let range = Range { low, high, reverse: round % 2 == 0, limit };
        let expected = rows_of(&mut tx, table, range).expect("no conflict");
        assert_eq!(by_visit(&mut tx, table, range), expected, "{}: {range:?}", db.scheme());
        let stop = dice.below(100) as usize;
        let mut seen = 0;
        tx.visit(table, range, &mut |_, _| {
            seen += 1;
            if seen > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .expect("no conflict");
        assert_eq!(seen, expected.len().min(stop + 1), "it stops when it is told");
    }
    assert_eq!(tx.bytes(first).expect("its own"), before);
    let scanned = tx.scan_index(table, 0, Range::all().reverse()).expect("no conflict");
    let entries = tx.entries(scanned).expect("its own").iter();
    let expected: Vec<_> = entries
        .map(|it| {
            let key = tx.row_key(it.row).expect("its own");
            (
                tx.key(*it).expect("its own").to_vec(),
                key.to_vec(),
                tx.bytes(it.row).expect("its own").to_vec(),
            )
        })
        .collect();
    let mut shown = Vec::new();
    tx.visit_index(table, 0, Range::all().reverse(), &mut |of_index, key, row| {
        shown.push((of_index.to_vec(), key.to_vec(), row.to_vec()));
        ControlFlow::Continue(())
    })
    .expect("no conflict");
    assert!(shown == expected && shown.len() > 1_900, "{}: by the index", db.scheme());
    let keys: Vec<_> =
        expected.iter().map(|(of_index, key, _)| (&of_index[..], &key[..])).collect();
    for limit in [usize::MAX, 700, 1, 0] {
        let mut shown = Vec::new();
        let range = Range::all().reverse().limit(limit);
        tx.visit_index_keys(table, 0, range, &mut |of_index, key| {
            shown.push((of_index.to_vec(), key.to_vec()));
            ControlFlow::Continue(())
        })
        .expect("no conflict");
        let shown: Vec<_> = shown.iter().map(|(of_index, key)| (&of_index[..], &key[..])).collect();
        assert!(shown == keys[..limit.min(keys.len())], "{}: by the index alone", db.scheme());
    }
    let unknown =
        tx.visit_index_keys(table, 1, Range::all(), &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(unknown, Err(Error::UnknownIndex(_))), "{unknown:?}");
    let unknown = tx.visit_index(table, 1, Range::all(), &mut |_, _, _| ControlFlow::Continue(()));
    assert!(matches!(unknown, Err(Error::UnknownIndex(_))), "{unknown:?}");
    tx.commit().expect("alone");
}

#[test]
fn a_visit_shows_what_a_scan_finds() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.has_transactions()) {
        compare(&Db::<Interleaved>::open(info.name, Options::default()));
    }
}

/// The rows of `keys` by single look-ups: the place of the key, and the bytes.
fn one_by_one(tx: &mut dyn Transaction, table: TableId, keys: &[&[u8]]) -> Vec<(usize, Vec<u8>)> {
    let mut rows = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        if let Some(row) = tx.get(table, key).expect("no conflict") {
            rows.push((at, tx.bytes(row).expect("its own").to_vec()));
        }
    }
    rows
}

fn by_visit_many(
    tx: &mut dyn Transaction,
    table: TableId,
    keys: &[&[u8]],
) -> Vec<(usize, Vec<u8>)> {
    let mut shown = Vec::new();
    tx.visit_many(table, keys, &mut |at, row| {
        shown.push((at, row.to_vec()));
        ControlFlow::Continue(())
    })
    .expect("no conflict");
    shown
}

/// A key of one of three lengths, so that hash indexes keep some in their buckets and some in cells.
fn key_of(number: u64) -> Vec<u8> {
    match number % 3 {
        0 => number.to_be_bytes().to_vec(),
        1 => (number as u32).to_be_bytes().to_vec(),
        _ => format!("the key of row {number}").into_bytes(),
    }
}

fn compare_many(db: &Db<Interleaved>) {
    // Of hash indexes one has to grow, and so has keys that do not fit in their bucket.
    let specs = [
        TableSpec::ordered("ordered"),
        TableSpec::hash("hashed", 1),
        TableSpec::hash("parts", 2_000).with_group(GroupSpec::new("rest")),
    ];
    let tables: Vec<_> =
        specs.into_iter().map(|spec| db.create_table(spec).expect("created")).collect();
    let asked = [tables[0], tables[1], tables[2], tables[2].group(0)];
    let mut worker = db.worker().expect("a slot");
    let mut dice = Dice(11);
    for number in 0..ROWS {
        let (key, row) = (key_of(number), vec![b'a'; 8 + dice.below(60) as usize]);
        worker.load(tables[0], &key, &row).expect("loaded");
        worker.load(tables[1], &key, &row).expect("loaded");
        worker.load_parts(tables[2], &key, &[&row, b"the rest"]).expect("loaded");
    }
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    // Its own writes are among them: rows changed, removed, added to and inserted.
    for number in (0..ROWS).step_by(61) {
        for table in [tables[0], tables[1]] {
            let key = key_of(number);
            if number % 4 == 3 {
                assert!(tx.add(table, &key, Number::at(0, Integer::I64), 5).expect("adds"));
                continue;
            }
            let row = tx.get_for_update(table, &key).expect("no conflict").expect("loaded");
            match number % 4 {
                0 => tx.update(row, b"changed").expect("written"),
                _ => tx.remove_row(row).expect("removed"),
            }
        }
    }
    tx.insert(tables[0], b"new", b"inserted").expect("a new key");
    tx.insert(tables[1], b"new", b"inserted").expect("a new key");
    let first = tx.get(tables[1], &key_of(1)).expect("no conflict").expect("loaded");
    let before = tx.bytes(first).expect("its own").to_vec();
    for round in 0..40 {
        // Some keys have no row, and some come twice.
        let count = [0, 1, 7, 48, 49, 300][round % 6];
        let mut keys: Vec<_> = (0..count).map(|_| key_of(dice.below(ROWS + ROWS / 8))).collect();
        keys.extend((round % 2 == 0).then(|| b"new".to_vec()));
        let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        for table in asked {
            let shown = by_visit_many(&mut tx, table, &keys);
            assert_eq!(shown, one_by_one(&mut tx, table, &keys), "{}: {table:?}", db.scheme());
            let (stop, mut seen) = (dice.below(60) as usize, 0);
            tx.visit_many(table, &keys, &mut |_, _| {
                seen += 1;
                if seen > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .expect("no conflict");
            assert_eq!(seen, shown.len().min(stop + 1), "it stops when it is told");
        }
    }
    assert_eq!(tx.bytes(first).expect("its own"), before, "handles of before stay good");
    let none = &mut |_: usize, _: &[u8]| panic!("nothing is shown");
    let long = vec![0; KEY_BYTES_MAX + 1];
    let refused = tx.visit_many(tables[0], &[b"new", &long], none);
    assert_eq!(refused, Err(Error::KeyTooLong { bytes: long.len() }));
    let unknown = tx.visit_many(TableId(1_000), &[b"new"], none);
    assert!(matches!(unknown, Err(Error::UnknownTable(_))), "{unknown:?}");
    tx.commit().expect("alone");
}

#[test]
fn a_visit_of_many_keys_shows_what_look_ups_find() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.has_transactions()) {
        compare_many(&Db::<Interleaved>::open(info.name, Options::default()));
    }
}

#[test]
fn a_snapshot_is_shown_the_rows_of_its_time() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.snapshots) {
        let options =
            Options { snapshots: Snapshots::Always, snapshot_every: 2, ..Options::default() };
        let db = Db::<Interleaved>::open(info.name, options);
        let table = db.create_table(TableSpec::hash("rows", 100)).expect("created");
        let mut worker = db.worker().expect("a slot");
        let keys: Vec<_> = (0..100_u64).map(u64::to_be_bytes).collect();
        for key in &keys {
            worker.load(table, key, b"before").expect("loaded");
        }
        db.reach_snapshot();
        let keys: Vec<_> = keys.iter().map(|key| &key[..]).collect();
        let mut other = db.worker().expect("a slot");
        let mut past = other.begin(&Intent::snapshot()).expect("begins");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        for key in keys.iter().step_by(2) {
            let row = tx.get_for_update(table, key).expect("no conflict").expect("loaded");
            tx.update(row, b"after").expect("written");
        }
        tx.insert(table, b"new", b"after").expect("a new key");
        tx.commit().expect("nobody else writes");
        let before: Vec<_> = (0..keys.len()).map(|at| (at, b"before".to_vec())).collect();
        let with_new = [&keys[..], &[b"new"]].concat();
        assert_eq!(by_visit_many(&mut past, table, &with_new), before, "{}", info.name);
        past.commit().expect("it only reads");
    }
}
