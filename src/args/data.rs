//! The flags of the commands on data directories: recover, backup, restore, crash.

use super::run::ReportFlags;
use chiliad_host::values;
use chiliad_rig::kill::{Acknowledges, Work};
use chiliad_words::value::{Words, choice, count, whole};
use clap::Args;
use std::path::PathBuf;

/// `chiliad recover DIR`.
#[derive(Args)]
pub struct RecoverFlags {
    /// A data directory that no process has open for writing.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Write what can be saved into this directory, which must be empty or missing, and list what
    /// was lost. DIR stays as it is.
    #[arg(long, value_name = "TO")]
    pub salvage: Option<PathBuf>,
    /// Also make the tables, in memory, as opening the directory would: counts the rows and says how
    /// fast that went.
    #[arg(long, conflicts_with = "salvage")]
    pub rebuild: bool,
    /// Threads that rebuild, 1 to 1024 [default: two for each core].
    #[arg(long, value_name = "N", requires = "rebuild", value_parser = count(1, 1024))]
    pub threads: Option<usize>,
    /// Memory obtained and touched before tables are rebuilt, so that the system's page faults are
    /// not measured [default: none].
    #[arg(long, value_name = "SIZE", requires = "rebuild", value_parser = values::size_or_none)]
    pub memory_ready: Option<u64>,
    /// Write the findings as JSON; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print nothing; the exit status tells.
    #[arg(long)]
    pub quiet: bool,
}

/// `chiliad backup` and `chiliad restore`.
#[derive(Args)]
pub struct CopyFlags {
    /// A sound data directory that no process has open for writing.
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// The new one: empty or missing.
    #[arg(value_name = "TO")]
    pub to: PathBuf,
    /// Write what was copied as JSON; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print nothing; the exit status tells.
    #[arg(long)]
    pub quiet: bool,
}

/// What the killed process does.
const WORKS: &Words<Work> = &[
    ("bank", Work::Bank, "Transfers between 64 accounts, each with a row in a journal"),
    ("tpcc", Work::Tpcc, "TPC-C with two small warehouses"),
];

/// When the killed process acknowledges.
const ACKNOWLEDGES: &Words<Acknowledges> = &[
    ("epoch", Acknowledges::Epoch, "Results wait for the end of their epoch, many at a time"),
    ("sync", Acknowledges::Sync, "Each call returns when its transaction is durable"),
];

/// `--plant` of `crash`: a bug of the killed process, to see that it is found.
const CRASH_PLANTS: &Words<Acknowledges> = &[(
    "early-acknowledgement",
    Acknowledges::Early,
    "It acknowledges when a transaction has committed, before that is durable",
)];

/// `--plant` of `damage`.
const DAMAGE_PLANTS: &Words<()> =
    &[("damage-accepted", (), "What can be saved of a damaged directory is taken for the whole")];

/// `chiliad crash`.
#[derive(Args)]
pub struct CrashFlags {
    /// Openings of the database, 1 to 1000000; each ends in a kill while it opens, works or writes a
    /// checkpoint, one in ten in an orderly close.
    #[arg(long, value_name = "N", default_value = "100", value_parser = whole(1, 1_000_000))]
    pub cycles: u64,
    /// What the process does.
    #[arg(long, value_name = "NAME", default_value = "bank", value_parser = choice(WORKS))]
    pub workload: Work,
    /// Clients, each a thread, 1 to 64 [default: all cores].
    #[arg(long, value_name = "N", value_parser = count(1, 64))]
    pub threads: Option<usize>,
    /// A scheme with transactions, by name.
    #[arg(long, value_name = "NAME", default_value = "silo")]
    pub scheme: String,
    /// When transactions are acknowledged.
    #[arg(long, value_name = "WHEN", default_value = "sync", value_parser = choice(ACKNOWLEDGES))]
    pub durability: Acknowledges,
    /// Decides when to kill, the options of each opening, and what clients do.
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0, u64::MAX))]
    pub seed: u64,
    /// The directory, which stays: empty, missing, or made by this command with the same workload
    /// [default: one among the temporary files, which goes unless something fails].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Servers that share a log, 1 to 64, under hyder: on nats:// each is a process, otherwise one process has
    /// all of them [default: 3].
    #[arg(long, value_name = "N", value_parser = count(1, 64))]
    pub servers: Option<usize>,
    /// The log that they share, empty or missing: a directory, or nats://HOST:PORT,.../NAME where it is built in
    /// [default: a directory among the temporary files].
    #[arg(long, value_name = "DIR|nats://..")]
    pub shared_log: Option<String>,
    /// The script that kills, stops and starts those that keep the log, such as crates/jetstream/nats.sh: then that is
    /// done to them too.
    #[arg(long, value_name = "FILE")]
    pub log_script: Option<PathBuf>,
    /// Plant a bug in the process that is killed: the command must fail.
    #[arg(long, value_name = "BUG", hide = true, value_parser = choice(CRASH_PLANTS))]
    pub plant: Option<Acknowledges>,
    /// Where results go.
    #[command(flatten)]
    pub output: ReportFlags,
}

/// `chiliad damage`.
#[derive(Args)]
pub struct DamageFlags {
    /// Damaged directories, 1 to 1000000: copies of small ones of which everything is known.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole(1, 1_000_000))]
    pub cycles: u64,
    /// The kind of damage [default: all of them].
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// A scheme with transactions, by name.
    #[arg(long, value_name = "NAME", default_value = "silo")]
    pub scheme: String,
    /// The seed of the first one; the next has the next.
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0, u64::MAX))]
    pub seed: u64,
    /// Plant a bug: the command must fail.
    #[arg(long, value_name = "BUG", hide = true, value_parser = choice(DAMAGE_PLANTS))]
    pub plant: Option<()>,
    /// Where results go.
    #[command(flatten)]
    pub output: ReportFlags,
}

/// `chiliad crash-child`: what `crash` starts.
#[derive(Args)]
pub struct ChildFlags {
    /// What to do.
    pub order: String,
}
