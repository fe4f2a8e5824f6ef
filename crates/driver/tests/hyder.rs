//! Servers that share a log, under every workload: natively and simulated, over a log that fails.

use chiliad_driver::{
    Judgement, Length, NoProgress, Plan, Recording, Retry, SimulatedPlan, Target, bind,
    bind_native, judge, load_simulated, run_loaded, run_native,
};
use chiliad_engine::{OpenedStore, Store};
use chiliad_hyder::{Certifier, Cluster, Group, Premeld, RollOptions, ServerOptions};
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Interleaved, Machine};
use chiliad_shared_log::MemoryLog;
use chiliad_simulator::{Config, FaultyLog, LogFaults, MemoryModel, Schedule, Sim};
use chiliad_workload::micro::{BankOptions, InsertDeleteOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;
use chiliad_workload::{Condition, WorkloadOptions};
use std::sync::Arc;
use std::time::Duration;

fn workloads() -> Vec<WorkloadOptions> {
    let hashed = YcsbOptions { hash: true, scan_ratio: 0.0, ..YcsbOptions::micro() };
    let insert_delete =
        |hash| WorkloadOptions::InsertDelete(InsertDeleteOptions { hash, ..Default::default() });
    vec![
        WorkloadOptions::Tpcc(TpccOptions::micro()),
        WorkloadOptions::Ycsb(YcsbOptions::micro()),
        WorkloadOptions::Ycsb(hashed),
        WorkloadOptions::Smallbank(SmallbankOptions::micro()),
        WorkloadOptions::Tatp(TatpOptions::micro()),
        WorkloadOptions::Txbench(TxbenchOptions::micro()),
        insert_delete(false),
        insert_delete(true),
        WorkloadOptions::Bank(BankOptions::default()),
    ]
}

fn plan(seed: u64, clients: usize, interleave: usize, transactions: u64) -> Plan {
    Plan {
        interleave,
        seed,
        retry: Retry::Same,
        recording: Some(Recording { memory_bytes_max: 1 << 30 }),
        conditions: true,
        ..Plan::new(clients, Length::Transactions(transactions), Duration::from_micros(500))
    }
}

/// The ways of rolling forward, in turn.
fn roll(seed: u64) -> RollOptions {
    let plain = RollOptions::default();
    let group = if seed % 2 == 0 { Group::Exact } else { Group::Off };
    let meld = |premeld| RollOptions { certifier: Certifier::Meld, premeld, group, ..plain };
    match seed % 5 {
        0 => plain,
        1 => meld(Premeld::Off),
        2 => meld(Premeld::Newest),
        3 => meld(Premeld::Fixed { threads: 1 + (seed % 3) as u32, distance: 2 }),
        _ => RollOptions { certifier: Certifier::Window, ..plain },
    }
}

fn open<M: Machine>(logs: &[Arc<dyn SharedLog>], roll: RollOptions) -> Cluster<M> {
    let options = ServerOptions { verify: true, roll, ..ServerOptions::default() };
    Cluster::join(logs, &options).expect("servers")
}

fn failed(conditions: Option<Vec<Condition>>) -> Vec<String> {
    // None: a core was cut off in the middle of something.
    let conditions = conditions.unwrap_or_default();
    conditions.into_iter().filter_map(|condition| condition.failure).collect()
}

#[test]
fn every_workload_runs_on_threads() {
    for workload in workloads() {
        for (servers, in_flight, ways) in [(1, 1, 0), (1, 3, 1), (3, 2, 2), (2, 2, 3), (1, 1, 4)] {
            let log: Arc<dyn SharedLog> = Arc::new(MemoryLog::new());
            let cluster = open::<Interleaved>(&vec![log; servers], roll(ways));
            let info = Store::info(&cluster);
            let opened = OpenedStore {
                store: Box::new(cluster) as Box<_>,
                log_tasks: Vec::new(),
                recovered: Default::default(),
            };
            let made = workload.make().expect("a workload");
            let target = bind_native(made, opened).expect("tables");
            let report = run_native(&*target, &plan(1, 4, in_flight, 4_000), &NoProgress);
            let report = report.expect("a run");
            let judgement = Judgement::new(&*target, &info, true).expect("an isolation");
            let verdict = judge(&judgement, report.recorders).expect("a history");
            assert!(verdict.passed(), "{workload:?} on {servers}: {:?}", verdict.anomalies);
            assert_eq!(failed(report.conditions), Vec::<String>::new(), "{workload:?}");
        }
    }
}

/// Runs a workload on simulated cores in the schedule of `seed`, and says what is wrong.
fn simulated(
    workload: &WorkloadOptions,
    servers: u32,
    seed: u64,
    faults: LogFaults,
) -> Vec<String> {
    let in_flight = if seed % 3 == 2 { 2 } else { 1 };
    let cores = 3 + (seed % 3) as usize;
    let transactions = 24 * (cores * in_flight) as u64;
    let plan = plan(seed, cores, in_flight, transactions);
    let config = Config {
        schedule: match seed / 2 % 2 {
            0 => Schedule::Random,
            _ => Schedule::few_preemptions(),
        },
        memory_model: if seed.is_multiple_of(2) { MemoryModel::Sc } else { MemoryModel::Tso },
        ..Config::new(seed)
    };
    let plan = SimulatedPlan { plan, config };
    let made = workload.make().expect("a workload");
    let log = FaultyLog::new(seed, LogFaults::default());
    let logs: Vec<_> = (0..servers).map(|server| log.server(server)).collect();
    let info = chiliad_engine::Info { strict: servers == 1, ..chiliad_hyder::INFO };
    let load = || {
        let store = Box::new(open::<Sim>(&logs, roll(seed)));
        let opened = OpenedStore {
            store: store as Box<dyn Store<Sim>>,
            log_tasks: Vec::new(),
            recovered: Default::default(),
        };
        bind(made, opened)
    };
    let loaded = load_simulated(&plan, load).expect("rows");
    log.set_faults(faults);
    let judgement = Judgement::new(loaded.target() as &dyn Target, &info, true).expect("known");
    let report = run_loaded(loaded, &plan).expect("a run");
    let verdict = &report.outcome.verdict;
    let mut faults: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    if !verdict.is_completed() {
        faults.push(verdict.to_string());
        return faults;
    }
    let verdict = judge(&judgement, report.recorders).expect("a history");
    let anomalies = verdict.anomalies.iter().filter(|it| it.violation);
    faults.extend(anomalies.map(ToString::to_string));
    faults.extend(failed(report.conditions));
    faults
}

#[test]
fn every_workload_runs_on_simulated_cores() {
    for workload in workloads() {
        for seed in 0..30 {
            let servers = 1 + seed as u32 % 3;
            let faults = simulated(&workload, servers, seed, LogFaults::default());
            assert_eq!(faults, Vec::<String>::new(), "{workload:?}, seed {seed}");
        }
    }
}

#[test]
fn a_log_that_fails_is_borne() {
    for workload in workloads() {
        for seed in 0..30 {
            let servers = 1 + seed as u32 % 4;
            let faults = simulated(&workload, servers, seed, LogFaults::all(20));
            assert_eq!(faults, Vec::<String>::new(), "{workload:?}, seed {seed}");
        }
    }
}
