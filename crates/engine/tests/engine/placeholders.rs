//! Rows that come and go under the same keys, while insertions are given up: each version's order is above
//! that of the version before it, whichever worker wrote that and whatever has left the index since.
//! Recovery goes by these orders.

use crate::kit::{Db, Worker, schedule, seeds};
use chiliad_engine::{Error, Intent, Options, Result, TableId, TableSpec, Transaction};
use chiliad_machine::{Fault, Machine};
use chiliad_simulator::{Config, Run, Sim};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Keys that all cores insert and remove.
const KEYS: u64 = 2;
const TURNS: u64 = 40;

/// A committed change of a key: its order, the row, and whether it came.
type Change = (u64, u64, bool);

struct World {
    db: Db<Sim>,
    table: TableId,
    changes: RefCell<BTreeMap<u64, Vec<Change>>>,
}

fn below(n: u64) -> u64 {
    Sim::random() % n
}

impl World {
    fn work(&self, core: u64) {
        let mut worker = self.db.worker().expect("a slot");
        for turn in 0..TURNS {
            match self.transact(&mut worker, core, core << 32 | turn) {
                Ok(()) | Err(Error::Conflict(_) | Error::DuplicateKey(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Inserts a row of this number, gives that up, or removes whatever row there is. The first core also
    /// commits a lot elsewhere, so that its orders are ahead of the others'.
    fn transact(&self, worker: &mut Worker<Sim>, core: u64, number: u64) -> Result<()> {
        let begin = Intent { partitions: &[0], ..Intent::update() };
        if core == 0 {
            let mut tx = worker.begin(&begin)?;
            tx.put(self.table, b"of the first core", &number.to_le_bytes())?;
            tx.commit()?;
        }
        let key = below(KEYS);
        let mut tx = worker.begin(&begin)?;
        let row = tx.get(self.table, &key.to_be_bytes())?;
        let (row, comes) = match row {
            Some(row) => {
                let bytes = tx.bytes(row).expect("its own").try_into().expect("a number");
                tx.remove(self.table, &key.to_be_bytes())?;
                (u64::from_le_bytes(bytes), false)
            }
            None => {
                tx.insert(self.table, &key.to_be_bytes(), &number.to_le_bytes())?;
                (number, true)
            }
        };
        if comes && below(2) == 0 {
            tx.rollback();
            return Ok(());
        }
        let order = tx.commit()?.order;
        self.changes.borrow_mut().entry(key).or_default().push((order, row, comes));
        Ok(())
    }
}

/// The changes of all keys.
struct Simulated(Config);

impl Simulated {
    fn run(self, scheme: &str) -> BTreeMap<u64, Vec<Change>> {
        let mut run = Run::new(self.0);
        let world = run.outside(|| {
            let db = Db::<Sim>::open(scheme, Options::default());
            let table = db.create_table(TableSpec::ordered("rows")).expect("created");
            Rc::new(World { db, table, changes: RefCell::default() })
        });
        for core in 0..4 {
            let world = Rc::clone(&world);
            run.spawn(format!("works {core}"), move || world.work(core));
        }
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{:?}", outcome.verdict);
        run.outside(|| {
            let changes = world.changes.take();
            drop(world);
            changes
        })
    }
}

/// Whether by their orders each row comes and goes before the next one comes.
fn follow_each_other(changes: &BTreeMap<u64, Vec<Change>>) -> bool {
    changes.values().all(|changes| {
        let mut changes = changes.clone();
        changes.sort_unstable_by_key(|&(order, _, comes)| (order, comes));
        let distinct = changes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let paired = changes.chunks(2).all(|pair| match *pair {
            [(_, came, true), (_, went, false)] => came == went,
            [(_, _, true)] => true,
            _ => false,
        });
        distinct && paired
    })
}

fn simulate(seed: u64, scheme: &str, fault: Option<&'static Fault>) -> BTreeMap<u64, Vec<Change>> {
    let config = Config { schedule: schedule(seed), fault, ..Config::new(seed) };
    Simulated(config).run(scheme)
}

#[test]
fn versions_are_in_order_under_every_scheme() {
    let seeds = seeds(40);
    for info in chiliad_engine::names::all::<Sim>() {
        let mut removals = 0;
        for seed in 0..seeds {
            let changes = simulate(seed, info.name, None);
            removals += changes.values().flatten().filter(|change| !change.2).count();
            let good = follow_each_other(&changes) || info.name == "key-value";
            assert!(good, "{} {seed}: {changes:?}", info.name);
        }
        assert!(removals > 0, "{}", info.name);
    }
}

/// The rig can fail.
#[test]
fn the_planted_bug_is_caught() {
    let fault = chiliad_engine::faults().find(|it| it.name == "floor-forgotten");
    let fault = fault.expect("declared");
    for scheme in fault.schemes {
        let seed = (0..u64::from(fault.seeds))
            .find(|&seed| !follow_each_other(&simulate(seed, scheme, Some(fault))))
            .unwrap_or_else(|| panic!("{scheme}: not caught"));
        assert!(follow_each_other(&simulate(seed, scheme, None)), "{scheme} {seed}");
    }
}
