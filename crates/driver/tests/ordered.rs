//! Graphs of tasks on simulated task units, as a run with a window: what commits is what the same requests leave one after
//! another.

use chiliad_driver::{Length, Plan, SimulatedPlan, SimulatedReport, run_ordered, timed};
use chiliad_simulator::description::Description;
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::{WorkloadOptions, tpcc};
use std::time::Duration;

/// A run that is compared, on so many cores of the chip of Yan (2015, Table 5.1).
fn run(workload: &WorkloadOptions, cores: usize, length: Length, warmup: u64) -> SimulatedReport {
    let mut plan = Plan::new(cores, length, Duration::from_millis(1));
    plan.warmup = Duration::from_micros(warmup);
    plan.conditions = true;
    let config = timed::config(Description::tiled(4), 3);
    let report = run_ordered(workload, &SimulatedPlan { plan, config }).expect("a run");
    assert!(report.outcome.verdict.is_completed(), "{}", report.outcome.verdict);
    assert_eq!(report.differences, [""; 0]);
    let conditions = report.conditions.as_ref().expect("asked for");
    assert!(conditions.iter().all(|it| it.failure.is_none()));
    report
}

fn ended(report: &SimulatedReport) -> u64 {
    report.tally.kinds.iter().map(|it| it.committed + it.rolled_back).sum()
}

fn tpcc() -> WorkloadOptions {
    WorkloadOptions::Tpcc(TpccOptions { mix: tpcc::Mix::Np, ..TpccOptions::micro() })
}

#[test]
fn so_many_transactions_are_counted_after_the_warm_up() {
    let whole = run(&tpcc(), 16, Length::Transactions(120), 0);
    assert_eq!(ended(&whole), 120);
    let passed: Vec<u64> = whole.outcome.passed.iter().map(|it| it.timestamp).collect();
    assert!(passed.len() > 10 && passed.is_sorted(), "{passed:?}");
    assert!(whole.ticks <= whole.outcome.timings.expect("timed").cycles);
    let later = run(&tpcc(), 16, Length::Transactions(120), 20);
    assert_eq!(ended(&later), 120);
    let all = later.outcome.timings.expect("timed").cycles;
    assert!(later.ticks + 20_000 <= all, "{} of {all}", later.ticks);
}

#[test]
fn a_window_of_time_is_full() {
    let bidding = WorkloadOptions::Bidding(BiddingOptions::micro());
    let short = run(&bidding, 8, Length::Time(Duration::from_micros(20)), 10);
    let long = run(&bidding, 8, Length::Time(Duration::from_micros(60)), 10);
    assert_eq!(long.ticks, 3 * short.ticks);
    assert!(ended(&long) > 2 * ended(&short), "{} and {}", ended(&long), ended(&short));
}
