//! The engine on the one-core machine against a model, snapshots included: what Miri runs. Workers
//! take turns, so every run is the same.

use crate::kit::{Db, Dice};
use chiliad_engine::{
    Committed, Database, Get, Intent, Options, Range, Running, Session, Silo, Snapshots, Store,
    TableId, TableSpec, Transaction, Worker,
};
use chiliad_machine::Interleaved;
use std::collections::BTreeMap;

/// Miri interprets some thousand times more slowly than the machine runs.
const TURNS: u64 = if cfg!(miri) { 40 } else { 6_000 };
/// Transactions beside one snapshot, and between two looks at it.
const BESIDE: u64 = if cfg!(miri) { 12 } else { 30 };
const LOOK_EVERY: u64 = if cfg!(miri) { 6 } else { 1 };
const KEYS: u64 = 24;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

impl Dice {
    /// Short keys and keys of two slices.
    fn key(&mut self) -> Vec<u8> {
        let key = self.below(KEYS).to_be_bytes();
        if key[7].is_multiple_of(3) { [&key[..], &key[..]].concat() } else { key[7..].to_vec() }
    }

    /// Now and then one that outgrows its record.
    fn value(&mut self) -> Vec<u8> {
        let length = if self.below(10) == 0 { 300 } else { self.below(40) };
        vec![self.below(256) as u8; length as usize]
    }
}

/// One transaction of a few random operations; `None` if it is rolled back.
fn transact(
    session: &mut dyn Session<Interleaved>,
    tables: &[TableId],
    rows: &mut Rows,
    dice: &mut Dice,
) -> Option<Committed> {
    let mut tx = Running::begin(session, &Intent::update()).expect("begins");
    let mut after = rows.clone();
    for _ in 0..=dice.below(5) {
        let (key, value) = (dice.key(), dice.value());
        match dice.below(4) {
            0 => {
                for &table in tables {
                    let inserted = tx.insert(table, &key, &value);
                    assert_eq!(inserted.is_err(), after.contains_key(&key));
                }
                after.entry(key).or_insert(value);
            }
            1 => {
                for &table in tables {
                    assert_eq!(tx.remove(table, &key), Ok(after.contains_key(&key)));
                }
                after.remove(&key);
            }
            2 => {
                for &table in tables {
                    tx.put(table, &key, &value).expect("puts");
                }
                after.insert(key, value);
            }
            _ => {
                for &table in tables {
                    let row = tx.get(table, &key).expect("reads");
                    assert_eq!(
                        row.map(|row| tx.bytes(row).expect("its own")),
                        after.get(&key).map(Vec::as_slice)
                    );
                }
            }
        }
    }
    if dice.below(6) == 0 {
        tx.rollback();
        return None;
    }
    *rows = after;
    Some(tx.commit().expect("alone"))
}

/// All rows of an ordered table, by a scan, and of the hash table beside it, by keys.
fn contents(tx: &mut dyn Transaction, tables: &[TableId]) -> Rows {
    let scanned = tx.scan(tables[0], Range::all()).expect("scans");
    let entries = tx.entries(scanned).expect("its own").iter();
    let rows: Rows = entries
        .map(|it| {
            (tx.key(*it).expect("its own").to_vec(), tx.bytes(it.row).expect("its own").to_vec())
        })
        .collect();
    let keys: Vec<Vec<u8>> = (0..KEYS)
        .flat_map(|key| {
            let key = key.to_be_bytes();
            [key[7..].to_vec(), [&key[..], &key[..]].concat()]
        })
        .collect();
    let gets: Vec<_> = keys.iter().map(|key| Get::read(tables[1], key)).collect();
    let mut found = vec![None; keys.len()];
    tx.get_many(&gets, &mut found).expect("reads");
    for (key, row) in keys.iter().zip(found) {
        assert_eq!(
            row.map(|row| tx.bytes(row).expect("its own")),
            rows.get(key).map(Vec::as_slice)
        );
    }
    rows
}

fn tables(db: &dyn Store<Interleaved>) -> [TableId; 2] {
    [TableSpec::ordered("ordered"), TableSpec::hash("hash", 4)]
        .map(|spec| db.create_table(spec).expect("created"))
}

