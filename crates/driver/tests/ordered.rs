//! Transactions as tasks on simulated task units, in runs with a window: what commits is what three oracles leave, and what
//! is told of the window is of the window.

use chiliad_driver::{
    Form, Length, OrderedOptions, Plan, SimulatedPlan, SimulatedReport, load_tasks, run_tasks,
    timed,
};
use chiliad_simulator::description::Description;
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::micro::BankOptions;
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::ycsb::YcsbOptions;
use chiliad_workload::{WorkloadOptions, tpcc};
use std::time::Duration;

/// A run that is compared, on so many cores of the chip of Yan (2015, Table 5.1).
fn run(workload: &WorkloadOptions, cores: usize, length: Length, warmup: u64) -> SimulatedReport {
    let mut plan = Plan::new(cores, length, Duration::from_millis(1));
    plan.warmup = Duration::from_micros(warmup);
    plan.conditions = true;
    let config = timed::config(Description::tiled(4), 3);
    let plan = SimulatedPlan { plan, config };
    let report = run_form(workload, &plan, None);
    assert!(report.outcome.verdict.is_completed(), "{}", report.outcome.verdict);
    assert_eq!(report.differences, [""; 0]);
    let conditions = report.conditions.as_ref().expect("asked for");
    assert!(conditions.iter().all(|it| it.failure.is_none()));
    report
}

fn run_form(
    workload: &WorkloadOptions,
    plan: &SimulatedPlan,
    form: Option<Form>,
) -> SimulatedReport {
    let load = || load_tasks(workload, plan);
    let options = OrderedOptions { form, ..OrderedOptions::default() };
    let report = run_tasks(load().expect("loaded"), workload, plan, &options, load);
    report.expect("a run")
}

/// Cycles between two updates of the global virtual time.
const UPDATE_CYCLES: u64 = 200;

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
    let cycles = whole.outcome.timings.expect("timed").cycles;
    // Virtual time passes the last of them at one of its updates, when the cores have ended.
    assert!(whole.ticks <= cycles + 2 * UPDATE_CYCLES, "{} of {cycles}", whole.ticks);
    let later = run(&tpcc(), 16, Length::Transactions(120), 20);
    assert_eq!(ended(&later), 120);
    let all = later.outcome.timings.expect("timed").cycles;
    assert!(later.ticks + 20_000 <= all + 2 * UPDATE_CYCLES, "{} of {all}", later.ticks);
}

#[test]
fn a_window_of_time_is_full() {
    let bidding = WorkloadOptions::Bidding(BiddingOptions::micro());
    let short = run(&bidding, 8, Length::Time(Duration::from_micros(20)), 10);
    let long = run(&bidding, 8, Length::Time(Duration::from_micros(60)), 10);
    assert_eq!(long.ticks, 3 * short.ticks);
    assert!(ended(&long) > 2 * ended(&short), "{} and {}", ended(&long), ended(&short));
    for report in [short, long] {
        let time = report.outcome.core_time.expect("timed");
        // The edges of the window are updates of the global virtual time, and what crosses them is booked on one side.
        let whole = 8 * report.ticks;
        assert!(time.total().abs_diff(whole) < whole / 3, "{time:?} of {whole}");
        let latency = report.tally.latency_ns();
        assert_eq!(latency.len(), ended(&report));
        assert!(latency.max() < 70_000, "{} ns", latency.max());
    }
}

#[test]
fn any_workload_runs_with_a_task_for_each_transaction() {
    for workload in [
        WorkloadOptions::Tpcc(TpccOptions::micro()),
        WorkloadOptions::Ycsb(YcsbOptions::micro()),
        WorkloadOptions::Smallbank(SmallbankOptions::micro()),
        WorkloadOptions::Bank(BankOptions::default()),
    ] {
        let mut plan = Plan::new(8, Length::Transactions(80), Duration::from_millis(1));
        plan.conditions = true;
        let plan = SimulatedPlan { plan, config: timed::config(Description::tiled(4), 7) };
        let report = run_form(&workload, &plan, Some(Form::One));
        assert!(report.outcome.verdict.is_completed(), "{}", report.outcome.verdict);
        assert_eq!(report.differences, [""; 0], "{workload:?}");
        assert_eq!(ended(&report), 80, "{workload:?}");
        let tasks = report.outcome.tasks.expect("a run of tasks");
        assert!(tasks.committed >= 80 && tasks.aborted[0] > 0, "{workload:?}: {tasks:?}");
    }
}
