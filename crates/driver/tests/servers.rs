//! Servers that share a log, under every workload: natively and simulated, over a log that fails.

mod common;

use chiliad_driver::{
    Certifier, ClusterOptions, Group, Length, NativeTarget, NoProgress, Opening, Others, Plan,
    Premeld, Role, RollOptions, load_native, open_native, open_on_log, open_simulated, run_native,
    schemes, shares_log,
};
use chiliad_engine::{Info, Intent, Options, Result, Store, TableSpec};
use chiliad_hyder::{Cluster, ServerOptions};
use chiliad_machine::Interleaved;
use chiliad_machine::shared_log::SharedLog;
use chiliad_shared_log::MemoryLog;
use chiliad_simulator::{FaultyLog, LogFaults};
use chiliad_workload::WorkloadOptions;
use common::{Engine, workloads};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Simulated runs of each workload.
const SEEDS: u64 = 12;

fn scheme() -> &'static Info {
    schemes().iter().find(|info| shares_log(info)).expect("one that shares a log")
}

/// The ways of rolling forward, in turn.
fn roll(seed: u64) -> RollOptions {
    let plain = RollOptions::default();
    let group = if seed.is_multiple_of(2) { Group::Exact } else { Group::Off };
    let meld = |premeld| RollOptions { certifier: Certifier::Meld, premeld, group, ..plain };
    match seed % 5 {
        0 => plain,
        1 => meld(Premeld::Off),
        2 => meld(Premeld::Newest),
        3 => meld(Premeld::Fixed { threads: 1 + (seed % 3) as u32, distance: 2 }),
        _ => RollOptions { certifier: Certifier::Window, ..plain },
    }
}

fn opening(servers: usize, seed: u64, log_fails_one_in: u64) -> Opening {
    let cluster =
        ClusterOptions { servers, roll: roll(seed), log_fails_one_in, ..Default::default() };
    Opening { engine: Options { verify: true, ..Options::default() }, cluster }
}

fn natively(workload: &WorkloadOptions, servers: usize, ways: u64) -> NativeTarget {
    open_native(scheme(), workload, opening(servers, ways, 0), None).expect("servers")
}

fn simulated(workload: &WorkloadOptions, opening: Opening, seed: u64) -> Vec<String> {
    Engine::Sound.simulated(seed, || open_simulated(scheme(), workload, opening))
}

#[test]
fn every_workload_runs_on_threads() {
    for workload in workloads() {
        for (servers, in_flight, ways) in [(1, 1, 0), (1, 3, 1), (3, 2, 2), (2, 2, 3), (1, 1, 4)] {
            let target = natively(&workload, servers, ways);
            assert_eq!(target.info().strict, servers == 1, "reads of several are not");
            let faults = Engine::Sound.natively(&target, in_flight);
            assert_eq!(faults, Vec::<String>::new(), "{workload:?} on {servers}");
        }
    }
}

#[test]
fn every_workload_runs_on_simulated_cores() {
    for workload in workloads() {
        for seed in 0..SEEDS {
            let opening = opening(1 + seed as usize % 3, seed, 0);
            let faults = simulated(&workload, opening, seed);
            assert_eq!(faults, Vec::<String>::new(), "{workload:?}, seed {seed}");
        }
    }
}

