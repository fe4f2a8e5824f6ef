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
    /// How it rolls the log forward.
    pub roll: RollOptions,
    /// Bytes of log after which a checkpoint is due; more, where the last one was larger. `u64::MAX` for never.
    pub checkpoint_log_bytes: u64,
    /// How long a log may show less than the checkpoint has seen before the server refuses it: a service that has just
    /// restarted needs some time to show all that it has. In runs that explore, none.
    pub log_patience: Duration,
}

/// How a server rolls the log forward. The verdicts are the same whatever is chosen, but for
/// [`Level::Snapshot`] and the window, about which all servers of a log must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct RollOptions {
    /// How the verdict on an intention is found.
    pub certifier: Certifier,
    /// Whether intentions meet a newer state than the one they have read before their turn comes.
    pub premeld: Premeld,
    /// Whether two intentions are melded into one first.
    pub group: Group,
    /// The data that an intention depends on.
    pub level: Level,
    /// Whether the descents of several intentions wait for memory together before the intentions are worked on.
    pub overlap: bool,
    /// Intentions after which one that has read an older state is refused. It bounds what the past can decide: a
    /// tombstone that is older decides nothing. All servers of a log must agree about it.
    pub window: u64,
    /// Threads that play the stages, 1 to [`PIPELINE_MAX`]; 0 where nobody said: one, if there are threads at all.
    pub pipeline: u32,
}

impl RollOptions {
    /// Whether two intentions are melded into one first: overlays alone can be.
    #[must_use]
    pub fn pairs(&self) -> bool {
        self.certifier == Certifier::Meld && self.group != Group::Off
    }
}

impl Default for RollOptions {
    fn default() -> Self {
        Self {
            certifier: Certifier::default(),
            premeld: Premeld::default(),
            group: Group::default(),
            level: Level::default(),
            overlap: true,
            window: WINDOW,
            pipeline: 0,
        }
    }
}

/// How the verdict on an intention is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Certifier {
    /// Each key is looked up in the newest state, and written there.
    #[default]
    Plain,
    /// The intention becomes a tree beside the state that it has read, and the two are melded (Bernstein et al.,
    /// 2011): what has not changed since is not looked at.
    Meld,
    /// Keys are looked up in a table of the last writers, ranges in the newest state; what has committed is applied.
    Window,
}

/// Whether intentions meet a newer state before their turn comes, with [`Certifier::Meld`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Premeld {
    /// They do not.
    #[default]
    Off,
    /// The newest that is published.
    Newest,
    /// Intention n meets the state after intention n - threads x distance - 1 (Bernstein et al., 2015).
    Fixed {
        /// Threads that premeld.
        threads: u32,
        /// How many intentions of its own a thread lies back.
        distance: u32,
    },
}

/// Whether two intentions are melded into one first, with [`Certifier::Meld`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Group {
    /// They are not.
    #[default]
    Off,
    /// They are, and come apart again where one of them does not commit: the verdicts are those without groups.
    Exact,
    /// They are, and either both commit or neither (Bernstein et al., 2015). Verdicts depend on what was paired with what
    /// and on what premeld has met: for [`crate::run_meld`] alone, servers do not take it.
    Fate,
}

/// What an intention depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Level {
    /// On all that it has read and scanned, and on what it writes.
    #[default]
    Serializable,
    /// On what it writes.
    Snapshot,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            memory_bytes_max: u64::MAX,
            verify: false,
            roll: RollOptions::default(),
            checkpoint_log_bytes: CHECKPOINT_LOG_BYTES,
            log_patience: Duration::from_secs(10),
        }
    }
}

/// The most threads that play the stages of a server.
pub const PIPELINE_MAX: u32 = 64;

/// How old a state an intention may have read, unless the servers agree about another age.
pub const WINDOW: u64 = 1 << 20;

/// Bytes of log between two checkpoints.
const CHECKPOINT_LOG_BYTES: u64 = 1 << 30;

/// What an intention may have, in bytes: refused before the append, and alike by every decoder.
pub const INTENTION_BYTES_MAX: usize = 16 << 20;

/// What the engine promises.
pub const INFO: Info = Info {
    name: "hyder",
    summary: "servers that roll one shared log forward, each with a full copy",
    isolation: Isolation::Serializable,
    strict: true,
    order_follows_reads: true,
    snapshots: true,
    needs_partitions: false,
    wait_timeout: Duration::ZERO,
    source: "Bernstein et al., 2015",
};
