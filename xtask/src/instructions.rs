//! `cargo xtask instructions`: what a transaction costs in instructions, which no other load on the
//! machine disturbs.
//!
//! Cachegrind counts two runs of different length; their difference per transaction leaves out the
//! loading and the start.

use crate::compare;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Transactions of an epoch: several epochs in each run.
const EPOCH_TRANSACTIONS: &str = "500";

#[derive(Args)]
pub struct Arguments {
    /// Arguments of `chiliad bench`, in one string, threads excepted: 'tpcc --warehouses 1'
    #[arg(long, value_name = "ARGS")]
    ours: String,
    /// Transactions in the longer run; the shorter has half
    #[arg(long, default_value_t = 8_000, value_parser = clap::value_parser!(u64).range(2..))]
    transactions: u64,
    /// Another build of the command to set beside this one: the one before a change
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    /// Our program, already built; by default the release build of this tree
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Counts and prints.
///
/// # Errors
/// When a run fails. Where Valgrind is missing it says so and leaves it at that.
pub fn run(arguments: &Arguments, root: &Path) -> Result<(), String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return Ok(());
    }
    let binary = compare::binary(arguments.binary.as_deref(), root)?;
    let before = arguments.before.as_ref().map(|it| per_transaction(it, arguments)).transpose()?;
    let now = per_transaction(&binary, arguments)?;
    match before {
        Some(before) => {
            println!("instructions per transaction: before {before:.0}, now {now:.0}");
            println!("ratio {:.3}", now / before);
        }
        None => println!("instructions per transaction: {now:.0}"),
    }
    Ok(())
}

fn per_transaction(binary: &Path, arguments: &Arguments) -> Result<f64, String> {
    let (long, short) = (arguments.transactions, arguments.transactions / 2);
    let more = count(binary, &arguments.ours, long)?;
    let less = count(binary, &arguments.ours, short)?;
    Ok((more - less) / (long - short) as f64)
}

/// The instructions of one run.
fn count(binary: &Path, ours: &str, transactions: u64) -> Result<f64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(binary).arg("bench").args(ours.split_whitespace());
    command.args(["--threads", "1", "--json", "-", "--quiet"]);
    // Locks alone have neither transactions in flight nor memory to make ready.
    if !ours.starts_with("locks") {
        command.args(["--interleave", "1", "--memory-ready", "0"]);
        // By time there would be more epochs in each run the slower the host is.
        if !ours.contains("--epoch") {
            command.args(["--epoch-transactions", EPOCH_TRANSACTIONS]);
        }
    }
    command.args(["--transactions", &transactions.to_string()]);
    let (_, err) = compare::output(&mut command)?;
    compare::number_after("refs:", &err).ok_or_else(|| "valgrind prints no count".into())
}
