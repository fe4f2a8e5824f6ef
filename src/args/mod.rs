//! The command line as typed: flags, their bounds and their help. What the flags mean together is
//! decided in [`crate::settings`].

mod cluster;
mod data;
mod figure;
mod hyder;
mod loads;
mod machines;
mod run;
mod scope;
mod serve;
mod soak;
mod tasks;
mod workloads;

pub use cluster::{ClusterFlags, check_shares_log};
pub use data::{ChildFlags, CopyFlags, CrashFlags, DamageFlags, InspectFlags, RecoverFlags};
pub use figure::{FigureCommand, FigureRunFlags};
pub use hyder::{LogFlags, MeldFlags};
pub use machines::{CalibrateChildFlags, MachinesCommand, MachinesFlags};
pub use run::{DrawnFlags, MachineFlags, Memory, NativeFlags, OutputFlags, RunFlags, Schedule};
pub use scope::{Scope, WorkloadFlags};
pub use serve::ServeFlags;
pub use soak::SoakFlags;
pub use tasks::TaskFlags;
pub use workloads::{
    BankFlags, BiddingFlags, ByColumnFlags, CountersFlags, HashFlags, IndexFlags, LOCK_TABLES,
    LocksFlags, ScanFlags, SimulatedTimestampsFlags, SmallbankFlags, TatpFlags, TimestampsFlags,
    TpcbSqlFlags, TpccFlags, TpccSqlFlags, TpceFlags, TxbenchFlags, YcsbFlags,
};

use chiliad_host::{Stop, values};
use chiliad_words::{Typed, flags};
use clap::{Args, Parser, Subcommand};
use std::ops::Range;
use std::path::PathBuf;

/// Main-memory serializable transactions: benchmarks, simulation, verification.
///
/// Times are written with their unit (10s, 40ms, 200us), sizes in bytes or with a unit (4GiB).
/// Exit status: 0 done, 1 a verification or a run failed, 2 bad input, 130 ended by Ctrl-C.
#[derive(Parser)]
#[command(name = "chiliad", version, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Run a workload natively and print a summary.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Run a workload on the simulated machine: a function of the flags and the seed.
    #[command(subcommand)]
    Simulate(SimulateCommand),
    /// Run many seeded interleavings on the simulated machine, verify each, and optionally show
    /// that planted bugs are caught.
    Campaign(CampaignFlags),
    /// Reproduce the papers' figures on this machine, and judge what the papers say of them.
    #[command(subcommand)]
    Figure(FigureCommand),
    /// Check a recorded history.
    Check(CheckFlags),
    /// List the concurrency-control schemes.
    Schemes(SchemesFlags),
    /// List the simulated machines, or measure what stands in their files.
    Machines(MachinesFlags),
    /// Serve a database to PostgreSQL clients, until a signal ends it.
    Serve(ServeFlags),
    /// Say what a data directory holds and whether it is sound, by reading all of it. Changes nothing.
    Recover(RecoverFlags),
    /// List the tables of a data directory with their columns, or write the rows of one. Changes nothing.
    Inspect(InspectFlags),
    /// Copy a data directory that nobody has open, checking all of it, to an empty or missing one.
    Backup(CopyFlags),
    /// Put a backup in place: a directory that is empty or missing becomes the database.
    Restore(CopyFlags),
    /// Kill a database's process again and again (SIGKILL), and check after each time that
    /// everything acknowledged is there and nothing impossible is.
    Crash(CrashFlags),
    /// Damage copies of data directories in every way, and check that what is missing is told.
    Damage(DamageFlags),
    /// Run loads on few rows under every scheme, natively and simulated, and look whether anybody gets on.
    Soak(SoakFlags),
    /// The process that `crash` kills.
    #[command(hide = true)]
    CrashChild(ChildFlags),
    /// The process whose instructions `machines calibrate` counts.
    #[command(hide = true)]
    CalibrateChild(CalibrateChildFlags),
}

