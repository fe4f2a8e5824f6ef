//! Every workload there is, each with its options.

use crate::AnyWorkload;
use crate::bidding::{Bidding, BiddingOptions};
use crate::memory::Estimate;
use crate::micro::{
    Bank, BankOptions, ByColumn, ByColumnOptions, Counters, CountersOptions, InsertDelete,
    InsertDeleteOptions,
};
use crate::smallbank::{Smallbank, SmallbankOptions};
use crate::sql::tpcb::{TpcbOptions, TpcbSql};
use crate::tatp::{Tatp, TatpOptions};
use crate::tpcc::sql::TpccSql;
use crate::tpcc::{Tpcc, TpccOptions};
use crate::tpce::{Tpce, TpceOptions};
use crate::txbench::{Txbench, TxbenchOptions};
use crate::ycsb::{Ycsb, YcsbOptions};
use chiliad_api::{Error, Result};
use std::sync::Arc;

/// A workload with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadOptions {
    /// TPC-C.
    Tpcc(TpccOptions),
    /// YCSB.
    Ycsb(YcsbOptions),
    /// SmallBank.
    Smallbank(SmallbankOptions),
    /// TATP.
    Tatp(TatpOptions),
    /// TxBench.
    Txbench(TxbenchOptions),
    /// Bidding.
    Bidding(BiddingOptions),
    /// TPC-E.
    Tpce(TpceOptions),
    /// TPC-B, in SQL.
    TpcbSql(TpcbOptions),
    /// TPC-C, in SQL.
    TpccSql(TpccOptions),
    /// Rows that come and go.
    InsertDelete(InsertDeleteOptions),
    /// Accounts with secondary indexes.
    Bank(BankOptions),
    /// Numbers that are added to.
    Counters(CountersOptions),
    /// Rows of which one column is looked at.
    ByColumn(ByColumnOptions),
}

impl WorkloadOptions {
    /// Whether some of its requests may wait for the client that owns their partition.
    #[must_use]
    pub fn defers(&self) -> bool {
        matches!(self, Self::Tpcc(_) | Self::TpccSql(_))
    }

    /// The workload itself.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] says which option is out of its range.
    pub fn make(&self) -> Result<Arc<dyn AnyWorkload>> {
        Ok(match self {
            Self::Tpcc(tpcc) => Arc::new(valid(Tpcc::new(tpcc.clone()))?),
            Self::Ycsb(ycsb) => Arc::new(valid(Ycsb::new(ycsb.clone()))?),
            Self::Smallbank(bank) => Arc::new(valid(Smallbank::new(bank.clone()))?),
            Self::Tatp(tatp) => Arc::new(valid(Tatp::new(tatp.clone()))?),
            Self::Txbench(txbench) => Arc::new(valid(Txbench::new(txbench.clone()))?),
            Self::Bidding(bidding) => Arc::new(valid(Bidding::new(bidding.clone()))?),
            Self::Tpce(tpce) => Arc::new(valid(Tpce::new(tpce.clone()))?),
            Self::TpcbSql(tpcb) => Arc::new(valid(TpcbSql::new(tpcb.clone()))?),
            Self::TpccSql(tpcc) => Arc::new(valid(TpccSql::new(tpcc.clone()))?),
            Self::InsertDelete(insert_delete) => {
                Arc::new(valid(InsertDelete::new(insert_delete.clone()))?)
            }
            Self::Bank(bank) => Arc::new(valid(Bank::new(bank.clone()))?),
            Self::Counters(counters) => Arc::new(valid(Counters::new(counters.clone()))?),
            Self::ByColumn(columns) => Arc::new(valid(ByColumn::new(columns.clone()))?),
        })
    }

