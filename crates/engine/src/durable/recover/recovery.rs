//! A recovery: what it reads from, where it puts rows, and what its threads share.

use crate::durable::directory::plan::Plan;
use crate::durable::recover::target::{Removed, Target};
use chiliad_api::{Error, Host, Phase, Result};
use chiliad_log::{LogError, Retired};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};

/// A recovery.
pub struct Replay<'a, M: Machine> {
    pub disk: &'a dyn Disk,
    pub plan: &'a Plan,
    pub host: &'a dyn Host<M>,
    /// Without it everything is read and nothing kept.
    pub target: Option<Target<'a, M>>,
    /// Take what there is, and list what is lost.
    pub lenient: bool,
    pub counts: Shared<M, Counts<M>>,
}

/// State shared by the threads of a recovery.
pub struct Counts<M: Machine> {
    pub bytes_done: M::Word,
    pub bytes_all: M::Word,
    pub checkpoint_rows: M::Word,
    pub transactions: M::Word,
    pub writes: M::Word,
    pub dropped: M::Word,
    pub rows: M::Word,
    pub failed: M::Word,
    /// The failure of the first task that has one.
    pub failure: Latch<M, Option<(usize, Error)>>,
    pub losses: Latch<M, Vec<LogError>>,
    /// Keys removed by something that was replayed, with their tables.
    pub removed: Latch<M, Removed>,
    /// The segments that were read, with the newest epoch of a transaction in each.
    pub segments: Latch<M, Vec<Retired>>,
}

/// Counts.
pub fn add(word: &impl Word, count: u64) {
    // Relaxed: statistics, read when the threads have ended.
    word.fetch_add(count, Ordering::Relaxed);
}

impl<'a, M: Machine> Replay<'a, M> {
    /// A recovery that has not begun.
    pub fn new(disk: &'a dyn Disk, plan: &'a Plan, host: &'a dyn Host<M>) -> Self {
        let zero = || M::Word::new(0);
        let counts = Shared::new(Counts {
            bytes_done: zero(),
            bytes_all: zero(),
            checkpoint_rows: zero(),
            transactions: zero(),
            writes: zero(),
            dropped: zero(),
            rows: zero(),
            failed: zero(),
            failure: Latch::new(None),
            losses: Latch::new(Vec::new()),
            removed: Latch::new(Vec::new()),
            segments: Latch::new(Vec::new()),
        });
        Self { disk, plan, host, target: None, lenient: false, counts }
    }

    /// A recovery with tables to put rows into, which are empty. `lenient`: take the files that there are, and
    /// list the losses.
    pub fn into_tables(self, target: Target<'a, M>, lenient: bool) -> Self {
        Self { target: Some(target), lenient, ..self }
    }

    /// Reports the failure of a task, and lets the others stop. Of several failures that of the first task is
    /// kept: however many threads read, the same file is named.
    pub fn fail(&self, task: usize, error: Error) {
        let mut failure = self.counts.failure.lock();
        if failure.as_ref().is_none_or(|(first, _)| task < *first) {
            *failure = Some((task, error));
        }
        drop(failure);
        self.counts.failed.store(1, Ordering::Relaxed);
    }

    /// Whether anything has gone wrong.
    pub fn has_failed(&self) -> bool {
        self.counts.failed.load(Ordering::Relaxed) != 0
    }

    /// Takes damage as a loss, or reports it.
    pub fn lose(&self, error: LogError) -> Result<()> {
        if !self.lenient {
            return Err(error.into());
        }
        self.counts.losses.lock().push(error);
        Ok(())
    }

    pub fn progress(&self, bytes: u64) {
        let before = self.counts.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        let all = self.counts.bytes_all.load(Ordering::Relaxed);
        self.host.progress(Phase::Replay, before + bytes, all);
    }
}
