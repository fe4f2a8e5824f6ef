//! Rows that are shown while others change them, on simulated cores: no transaction that commits has been shown a state that
//! never was. Nothing is recorded here, since where it is each row that is shown is kept as well.

use crate::kit::{Db, drawn, index, seeds, until_committed};
use chiliad_engine::names::all;
use chiliad_engine::{Options, Range, TableId, TableSpec};
use chiliad_machine::{Fault, Interleaved};
use chiliad_simulator::{Run, Sim};
use core::ops::ControlFlow;
use std::cell::RefCell;
use std::rc::Rc;

const ACCOUNTS: u64 = 6;
const EACH: u64 = 100;

struct World {
    db: Db<Sim>,
    /// The same accounts, ordered and hashed: a transfer changes both.
    tables: [TableId; 2],
    /// Where the readers write, so that they are no transactions that only read.
    other: TableId,
    /// What transactions that have committed were shown: amounts by key of either table and by range, and entries of the
    /// index.
    sums: RefCell<Vec<[u64; 4]>>,
}

fn amount(row: &[u8]) -> u64 {
    u64::from_le_bytes(row.try_into().expect("eight bytes"))
}

impl World {
    fn new(scheme: &str) -> Self {
        let db = Db::<Sim>::open(scheme, Options::default());
        let create = |spec| db.create_table(spec).expect("created");
        // Each transfer moves two rows in the index.
        let ordered = TableSpec::ordered("ordered").with_index(index("by_amount", 0, 8, false));
        let tables = [create(ordered), create(TableSpec::hash("hashed", 8))];
        let other = create(TableSpec::ordered("other"));
        let mut worker = db.worker().expect("a slot");
        for (table, key) in
            tables.iter().flat_map(|&table| (0..ACCOUNTS).map(move |key| (table, key)))
        {
            worker.load(table, &key.to_be_bytes(), &EACH.to_le_bytes()).expect("loads");
        }
        drop(worker);
        Self { db, tables, other, sums: RefCell::default() }
    }

    fn transfers(&self, by: u64) {
        for turn in 0..6 {
            let (from, to) = ((by + turn) % ACCOUNTS, (by + 5 * turn + 1) % ACCOUNTS);
            until_committed(&self.db, by, |tx| {
                for (table, (key, n)) in self.tables.iter().flat_map(|&table| {
                    [(from, 1_u64.wrapping_neg()), (to, 1)].map(|change| (table, change))
                }) {
                    let row = tx.get_for_update(table, &key.to_be_bytes())?.expect("loaded");
                    let sum = amount(tx.bytes(row)?).wrapping_add(n);
                    tx.update(row, &sum.to_le_bytes())?;
                }
                Ok(())
            });
        }
    }

    fn sums(&self, by: u64) {
        let keys: Vec<_> = (0..ACCOUNTS).map(u64::to_be_bytes).collect();
        let keys: Vec<_> = keys.iter().map(|key| &key[..]).collect();
        for _ in 0..4 {
            let sums = until_committed(&self.db, by, |tx| {
                let mut sums = [0; 4];
                for (sum, table) in sums.iter_mut().zip(self.tables) {
                    tx.visit_many(table, &keys, &mut |_, row| {
                        *sum += amount(row);
                        ControlFlow::Continue(())
                    })?;
                }
                tx.visit(self.tables[0], Range::all(), &mut |_, row| {
                    sums[2] += amount(row);
                    ControlFlow::Continue(())
                })?;
                tx.visit_index_keys(self.tables[0], 0, Range::all(), &mut |_, _| {
                    sums[3] += 1;
                    ControlFlow::Continue(())
                })?;
                tx.put(self.other, &by.to_be_bytes(), b"seen")?;
                Ok(sums)
            });
            self.sums.borrow_mut().push(sums);
        }
    }
}

/// A sum that two readers beside two writers were shown, and that never was.
fn wrong_sum(scheme: &str, seed: u64, fault: Option<&'static Fault>) -> Option<[u64; 4]> {
    let mut run = Run::new(drawn(seed, fault));
    let world = Rc::new(run.outside(|| World::new(scheme)));
    for by in 0..2 {
        let (reader, writer) = (Rc::clone(&world), Rc::clone(&world));
        run.spawn("sums", move || reader.sums(by + 10));
        run.spawn("transfers", move || writer.transfers(3 * by));
    }
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{scheme} {seed}: {}", outcome.verdict);
    run.outside(|| {
        let sums = world.sums.borrow().clone();
        assert_eq!(sums.len(), 8, "{scheme} {seed}");
        drop(world);
        let right = [ACCOUNTS * EACH, ACCOUNTS * EACH, ACCOUNTS * EACH, ACCOUNTS];
        sums.into_iter().find(|sums| *sums != right)
    })
}

#[test]
fn what_is_shown_was_there_at_one_time() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.is_serializable()) {
        for seed in 0..seeds(20) {
            let wrong = wrong_sum(info.name, seed, None);
            assert_eq!(wrong, None, "{} {seed}", info.name);
        }
    }
}

#[test]
fn a_row_that_is_shown_unchecked_is_noticed() {
    let named = |it: &&Fault| it.name == "shown-not-checked";
    let fault = chiliad_engine::faults().find(named).expect("declared");
    for scheme in fault.schemes {
        let noticed = (0..50).any(|seed| wrong_sum(scheme, seed, Some(fault)).is_some());
        assert!(noticed, "{scheme}");
    }
}
