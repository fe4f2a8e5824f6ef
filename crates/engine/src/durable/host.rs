//! What long work asks of whoever started it: threads, and somebody to tell how far it is.

use super::checkpoint::Walkers;
use super::replay::Readers;
use super::settle::Settlers;
use chiliad_machine::Machine;

/// What is being done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Looking for the ends of logs, by incarnation.
    Inspect,
    /// Reading checkpoint and logs, in bytes.
    Replay,
    /// Making records ready, in tables.
    Settle,
}

/// Work that several threads do together: each calls [`Crew::work`], which returns when nothing is
/// left to begin.
pub enum Crew<'a, M: Machine> {
    /// Reading checkpoint and logs.
    Readers(&'a Readers<'a, M>),
    /// Making records ready.
    Settlers(&'a Settlers<'a, M>),
    /// Writing a checkpoint.
    Walkers(&'a Walkers<'a, M>),
}

impl<M: Machine> Crew<'_, M> {
    /// Takes part until nothing is left to begin. What goes wrong is reported by who began it.
    pub fn work(&self) {
        match self {
            Self::Readers(work) => work.take_part(),
            Self::Settlers(work) => work.take_part(),
            Self::Walkers(work) => work.take_part(),
        }
    }
}

/// Runs crews on threads. The engine itself starts none.
pub trait Host<M: Machine>: Sync {
    /// Has as many threads at once take part as the host likes, one at least, and returns when all of
    /// them have returned.
    fn parallel(&self, crew: &Crew<'_, M>);

    /// `done` of `total` units of a phase are done. Called by any of the threads, often.
    fn progress(&self, phase: Phase, done: u64, total: u64) {
        let _ = (phase, done, total);
    }
}

/// One thread, and nobody to tell.
pub struct Alone;

impl<M: Machine> Host<M> for Alone {
    fn parallel(&self, crew: &Crew<'_, M>) {
        crew.work();
    }
}
