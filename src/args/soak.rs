//! The flags of `chiliad soak`.

use chiliad_host::values;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// `chiliad soak`.
#[derive(Args)]
pub struct SoakFlags {
    /// Rounds begin, and end, until this time is over [default: one round].
    #[arg(long, value_name = "TIME", value_parser = values::time_above_zero,
        conflicts_with = "rounds")]
    pub duration: Option<Duration>,
    /// Rounds, 1 to 1000000: each runs every cell once, with a seed of its own.
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = |s: &str| values::whole(s, 1, 1_000_000))]
    pub rounds: u64,
    /// The seed of the first round; each round has the next.
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = |s: &str| values::whole(s, 0, u64::MAX))]
    pub seed: u64,
    /// A scheme by name, or `all` that have transactions.
    #[arg(long, value_name = "NAME|all", default_value = "all")]
    pub scheme: String,
    /// A workload by name, or `all`: scan, hash, bank, ycsb (hot, small records), each on few rows.
    #[arg(long, value_name = "NAME|all", default_value = "all")]
    pub workload: String,
    /// Transactions that each client has in flight, 1 to 64: a cell for each of these.
    #[arg(long, value_name = "N,N,..", default_value = "1,2,4,8", value_delimiter = ',',
        value_parser = |s: &str| values::count(s, 1, 64))]
    pub interleave: Vec<usize>,
    /// Native cells only.
    #[arg(long, conflicts_with = "simulated")]
    pub native: bool,
    /// Simulated cells only.
    #[arg(long)]
    pub simulated: bool,
    /// Cores that clients of a native cell run on, and simulated cells at a time, 1 to 256 [default: all
    /// cores].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 256))]
    pub threads: Option<usize>,
    /// How long a native cell runs; longer, until somebody commits.
    #[arg(long, value_name = "TIME", default_value = "1s",
        value_parser = values::time_above_zero)]
    pub cell: Duration,
    /// A native cell fails where nobody commits for so long, without the time in which the machine ran
    /// something else.
    #[arg(long, value_name = "TIME", default_value = "10s",
        value_parser = values::time_above_zero)]
    pub idle_max: Duration,
    /// Write the result as JSON; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print nothing but results that failed.
    #[arg(long)]
    pub quiet: bool,
}
