//! How a server runs.

use chiliad_api::{Info, Isolation};
use core::time::Duration;

/// Options of a server.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct ServerOptions {
    /// Memory that states may reserve, in bytes; `u64::MAX` for no limit.
    pub memory_bytes_max: u64,
    /// Give every version a stamp and report every access to the sessions' recorders.
    pub verify: bool,
    /// Whether threads of their own roll the log forward ([`crate::Server::tasks`]); otherwise the sessions do that
    /// wait for their verdicts.
    pub has_threads: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { memory_bytes_max: u64::MAX, verify: false, has_threads: false }
    }
}

/// Intentions after which one that has read an older state is refused. It bounds what the past can decide: a tombstone
/// that is older decides nothing.
pub const WINDOW: u64 = 1 << 20;

/// What an intention may have, in bytes: refused before the append, and alike by every decoder.
pub const INTENTION_BYTES_MAX: usize = 16 << 20;

/// What the engine promises.
pub const INFO: Info = Info {
    name: "hyder",
    summary: "servers that roll one shared log forward, and meld what transactions intend",
    isolation: Isolation::Serializable,
    strict: true,
    order_follows_reads: true,
    snapshots: true,
    needs_partitions: false,
    wait_timeout: Duration::ZERO,
    source: "Bernstein et al., 2015",
};
