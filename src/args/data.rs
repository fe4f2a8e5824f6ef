//! The flags of the commands on data directories: recover, backup, restore, crash.

use super::OutputFlags;
use chiliad_rig::directory::RowForm;
use chiliad_rig::kill::{Acknowledges, Work};
use chiliad_words::flags;
use chiliad_words::value::Words;
use clap::Args;
use std::path::PathBuf;

flags! {
    /// `chiliad recover DIR`.
    RecoverFlags {
        /// A data directory that no process has open for writing.
        #[arg(value_name = "DIR")]
        pub directory: PathBuf,
        /// Write what can be saved into this directory, which must be empty or missing, and list what
        /// was lost. DIR stays as it is.
        salvage: directory() [value_name = "TO"],
        /// Also make the tables, in memory, as opening the directory would: counts the rows and says how
        /// fast that went.
        rebuild: switch [conflicts_with = "salvage"],
        /// Threads that rebuild, 1 to 1024 [default: two for each core].
        threads: count(1, 1024) [requires = "rebuild"],
        /// Memory obtained and touched before tables are rebuilt, so that the system's page faults are
        /// not measured [default: none].
        memory_ready: size_or_none() [requires = "rebuild"],
        /// Write the findings as JSON; `-` is standard output, which then holds nothing else.
        json: results(),
        /// Print nothing; the exit status tells.
        quiet: switch,
    }
}

/// `--form`.
const ROW_FORMS: &Words<RowForm> = &[
    ("json", RowForm::Json, "An object for each row, in a line of its own"),
    ("csv", RowForm::Csv, "A line of names, then a line for each row"),
];

flags! {
    /// `chiliad inspect DIR`.
    InspectFlags {
        /// A sound data directory that no process has open for writing.
        #[arg(value_name = "DIR")]
        pub directory: PathBuf,
        /// Write the rows of this table to standard output, and nothing else.
        table: text(),
        /// How rows are written [default: json].
        form: one_of(ROW_FORMS, RowForm) [requires = "table"],
        /// Write the tables and their columns as JSON; `-` is standard output, which then holds nothing else.
        json: results() [conflicts_with = "table"],
        /// Print nothing; the exit status tells.
        quiet: switch,
    }
}

flags! {
    /// `chiliad backup` and `chiliad restore`.
    CopyFlags {
        /// A sound data directory that no process has open for writing.
        #[arg(value_name = "FROM")]
        pub from: PathBuf,
        /// The new one: empty or missing.
        #[arg(value_name = "TO")]
        pub to: PathBuf,
        /// Write what was copied as JSON; `-` is standard output, which then holds nothing else.
        json: results(),
        /// Print nothing; the exit status tells.
        quiet: switch,
    }
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

flags! {
    /// `chiliad crash`.
    CrashFlags {
        /// Openings of the database, 1 to 1000000; each ends in a kill while it opens, works or writes a
        /// checkpoint, one in ten in an orderly close.
        cycles: whole(1, 1_000_000) = "100",
        /// What the process does.
        workload: one_of(WORKS, Work) = "bank",
        /// Clients, each a thread, 1 to 64 [default: all cores].
        threads: count(1, 64),
        /// A scheme with transactions, by name.
        scheme: text() = "silo",
        /// When transactions are acknowledged.
        durability: one_of(ACKNOWLEDGES, Acknowledges) = "sync",
        /// Decides when to kill, the options of each opening, and what clients do.
        seed: whole(0, u64::MAX) = "1",
        /// The directory, which stays: empty, missing, or made by this command with the same workload
        /// [default: one among the temporary files, which goes unless something fails].
        data: directory(),
        /// Servers that share a log, 1 to 64, under hyder: on nats:// each is a process, otherwise one process has
        /// all of them [default: 3].
        servers: count(1, 64),
        /// The log that they share, empty or missing: a directory, or nats://HOST:PORT,.../NAME where it is built in
        /// [default: a directory among the temporary files].
        shared_log: text() [value_name = "DIR|nats://.."],
        /// The script that kills, stops and starts those that keep the log, such as crates/jetstream/nats.sh: then that is
        /// done to them too.
        log_script: file(),
        /// Plant a bug in the process that is killed: the command must fail.
        plant: one_of(CRASH_PLANTS, Acknowledges) [hide = true],
        /// Where results go.
        ..output: OutputFlags,
    }
}

flags! {
    /// `chiliad damage`.
    DamageFlags {
        /// Damaged directories, 1 to 1000000: copies of small ones of which everything is known.
        cycles: whole(1, 1_000_000) = "1000",
        /// The kind of damage [default: all of them].
        kind: text() [value_name = "KIND"],
        /// A scheme with transactions, by name.
        scheme: text() = "silo",
        /// The seed of the first one; the next has the next.
        seed: whole(0, u64::MAX) = "1",
        /// Plant a bug: the command must fail.
        plant: one_of(DAMAGE_PLANTS, ()) [hide = true],
        /// Where results go.
        ..output: OutputFlags,
    }
}

/// `chiliad crash-child`: what `crash` starts.
#[derive(Args)]
pub struct ChildFlags {
    /// What to do.
    pub order: String,
}
