//! What rows are estimated to take is about what is resident when they are there. One test, since all of a process
//! is looked at.
#![cfg(not(miri))]

use chiliad_driver::{
    Backoff, Length, NoProgress, Plan, open_native, resident_bytes, run_native, schemes,
};
use chiliad_engine::Options;
use chiliad_workload::WorkloadOptions;
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::micro::BankOptions;
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::{Scale, TpccOptions};
use chiliad_workload::tpce::TpceOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;
use std::time::Duration;

/// Memory that does not depend on rows: a worker's, and chunks that have been begun.
const BESIDES: u64 = 16 << 20;

#[test]
fn estimates_are_near_what_is_resident() {
    let ycsb = |records, record_bytes, hash| {
        WorkloadOptions::Ycsb(YcsbOptions { records, record_bytes, hash, ..YcsbOptions::default() })
    };
    let bank = BankOptions { accounts: 40_000, cards: 40_004, ..BankOptions::default() };
    let tpcc = TpccOptions { scale: Scale::Small, warehouses: 2, ..TpccOptions::default() };
    // Kept: what one has given back would not show in the next one.
    let mut databases = Vec::new();
    for workload in [
        ycsb(70_000, 100, false),
        ycsb(70_000, 100, true),
        ycsb(7_000, 2000, false),
        WorkloadOptions::Bank(bank),
        WorkloadOptions::Smallbank(SmallbankOptions { accounts: 60_000, ..Default::default() }),
        WorkloadOptions::Tatp(TatpOptions { subscribers: 16_000, ..Default::default() }),
        WorkloadOptions::Txbench(TxbenchOptions { rows: 2_500, ..Default::default() }),
        WorkloadOptions::Bidding(BiddingOptions { users: 90_000, products: 90_000, partitions: 1 }),
        WorkloadOptions::Tpce(TpceOptions { trade_days: 1, ..Default::default() }),
        WorkloadOptions::Tpcc(tpcc),
    ] {
        let before = resident_bytes();
        let database = open_native(&schemes()[0], &workload, Options::default(), None);
        let database = database.expect("opened");
        let report = run_native(&*database, &one_transaction(), &NoProgress).expect("loaded");
        let resident = report.memory_bytes.saturating_sub(before);
        let estimate = workload.memory(None).bytes;
        let told = format!("{workload:?}: estimated {estimate}, resident {resident} more");
        assert!(estimate <= 2 * resident, "{told}");
        assert!(resident <= estimate + estimate / 2 + BESIDES, "{told}");
        databases.push(database);
    }
}

fn one_transaction() -> Plan {
    Plan {
        backoff: Backoff::None,
        ..Plan::new(1, Length::Transactions(1), Duration::from_millis(40))
    }
}