fn against_a_model(db: &Db<Interleaved>) {
    let tables = tables(&**db);
    let mut workers = [0, 1].map(|_| db.worker().expect("a slot"));
    let (mut rows, mut dice) = (Rows::new(), Dice(7));
    for turn in 0..TURNS {
        let worker = &mut workers[dice.below(2) as usize];
        transact(&mut **worker, &tables, &mut rows, &mut dice);
        if turn % 20 == 0 {
            let mut tx = worker.begin(&Intent::read_only()).expect("begins");
            assert_eq!(contents(&mut tx, &tables), rows);
            tx.commit().expect("alone");
            db.tick();
        }
    }
}

#[test]
fn random_transactions_agree_with_a_model() {
    for info in chiliad_engine::names::all::<Interleaved>() {
        against_a_model(&Db::<Interleaved>::open(info.name, Options::default()));
    }
}

/// What a snapshot shows, now and as long as it lasts: what the last transaction of an epoch below
/// its boundary left.
#[test]
fn snapshots_show_a_state_of_the_past() {
    for (snapshots, verify) in
        [(Snapshots::Always, false), (Snapshots::OnDemand, false), (Snapshots::Always, true)]
    {
        let options = Options { snapshots, snapshot_every: 3, verify, ..Options::default() };
        let db = Database::<Interleaved, Silo<Interleaved>>::open(options).expect("opens");
        db.keep_versions();
        let tables = tables(&db);
        for _ in 0..4 {
            db.tick();
        }
        let mut workers = [0, 1, 2].map(|_| db.worker().expect("a slot"));
        let mut reader = db.worker().expect("a slot");
        let (mut rows, mut dice) = (Rows::new(), Dice(11));
        let mut past: Vec<(u64, Rows)> = vec![(0, Rows::new())];
        for _ in 0..TURNS.div_ceil(BESIDE) {
            let boundary = db.stats().snapshot_boundary;
            let mut snapshot = reader.begin(&Intent::snapshot()).expect("begins");
            let shown = past.iter().rposition(|(epoch, _)| *epoch < boundary).expect("the first");
            past.drain(..shown);
            for turn in 1..=BESIDE {
                let worker = &mut workers[dice.below(3) as usize];
                if let Some(point) = transact(worker, &tables, &mut rows, &mut dice) {
                    past.push((point.epoch, rows.clone()));
                }
                if dice.below(4) == 0 {
                    db.tick();
                }
                if dice.below(4) == 0 {
                    worker.maintain();
                }
                if turn.is_multiple_of(LOOK_EVERY) {
                    assert_eq!(contents(&mut snapshot, &tables), past[0].1);
                }
            }
            snapshot.commit().expect("a snapshot never aborts");
        }
    }
}

/// The collector's item of an earlier removal finds the tombstone of a later one.
#[test]
fn a_row_removed_twice_is_there_in_between() {
    let options = Options { snapshots: Snapshots::Always, snapshot_every: 1, ..Options::default() };
    let db = Database::<Interleaved, Silo<Interleaved>>::open(options).expect("opens");
    let table = db.create_table(TableSpec::ordered("t")).expect("created");
    let [mut one, mut two] = [0, 1].map(|_| db.worker().expect("a slot"));
    let remove = |worker: &mut Worker<Interleaved, Silo<Interleaved>>| {
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        assert_eq!(tx.remove(table, b"row"), Ok(true));
        tx.commit().expect("alone");
    };
    one.load(table, b"row", b"first").expect("loads");
    db.tick();
    remove(&mut one);
    db.tick();
    let mut tx = two.begin(&Intent::update()).expect("begins");
    tx.insert(table, b"row", b"second").expect("inserts");
    tx.commit().expect("alone");
    db.tick();
    let mut reader = db.worker().expect("a slot");
    let mut snapshot = reader.begin(&Intent::snapshot()).expect("begins");
    remove(&mut two);
    db.tick();
    one.maintain();
    let row = snapshot.get(table, b"row").expect("reads").expect("not removed yet");
    assert_eq!(snapshot.bytes(row).expect("its own"), b"second");
}
