//! What a simulated record costs the host: a database of twenty million of them has to fit into 8 GiB.
//! A test of its own process, since it looks at the memory of all of it.

use chiliad_driver::{Length, Plan, SimulatedPlan, open_simulated, resident_bytes, run_simulated};
use chiliad_engine::{Options, names};
use chiliad_simulator::{Config, Sim};
use chiliad_workload::WorkloadOptions;
use chiliad_workload::ycsb::YcsbOptions;
use std::time::Duration;

const RECORDS: u64 = 100_000;
const RECORD_BYTES: usize = 1000;
/// 8 GiB for twenty million.
const HOST_BYTES_MAX: u64 = (8 << 30) / 20_000_000;

/// The most memory that the process ever had, in bytes.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kilobytes = line.split_whitespace().nth(1).expect("a number");
    kilobytes.parse::<u64>().expect("a number") << 10
}

fn plan() -> Plan {
    Plan::new(4, Length::Transactions(40), Duration::from_micros(500))
}

/// Loads and runs, and returns the bytes that the simulated machine has handed out.
fn run(records: u64, checked: bool) -> u64 {
    let ycsb =
        YcsbOptions { records, record_bytes: RECORD_BYTES, hash: true, ..YcsbOptions::default() };
    let info = names::all::<Sim>().into_iter().find(|info| info.name == "silo").expect("a scheme");
    let options = Options { kept_payload: Some(16), ..Options::default() };
    let config = Config { checked, region_bytes: 64 << 30, ..Config::new(1) };
    let plan = SimulatedPlan { plan: plan(), config };
    let report =
        run_simulated(&plan, || open_simulated(&info, &WorkloadOptions::Ycsb(ycsb), options));
    let report = report.expect("a run");
    assert!(report.outcome.verdict.is_completed(), "{}", report.outcome.verdict);
    assert_eq!(report.tally.committed(), 40);
    assert!(report.outcome.counters.hole_lines > 40 * 16);
    report.outcome.memory_bytes
}

#[test]
fn a_record_costs_the_host_a_fraction_of_its_size() {
    // Whatever is there once, however many records there are.
    run(1000, true);
    for checked in [false, true] {
        let before = resident_bytes();
        let simulated = run(RECORDS, checked);
        let host = peak_bytes() - before;
        assert!(simulated > RECORDS * RECORD_BYTES as u64, "{simulated} bytes are simulated");
        assert!(host < RECORDS * HOST_BYTES_MAX, "{host} bytes of the host for {RECORDS} records");
    }
}
