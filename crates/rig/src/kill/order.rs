//! The options of a run of kills: how many processes, and what they do.

use super::client::Acknowledges;
use super::victim::Work;
use chiliad::Scheme;
use std::ffi::OsString;
use std::path::PathBuf;

/// The order of the command.
pub struct Order {
    /// Openings of the database, each of which ends in a kill or an orderly close.
    pub cycles: u64,
    /// The work of the processes.
    pub work: Work,
    /// Clients, each a thread.
    pub threads: usize,
    /// The scheme.
    pub scheme: Scheme,
    /// Clients wait for each result themselves.
    pub waits: bool,
    /// Decides when to kill, the options of each opening, and what clients do.
    pub seed: u64,
    /// The directory, which stays; `None`: a temporary one.
    pub data: Option<PathBuf>,
    /// No progress bar.
    pub quiet: bool,
    /// When clients acknowledge.
    pub acknowledges: Acknowledges,
    /// The words, after the program's name, of a process that does what this word says.
    pub child: fn(String) -> Vec<OsString>,
}

impl Order {
    /// When clients acknowledge, as reports have it.
    pub(super) fn durability(&self) -> &'static str {
        if self.waits { "sync" } else { "epoch" }
    }
}
