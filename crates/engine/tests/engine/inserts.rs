//! Rows that are inserted together: the same rows, and the same refusals, as of insertions one after another, under every
//! scheme, and all or none to transactions beside.

use crate::kit::{Db, Dice, drawn, index, rows_of, seeds, until_committed};
use chiliad_engine::names::all;
use chiliad_engine::{
    Error, GroupSpec, Intent, Options, Range, TableId, TableSpec, Transaction, VALUE_BYTES_MAX,
};
use chiliad_machine::{Fault, Interleaved};
use chiliad_simulator::{Run, Sim};
use std::collections::BTreeMap;
use std::rc::Rc;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// What insertions one after another do to `model`: the place of the first that is refused.
fn one_by_one(model: &mut Model, rows: &[(Vec<u8>, Vec<u8>)]) -> Option<usize> {
    rows.iter().position(|(key, value)| {
        if value.len() > VALUE_BYTES_MAX || model.contains_key(key) {
            return true;
        }
        model.insert(key.clone(), value.clone());
        false
    })
}

/// Rows as of an order, or with keys that repeat, go back, end in the middle of others, or are long; now and then one that
/// no table takes.
fn drawn_rows(dice: &mut Dice) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut key = vec![dice.below(3) as u8; 1 + dice.below(5) as usize];
    key.push(0);
    let count = dice.below(30);
    let value = |dice: &mut Dice| vec![dice.below(256) as u8; 1 + dice.below(80) as usize];
    (0..count)
        .map(|_| {
            let last = key.len() - 1;
            match dice.below(60) {
                0 => key[last] = key[last].wrapping_sub(3),
                1 => key.push(0),
                2 => key.extend([7; 12]),
                3 => {}
                _ => key[last] = key[last].wrapping_add(1 + dice.below(3) as u8),
            }
            let value = match dice.below(200) {
                0 => vec![0; VALUE_BYTES_MAX + 1],
                _ => value(dice),
            };
            (key.clone(), value)
        })
        .collect()
}

fn compare(db: &Db<Interleaved>, spec: TableSpec, seed: u64) {
    let (scheme, ordered) = (db.scheme(), spec.clone().name == "ordered");
    let table = db.create_table(spec).expect("created");
    let mut worker = db.worker().expect("a slot");
    let (mut dice, mut kept) = (Dice(seed), Model::new());
    for turn in 0..30 {
        let mut model = kept.clone();
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        for _ in 0..1 + dice.below(4) {
            let rows = drawn_rows(&mut dice);
            let given: Vec<_> = rows.iter().map(|(key, value)| (&key[..], &value[..])).collect();
            let said = tx.insert_many(table, &given);
            match one_by_one(&mut model, &rows) {
                None => said.expect("accepted"),
                Some(at) if rows[at].1.len() > VALUE_BYTES_MAX => {
                    assert!(matches!(said, Err(Error::ValueSize { .. })), "{scheme}: {said:?}");
                }
                Some(_) => {
                    assert!(matches!(said, Err(Error::DuplicateKey(_))), "{scheme}: {said:?}");
                }
            }
            // Some go again, and their keys may come again in this transaction.
            let gone: Vec<_> = model.keys().filter(|_| dice.below(5) == 0).cloned().collect();
            for key in gone {
                let row = tx.get_for_update(table, &key).expect("alone").expect("inserted");
                assert_eq!(tx.bytes(row).expect("its own"), model[&key], "{scheme}");
                tx.remove_row(row).expect("removed");
                model.remove(&key);
            }
        }
        if ordered {
            let expected: Vec<_> = model.clone().into_iter().collect();
            assert_eq!(
                rows_of(&mut tx, table, Range::all()).expect("no conflict"),
                expected,
                "{scheme}, turn {turn}"
            );
        }
        if dice.below(4) == 0 {
            tx.rollback();
        } else {
            tx.commit().expect("alone");
            kept = model;
        }
        db.tick();
    }
    let mut tx = worker.begin(&Intent::update()).expect("begins");
    for (key, value) in &kept {
        let row = tx.get(table, key).expect("alone").expect("kept");
        assert_eq!(tx.bytes(row).expect("its own"), value, "{scheme}");
    }
    if ordered {
        assert!(
            rows_of(&mut tx, table, Range::all()).expect("no conflict").into_iter().eq(kept),
            "{scheme}"
        );
    }
    tx.commit().expect("alone");
}

#[test]
fn rows_inserted_together_are_those_inserted_one_by_one() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.has_transactions()) {
        for seed in 1..=4 {
            let db = || Db::<Interleaved>::open(info.name, Options::default());
            compare(&db(), TableSpec::ordered("ordered"), seed);
            compare(&db(), TableSpec::hash("hash", 64), seed);
            let indexed = TableSpec::ordered("indexed").with_index(index("first", 0, 1, false));
            compare(&db(), indexed, seed);
        }
    }
}

