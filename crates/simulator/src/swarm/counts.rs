//! The counts of a run of tasks.

use crate::timed::CoreTime;

/// Why an execution was aborted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Cause {
    /// An earlier task accessed what it had.
    Data = 0,
    /// Its parent was aborted.
    Parent = 1,
    /// An earlier task needed its core or its entry of the commit queue.
    Resource = 2,
    /// It met what no finished run would have shown it.
    Exception = 3,
}

impl Cause {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// Their names, each at its number.
    pub const NAMES: [&'static str; Self::COUNT] = ["data", "parent", "resource", "exception"];
}

/// The global virtual time had come to a timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// When, in cycles.
    pub cycle: u64,
    /// All tasks with lower timestamps have committed.
    pub timestamp: u64,
    /// The counts until then, of which the cores idled what they neither spent nor are spending on tasks.
    pub counts: TaskCounts,
}

/// An execution of a task that is watched began: [`super::TaskOptions::watched`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Begun {
    /// When, in cycles.
    pub cycle: u64,
    /// The timestamp of the task.
    pub timestamp: u64,
}

/// The counts of a run of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskCounts {
    /// Tasks enqueued, by tasks and from outside.
    pub made: u64,
    /// Executions that began.
    pub dispatched: u64,
    /// Tasks that committed.
    pub committed: u64,
    /// Tasks removed because their parent was aborted.
    pub squashed: u64,
    /// Executions undone, by cause.
    pub aborted: [u64; Cause::COUNT],
    /// Words that roll-backs have restored.
    pub undone_words: u64,
    /// Accesses that a first cache let pass unchecked.
    pub passed_near: u64,
    /// Checks against the tasks of the core's own tile.
    pub checked_tile: u64,
    /// Accesses of lines in a second cache whose canary let them pass the other tiles.
    pub passed_canary: u64,
    /// Checks against the tasks of other tiles.
    pub checked_global: u64,
    /// Tiles that these asked.
    pub tiles_asked: u64,
    /// Virtual times compared.
    pub compared: u64,
    /// Of these, of tasks that a filter named and that had not accessed the line so.
    pub false_matches: u64,
    /// Tasks taken to memory, and brought back.
    pub spilled: u64,
    /// As [`TaskCounts::spilled`].
    pub refilled: u64,
    /// Enqueued tasks that a full queue refused.
    pub refused: u64,
    /// Updates of the global virtual time.
    pub updates: u64,
    /// Sum over the updates and tiles of tasks in task queues, and of those in commit queues.
    pub queued: u64,
    /// As [`TaskCounts::queued`].
    pub commit_queued: u64,
    /// The most executions that one abort undid.
    pub largest_abort: u64,
    /// Cycles of the cores.
    pub core_time: CoreTime,
}

impl TaskCounts {
    /// The counts since those of an earlier moment. The largest abort is that of the whole run.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut aborted = self.aborted;
        for (count, before) in aborted.iter_mut().zip(earlier.aborted) {
            *count -= before;
        }
        Self {
            made: self.made - earlier.made,
            dispatched: self.dispatched - earlier.dispatched,
            committed: self.committed - earlier.committed,
            squashed: self.squashed - earlier.squashed,
            aborted,
            undone_words: self.undone_words - earlier.undone_words,
            passed_near: self.passed_near - earlier.passed_near,
            checked_tile: self.checked_tile - earlier.checked_tile,
            passed_canary: self.passed_canary - earlier.passed_canary,
            checked_global: self.checked_global - earlier.checked_global,
            tiles_asked: self.tiles_asked - earlier.tiles_asked,
            compared: self.compared - earlier.compared,
            false_matches: self.false_matches - earlier.false_matches,
            spilled: self.spilled - earlier.spilled,
            refilled: self.refilled - earlier.refilled,
            refused: self.refused - earlier.refused,
            updates: self.updates - earlier.updates,
            queued: self.queued - earlier.queued,
            commit_queued: self.commit_queued - earlier.commit_queued,
            largest_abort: self.largest_abort,
            core_time: self.core_time.since(&earlier.core_time),
        }
    }
}
