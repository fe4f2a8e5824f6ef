//! A second engine, to prove the seam between engines and drivers: sorted maps, one transaction at a time.
//!
//! It implements [`chiliad_api::Store`] and [`chiliad_api::Session`] and nothing else, on any machine, and runs every
//! workload through the drivers. It is also an oracle: what it has at the end of a sequence of requests, every
//! other engine must have.

mod attempt;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod oracle;
mod runs;
mod session;
mod store;
mod tables;
mod turn;

use attempt::Plant;
use chiliad_engine::{Options, Result, Store, any};
use chiliad_hyder::{Cluster, ServerOptions};
use chiliad_machine::Interleaved;
use chiliad_machine::shared_log::SharedLog;
use chiliad_shared_log::MemoryLog;
use chiliad_workload::WorkloadOptions;
use oracle::{Contents, Ended, Subject};
use std::sync::Arc;
use store::{Toy, ToyOptions};

const VERIFIED: ToyOptions = ToyOptions { verify: true, plant: None };

#[test]
fn every_workload_runs_on_threads() {
    for workload in common::workloads() {
        for in_flight in [1, 3] {
            let faults = runs::natively(&workload, VERIFIED, in_flight);
            assert_eq!(faults, Vec::<String>::new(), "{workload:?}, {in_flight} in flight");
        }
    }
}

#[test]
fn every_workload_runs_on_simulated_cores() {
    for workload in common::workloads() {
        for seed in 0..30 {
            let faults = runs::simulated(&workload, VERIFIED, seed);
            assert_eq!(faults, Vec::<String>::new(), "{workload:?}, seed {seed}");
        }
    }
}

/// Requests of the sequence that all engines are asked.
const REQUESTS: usize = 1_000;

/// How each request ended, and what is there at the end.
type Answer = (Vec<Ended>, Contents);

/// A database under a scheme of the engine.
fn under(scheme: &str) -> Result<Box<dyn Store<Interleaved>>> {
    Ok(any::open::<Interleaved>(scheme, Options::default(), None)?.store)
}

/// So many servers that share a log.
fn servers(count: usize) -> Result<Box<dyn Store<Interleaved>>> {
    let log: Arc<dyn SharedLog> = Arc::new(MemoryLog::new());
    Ok(Box::new(Cluster::join(&vec![log; count], &ServerOptions::default())?))
}

/// What the toy engine makes of the sequence, and another engine.
fn compare(
    workload: &WorkloadOptions,
    plant: Option<Plant>,
    other: Box<dyn Store<Interleaved>>,
) -> Result<[Answer; 2]> {
    let workload = workload.make().expect("a workload");
    let toy = Toy::<Interleaved>::open(ToyOptions { plant, ..VERIFIED });
    // Tombstones stay in a verified run, so that these are all keys that there ever were.
    let keys = |table: &str| toy.keys(table);
    let ask = |subject: Subject<'_>| -> Result<Answer> {
        Ok((subject.run(REQUESTS)?, subject.contents(&keys)?))
    };
    let expected = ask(Subject::load(Box::new(toy.share()), &*workload)?)?;
    Ok([expected, ask(Subject::load(other, &*workload)?)?])
}

#[test]
fn schemes_have_what_the_oracle_has() {
    for workload in common::workloads() {
        let others = ["silo", "dl-detect", "mvcc"].map(under);
        for other in others.into_iter().chain([1, 2].map(servers)) {
            let other = other.expect("a database");
            let (scheme, servers) = (other.info().name, !other.info().strict);
            let [expected, found] = compare(&workload, None, other).expect("no error");
            assert_eq!(expected.0, found.0, "{workload:?} under {scheme}, several: {servers}");
            for (table, rows) in &expected.1 {
                let same = found.1.get(table) == Some(rows);
                assert!(same, "{workload:?} under {scheme}, several {servers}: {table} differs");
            }
            assert_eq!(expected.1.len(), found.1.len());
        }
    }
}

#[test]
fn a_lost_index_entry_is_found() {
    let options = ToyOptions { plant: Some(Plant::DropsIndexEntry), ..VERIFIED };
    let bank = WorkloadOptions::Bank(Default::default());
    let faults = runs::natively(&bank, options, 1);
    assert!(!faults.is_empty(), "by the conditions of a native run");
    let found = (0..4).filter(|&seed| !runs::simulated(&bank, options, seed).is_empty());
    assert!(found.count() > 0, "by those of a simulated run");
    // The client may act on what it has not found, and so run into an error.
    let differs = match compare(&bank, options.plant, under("silo").expect("a database")) {
        Ok([expected, found]) => expected != found,
        Err(_) => true,
    };
    assert!(differs, "by comparison");
}

#[test]
fn a_release_before_the_writes_is_found() {
    let options = ToyOptions { plant: Some(Plant::ReleasesEarly), ..VERIFIED };
    for workload in common::workloads() {
        let found = (0..8).filter(|&seed| !runs::simulated(&workload, options, seed).is_empty());
        assert!(found.count() > 0, "{workload:?}");
    }
}