/// `chiliad bench WORKLOAD`.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// A workload with transactions.
    #[command(flatten)]
    Workload(Workload<NativeFlags>),
    /// Look-ups in an index alone, single or in groups, each reading its record.
    Index(Box<Alone<IndexFlags>>),
    /// Timestamps alone, as fast as threads can draw them.
    Timestamps(Box<Alone<TimestampsFlags>>),
    /// Locks alone: acquired and released, one at a time.
    Locks(Box<Alone<LocksFlags>>),
    /// The stages that decide intentions of servers that share a log, without clients: what each costs, in each way.
    Meld(Box<Alone<MeldFlags>>),
    /// Appends to a shared log alone.
    Log(Box<Alone<LogFlags>>),
}

/// `chiliad simulate WORKLOAD`.
#[derive(Subcommand)]
pub enum SimulateCommand {
    /// A workload with transactions.
    #[command(flatten)]
    Workload(Workload<SimulatedFlags>),
    /// Timestamps alone, as fast as simulated cores can draw them.
    Timestamps(Box<Alone<SimulatedTimestampsFlags>>),
}

/// The workloads, each with what a run on this kind of machine has besides.
#[derive(Subcommand)]
pub enum Workload<M: Args> {
    /// Reads, writes and scans of one table of equal rows.
    Ycsb(Box<WorkloadRun<YcsbFlags, M>>),
    /// TPC-C: nine tables, five transactions, twelve consistency conditions.
    Tpcc(Box<WorkloadRun<TpccFlags, M>>),
    /// SmallBank: savings and checking accounts, six transactions, a hot spot.
    Smallbank(Box<WorkloadRun<SmallbankFlags, M>>),
    /// TATP: a telecom's subscribers, seven transactions, four of five of which only read.
    Tatp(Box<WorkloadRun<TatpFlags, M>>),
    /// TxBench: range queries of three tables, and updates of the one next to the one read.
    Txbench(Box<WorkloadRun<TxbenchFlags, M>>),
    /// Bidding: users bid for products; one short transaction, the highest bids are kept.
    Bidding(Box<WorkloadRun<BiddingFlags, M>>),
    /// TPC-E: a brokerage house, six transactions.
    Tpce(Box<WorkloadRun<TpceFlags, M>>),
    /// TPC-B as statements of SQL: accounts, tellers, branches and their history.
    TpcbSql(Box<WorkloadRun<TpcbSqlFlags, M>>),
    /// TPC-C as statements of SQL: the same transactions and conditions.
    TpccSql(Box<WorkloadRun<TpccSqlFlags, M>>),
    /// A few rows that come, go and come back under an ordered index, and scans of them.
    Scan(Box<WorkloadRun<ScanFlags, M>>),
    /// A few rows that come, go and come back under a hash index.
    Hash(Box<WorkloadRun<HashFlags, M>>),
    /// Accounts with a unique and an ordinary secondary index.
    Bank(Box<WorkloadRun<BankFlags, M>>),
    /// Numbers that are added to without a look at them.
    Counters(Box<WorkloadRun<CountersFlags, M>>),
    /// Rows of which one column is looked at while the others change.
    Columns(Box<WorkloadRun<ByColumnFlags, M>>),
}

/// A run of a workload with flags `W`.
#[derive(Args)]
pub struct WorkloadRun<W: Args, M: Args> {
    /// The workload's own flags.
    #[command(flatten)]
    workload: W,
    /// The run.
    #[command(flatten)]
    run: RunFlags,
    /// What it runs on.
    #[command(flatten)]
    on: M,
    /// Where results go.
    #[command(flatten)]
    output: OutputFlags,
}

/// The flags of a run, whatever its workload.
pub struct Parts<'a, M> {
    /// The workload's own.
    pub workload: &'a dyn WorkloadFlags,
    /// The run.
    pub run: &'a RunFlags,
    /// What it runs on.
    pub on: &'a M,
    /// Where results go.
    pub output: &'a OutputFlags,
}

impl<M: Args> Workload<M> {
    /// Its flags.
    pub fn parts(&self) -> Parts<'_, M> {
        match self {
            Self::Ycsb(run) => run.parts(),
            Self::Tpcc(run) => run.parts(),
            Self::Smallbank(run) => run.parts(),
            Self::Tatp(run) => run.parts(),
            Self::Txbench(run) => run.parts(),
            Self::Bidding(run) => run.parts(),
            Self::Tpce(run) => run.parts(),
            Self::TpcbSql(run) => run.parts(),
            Self::TpccSql(run) => run.parts(),
            Self::Scan(run) => run.parts(),
            Self::Hash(run) => run.parts(),
            Self::Bank(run) => run.parts(),
            Self::Counters(run) => run.parts(),
            Self::Columns(run) => run.parts(),
        }
    }
}

