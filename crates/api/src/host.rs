//! Demands of long work on its caller: threads, and a receiver of progress.

use chiliad_machine::Machine;
use core::marker::PhantomData;

/// The current phase of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Phase {
    /// Looking for the ends of logs, by incarnation.
    Inspect,
    /// Reading checkpoint and logs, in bytes.
    Replay,
    /// Making records ready, in tables.
    Finalize,
}

/// Work that several threads do together.
pub trait Work {
    /// Takes part until nothing is left to begin. Errors are reported by the caller that began the work.
    fn take_part(&self);
}

/// Work of an engine on machine `M`, to be shared among threads: each calls [`Crew::work`].
pub struct Crew<'a, M: Machine> {
    work: &'a (dyn Work + Sync),
    machine: PhantomData<fn() -> M>,
}

impl<'a, M: Machine> Crew<'a, M> {
    /// Wraps `work`.
    #[must_use]
    pub fn new(work: &'a (dyn Work + Sync)) -> Self {
        Self { work, machine: PhantomData }
    }

    /// Takes part until nothing is left to begin.
    pub fn work(&self) {
        self.work.take_part();
    }
}

/// Runs crews on threads. An engine itself starts none.
pub trait Host<M: Machine>: Sync {
    /// Has as many threads at once take part as the host likes, one at least, and returns when all of
    /// them have returned.
    fn parallel(&self, crew: &Crew<'_, M>);

    /// `done` of `total` units of a phase are done. Called by any of the threads, often.
    fn progress(&self, phase: Phase, done: u64, total: u64) {
        let _ = (phase, done, total);
    }
}

/// One thread, and nobody to report to.
pub struct Alone;

impl<M: Machine> Host<M> for Alone {
    fn parallel(&self, crew: &Crew<'_, M>) {
        crew.work();
    }
}
