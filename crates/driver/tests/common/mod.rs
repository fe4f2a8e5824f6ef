//! Runs of every workload on a database that the drivers do not know by name, verified.

use chiliad_checker::Recorder;
use chiliad_driver::{
    Failure, Judgement, Length, NativeTarget, NoProgress, Plan, Recording, Retry, SimulatedPlan,
    Tally, Target, judge, load_simulated, run_loaded, run_native,
};
use chiliad_simulator::{Config, MemoryModel, Schedule};
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::micro::{BankOptions, ByColumnOptions, CountersOptions, InsertDeleteOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::sql::tpcb::TpcbOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::tpce::TpceOptions;
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
        WorkloadOptions::Bidding(BiddingOptions::micro()),
        WorkloadOptions::Tpce(TpceOptions::micro()),
        WorkloadOptions::TpcbSql(TpcbOptions::micro()),
        WorkloadOptions::TpccSql(TpccOptions::micro()),
        insert_delete(false),
        insert_delete(true),
        WorkloadOptions::Bank(BankOptions::default()),
        WorkloadOptions::Counters(CountersOptions::default()),
        WorkloadOptions::ByColumn(ByColumnOptions::default()),
    ]
}

/// Whether the engine has a bug that was planted: where the state is one that never should be, a request may be refused
/// for ever, and is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sound,
    Planted,
}

impl Engine {
    fn plan(self, seed: u64, clients: usize, interleave: usize, transactions: u64) -> Plan {
        Plan {
            interleave,
            seed,
            retry: if self == Self::Planted { Retry::New } else { Retry::Same },
            recording: Some(Recording { memory_bytes_max: 1 << 30 }),
            conditions: true,
            ..Plan::new(clients, Length::Transactions(transactions), Duration::from_micros(500))
        }
    }

    /// Whether all that a run was to do has been done and recorded.
    fn check_complete(self, tally: &Tally, complete: bool, transactions: u64) {
        let ended = tally.committed() + tally.rolled_back();
        assert!(complete && (ended == transactions || self == Self::Planted), "{ended} ended");
    }

    /// Runs the workload of `target` on threads with so many transactions in flight on each, and says what is wrong.
    pub fn natively(self, target: &NativeTarget, in_flight: usize) -> Vec<String> {
        const TRANSACTIONS: u64 = 4_000;
        let plan = self.plan(1, 4, in_flight, TRANSACTIONS);
        let report = match run_native(&**target, &plan, &NoProgress) {
            Ok(report) => report,
            Err(failure) => return vec![failure.to_string()],
        };
        self.check_complete(&report.tally, report.complete, TRANSACTIONS);
        let mut faults = report.differences;
        let conditions = report.conditions.expect("the plan asks for them");
        faults.extend(broken(&judgement(&**target), report.recorders, conditions));
        faults
    }

    /// Runs what `open` has opened on simulated cores in the schedule of `seed`, and says what is wrong.
    pub fn simulated(
        self,
        seed: u64,
        open: impl FnOnce() -> Result<Box<dyn Target>, Failure>,
    ) -> Vec<String> {
        let in_flight = if seed % 3 == 2 { 2 } else { 1 };
        let cores = 3 + (seed % 3) as usize;
        let transactions = 24 * (cores * in_flight) as u64;
        let plan = self.plan(seed, cores, in_flight, transactions);
        let config = Config {
            schedule: match seed / 2 % 2 {
                0 => Schedule::Random,
                _ => Schedule::few_preemptions(),
            },
            memory_model: if seed.is_multiple_of(2) { MemoryModel::Sc } else { MemoryModel::Tso },
            ..Config::new(seed)
        };
        let plan = SimulatedPlan { plan, config };
        let loaded = load_simulated(&plan, open).expect("rows");
        let judgement = judgement(loaded.target());
        let report = run_loaded(loaded, &plan).expect("a run");
        let verdict = &report.outcome.verdict;
        let mut faults: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
        if !verdict.is_completed() {
            faults.push(verdict.to_string());
            return faults;
        }
        if faults.is_empty() {
            self.check_complete(&report.tally, report.complete, transactions);
        }
        faults.extend(report.differences);
        // None where a core was cut off in the middle of something.
        let conditions = report.conditions.unwrap_or_default();
        faults.extend(broken(&judgement, report.recorders, conditions));
        faults
    }
}

fn judgement(target: &dyn Target) -> Judgement {
    Judgement::new(target, true).expect("an isolation that the checker knows")
}

/// Describes every promise that the engine broke in a finished run; empty if it kept all.
fn broken(
    judgement: &Judgement,
    recorders: Vec<Recorder>,
    conditions: Vec<Condition>,
) -> Vec<String> {
    let verdict = judge(judgement, recorders).expect("a history");
    let mut faults: Vec<String> =
        verdict.anomalies.iter().filter(|it| it.violation).map(ToString::to_string).collect();
    assert_eq!(faults.is_empty(), verdict.passed(), "{verdict:?}");
    faults.extend(conditions.into_iter().filter_map(|condition| condition.failure));
    faults
}
