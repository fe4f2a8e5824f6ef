//! A run in which nobody commits for longer than allowed ends early, and says so.

use chiliad_driver::{
    Idle, Length, NoProgress, Plan, SimulatedPlan, open_native, open_simulated, run_native,
    run_simulated, schemes,
};
use chiliad_engine::Options;
use chiliad_simulator::Config;
use chiliad_workload::WorkloadOptions;
use chiliad_workload::ycsb::YcsbOptions;
use std::time::Duration;

fn plan(length: Duration, idle_max: Duration) -> Plan {
    let mut plan = Plan::new(3, Length::Transactions(1), Duration::from_micros(50));
    plan.watched(length, idle_max);
    plan
}

/// Simulated for so many events, with so many without a commit allowed.
fn simulated(events: u64, idle_max: u64) -> (Idle, u64, u64) {
    let plan = plan(Duration::from_micros(events), Duration::from_micros(idle_max));
    let plan = SimulatedPlan { plan, config: Config::new(1) };
    let info = &schemes()[0];
    let workload = WorkloadOptions::Ycsb(YcsbOptions::micro());
    let report = run_simulated(&plan, || open_simulated(info, &workload, Options::default()));
    let report = report.expect("a run");
    assert!(report.outcome.verdict.is_completed(), "{}", report.outcome.verdict);
    (report.idle, report.ticks, report.tally.committed())
}

#[test]
fn a_simulated_run_is_watched() {
    let (idle, ticks, committed) = simulated(100_000, 1_000_000);
    assert!(!idle.exceeded && committed > 100);
    assert!((10..ticks).contains(&idle.longest), "{idle:?} of {ticks}");
    assert!(ticks >= 100_000);
    // Somebody is always late by so much.
    let limit = idle.longest / 2;
    let (short, ticks, _) = simulated(1_000_000_000, limit);
    assert!(short.exceeded && short.longest > limit, "{short:?}");
    assert!(ticks < 1_000_000_000, "it has ended early");
}

#[test]
fn a_native_run_goes_on_until_somebody_commits() {
    let workload = WorkloadOptions::Ycsb(YcsbOptions::micro());
    let target = open_native(&schemes()[0], &workload, Options::default(), None).expect("open");
    let plan = plan(Duration::from_millis(20), Duration::from_secs(600));
    let report = run_native(&*target, &plan, &NoProgress).expect("a run");
    assert!(!report.idle.exceeded && report.tally.committed() > 0);
    assert!(report.idle.longest > 0 && report.idle.longest < 600_000_000_000, "{:?}", report.idle);
}
