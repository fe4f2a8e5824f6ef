//! Parts of transactions that are taken back while others are at work: nothing of them is ever seen. On simulated cores,
//! under every scheme.

use crate::kit::{Db, Dice, Worker, drawn, seeds};
use chiliad_api::UndoLog;
use chiliad_engine::names::all;
use chiliad_engine::{Error, Intent, Options, Range, Result, TableId, TableSpec, Transaction};
use chiliad_machine::{Fault, Machine};
use chiliad_simulator::{Config, Run, Sim};
use std::cell::RefCell;
use std::rc::Rc;

const ACCOUNTS: u64 = 4;
const BALANCE: u64 = 100;
const CORES: u64 = 3;
const TRANSFERS: u64 = 6;

struct Transfers(Config);

struct World {
    db: Db<Sim>,
    table: TableId,
    /// What somebody has seen that never should be.
    wrong: RefCell<Vec<String>>,
}

fn key(account: u64) -> [u8; 8] {
    account.to_be_bytes()
}

fn balance(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Adds to a balance, by way of the undo log.
fn add(
    tx: &mut dyn Transaction,
    undo: &mut UndoLog<Sim>,
    table: TableId,
    account: u64,
    amount: u64,
) -> Result<()> {
    let row = tx.get_for_update(table, &key(account))?.expect("no account goes");
    undo.changes(tx, row)?;
    let balance = balance(tx.bytes(row)?).wrapping_add(amount);
    tx.update(row, &balance.to_le_bytes())
}

/// Moves one between two accounts, after an attempt that is taken back.
fn transfer(tx: &mut dyn Transaction, table: TableId, from: u64, to: u64) -> Result<()> {
    let mut undo = UndoLog::default();
    let outer = undo.set();
    add(tx, &mut undo, table, from, 7)?;
    let inner = undo.set();
    undo.insert(tx, table, &key(ACCOUNTS + from), &key(0))?;
    add(tx, &mut undo, table, to, 1_000)?;
    undo.remove(tx, table, &key(to))?;
    undo.put(tx, table, &key(to), &key(9))?;
    undo.release(inner);
    undo.roll_back(tx, outer)?;
    let kept = undo.set();
    add(tx, &mut undo, table, from, 1_u64.wrapping_neg())?;
    add(tx, &mut undo, table, to, 1)?;
    undo.release(kept);
    Ok(())
}

impl World {
    fn work(&self, core: u64, seed: u64) {
        let mut dice = Dice(seed.wrapping_mul(31) + core + 1);
        let mut worker = self.db.worker().expect("a slot");
        for _ in 0..TRANSFERS {
            let from = dice.below(ACCOUNTS);
            let to = (from + 1 + dice.below(ACCOUNTS - 1)) % ACCOUNTS;
            self.until_done(&mut worker, &mut |tx| transfer(tx, self.table, from, to));
            self.until_done(&mut worker, &mut |tx| self.look(tx));
        }
    }

    fn until_done(
        &self,
        worker: &mut Worker<Sim>,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>,
    ) {
        for retries in 0.. {
            let intent = Intent { retries, ..Intent::update() };
            let done = worker.begin(&intent).and_then(|mut tx| {
                body(&mut tx)?;
                tx.commit()
            });
            match done {
                Ok(_) => return,
                Err(Error::Conflict(_) | Error::DuplicateKey(_)) => {
                    // Longer and longer, or two may refuse each other for ever.
                    (0..Sim::random() % (2 << retries.min(10))).for_each(|_| Sim::yield_now());
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    /// Looks at all accounts. What it finds counts if it commits, so it is kept by the caller's attempt alone.
    fn look(&self, tx: &mut dyn Transaction) -> Result<()> {
        let scanned = tx.scan(self.table, Range::all())?;
        let entries = tx.entries(scanned)?;
        let rows = entries.len() as u64;
        let bytes = entries.iter().map(|it| tx.bytes(it.row).map(balance));
        let sum = bytes.sum::<Result<u64>>()?;
        if (rows, sum) != (ACCOUNTS, ACCOUNTS * BALANCE) {
            self.wrong.borrow_mut().push(format!("{rows} rows, {sum} in all"));
        }
        Ok(())
    }
}

impl Transfers {
    /// Why the run failed: its verdict where it did not complete, otherwise the wrong sum at its end.
    fn run(self, scheme: &str) -> Option<String> {
        let seed = self.0.seed;
        let mut run = Run::new(Config { events_max: 4_000_000, ..self.0 });
        let world = run.outside(|| {
            let db = Db::<Sim>::open(scheme, Options::default());
            let table = db.create_table(TableSpec::ordered("accounts")).expect("created");
            let mut worker = db.worker().expect("a slot");
            for account in 0..ACCOUNTS {
                worker.load(table, &key(account), &BALANCE.to_le_bytes()).expect("loaded");
            }
            drop(worker);
            Rc::new(World { db, table, wrong: RefCell::default() })
        });
        for core in 0..CORES {
            let world = Rc::clone(&world);
            run.spawn("transfers", move || world.work(core, seed));
        }
        let outcome = run.go();
        run.outside(|| {
            if !outcome.verdict.is_completed() {
                core::mem::forget(world);
                return Some(format!("{:?}", outcome.verdict));
            }
            world.wrong.borrow_mut().clear();
            let mut worker = world.db.worker().expect("a slot");
            world.until_done(&mut worker, &mut |tx| world.look(tx));
            world.wrong.borrow().last().cloned()
        })
    }
}

fn simulate(seed: u64, scheme: &str, fault: Option<&'static Fault>) -> Option<String> {
    Transfers(drawn(seed, fault)).run(scheme)
}

#[test]
fn nothing_of_what_is_taken_back_stays() {
    for info in all::<Sim>().into_iter().filter(|info| info.is_serializable()) {
        for seed in 0..seeds(3) {
            assert_eq!(simulate(seed, info.name, None), None, "{}, {seed}", info.name);
        }
    }
}

#[test]
fn a_forgotten_undo_is_caught() {
    let fault = chiliad_api::FAULTS.iter().find(|it| it.name == "undo-forgotten");
    let fault = *fault.expect("declared");
    for info in all::<Sim>().into_iter().filter(|info| info.is_serializable()) {
        let caught = (0..u64::from(fault.seeds)).any(|seed| {
            simulate(seed, info.name, Some(fault)).is_some_and(|wrong| wrong.contains("in all"))
        });
        assert!(caught, "{}: not caught", info.name);
    }
}
