//! The flags of `chiliad machines`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `chiliad machines`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct MachinesFlags {
    /// What to do instead of listing them.
    #[command(subcommand)]
    pub command: Option<MachinesCommand>,
    /// Only this one, as its file has it: a name, or a machine file, which is checked that way.
    #[arg(value_name = "NAME|FILE.toml")]
    pub machine: Option<String>,
    /// Write the list as JSON; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// The subcommands of `chiliad machines`.
#[derive(Subcommand)]
pub enum MachinesCommand {
    /// Measure the prices of computation, by counting the instructions of transactions, and this
    /// computer's clock, caches and memory; write them as a machine file. Takes some minutes and needs
    /// Valgrind.
    Calibrate(CalibrateFlags),
}

/// `chiliad machines calibrate`.
#[derive(Args)]
pub struct CalibrateFlags {
    /// Measure the prices of SwarmDB's tasks instead, and write `swarm-64` with them.
    #[arg(long)]
    pub tasks: bool,
    /// Write the machine to this file [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `chiliad calibrate-child`: what `machines calibrate` starts.
#[derive(Args)]
pub struct CalibrateChildFlags {
    /// The number of the case.
    #[arg(long)]
    pub case: usize,
    /// Transactions.
    #[arg(long)]
    pub transactions: u64,
    /// Make up the requests of tasks, and run none.
    #[arg(long)]
    pub drawn: bool,
}
