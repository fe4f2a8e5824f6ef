//! Threads for what the engine does in parallel: recovery, checkpoints.

use chiliad_engine::{Crew, Host, Phase};
use chiliad_machine::Interleaved;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;

/// Is told how far a recovery is.
pub(crate) type Show<'a> = &'a (dyn Fn(Phase, u64, u64) + Sync);

/// So many threads, the caller's among them.
pub(crate) struct Threads<'a> {
    count: usize,
    show: Option<Show<'a>>,
    /// Units at the last report: a hundredth more is worth another.
    shown: AtomicU64,
}

impl<'a> Threads<'a> {
    pub fn new(count: usize) -> Self {
        Self { count: count.max(1), show: None, shown: AtomicU64::new(0) }
    }

    pub fn showing(count: usize, show: Show<'a>) -> Self {
        Self { show: Some(show), ..Self::new(count) }
    }

    /// One for each core that the process may run on.
    pub fn one_per_core() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Two for each of them, for reading files: one waits for the disk while the other uses
    /// what it has.
    pub fn two_per_core() -> usize {
        2 * Self::one_per_core()
    }
}

impl Host<Interleaved> for Threads<'_> {
    fn parallel(&self, crew: &Crew<'_, Interleaved>) {
        std::thread::scope(|scope| {
            for _ in 1..self.count {
                // With fewer threads it takes longer.
                if Builder::new().spawn_scoped(scope, || crew.work()).is_err() {
                    break;
                }
            }
            crew.work();
        });
    }

    fn progress(&self, phase: Phase, done: u64, total: u64) {
        let Some(show) = self.show else { return };
        // Relaxed: a report that is made twice, or not at all, does no harm.
        let shown = self.shown.load(Ordering::Relaxed);
        if done >= total || done < shown || done - shown >= total / 100 {
            self.shown.store(done, Ordering::Relaxed);
            show(phase, done, total);
        }
    }
}
