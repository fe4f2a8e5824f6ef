//! Hardware that speculates on the order of tasks (Swarm: Jeffrey et al., 2015; as in Yan, 2015, chapter 3).
//!
//! ```text
//!   enqueue --> task queue --> order queue --> a core runs it --> commit queue --> committed
//!    (any tile)   (of a tile)    (earliest       |   ^               (GVT has passed it)
//!                                 first)         |   '-- aborted: its words are restored, its children squashed
//!                                                '-- each access is checked against later tasks, which it aborts
//! ```
//!
//! - Tasks write in place and log the words that they overwrite. Later tasks see what earlier ones have written.
//! - An access of a line that a later task has accessed in conflict aborts that one, all that have used what it wrote,
//!   and its children (`abort`). A roll-back takes effect in one step and is charged for afterwards.
//! - What is checked (`access`): nothing where the core's first cache has the line; the tile's tasks where the second one
//!   has it; the tasks of other tiles where that has not, or where its set's canary says that a later task installed the line.
//! - The global virtual time (`commit`) is that of the earliest unfinished task. What is before it commits.
//! - Full queues (`queues`): tasks without a speculative parent go to memory and come back, others are refused and sent again.
//! - An execution ends anywhere: its stack is given up. So bodies own nothing with a destructor; what goes wrong in a
//!   speculative one (a trap, closed memory, a panic, too many accesses) counts only if it happens again when the
//!   task is the earliest.
//!
//! From the bottom up: `time`, `sets`, `unit` (a tile's queues), `chip` (all tiles), `queues`, `dispatch`, `abort`, `commit`
//! on it; `access` and `body` (what a task's core does), `run`.

mod abort;
mod access;
mod body;
mod chip;
mod commit;
mod counts;
mod dispatch;
pub(crate) mod faults;
mod queues;
mod run;
mod sets;
mod time;
mod unit;
mod verdict;

pub use body::Hardware;
pub(crate) use chip::Swarm;
pub use chip::{Aborts, Canary, CommitEntry, Place, SetKind, TaskOptions};
pub use counts::{Begun, Cause, Passed, TaskCounts};
pub use faults::FAULTS as TASK_FAULTS;
pub use verdict::TaskVerdict;