    /// The names of its tables.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn tables(&self) -> Result<Vec<String>> {
        Ok(self.make()?.tables().into_iter().map(|spec| spec.name).collect())
    }

    /// These options with the parameters at their defaults that no row depends on: those of requests, and without
    /// `partitioned` the number of partitions where rows do not know it. Options of which this is equal have equal
    /// rows.
    #[must_use]
    pub fn rows(&self, partitioned: bool) -> Self {
        match self.clone() {
            Self::Ycsb(mut ycsb) => {
                let YcsbOptions { ops, read_ratio, rmw, theta, .. } = YcsbOptions::default();
                let YcsbOptions { multi_partition, parts_per_txn, partitions, .. } =
                    YcsbOptions::default();
                let partitions = if partitioned { ycsb.partitions } else { partitions };
                ycsb = YcsbOptions { ops, read_ratio, rmw, theta, partitions, ..ycsb };
                Self::Ycsb(YcsbOptions { multi_partition, parts_per_txn, ..ycsb })
            }
            Self::Tpcc(tpcc) => Self::Tpcc(rows_of_tpcc(tpcc)),
            Self::TpccSql(tpcc) => Self::TpccSql(rows_of_tpcc(tpcc)),
            Self::Smallbank(bank) => {
                let SmallbankOptions { multi_partition, .. } = SmallbankOptions::default();
                Self::Smallbank(SmallbankOptions { multi_partition, ..bank })
            }
            Self::Tatp(tatp) => {
                let TatpOptions { mix, .. } = TatpOptions::default();
                Self::Tatp(TatpOptions { mix, ..tatp })
            }
            Self::Txbench(txbench) => {
                let TxbenchOptions { rows_read, updates, hotspot, .. } = TxbenchOptions::default();
                Self::Txbench(TxbenchOptions { rows_read, updates, hotspot, ..txbench })
            }
            Self::Tpce(tpce) => {
                let TpceOptions { mix, .. } = TpceOptions::default();
                Self::Tpce(TpceOptions { mix, ..tpce })
            }
            Self::TpcbSql(tpcb) => Self::TpcbSql(TpcbOptions { snapshot_reads: false, ..tpcb }),
            other @ (Self::Bidding(_)
            | Self::InsertDelete(_)
            | Self::Bank(_)
            | Self::Counters(_)
            | Self::ByColumn(_)) => other,
        }
    }

    /// The partitions that a database for it has.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        match self {
            Self::Tpcc(tpcc) | Self::TpccSql(tpcc) => tpcc.warehouses,
            Self::Ycsb(ycsb) => ycsb.partitions,
            Self::Smallbank(bank) => bank.partitions,
            Self::Tatp(tatp) => tatp.partitions,
            Self::Txbench(txbench) => txbench.partitions,
            Self::Bidding(bidding) => bidding.partitions,
            Self::Tpce(tpce) => tpce.partitions,
            Self::TpcbSql(tpcb) => tpcb.branches,
            Self::InsertDelete(_) | Self::Bank(_) | Self::Counters(_) | Self::ByColumn(_) => 1,
        }
    }

    /// Whether some of its transactions read snapshots of the past.
    #[must_use]
    pub fn reads_snapshots(&self) -> bool {
        match self {
            Self::Tpcc(tpcc) | Self::TpccSql(tpcc) => tpcc.snapshot_reads,
            Self::Ycsb(ycsb) => ycsb.snapshot_reads,
            Self::Smallbank(bank) => bank.snapshot_reads,
            Self::Tatp(tatp) => tatp.snapshot_reads,
            Self::Txbench(txbench) => txbench.snapshot_reads,
            Self::Bidding(_) => false,
            Self::Tpce(tpce) => tpce.snapshot_reads,
            Self::TpcbSql(tpcb) => tpcb.snapshot_reads,
            Self::InsertDelete(insert_delete) => insert_delete.snapshot_reads,
            Self::Bank(bank) => bank.snapshot_reads,
            Self::Counters(counters) => counters.snapshot_reads,
            Self::ByColumn(columns) => columns.snapshot_reads,
        }
    }

    /// About what its rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        match self {
            Self::Tpcc(tpcc) => tpcc.memory(kept),
            Self::Ycsb(ycsb) => ycsb.memory(kept),
            Self::Smallbank(bank) => bank.memory(kept),
            Self::Tatp(tatp) => tatp.memory(kept),
            Self::Txbench(txbench) => txbench.memory(kept),
            Self::Bidding(bidding) => bidding.memory(kept),
            Self::Tpce(tpce) => tpce.memory(kept),
            Self::TpcbSql(tpcb) => tpcb.memory(kept),
            Self::TpccSql(tpcc) => tpcc.memory_in_sql(kept),
            Self::InsertDelete(insert_delete) => insert_delete.memory(kept),
            Self::Bank(bank) => bank.memory(kept),
            Self::Counters(counters) => counters.memory(kept),
            Self::ByColumn(columns) => columns.memory(kept),
        }
    }
}

/// These options, those of requests at their defaults.
fn rows_of_tpcc(options: TpccOptions) -> TpccOptions {
    let TpccOptions { mix, remote_item, .. } = TpccOptions::default();
    TpccOptions { mix, remote_item, ..options }
}

fn valid<W>(workload: std::result::Result<W, String>) -> Result<W> {
    workload.map_err(Error::InvalidOption)
}
