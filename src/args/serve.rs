//! The flags of `chiliad serve`.

use chiliad::Durability;
use chiliad_words::flags;
use chiliad_words::value::Words;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `--durability` of a server.
const DURABILITIES: &Words<Durability> = &[
    ("epoch", Durability::Epoch, "A commit is answered at once, and durable within an epoch"),
    (
        "sync",
        Durability::Sync,
        "A commit is answered when it is durable; sessions share writes to the disk",
    ),
];

flags! {
    /// `chiliad serve`.
    ServeFlags {
        /// The data directory, made where there is none.
        data: directory() [required_unless_present = "memory"],
        /// Keep the database in memory alone: it goes with the process.
        memory: switch [conflicts_with_all = ["data", "durability"]],
        /// Listen on this address, given once for each; port 0 is any that is free
        /// [default: 127.0.0.1:5432, where no socket is given].
        #[arg(long, value_name = "ADDR:PORT")]
        pub listen: Vec<SocketAddr>,
        /// Listen on a Unix socket in this directory: the file .s.PGSQL.5432, or with the first address's port.
        #[arg(long, value_name = "DIR")]
        pub socket: Vec<PathBuf>,
        /// A scheme with transactions, by name.
        scheme: text() = "silo",
        /// When commits are answered [default: sync].
        durability: one_of(DURABILITIES, Durability),
        /// Threads that serve, 1 to 1024 [default: all cores].
        threads: count(1, 1024),
        /// Clients that may be logged in at once, 1 to 1000000.
        max_connections: whole(1, 1_000_000) = "100",
        /// Offer TLS with this chain of certificates, in PEM.
        tls_cert: file() [requires = "tls_key"],
        /// The key of the certificate, in PEM.
        tls_key: file() [requires = "tls_cert"],
        /// Who may log in: lines USER:PASSWORD [default: everybody on this computer, nobody else].
        password_file: file(),
        /// Print nothing; the exit status tells.
        quiet: switch,
    }
}
