//! The options of a soak of servers that share a log.

use chiliad::shared_log::SharedLog;
use chiliad_host::Stop;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The order.
pub struct JoinedOrder<'a> {
    /// The name of the log, for the report.
    pub name: &'a str,
    /// Opens the log for one more server, or hands out the one that is open.
    pub log: &'a (dyn Fn() -> Result<Arc<dyn SharedLog>, Stop> + Sync),
    /// Servers at the beginning; one more joins on the way.
    pub servers: usize,
    /// Clients of each server, each a thread.
    pub threads: usize,
    /// Transactions a second of all clients together, where they do not run as fast as they can.
    pub rate: u32,
    /// Rows that are updated.
    pub records: u32,
    /// How long all of it lasts.
    pub duration: Duration,
    /// The seed.
    pub seed: u64,
    /// Where the servers keep their checkpoints.
    pub checkpoints_in: PathBuf,
    /// Bytes of log between two of them.
    pub checkpoint_log_bytes: u64,
    /// No progress bar.
    pub quiet: bool,
}
