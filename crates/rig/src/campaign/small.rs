//! Workloads in a size for rigs whose databases crash.

use chiliad_workload::WorkloadOptions;
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::micro::{BankOptions, ByColumnOptions, CountersOptions, InsertDeleteOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::sql::tpcb::TpcbOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::TpccOptions;
use chiliad_workload::tpce::TpceOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;

/// The workload of this name in a size for simulation, with the partitions that it is divided into.
pub fn small(workload: &str) -> (WorkloadOptions, u32) {
    match workload {
        "tpcc" => {
            let options = TpccOptions::micro();
            let partitions = options.warehouses;
            (WorkloadOptions::Tpcc(options), partitions)
        }
        "ycsb" => (WorkloadOptions::Ycsb(YcsbOptions::micro()), 1),
        "smallbank" => {
            let options = SmallbankOptions { partitions: 2, ..SmallbankOptions::micro() };
            let partitions = options.partitions;
            (WorkloadOptions::Smallbank(options), partitions)
        }
        "tatp" => {
            let options = TatpOptions { partitions: 2, ..TatpOptions::micro() };
            let partitions = options.partitions;
            (WorkloadOptions::Tatp(options), partitions)
        }
        "txbench" => {
            let options = TxbenchOptions { partitions: 2, ..TxbenchOptions::micro() };
            let partitions = options.partitions;
            (WorkloadOptions::Txbench(options), partitions)
        }
        "bidding" => {
            let options = BiddingOptions { partitions: 2, ..BiddingOptions::micro() };
            let partitions = options.partitions;
            (WorkloadOptions::Bidding(options), partitions)
        }
        "tpce" => {
            let options = TpceOptions { partitions: 2, ..TpceOptions::micro() };
            let partitions = options.partitions;
            (WorkloadOptions::Tpce(options), partitions)
        }
        "tpcc-sql" => {
            let options = TpccOptions::micro();
            let partitions = options.warehouses;
            (WorkloadOptions::TpccSql(options), partitions)
        }
        "tpcb-sql" => {
            let options = TpcbOptions::micro();
            let partitions = options.branches;
            (WorkloadOptions::TpcbSql(options), partitions)
        }
        "scan" => (WorkloadOptions::InsertDelete(InsertDeleteOptions::default()), 1),
        "hash" => {
            let options = InsertDeleteOptions { hash: true, ..InsertDeleteOptions::default() };
            (WorkloadOptions::InsertDelete(options), 1)
        }
        "counters" => (WorkloadOptions::Counters(CountersOptions::default()), 1),
        "columns" => (WorkloadOptions::ByColumn(ByColumnOptions::default()), 1),
        _ => (WorkloadOptions::Bank(BankOptions::default()), 1),
    }
}