#[test]
fn rows_that_no_table_takes_are_refused() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.has_transactions()) {
        let db = Db::<Interleaved>::open(info.name, Options::default());
        let grouped = TableSpec::ordered("grouped").with_group(GroupSpec::new("group"));
        let grouped = db.create_table(grouped).expect("created");
        let table = db.create_table(TableSpec::ordered("rows")).expect("created");
        let mut worker = db.worker().expect("a slot");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let rows = [(&b"a"[..], &b"1"[..]), (b"b", b"2")];
        let said = tx.insert_many(grouped, &rows);
        assert!(matches!(said, Err(Error::WrongParts { .. })), "{}: {said:?}", info.name);
        let said = tx.insert_many(TableId(99), &rows);
        assert!(matches!(said, Err(Error::UnknownTable(_))), "{}: {said:?}", info.name);
        tx.insert_many(table, &[]).expect("nothing");
        let long = vec![0; chiliad_engine::KEY_BYTES_MAX + 1];
        let said =
            tx.insert_many(table, &[(b"a", b"1"), (b"b", b"2"), (&long, b"3"), (b"c", b"4")]);
        assert!(matches!(said, Err(Error::KeyTooLong { .. })), "{}: {said:?}", info.name);
        let expected = rows.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert_eq!(
            rows_of(&mut tx, table, Range::all()).expect("no conflict"),
            expected,
            "{}: those before",
            info.name
        );
        tx.commit().expect("alone");
        let mut tx = worker.begin(&Intent::read_only()).expect("begins");
        let said = tx.insert_many(table, &[(b"x", b"1")]);
        assert!(matches!(said, Err(Error::ReadOnly)), "{}: {said:?}", info.name);
    }
}

#[test]
fn memory_that_runs_out_is_an_error_and_leaves_nothing() {
    let options = || Options { memory_bytes_max: 24 << 20, ..Options::default() };
    for info in all::<Interleaved>().into_iter().filter(|info| info.has_transactions()) {
        let db = Db::<Interleaved>::open(info.name, options());
        let table = db.create_table(TableSpec::ordered("rows")).expect("created");
        let mut worker = db.worker().expect("a slot");
        let value = [7; 500];
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let refused = (0..u64::MAX).step_by(16).find_map(|first| {
            let keys: Vec<_> = (first..first + 16).map(u64::to_be_bytes).collect();
            let rows: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
            tx.insert_many(table, &rows).err()
        });
        assert!(matches!(refused, Some(Error::OutOfMemory { .. })), "{}: {refused:?}", info.name);
        tx.rollback();
        (0..20).for_each(|_| db.tick());
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        assert_eq!(
            rows_of(&mut tx, table, Range::all()).expect("no conflict"),
            [],
            "{}",
            info.name
        );
    }
}

const ORDERS: u64 = 4;

/// Orders of two clients, whose lines are neighbours in the index.
struct World {
    db: Db<Sim>,
    orders: TableId,
    lines: TableId,
}

fn line(order: u64, line: u64) -> [u8; 8] {
    (order << 8 | line).to_be_bytes()
}

impl World {
    fn new(scheme: &str) -> Self {
        let db = Db::<Sim>::open(scheme, Options::default());
        let create = |spec| db.create_table(spec).expect("created");
        let (orders, lines) =
            (create(TableSpec::ordered("orders")), create(TableSpec::ordered("lines")));
        Self { db, orders, lines }
    }

    fn order(&self, by: u64) {
        for n in 0..ORDERS {
            let order = 2 * n + by;
            let count = 1 + (order * 7 + by) % 9;
            until_committed(&self.db, by, |tx| {
                tx.insert(self.orders, &order.to_be_bytes(), &count.to_le_bytes())?;
                let keys: Vec<_> = (1..=count).map(|at| line(order, at)).collect();
                let rows: Vec<_> = keys.iter().map(|key| (&key[..], &b"line"[..])).collect();
                tx.insert_many(self.lines, &rows)
            });
        }
    }

    /// Reads orders with their lines, all of which are there or none.
    fn check(&self, by: u64) {
        for _ in 0..4 {
            let (orders, lines) = until_committed(&self.db, by, |tx| {
                let orders = rows_of(tx, self.orders, Range::all())?;
                Ok((orders, rows_of(tx, self.lines, Range::all())?))
            });
            let expected = orders.iter().flat_map(|(order, count)| {
                let number = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).expect("eight bytes");
                let order = u64::from_be_bytes(number(order));
                (1..=u64::from_le_bytes(number(count))).map(move |at| line(order, at).to_vec())
            });
            assert!(lines.into_iter().map(|(key, _)| key).eq(expected), "half an order");
        }
    }
}

/// Two clients that order and one that looks: what the run ends with.
fn orders_at_once(scheme: &str, seed: u64, fault: Option<&'static Fault>) -> Result<(), String> {
    let mut run = Run::new(drawn(seed, fault));
    let world = Rc::new(run.outside(|| World::new(scheme)));
    for by in 0..2 {
        let world = Rc::clone(&world);
        run.spawn("orders", move || world.order(by));
    }
    let reader = Rc::clone(&world);
    run.spawn("looks", move || reader.check(9));
    let outcome = run.go();
    run.outside(|| drop(world));
    match outcome.verdict.is_completed() {
        true => Ok(()),
        false => Err(outcome.verdict.to_string()),
    }
}

#[test]
fn all_rows_of_a_transaction_are_there_or_none() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.is_serializable()) {
        for seed in 0..seeds(15) {
            let ended = orders_at_once(info.name, seed, None);
            assert_eq!(ended, Ok(()), "{} {seed}", info.name);
        }
    }
}

#[test]
fn a_row_that_is_not_written_is_noticed() {
    let named = |it: &&Fault| it.name == "last-of-run-forgotten";
    let fault = chiliad_engine::faults().find(named).expect("declared");
    for scheme in fault.schemes {
        let noticed = (0..50).any(|seed| orders_at_once(scheme, seed, Some(fault)).is_err());
        assert!(noticed, "{scheme}");
    }
}
