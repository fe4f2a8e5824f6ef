//! The flags of each workload.

use super::values;
use clap::{Args, ValueEnum};

/// `ycsb`.
#[derive(Args)]
pub struct YcsbFlags {
    /// How large tables are: as asked for, or a handful of rows for simulated runs.
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<ScaleFlag>,
    /// Rows of the table, 1 to 4000000000 [default: 1000000; at micro scale 64].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 4_000_000_000))]
    pub records: Option<u64>,
    /// Bytes of a row's value, 16 to 65536 [default: 100; at micro scale 24].
    #[arg(long, value_name = "BYTES", value_parser = |s: &str| values::count(s, 16, 65_536))]
    pub record_bytes: Option<usize>,
    /// Accesses per transaction, 1 to 1024, to distinct rows [default: 16; at micro scale 4].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 1024))]
    pub ops: Option<usize>,
    /// Accesses that read, in percent; the others write.
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = values::percent)]
    pub read_ratio: f64,
    /// Writes read the row first and modify it.
    #[arg(long)]
    pub rmw: bool,
    /// Skew of the Zipfian choice of rows, 0 (none) to 2.
    #[arg(long, value_name = "THETA", default_value = "0",
          value_parser = |s: &str| values::real(s, 0.0, 2.0))]
    pub theta: f64,
    /// Partitions of the table [default: the clients where the scheme needs partitions, else 1].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 65_536))]
    pub partitions: Option<usize>,
    /// Transactions that touch several partitions, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = values::percent)]
    pub multi_partition: f64,
    /// Partitions that such a transaction touches.
    #[arg(long, value_name = "N", default_value = "2",
          value_parser = |s: &str| values::count(s, 2, 1024))]
    pub parts_per_txn: usize,
}

/// `tpcc`.
#[derive(Args)]
pub struct TpccFlags {
    /// How large a warehouse is: the specification's population, or a handful of rows for simulated
    /// runs [default: spec natively, micro in simulation].
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<ScaleFlag>,
    /// Warehouses, 1 to 65535 [default: as many as clients; in simulation 2].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 65_535))]
    pub warehouses: Option<usize>,
    /// Which transactions.
    #[arg(long, value_enum, value_name = "MIX", default_value = "standard")]
    pub mix: MixFlag,
    /// The chance that an item of an order comes from another warehouse, in percent [default: 1; at
    /// micro scale 20].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub remote_item: Option<f64>,
    /// Whether order-status and stock-level read a snapshot of the past [default: yes where the
    /// scheme has snapshots].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
}

/// `scan`.
#[derive(Args)]
pub struct ScanFlags {}

/// `index`.
#[derive(Args)]
pub struct IndexFlags {
    /// Rows in the index, 1 to 4000000000.
    #[arg(long, value_name = "N", default_value = "1000000",
          value_parser = |s: &str| values::count(s, 1, 4_000_000_000))]
    pub records: usize,
    /// Bytes of a record's value, 16 to 65536.
    #[arg(long, value_name = "BYTES", default_value = "100",
          value_parser = |s: &str| values::count(s, 16, 65_536))]
    pub record_bytes: usize,
    /// Look-ups in flight together, 1 (single gets) to 1024.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 1024))]
    pub group: usize,
    /// Which index.
    #[arg(long, value_enum, value_name = "INDEX", default_value = "ordered")]
    pub index: IndexKindFlag,
    /// Cores, each with a thread of look-ups.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 65_536))]
    pub threads: usize,
    /// The length of the measured window.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::time_above_zero)]
    pub duration: std::time::Duration,
    /// Time before the measured window.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time)]
    pub warmup: std::time::Duration,
    /// The seed of the keys looked up.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as group=1,4,16.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
}

/// `--scale`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleFlag {
    /// A handful of rows.
    Micro,
    /// As the workload's specification has it.
    Spec,
}

/// `--mix`.
#[derive(Clone, Copy, ValueEnum)]
pub enum MixFlag {
    /// The specification's five transactions.
    Standard,
    /// New-order and payment, half and half.
    Np,
    /// New-order only.
    NewOrder,
    /// Payment only.
    Payment,
    /// New-order and stock-level, half and half.
    NewOrderStockLevel,
}

/// `--index`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IndexKindFlag {
    /// Masstree.
    Ordered,
    /// Hash table.
    Hash,
}

/// Yes or no.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}
