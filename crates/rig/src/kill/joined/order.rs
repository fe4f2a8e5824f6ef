//! The options of a run of kills: how many servers, on which log, and what is done to them.

use chiliad::{Database, Options};
use std::ffi::OsString;
use std::path::PathBuf;

/// The order.
pub struct SharedOrder<'a> {
    /// How often the processes are started.
    pub cycles: u64,
    /// The name of the log, which is empty or missing.
    pub log: &'a str,
    /// Each server is a process; otherwise one has all of them.
    pub apart: bool,
    /// Servers.
    pub servers: usize,
    /// Clients of each process, each a thread.
    pub threads: usize,
    /// Decides which processes are killed and when, and what clients do.
    pub seed: u64,
    /// Where checkpoints go.
    pub checkpoints_in: PathBuf,
    /// The script by which those that keep the log are killed and started; `None`: they are left alone.
    pub log_script: Option<PathBuf>,
    /// No progress bar.
    pub quiet: bool,
    /// Acknowledge before a transaction has committed: a bug, to see that it is found.
    pub acknowledges_early: bool,
    /// The words, after the program's name, of a process that does what this word says.
    pub child: fn(String) -> Vec<OsString>,
}

impl SharedOrder<'_> {
    /// Processes of servers.
    pub(super) fn processes(&self) -> usize {
        if self.apart { self.servers } else { 1 }
    }

    pub(super) fn join(&self) -> chiliad::Result<Database> {
        let options = Options::default().checkpoints(&self.checkpoints_in);
        Database::join(self.log, options.checkpoint_log_bytes(u64::MAX))
    }
}
