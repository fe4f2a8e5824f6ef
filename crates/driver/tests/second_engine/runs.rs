//! The drivers' runs: every workload on the toy engine, natively and simulated, verified.

use crate::store::{INFO, ToyOptions, open, open_native};
use chiliad_checker::Recorder;
use chiliad_driver::{
    Judgement, Length, NoProgress, Plan, Recording, Retry, SimulatedPlan, Tally, Target, bind,
    bind_native, judge, load_simulated, run_loaded, run_native,
};
use chiliad_simulator::{Config, MemoryModel, Schedule, Sim};
use chiliad_workload::micro::{BankOptions, InsertDeleteOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;
use chiliad_workload::{Condition, WorkloadOptions};
use std::time::Duration;

/// Every workload, as small as it gets.
pub fn workloads() -> Vec<WorkloadOptions> {
    let hashed = YcsbOptions { hash: true, scan_ratio: 0.0, ..YcsbOptions::micro() };
    let insert_delete = |hash| {
        WorkloadOptions::InsertDelete(InsertDeleteOptions {
            hash,
            ..InsertDeleteOptions::default()
        })
    };
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

fn plan(
    options: ToyOptions,
    seed: u64,
    clients: usize,
    interleave: usize,
    transactions: u64,
) -> Plan {
    // Where the state is one that never should be, a request may be refused for ever.
    let retry = if options.plant.is_some() { Retry::New } else { Retry::Same };
    Plan {
        interleave,
        seed,
        retry,
        recording: Some(Recording { memory_bytes_max: 1 << 30 }),
        conditions: true,
        ..Plan::new(clients, Length::Transactions(transactions), Duration::from_micros(500))
    }
}

/// Describes every promise that the engine broke in a finished run; empty if it kept all.
fn faults(
    judgement: &Judgement,
    recorders: Vec<Recorder>,
    conditions: Option<Vec<Condition>>,
) -> Vec<String> {
    let verdict = judge(judgement, recorders).expect("a history");
    let mut faults: Vec<String> =
        verdict.anomalies.iter().filter(|it| it.violation).map(ToString::to_string).collect();
    assert_eq!(faults.is_empty(), verdict.passed(), "{verdict:?}");
    let conditions = conditions.expect("the plan asks for them");
    faults.extend(conditions.into_iter().filter_map(|condition| condition.failure));
    faults
}

fn judgement(target: &dyn Target) -> Judgement {
    Judgement::new(target, &INFO, true).expect("an isolation that the checker knows")
}

/// Whether all that a run was to do has been done and recorded.
fn check_complete(options: ToyOptions, tally: &Tally, complete: bool, transactions: u64) {
    let ended = tally.committed() + tally.rolled_back();
    assert!(complete && (ended == transactions || options.plant.is_some()), "{ended} ended");
}

/// Runs a workload on threads with so many transactions in flight on each, and says what is wrong.
pub fn natively(workload: &WorkloadOptions, options: ToyOptions, in_flight: usize) -> Vec<String> {
    const TRANSACTIONS: u64 = 4_000;
    let made = workload.make().expect("a workload");
    let target = bind_native(made, open_native(options)).expect("tables");
    let plan = plan(options, 1, 4, in_flight, TRANSACTIONS);
    let report = match run_native(&*target, &plan, &NoProgress) {
        Ok(report) => report,
        Err(failure) => return vec![failure.to_string()],
    };
    check_complete(options, &report.tally, report.complete, TRANSACTIONS);
    faults(&judgement(&*target), report.recorders, report.conditions)
}

/// Runs a workload on simulated cores in the schedule of `seed`, and says what is wrong.
pub fn simulated(workload: &WorkloadOptions, options: ToyOptions, seed: u64) -> Vec<String> {
    let in_flight = if seed % 3 == 2 { 2 } else { 1 };
    let cores = 3 + (seed % 3) as usize;
    let transactions = 24 * (cores * in_flight) as u64;
    let plan = plan(options, seed, cores, in_flight, transactions);
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
    let loaded = load_simulated(&plan, || bind(made, open::<Sim>(options))).expect("rows");
    let judgement = judgement(loaded.target());
    let report = run_loaded(loaded, &plan).expect("a run");
    let verdict = &report.outcome.verdict;
    let mut faults: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    if !verdict.is_completed() {
        faults.push(verdict.to_string());
        return faults;
    }
    if faults.is_empty() {
        check_complete(options, &report.tally, report.complete, transactions);
    }
    faults.extend(self::faults(&judgement, report.recorders, report.conditions));
    faults
}
