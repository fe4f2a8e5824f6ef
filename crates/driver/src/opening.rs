//! How a database is opened: the options of the engine, and those of servers that share a log.

use chiliad_engine::{DurableOptions, Options};
use chiliad_hyder::RollOptions;
use chiliad_machine::disk::Disk;
use chiliad_simulator::LogFaults;
use std::sync::Arc;
use std::time::Duration;

/// The most servers that share a log in one run.
pub const SERVERS_MAX: usize = 64;

/// How a database is opened.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Opening {
    /// The engine's options.
    pub engine: Options,
    /// Further settings of servers that share a log; of no account under other schemes.
    pub cluster: ClusterOptions,
}

impl From<Options> for Opening {
    fn from(engine: Options) -> Self {
        Self { engine, cluster: ClusterOptions::default() }
    }
}

/// Where a native run with a log keeps it.
pub struct Home {
    /// Empty.
    pub disk: Arc<dyn Disk>,
    /// How it is used.
    pub options: DurableOptions,
}

/// Servers that share a log.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClusterOptions {
    /// How many there are, 1 to [`SERVERS_MAX`].
    pub servers: usize,
    /// How each rolls the log forward.
    pub roll: RollOptions,
    /// The log fails in each of its ways at one call in so many, from when the rows are loaded; 0: never. In simulation
    /// only.
    pub log_fails_one_in: u64,
    /// How long an append to the log takes; zero for as long as it does.
    pub append_latency: Duration,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            servers: 1,
            roll: RollOptions::default(),
            log_fails_one_in: 0,
            append_latency: Duration::ZERO,
        }
    }
}

impl ClusterOptions {
    /// The faults of the simulated log once the rows are loaded, on a machine of so many ticks to a second.
    pub(crate) fn log_faults(&self, ticks_per_second: u64) -> LogFaults {
        let faults = match self.log_fails_one_in {
            0 => LogFaults::default(),
            one_in => LogFaults::all(one_in),
        };
        let latency = self.append_latency.as_nanos() * u128::from(ticks_per_second) / 1_000_000_000;
        match u64::try_from(latency).unwrap_or(u64::MAX) {
            0 => faults,
            ticks => LogFaults { append_ticks_mean: ticks, ..faults },
        }
    }
}
