//! What workers have counted comes together in the database's statistics, and handing it over costs them
//! nothing to speak of, however many begin together and do transactions of the same length.

use chiliad_engine::{Database, Intent, Options, Silo, TableSpec, Transaction};
use chiliad_machine::Machine;
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, Run, Sim};
use std::cell::Cell;
use std::rc::Rc;

/// Timed transactions of each core: more than lie between two hand-overs.
const TURNS: u64 = 300;

/// When all have begun.
const START: u64 = 100_000_000;

/// Cycles that each of some cores takes on average for its transactions, each of which reads the same row.
fn cycles(cores: usize) -> u64 {
    let machine = Some(Description::mesh());
    let mut run = Run::new(Config { machine, region_bytes: 256 << 20, ..Config::new(1) });
    let (db, table) = run.outside(|| {
        let db = Database::<Sim, Silo<Sim>>::open(Options::default()).expect("opens");
        let table = db.create_table(TableSpec::ordered("rows")).expect("created");
        let mut worker = db.worker().expect("a slot");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        tx.put(table, b"key", b"row").expect("written");
        tx.commit().expect("committed");
        drop(worker);
        (Rc::new(db), table)
    });
    let total = Rc::new(Cell::new(0));
    for core in 0..cores {
        let (db, total) = (Rc::clone(&db), Rc::clone(&total));
        run.spawn(format!("core {core}"), move || {
            let mut worker = db.worker().expect("a slot");
            for turn in 0..=TURNS {
                // The first transaction takes note of the tables.
                if turn == 1 {
                    Sim::park_until(START);
                }
                let mut tx = worker.begin(&Intent::update()).expect("begins");
                assert!(tx.get(table, b"key").expect("read").is_some());
                tx.commit().expect("committed");
            }
            total.set(total.get() + Sim::now() - START);
            // Workers that leave wait for each other.
            Sim::park_until(2 * START);
        });
    }
    assert!(run.go().verdict.is_completed());
    run.outside(|| {
        assert_eq!(
            db.stats().committed,
            cores as u64 * (TURNS + 1) + 1,
            "nothing is lost on the way"
        );
        drop(db);
    });
    total.get() / cores as u64
}

/// Reading the same row scales; where all waited for each other once, the crowd took a hundred times as long.
#[test]
fn a_crowd_hands_over_without_waiting() {
    let (few, crowd) = (cycles(4), cycles(256));
    assert!(crowd < 2 * few, "{crowd} cycles for {few}");
}
