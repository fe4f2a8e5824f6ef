//! The results of a run.

use super::{Deferrals, FollowingCost, Idle, Sample, Tally};
use chiliad_checker::Recorder;
use chiliad_engine::Error;
use chiliad_machine::shared_log::SharedLogError;
use chiliad_workload::Condition;
use std::fmt;

/// A native run.
pub struct NativeReport {
    /// The length of the measured window.
    pub seconds: f64,
    /// The counts of the window.
    pub tally: Tally,
    /// The records of the clients; empty unless the plan asked for them.
    pub recorders: Vec<Recorder>,
    /// The run was not cut short by the cap on the history's memory.
    pub complete: bool,
    /// The window ended before its time: see [`super::Progress::interrupted`].
    pub interrupted: bool,
    /// Requests that waited; `None` where none may, or where clients run them at once.
    pub deferrals: Option<Deferrals>,
    /// The workload's conditions; `None` unless the plan asked for them.
    pub conditions: Option<Vec<Condition>>,
    /// The differences between copies of the database, where the plan asked for conditions.
    pub differences: Vec<String>,
    /// At index `n` how many records have `n` older versions; `None` unless the plan asked for it.
    pub versions: Option<Vec<u64>>,
    /// Throughput and memory over the window; empty unless the plan asked for it.
    pub series: Vec<Sample>,
    /// Resident memory of the process at the end of the window, in bytes.
    pub memory_bytes: u64,
    /// Seconds that loading took.
    pub load_seconds: f64,
    /// Bytes of log written in the window.
    pub log_bytes: u64,
    /// Checkpoints published in it.
    pub checkpoints: u64,
    /// The cost of following transactions through the parts of their time; `None` unless the plan asked for it, or
    /// where the window was too short to tell.
    pub following_cost: Option<FollowingCost>,
    /// The times without a commit; nothing unless the plan asked for it.
    pub idle: Idle,
}

/// A simulated run.
pub struct SimulatedReport {
    /// How the machine ended, and what it counted.
    pub outcome: chiliad_simulator::Outcome,
    /// The length of the measured window in ticks.
    pub ticks: u64,
    /// The counts of the window.
    pub tally: Tally,
    /// The records of the clients; empty unless the plan asked for them.
    pub recorders: Vec<Recorder>,
    /// The run was not cut short by the cap on the history's memory.
    pub complete: bool,
    /// Requests that waited; `None` where none may, or where clients run them at once.
    pub deferrals: Option<Deferrals>,
    /// The workload's conditions; `None` unless asked for, or where the run did not complete.
    pub conditions: Option<Vec<Condition>>,
    /// The differences between copies of the database, where the plan asked for conditions and the run completed.
    pub differences: Vec<String>,
    /// Why clients gave up, in the order in which they did: errors that no retry mends.
    pub failures: Vec<Failure>,
    /// Seconds of the host spent loading.
    pub load_seconds: f64,
    /// Seconds of the host spent simulating.
    pub seconds: f64,
    /// The times without a commit.
    pub idle: Idle,
}

/// Why a run could not be brought to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The engine refused for a reason that a retry does not mend.
    Engine {
        /// The operation.
        doing: &'static str,
        /// The engine's answer.
        error: Error,
    },
    /// The shared log refused.
    Log(SharedLogError),
    /// A client panicked.
    Panic(String),
    /// The host refused threads.
    Host(String),
    /// It was to end before anything was measured: see [`super::Progress::interrupted`].
    Interrupted,
}

impl Failure {
    /// Says what was being done when the engine failed.
    pub fn doing(doing: &'static str) -> impl FnOnce(Error) -> Self {
        move |error| Self::Engine { doing, error }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine { doing, error } => write!(f, "{doing}: {error}"),
            Self::Log(error) => error.fmt(f),
            Self::Host(problem) => f.write_str(problem),
            Self::Interrupted => write!(f, "interrupted before anything was measured"),
            Self::Panic(message) => write!(f, "a client panicked: {message}"),
        }
    }
}

impl std::error::Error for Failure {}
