//! Rows that are shown one after another and not kept: the same rows as a scan's, under every scheme.

use crate::kit::{Db, Dice, index};
use chiliad_engine::names::all;
use chiliad_engine::{Error, Intent, Options, Range, TableSpec, Transaction};
use chiliad_machine::Interleaved;
use core::ops::{Bound, ControlFlow};

const ROWS: u64 = 2_000;

type Shown = Vec<(Vec<u8>, Vec<u8>)>;

fn by_scan(tx: &mut dyn Transaction, table: chiliad_engine::TableId, range: Range<'_>) -> Shown {
    let scanned = tx.scan(table, range).expect("no conflict");
    let entries = tx.entries(scanned).expect("its own").iter();
    let shown = |it: &chiliad_engine::Entry| {
        (tx.key(*it).expect("its own").to_vec(), tx.bytes(it.row).expect("its own").to_vec())
    };
    entries.map(shown).collect()
}

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
        let expected = by_scan(&mut tx, table, range);
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