impl<W: Args + WorkloadFlags, M: Args> WorkloadRun<W, M> {
    fn parts(&self) -> Parts<'_, M> {
        let Self { workload, run, on, output } = self;
        Parts { workload, run, on, output }
    }
}

flags! {
    /// What a simulated run has besides.
    SimulatedFlags {
        /// Concurrent clients, 1 to 1024, each a thread: where there are more than --cores they share these by
        /// slices of time, as the machine's description has it, which takes a window of some of them
        /// [default: as many as --cores].
        clients: count(1, 1024),
        /// Under hyder the log fails, in each of the ways in which a log may, at one call in so many, 2 to 1000000, from
        /// when the rows are loaded [default: never].
        log_faults: whole(2, 1_000_000) [value_name = "ONE-IN"],
        /// The ordered tasks.
        ..tasks: Typed<TaskFlags>,
        /// The machine.
        ..machine: MachineFlags,
    }
}

/// A run of something else than a workload, with flags `F`.
#[derive(Args)]
pub struct Alone<F: Args> {
    /// What runs, and on what.
    #[command(flatten)]
    pub flags: F,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputFlags,
}

flags! {
    /// `chiliad campaign`.
    CampaignFlags {
        /// Seeds to run: from A up to, but without, B. Half of them run under total store order;
        /// random schedules and few preemptions take turns.
        #[arg(long, value_name = "A..B", default_value = "0..200", value_parser = values::seeds)]
        pub seeds: Range<u64>,
        /// Crashes instead of interleavings: a database on a simulated disk that tears, loses and fails
        /// runs up to three incarnations, and what each recovery brings back is judged.
        disk: switch [conflicts_with = "cores"],
        /// Servers of one shared log on simulated hosts that crash, start again, stop and are cut off, instead of
        /// interleavings, under hyder: all clients are one history, and all servers come to the same.
        world: switch [conflicts_with_all = ["disk", "cores", "interleave"]],
        /// A scheme by name, or `all` that are serializable.
        scheme: text() [value_name = "NAME|all"] = "all",
        /// A workload by name, or `all` that campaigns know.
        workload: text() [value_name = "NAME|all"] = "all",
        /// Show that a planted bug is caught: its name, `all`, or `list` to print them. The seeds are
        /// then those that the bug's own table promises.
        plant: text() [value_name = "BUG|all|list"],
        /// Simulated cores, 2 to 64 [default: 4 to 8, by the seed].
        cores: count(2, 64),
        /// Transactions that each simulated core has in flight, 1 to 64 [default: by the seed, 1 under two
        /// seeds of three, else 2 or 3; for a planted bug 1, unless siblings are what it needs].
        interleave: count(1, 64) [conflicts_with = "disk"],
        /// Servers that share a log, under hyder: a number, or, by the seed, from A up to, but without, B [default: 1..6].
        #[arg(long, value_name = "N|A..B", conflicts_with = "disk", value_parser = cluster::servers)]
        pub servers: Option<Range<usize>>,
        /// Seeds that run at once, 1 to 256 [default: one per core of the host].
        threads: count(1, 256),
        /// Where results go.
        ..output: OutputFlags,
    }
}

flags! {
    /// `chiliad check FILE`.
    CheckFlags {
        /// A history, in the binary or in the text form.
        #[arg(value_name = "FILE")]
        pub file: PathBuf,
        /// The isolation that the history must have.
        isolation: text() [value_name = "LEVEL"] = "serializable",
        /// Real time counts too: a transaction that started after another had ended comes after it.
        strict: switch,
        /// Write the verdict as JSON; `-` is standard output, which then holds nothing else.
        json: results(),
        /// Print nothing; the exit status tells.
        quiet: switch,
    }
}

/// `chiliad schemes`.
#[derive(Args)]
pub struct SchemesFlags {
    /// Write the list as JSON; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Parses the words after the program's name.
pub fn parse(words: &[String]) -> Result<Arguments, Stop> {
    chiliad_words::parse(words, |command| match command.get_name() {
        "bench" | "simulate" => "workload",
        _ => "command",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Arguments::command().debug_assert();
    }
}
