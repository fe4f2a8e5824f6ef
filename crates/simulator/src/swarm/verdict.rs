//! How a run of tasks ends that does not run to its end.

use chiliad_machine::tasks::Violation;
use std::fmt;

/// Why a run of tasks ended before they had all committed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskVerdict {
    /// A task that was not speculative broke a rule.
    Violation(Violation),
    /// A task did what no task may do, such as to park.
    Forbidden(&'static str),
    /// What is named let an access pass that conflicts with a later task's.
    Unsound(&'static str),
    /// Tasks wait for each other.
    Stuck,
}

impl fmt::Display for TaskVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => violation.fmt(f),
            Self::Forbidden(what) => write!(f, "forbidden in a task: {what}"),
            Self::Unsound(who) => write!(f, "unsound: the {who} let a conflict pass"),
            Self::Stuck => f.write_str("stuck: no task has begun or committed for long"),
        }
    }
}