#[test]
fn a_log_that_fails_is_borne() {
    for workload in workloads() {
        for seed in 0..SEEDS {
            let opening = opening(1 + seed as usize % 4, seed, 20);
            let faults = simulated(&workload, opening, seed);
            assert_eq!(faults, Vec::<String>::new(), "{workload:?}, seed {seed}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let workload = &workloads()[1];
    for opening in [opening(0, 0, 0), opening(65, 0, 0), opening(1, 0, 20)] {
        let refused = open_native(scheme(), workload, opening.clone(), None).map(|_| ());
        assert!(refused.is_err(), "{opening:?}");
    }
}

/// What is found where two rows were inserted, one after the other or both at once, and the second server is shown
/// the two records in the other order.
fn found_in_other_order(at_once: bool) -> Result<Vec<String>> {
    let log = FaultyLog::new(1, LogFaults::default());
    let logs = [0, 1].map(|server| log.server(server));
    let cluster = Cluster::<Interleaved>::join(&logs, &ServerOptions::default())?;
    let table = cluster.create_table(TableSpec::ordered("rows"))?;
    let server = &cluster.servers()[0];
    let (mut first, mut second) = (server.session()?, server.session()?);
    first.start(&Intent::default())?;
    first.insert(table, b"one", b"1")?;
    if at_once {
        second.start(&Intent::default())?;
    }
    first.commit()?;
    if !at_once {
        second.start(&Intent::default())?;
    }
    second.insert(table, b"other", b"2")?;
    second.commit()?;
    let records = log.contents();
    let [.., (at, one), (after, other)] = &records[..] else { panic!("{records:?}") };
    log.deceive(1, *at, other);
    log.deceive(1, *after, one);
    cluster.audit()
}

#[test]
fn servers_that_differ_are_told() {
    let differ = |found: &[String], what: &str| found.iter().any(|it| it.contains(what));
    let found = found_in_other_order(false).expect("an answer");
    // The second server has noticed by the heads of the records, and stops.
    assert!(differ(&found, "differ in state"), "{found:?}");
    // Both commit everywhere, at other labels: the verdicts are the same, the digests of what was decided are not.
    let found = found_in_other_order(true).expect("an answer");
    let told = ["differ in state", "the verdicts up to label"];
    assert!(told.into_iter().any(|what| differ(&found, what)), "{found:?}");
}

/// Servers of one log that know nothing of each other, each with its clients, as in processes of their own.
#[test]
fn servers_run_apart_and_have_the_same() {
    for workload in workloads() {
        let log: Arc<dyn SharedLog> = Arc::new(MemoryLog::new());
        let opening = opening(3, 0, 0);
        let open = |role| open_on_log(&workload, &opening, &log, role);
        let first = open(Role::First).expect("a server");
        assert!(!first.info().strict, "there are others");
        let plan = |part: usize| Plan {
            load: false,
            others: Others { before: part, after: 2 - part },
            ..Plan::new(1, Length::Transactions(900), Duration::from_millis(1))
        };
        load_native(&*first, &plan(0), &NoProgress).expect("loaded");
        let others = [open(Role::Other), open(Role::Other)].map(|it| it.expect("a server"));
        let [one, other] = others;
        let servers = [first, one, other];
        let run = |(part, server): (usize, &NativeTarget)| {
            let report = run_native(&**server, &plan(part), &NoProgress).expect("a report");
            report.tally.committed() + report.tally.rolled_back()
        };
        let run = &run;
        let committed: u64 = thread::scope(|scope| {
            let parts: Vec<_> =
                servers.iter().enumerate().map(|it| scope.spawn(move || run(it))).collect();
            parts.into_iter().map(|part| part.join().expect("no panic")).sum()
        });
        assert_eq!(committed, 900, "{workload:?}");
        let prints = servers.each_ref().map(|it| it.fingerprint().expect("read").expect("one"));
        assert!(prints.iter().all(|print| *print == prints[0]), "{prints:?}");
        let refused = open(Role::First).err().expect("it has rows").to_string();
        assert!(refused.contains("holds a database"), "{refused}");
    }
}

#[test]
fn appends_take_as_long_as_was_asked_for() {
    let workload = &workloads()[1];
    let delay = Duration::from_millis(20);
    let mut opening = opening(1, 0, 0);
    opening.cluster.append_latency = delay;
    let log: Arc<dyn SharedLog> = Arc::new(MemoryLog::new());
    let opened: [&dyn Fn(); 2] = [
        &|| drop(open_native(scheme(), workload, opening.clone(), None).expect("servers")),
        &|| drop(open_on_log(workload, &opening, &log, Role::All).expect("servers")),
    ];
    for open in opened {
        let begun = Instant::now();
        open();
        // It joins, at least.
        assert!(begun.elapsed() >= delay);
    }
}
