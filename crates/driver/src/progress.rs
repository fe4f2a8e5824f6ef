//! Progress reports of a driver while it runs.

use std::time::Duration;

/// Listens to a run. Called from the driver's own thread, a few times per second.
pub trait Progress: Sync {
    /// `done` of `of` parts are loaded.
    fn loading(&self, done: usize, of: usize) {
        let _ = (done, of);
    }
    /// The clients run: `measured` of the window (zero in the warm-up) has passed, and `committed`
    /// transactions were committed since the start.
    fn running(&self, measured: Duration, committed: u64) {
        let _ = (measured, committed);
    }
    /// The measured window begins.
    fn measuring(&self) {}
    /// The measured window shall end now, whatever its length. Asked a few times per second.
    fn interrupted(&self) -> bool {
        false
    }
    /// The clients have stopped and the history is being checked.
    fn checking(&self) {}
}

/// Nobody listens.
pub struct NoProgress;

impl Progress for NoProgress {}
