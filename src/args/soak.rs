//! The flags of `chiliad soak`.

use super::run::ReportFlags;
use chiliad_driver::SERVERS_MAX;
use chiliad_host::values;
use chiliad_words::value::{count, small, whole};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// `chiliad soak`.
#[derive(Args)]
pub struct SoakFlags {
    /// Rounds begin, and end, until this time is over [default: one round; of servers 180s].
    #[arg(long, value_name = "TIME", value_parser = values::time_above_zero,
        conflicts_with = "rounds")]
    pub duration: Option<Duration>,
    /// Rounds, 1 to 1000000: each runs every cell once, with a seed of its own.
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1, 1_000_000))]
    pub rounds: u64,
    /// The seed of the first round; each round has the next.
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0, u64::MAX))]
    pub seed: u64,
    /// A scheme by name, or `all` that have transactions.
    #[arg(long, value_name = "NAME|all", default_value = "all")]
    pub scheme: String,
    /// A workload by name, or `all`: scan, hash, bank, ycsb (hot, small records), each on few rows.
    #[arg(long, value_name = "NAME|all", default_value = "all")]
    pub workload: String,
    /// Transactions that each client has in flight, 1 to 64: a cell for each of these.
    #[arg(long, value_name = "N,N,..", default_value = "1,2,4,8", value_delimiter = ',',
        value_parser = count(1, 64))]
    pub interleave: Vec<usize>,
    /// Native cells only.
    #[arg(long, conflicts_with = "simulated")]
    pub native: bool,
    /// Simulated cells only.
    #[arg(long)]
    pub simulated: bool,
    /// Cores that clients of a native cell run on, and simulated cells at a time, 1 to 256 [default: all
    /// cores]; the clients of each server [default: 2].
    #[arg(long, value_name = "N", value_parser = count(1, 256))]
    pub threads: Option<usize>,
    /// How long a native cell runs; longer, until somebody commits.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time_above_zero)]
    pub cell: Duration,
    /// A native cell fails where nobody commits for so long, without the time in which the machine ran
    /// something else.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::time_above_zero)]
    pub idle_max: Duration,
    /// What servers that share a log have.
    #[command(flatten)]
    pub joined: JoinedSoakFlags,
    /// Where results go.
    #[command(flatten)]
    pub output: ReportFlags,
}

/// What servers that share a log have.
#[derive(Args)]
pub struct JoinedSoakFlags {
    /// Servers that share a log, 2 to 63, under hyder, instead of cells: they update, restart and make checkpoints, one
    /// more joins, and memory and log must not grow.
    #[arg(long, value_name = "N", value_parser = count(2, SERVERS_MAX - 1),
        conflicts_with_all = ["rounds", "workload", "interleave", "native", "simulated", "cell", "idle_max"])]
    pub servers: Option<usize>,
    /// The servers' log: memory:, a directory, or nats://HOST:PORT,.../NAME; empty or missing
    /// [default: a temporary directory].
    #[arg(long, value_name = "LOG", requires = "servers")]
    pub shared_log: Option<String>,
    /// Where the servers keep their checkpoints [default: beside the log, or a temporary one].
    #[arg(long, value_name = "DIR", requires = "servers")]
    pub data: Option<PathBuf>,
    /// Transactions a second of all their clients, 1 to 1000000, but for the rounds in which they run as fast as they can.
    #[arg(long, value_name = "N", default_value = "1500", requires = "servers",
        value_parser = small(1, 1_000_000))]
    pub rate: u32,
    /// Rows of 100 bytes that they update, 10 to 10000000.
    #[arg(long, value_name = "N", default_value = "50000", requires = "servers",
        value_parser = small(10, 10_000_000))]
    pub records: u32,
    /// Bytes of log after which they make a checkpoint, and trim the log.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", requires = "servers",
        value_parser = values::size)]
    pub checkpoint_bytes: u64,
}
