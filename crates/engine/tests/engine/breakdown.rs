//! Where a followed transaction's time is booked, under each scheme: simulated cores that meet over a
//! few rows, every transaction followed.

use crate::kit::{Db, Worker};
use chiliad_engine::names;
use chiliad_engine::{Error, Intent, Options, Part, TableId, TableSpec, Transaction};
use chiliad_simulator::{Config, Run, Sim};
use std::cell::RefCell;
use std::rc::Rc;

const CORES: usize = 6;
const ROWS: u64 = 4;
const TRANSACTIONS: u64 = 30;

type Parts = [u64; Part::ALL.len()];

/// What the cores brought back.
#[derive(Default)]
struct Booked {
    parts: Parts,
    /// From before the first attempt until after the end.
    elapsed: u64,
    refused: u64,
}

/// Moves something between two rows, writing them and a row of the core's own.
fn attempt(
    worker: &mut Worker<Sim>,
    table: TableId,
    core: u64,
    step: u64,
    retries: u32,
) -> Result<(), Error> {
    // All cores are in one partition, where there are any.
    let mut tx = worker.begin(&Intent { partitions: &[0], retries, ..Intent::update() })?;
    let first = (core + step) % ROWS;
    for key in [first, (first + 1 + step % 2) % ROWS] {
        let row = tx.get(table, &key.to_be_bytes())?.expect("loaded");
        tx.modify(row)?[0] += 1;
    }
    let own = (1000 + core * 1000 + step).to_be_bytes();
    tx.insert(table, &own, b"own")?;
    assert_eq!(tx.get(table, b"missing")?, None);
    if step.is_multiple_of(7) {
        tx.rollback();
        return Ok(());
    }
    tx.commit().map(|_| ())
}

/// Lets the cores meet, every transaction followed.
fn follow(scheme: &str) -> Booked {
    let mut run = Run::new(Config::new(11));
    let options = Options { opacity: false, ..Options::default() };
    let db = run.outside(|| Db::<Sim>::open(scheme, options));
    let table = run.outside(|| {
        let table = db.create_table(TableSpec::ordered("rows")).expect("new");
        let mut worker = db.worker().expect("a slot");
        for key in 0..ROWS {
            worker.load(table, &key.to_be_bytes(), b"row").expect("loads");
        }
        table
    });
    let booked = Rc::new(RefCell::new(Booked::default()));
    for core in 0..CORES as u64 {
        let (db, booked) = (db.clone(), booked.clone());
        run.spawn(format!("core {core}"), move || {
            use chiliad_machine::Machine;
            let mut worker = db.worker().expect("a slot");
            for step in 0..TRANSACTIONS {
                worker.sample_next();
                let begun = Sim::now();
                let mut retries = 0;
                while let Err(error) = attempt(&mut worker, table, core, step, retries) {
                    assert!(error.is_retryable(), "{error}");
                    retries += 1;
                }
                let parts = worker.take_sample();
                let elapsed = Sim::now() - begun;
                let mut booked = booked.borrow_mut();
                booked.elapsed += elapsed;
                booked.refused += u64::from(retries);
                booked.parts.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            }
        });
    }
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{scheme}: {outcome:?}");
    run.outside(|| drop(db));
    Rc::into_inner(booked).expect("all cores have gone").into_inner()
}

/// What a scheme has besides useful work, index and manager, which all have.
fn expected(scheme: &str) -> &'static [Part] {
    use Part::{Abort, Timestamp, Wait};
    match scheme {
        "silo" | "no-wait" | "dl-detect" | "occ-serial" => &[Abort, Wait],
        "lock-table" | "lock-table-global" | "lock-table-bucket" | "lock-table-sli"
        | "lock-table-no-ebr" => &[Abort, Wait],
        "global-tid" | "wait-die" | "timestamp" | "mvcc" | "occ" | "lock-table-repeatable-read" => {
            &[Timestamp, Abort, Wait]
        }
        // Waiting for partitions, and never refused.
        "partitioned" => &[Wait],
        "h-store" => &[Timestamp, Wait],
        // Single operations, each of which is done at once.
        "key-value" => &[],
        _ => panic!("say which parts of its time {scheme} books"),
    }
}

#[test]
fn each_scheme_books_its_time_where_it_is_spent() {
    for info in names::all::<Sim>() {
        let name = info.name;
        let Booked { parts, elapsed, refused } = follow(name);
        let always = [Part::Useful, Part::Index, Part::Manager];
        for part in Part::ALL {
            // A single operation is refused where its record stays latched for long, which a schedule
            // may bring about or not.
            let by_chance = matches!(part, Part::Abort | Part::Wait) && expected(name).is_empty();
            let occurs = if by_chance {
                refused > 0
            } else {
                always.contains(&part) || expected(name).contains(&part)
            };
            let booked = parts[part as usize];
            assert_eq!(booked > 0, occurs, "{name}: {} {parts:?}", part.name());
        }
        // All time is booked once: what is missing is between the clocks' own readings.
        let sum: u64 = parts.iter().sum();
        assert!(sum <= elapsed && sum * 10 >= elapsed * 9, "{name}: {sum} of {elapsed}");
        assert_eq!(refused > 0, parts[Part::Abort as usize] > 0, "{name}: {refused}");
        // Waiting is most of the time where one core at a time is in the only partition.
        let waited = parts[Part::Wait as usize];
        assert!(!info.needs_partitions || waited * 2 > sum, "{name}: {parts:?}");
    }
}
