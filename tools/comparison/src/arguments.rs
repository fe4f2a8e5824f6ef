//! The command line.

use crate::store::{Candidate, Durability, Error, Result};
use crate::stores::CANDIDATES;
use crate::workload::Workload;
use crate::workload::rows::{Operation, Rows};
use crate::workload::tpcc::{Scale, Tpcc};
use crate::workload::ycsb::{COUNTER_BYTES, Ycsb};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Runs the same transactions on Chiliad and on other embedded stores, in turn, and prints how they
/// compare.
#[derive(Parser)]
#[command(version, arg_required_else_help = false)]
pub struct Arguments {
    #[command(subcommand)]
    pub workload: Which,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Subcommand)]
pub enum Which {
    /// A few distinct records a transaction, read or read and written back.
    Ycsb(YcsbArguments),
    /// TPC-C's New-Order and Payment, half and half.
    Tpcc(TpccArguments),
    /// Typed rows of ten columns: one of them read, changed or inserted, or a hundred read.
    Rows(RowsArguments),
}

#[derive(Args)]
pub struct RowsArguments {
    /// Rows in the table
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    pub records: u64,
    /// What a transaction does
    #[arg(long, value_enum, default_value = "get")]
    pub op: Operation,
}

#[derive(Args)]
pub struct YcsbArguments {
    /// Records in the table
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub records: u64,
    /// Bytes of a record, 8 to 65536
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(COUNTER_BYTES as i64..=65_536))]
    pub record_bytes: u32,
    /// Distinct records of a transaction, at most 1000
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub ops: u32,
    /// Percentage of the operations that only read
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub read_ratio: u32,
    /// Skew of the Zipf distribution: 0 (uniform) to 0.999
    #[arg(long, default_value_t = 0.0, value_parser = |text: &str| within(text, 0.0, 0.999))]
    pub theta: f64,
}

#[derive(Args)]
pub struct TpccArguments {
    /// Warehouses, about 100 MB each
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub warehouses: u32,
}

#[derive(Args)]
pub struct Common {
    /// Stores, with commas between; Chiliad is the one that ratios refer to
    #[arg(long, global = true, value_delimiter = ',', value_parser = store_names(), default_values_t = all_names())]
    pub stores: Vec<String>,
    /// When commits return, with commas between
    #[arg(long, global = true, value_enum, value_delimiter = ',', default_value = "none")]
    pub durability: Vec<Durability>,
    /// Client threads, with commas between [default: the number of cores]
    #[arg(long, global = true, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub clients: Vec<u32>,
    /// Seconds that are measured in each run
    #[arg(long, global = true, default_value_t = 3.0, value_parser = |text: &str| within(text, 0.1, 86_400.0))]
    pub seconds: f64,
    /// Seconds before that
    #[arg(long, global = true, default_value_t = 1.0, value_parser = |text: &str| within(text, 0.0, 86_400.0))]
    pub warmup: f64,
    /// Rounds: each runs every store once, in turn; medians are printed
    #[arg(long, global = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Seed of the clients' random numbers
    #[arg(long, global = true, default_value_t = 1)]
    pub seed: u64,
    /// An existing directory to keep data in while running [default: the system's temporary one]
    #[arg(long, global = true)]
    pub dir: Option<PathBuf>,
    /// A file for the results as JSON, or - for standard output
    #[arg(long, global = true)]
    pub json: Option<PathBuf>,
}

fn all_names() -> Vec<String> {
    CANDIDATES.iter().map(|it| it.name.to_owned()).collect()
}

fn store_names() -> clap::builder::PossibleValuesParser {
    CANDIDATES.iter().map(|it| it.name).collect::<Vec<_>>().into()
}

fn within(text: &str, low: f64, high: f64) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        _ => Err(format!("a number from {low} to {high} is accepted")),
    }
}

impl Which {
    /// As in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ycsb(_) => "ycsb",
            Self::Tpcc(_) => "tpcc",
            Self::Rows(_) => "rows",
        }
    }

    /// Its options, in words.
    pub fn description(&self) -> String {
        match self {
            Self::Ycsb(YcsbArguments { records, record_bytes, ops, read_ratio, theta }) => format!(
                "ycsb: {records} records of {record_bytes} bytes, {ops} a transaction, \
                 {read_ratio}% only read, theta {theta}"
            ),
            Self::Tpcc(TpccArguments { warehouses }) => {
                format!("tpcc: New-Order and Payment, half and half, warehouses: {warehouses}")
            }
            Self::Rows(RowsArguments { records, op }) => {
                format!("rows: {records} of ten columns, {op:?} in each transaction")
            }
        }
    }

    /// The workload itself.
    ///
    /// # Errors
    /// Options that do not go together.
    pub fn workload(&self) -> Result<Box<dyn Workload>> {
        match *self {
            Self::Ycsb(YcsbArguments { records, record_bytes, ops, read_ratio, theta }) => {
                if u64::from(ops) > records {
                    return Err(Error::Failed(format!(
                        "--ops {ops}: a transaction's records are distinct, so that at most \
                         --records {records} is accepted"
                    )));
                }
                let (bytes, ops) = (record_bytes as usize, ops as usize);
                Ok(Box::new(Ycsb::new(records, bytes, ops, read_ratio, theta)))
            }
            Self::Tpcc(TpccArguments { warehouses }) => {
                Ok(Box::new(Tpcc::new(Scale::standard(warehouses))))
            }
            Self::Rows(RowsArguments { records, op }) => Ok(Box::new(Rows::new(records, op))),
        }
    }
}

impl Common {
    /// The stores, in the order of the table.
    pub fn candidates(&self) -> Vec<&'static Candidate> {
        CANDIDATES.iter().filter(|it| self.stores.iter().any(|name| name == it.name)).collect()
    }

    /// The numbers of clients.
    pub fn clients(&self) -> Vec<usize> {
        if self.clients.is_empty() {
            return vec![std::thread::available_parallelism().map_or(1, usize::from)];
        }
        self.clients.iter().map(|&it| it as usize).collect()
    }
}
