//! Ordered tasks: programs for hardware that speculates on the order of timestamps (Swarm: Jeffrey et al., 2015).
//!
//! A *task* is a function of a timestamp and at most five words. It reads and writes the machine's usual words, and
//! enqueues *children*, whose timestamps are not below its own. The result is that of all tasks run one after another in
//! the order of timestamps; tasks of equal timestamps come in any order, but after their parents, so they must
//! commute.
//!
//! A [`Program`] is the functions; a runtime is what runs them:
//!
//! - [`Serial`], on every machine: a queue by timestamp. It is the oracle, what Miri runs, and what calibration counts;
//! - the simulated hardware (crate `chiliad-simulator`), which runs tasks out of order and takes back what went wrong.
//!
//! Hardware may abandon a body at any access and run it again. So a body:
//!
//! 1. owns nothing with a destructor and allocates nothing on the host: its words, local values, [`Lines`];
//! 2. uses no latch, pin, park, fence, clock or random number of the machine;
//! 3. may see what no finished run would show it, such as a null link: it calls [`Lines::trap`], and never indexes,
//!    unwraps or loops on what it has read without a bound;
//! 4. names things to its children by numbers, not by addresses: words have no provenance. Links in tracked memory have.

mod lines;
mod serial;

pub use lines::LinePool;
pub use serial::{Serial, Ties};

use crate::{LINE_BYTES, Machine};
use core::fmt;
use core::ptr::NonNull;

/// The most words that a task takes.
pub const TASK_WORDS_MAX: usize = 5;

/// The most children that a task enqueues.
pub const CHILDREN_MAX: usize = 8;

/// The words of a line.
pub const LINE_WORDS: usize = LINE_BYTES / 8;

/// A function of a program, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u16);

/// A task as a queue holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// The function that it runs.
    pub function: FunctionId,
    /// Its place in the order.
    pub timestamp: u64,
    /// A number that tasks share which are likely to touch the same lines; `None` where that is not known.
    pub hint: Option<u64>,
    words: [u64; TASK_WORDS_MAX],
    count: u8,
}

impl Task {
    /// A task of these `words`; `None` if there are more than [`TASK_WORDS_MAX`].
    #[must_use]
    pub fn new(
        function: FunctionId,
        timestamp: u64,
        words: &[u64],
        hint: Option<u64>,
    ) -> Option<Self> {
        let mut held = [0; TASK_WORDS_MAX];
        held.get_mut(..words.len())?.copy_from_slice(words);
        Some(Self { function, timestamp, hint, words: held, count: words.len() as u8 })
    }

    /// Its words, as many as it was given.
    #[must_use]
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words[..usize::from(self.count)]
    }

    /// The word at `index`; zero where it was given fewer.
    ///
    /// # Panics
    /// When no task has as many.
    #[must_use]
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.words[index]
    }
}

/// Memory as tasks have it: whole lines, which hold zeroes. Inside a task it is the task's: taken back if the task is
/// aborted, and a block that it frees is free when it commits.
pub trait Lines {
    /// The machine whose words they hold.
    type Machine: Machine;

    /// So many lines, one after another, whose words are zero; `None` when the machine has no more.
    fn alloc(&self, lines: usize) -> Option<NonNull<<Self::Machine as Machine>::Word>>;

    /// Gives lines back.
    ///
    /// # Safety
    /// `block` came from [`Lines::alloc`] of the same memory with as many `lines`, and the program as it is then
    /// ordered has no way to it any more.
    unsafe fn free(&self, block: NonNull<<Self::Machine as Machine>::Word>, lines: usize);

    /// The caller has met what no finished run would have shown it. A speculative task ends here and is run again
    /// later.
    ///
    /// # Panics
    /// Where nothing is speculative: then it is a bug of the program, and `why` says which.
    fn trap(&self, why: &'static str) -> !;
}

/// The calls that the body of a task makes besides reading and writing words.
pub trait Tasks: Lines {
    /// Enqueues a child, with the words that its function takes.
    ///
    /// It may not return: a child before its parent, a ninth one and a sixth word end the run, as a [`Violation`].
    fn enqueue(&self, function: FunctionId, timestamp: u64, words: &[u64], hint: Option<u64>);
}

/// The functions of tasks, for a runtime `T`. What they share is the program's own: what it holds is read by all tasks,
/// and written, after it began, only in tracked words.
pub trait Program<T: ?Sized> {
    /// The name of a function, for reports.
    fn name(&self, function: FunctionId) -> &'static str;

    /// Runs the body of `task`.
    fn run(&self, tasks: &T, task: &Task);
}

/// A task broke a rule that every runtime holds it to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// A child's timestamp is below its parent's.
    ChildBeforeParent {
        /// The parent's function.
        task: &'static str,
        /// The child's function.
        child: &'static str,
        /// The parent's timestamp.
        timestamp: u64,
        /// The child's.
        child_timestamp: u64,
    },
    /// A task has more than [`CHILDREN_MAX`] children.
    TooManyChildren {
        /// The parent's function.
        task: &'static str,
    },
    /// A child was given more than [`TASK_WORDS_MAX`] words.
    TooManyWords {
        /// The parent's function.
        task: &'static str,
        /// The child's function.
        child: &'static str,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChildBeforeParent { task, child, timestamp, child_timestamp } => write!(
                f,
                "child before its parent: task {task} at {timestamp} enqueued {child} at {child_timestamp}"
            ),
            Self::TooManyChildren { task } => {
                write!(f, "too many children: task {task} enqueued more than {CHILDREN_MAX}")
            }
            Self::TooManyWords { task, child } => write!(
                f,
                "too many words: task {task} enqueued {child} with more than {TASK_WORDS_MAX}"
            ),
        }
    }
}

impl std::error::Error for Violation {}
