//! The counts of a run of ordered tasks, as JSON has them.

use chiliad_simulator::{Cause, TaskCounts};
use serde::Serialize;
use serde_json::{Map, Value};

/// The counts of a run of ordered tasks, warm-up included.
#[derive(Serialize)]
pub struct TaskResult {
    dispatched: u64,
    committed: u64,
    squashed: u64,
    /// Executions undone, by cause.
    aborted: Map<String, Value>,
    checks: Checks,
    false_matches: u64,
    spills: u64,
    nacks: u64,
    /// Tasks for each core in task queues on average, and in commit queues.
    mean_queue: f64,
    mean_commit_queue: f64,
}

/// Accesses by the level that they were checked at.
#[derive(Serialize)]
struct Checks {
    /// The core's first cache let them pass.
    first_cache: u64,
    tile: u64,
    /// Of those at the tile, those that a canary let pass the other tiles.
    canary: u64,
    global: u64,
}

impl TaskResult {
    /// From what a machine with so many cores counted.
    pub fn new(counts: &TaskCounts, cores: usize) -> Self {
        let looks = (counts.updates * cores as u64).max(1) as f64;
        let aborted = Cause::NAMES.iter().zip(counts.aborted);
        Self {
            dispatched: counts.dispatched,
            committed: counts.committed,
            squashed: counts.squashed,
            aborted: aborted.map(|(name, count)| ((*name).into(), count.into())).collect(),
            checks: Checks {
                first_cache: counts.passed_near,
                tile: counts.checked_tile,
                canary: counts.passed_canary,
                global: counts.checked_global,
            },
            false_matches: counts.false_matches,
            spills: counts.spilled,
            nacks: counts.refused,
            mean_queue: counts.queued as f64 / looks,
            mean_commit_queue: counts.commit_queued as f64 / looks,
        }
    }
}
