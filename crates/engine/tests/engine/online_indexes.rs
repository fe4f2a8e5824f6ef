//! Indexes come and go while transactions run: simulated under many seeds and every scheme.

use crate::kit::{Db, Worker, drawn, index, seeds, spawn_ticker};
use chiliad_engine::{
    Error, Intent, Isolation, Options, Range, Result, Snapshots, TableChange, TableId, TableSpec,
    Transaction,
};
use chiliad_machine::{Fault, Machine};
use chiliad_simulator::{Config, Outcome, Run, Sim};
use std::rc::Rc;

const KEYS: u64 = 14;

/// State that the cores of a simulated run share.
struct World {
    db: Db<Sim>,
    table: TableId,
    unique: bool,
}

fn below(n: u64) -> u64 {
    Sim::random() % n
}

fn key(number: u64) -> [u8; 2] {
    [0, number as u8]
}

/// A value whose first two bytes no row of another key has.
fn value(number: u64) -> [u8; 4] {
    [number as u8, below(3) as u8, 7, 7]
}

impl World {
    /// Adds the index, looks at it, and drops it again, a few times.
    fn build(&self) {
        let mut worker = self.db.worker().expect("a slot");
        for position in 0..3 {
            let spec = index("by_head", 0, 2, self.unique);
            self.db.fill_index(&[], self.table, spec).expect("filled");
            let ready = TableChange::Ready(self.table, "by_head".into());
            self.db.change_tables(&[ready]).expect("ready");
            for turn in 0..4 {
                let intent = if turn % 2 == 0 { Intent::read_only() } else { Intent::snapshot() };
                self.compare(&mut worker, &intent, position);
            }
            let gone = TableChange::DropIndex(self.table, "by_head".into());
            self.db.change_tables(&[gone]).expect("dropped");
        }
    }

    /// Every row has its entry, and every entry its row.
    fn compare(&self, worker: &mut Worker<Sim>, intent: &Intent<'_>, position: usize) {
        loop {
            match self.look(worker, intent, position) {
                Ok((rows, mut found)) => {
                    found.sort();
                    assert_eq!(rows, found, "the index and the rows");
                    return;
                }
                Err(Error::Conflict(_)) => drop(Sim::park_until(Sim::now() + below(2_000))),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "rows, by the table and by the index")]
    fn look(
        &self,
        worker: &mut Worker<Sim>,
        intent: &Intent<'_>,
        position: usize,
    ) -> Result<(Vec<Vec<u8>>, Vec<Vec<u8>>)> {
        let mut tx = worker.begin(&Intent { partitions: &[0, 1], ..*intent })?;
        let mut all = Vec::new();
        for way in [None, Some(position)] {
            let scanned = match way {
                None => tx.scan(self.table, Range::all())?,
                Some(index) => tx.scan_index(self.table, index, Range::all())?,
            };
            let rows = tx.entries(scanned)?.iter().map(|entry| entry.row);
            let bytes = rows.map(|row| tx.bytes(row).map(<[u8]>::to_vec));
            all.push(bytes.collect::<Result<Vec<_>>>()?);
        }
        tx.commit()?;
        let by_index = all.pop().unwrap_or_default();
        let mut rows = all.pop().unwrap_or_default();
        rows.sort();
        Ok((rows, by_index))
    }

    /// Writes rows all the while.
    fn work(&self) {
        let mut worker = self.db.worker().expect("a slot");
        for _ in 0..40 {
            match self.transact(&mut worker) {
                Ok(()) | Err(Error::Conflict(_)) => {}
                Err(error) => panic!("{error}"),
            }
            if below(3) == 0 {
                Sim::park_until(Sim::now() + below(4_000));
            }
        }
    }

    fn transact(&self, worker: &mut Worker<Sim>) -> Result<()> {
        let mut tx = worker.begin(&Intent { partitions: &[0, 1], ..Intent::update() })?;
        if let Err(error) = self.write(&mut tx) {
            // An error from a state that never was is a conflict.
            return Err(tx.fail(error));
        }
        match below(5) {
            0 => tx.rollback(),
            _ => drop(tx.commit()?),
        }
        Ok(())
    }

    fn write(&self, tx: &mut impl Transaction) -> Result<()> {
        for _ in 0..1 + below(3) {
            let number = below(KEYS);
            match below(4) {
                0 | 1 => tx.put(self.table, &key(number), &value(number))?,
                2 => drop(tx.remove(self.table, &key(number))?),
                _ => {
                    if let Some(row) = tx.get_for_update(self.table, &key(number))? {
                        tx.modify(row)?[1] ^= 1;
                    }
                }
            }
        }
        Ok(())
    }
}

/// One core adds and drops an index, two write, one ticks.
struct Simulated(Config);

impl Simulated {
    fn run(self, scheme: &str) -> Outcome {
        let seed = self.0.seed;
        let mut run = Run::new(self.0);
        let world = run.outside(|| {
            let options = Options {
                snapshots: Snapshots::Always,
                snapshot_every: 2,
                epoch: std::time::Duration::from_micros(5),
                partitions: 2,
                verify: seed.is_multiple_of(5),
                ..Options::default()
            };
            let db = Db::<Sim>::open(scheme, options);
            let table = db.create_table(TableSpec::ordered("rows")).expect("created");
            let mut worker = db.worker().expect("a slot");
            for number in 0..KEYS {
                worker.load(table, &key(number), &[number as u8, 0, 7, 7]).expect("loads");
            }
            db.reach_snapshot();
            Rc::new(World { db, table, unique: seed % 4 > 1 })
        });
        let building = Rc::clone(&world);
        run.spawn("builds", move || building.build());
        for core in 0..2 {
            let world = Rc::clone(&world);
            run.spawn(format!("works {core}"), move || world.work());
        }
        spawn_ticker(&mut run, &world.db);
        let outcome = run.go();
        run.outside(|| match outcome.verdict.is_completed() {
            true => drop(world),
            // Not fit to be taken down: it goes with the region that holds it.
            false => core::mem::forget(world),
        });
        outcome
    }
}

fn simulate(seed: u64, scheme: &str, fault: Option<&'static Fault>) -> Outcome {
    Simulated(drawn(seed, fault)).run(scheme)
}

#[test]
fn rows_and_entries_agree_under_every_scheme() {
    let seeds = seeds(20);
    let schemes = chiliad_engine::names::all::<Sim>();
    for info in schemes.into_iter().filter(|info| info.isolation == Isolation::Serializable) {
        for seed in 0..seeds {
            let outcome = simulate(seed, info.name, None);
            assert!(outcome.verdict.is_completed(), "{} {seed}: {:?}", info.name, outcome.verdict);
        }
    }
}

#[test]
fn the_planted_bugs_are_caught() {
    for name in ["entry-not-filled", "index-not-announced"] {
        let fault = chiliad_engine::faults().find(|it| it.name == name).expect("declared");
        let caught =
            (0..400).find(|&seed| !simulate(seed, "silo", Some(fault)).verdict.is_completed());
        let seed = caught.unwrap_or_else(|| panic!("{name} is not caught"));
        let unmodified = simulate(seed, "silo", None).verdict;
        assert!(unmodified.is_completed(), "{name}, seed {seed}: {unmodified:?}");
    }
}
