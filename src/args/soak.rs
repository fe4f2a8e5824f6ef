//! The flags of `chiliad soak`.

use super::OutputFlags;
use chiliad_driver::SERVERS_MAX;
use chiliad_words::flags;
use chiliad_words::value::count;

flags! {
    /// `chiliad soak`.
    SoakFlags {
        /// Rounds begin, and end, until this time is over [default: one round; of servers 180s].
        duration: time_above_zero() [conflicts_with = "rounds"],
        /// Rounds, 1 to 1000000: each runs every cell once, with a seed of its own.
        rounds: whole(1, 1_000_000) = "1",
        /// The seed of the first round; each round has the next.
        seed: whole(0, u64::MAX) = "1",
        /// A scheme by name, or `all` that have transactions.
        scheme: text() [value_name = "NAME|all"] = "all",
        /// A workload by name, or `all`: scan, hash, bank, ycsb (hot, small records), each on few rows.
        workload: text() [value_name = "NAME|all"] = "all",
        /// Transactions that each client has in flight, 1 to 64: a cell for each of these.
        #[arg(long, value_name = "N,N,..", default_value = "1,2,4,8", value_delimiter = ',',
            value_parser = count(1, 64))]
        pub interleave: Vec<usize>,
        /// Native cells only.
        native: switch [conflicts_with = "simulated"],
        /// Simulated cells only.
        simulated: switch,
        /// Cores that clients of a native cell run on, and simulated cells at a time, 1 to 256 [default: all
        /// cores]; the clients of each server [default: 2].
        threads: count(1, 256),
        /// How long a native cell runs; longer, until somebody commits.
        cell: time_above_zero() = "1s",
        /// A native cell fails where nobody commits for so long, without the time in which the machine ran
        /// something else.
        idle_max: time_above_zero() = "10s",
        /// What servers that share a log have.
        ..joined: JoinedSoakFlags,
        /// Where results go.
        ..output: OutputFlags,
    }
}

flags! {
    /// What servers that share a log have.
    JoinedSoakFlags {
        /// Servers that share a log, 2 to 63, under hyder, instead of cells: they update, restart and make checkpoints, one
        /// more joins, and memory and log must not grow.
        servers: count(2, SERVERS_MAX - 1) [conflicts_with_all = [
            "rounds", "workload", "interleave", "native", "simulated", "cell", "idle_max"
        ]],
        /// The servers' log: memory:, a directory, or nats://HOST:PORT,.../NAME; empty or missing
        /// [default: a temporary directory].
        shared_log: text() [value_name = "LOG", requires = "servers"],
        /// Where the servers keep their checkpoints [default: beside the log, or a temporary one].
        data: directory() [requires = "servers"],
        /// Transactions a second of all their clients, 1 to 1000000, but for the rounds in which they run as fast as they can.
        rate: small(1, 1_000_000) [requires = "servers"] = "1500",
        /// Rows of 100 bytes that they update, 10 to 10000000.
        records: small(10, 10_000_000) [requires = "servers"] = "50000",
        /// Bytes of log after which they make a checkpoint, and trim the log.
        checkpoint_bytes: size() [requires = "servers"] = "16MiB",
    }
}
