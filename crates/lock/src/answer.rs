//! The answers to a request for a lock.

use crate::mode::Mode;
use core::fmt;

/// Why a lock is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The transaction would wait for itself, by way of others.
    Deadlock,
    /// A deadlock of two that share a lock and both want it for themselves.
    UpgradeDeadlock,
    /// It has waited for as long as it was to.
    Timeout,
    /// There are as many locks as are allowed, or as fit into memory.
    Exhausted,
    /// Somebody else has told it to give up: see [`crate::Cancel`].
    Cancelled,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadlock => "deadlock",
            Self::UpgradeDeadlock => "deadlock of two that share a lock and both want it alone",
            Self::Timeout => "waited for a lock for as long as allowed",
            Self::Exhausted => "as many locks as allowed are held or not reclaimed yet",
            Self::Cancelled => "told to give up waiting for a lock",
        })
    }
}

impl core::error::Error for Refused {}

impl Refused {
    /// A deadlock of one that has this mode of what it waits for.
    pub(crate) fn deadlock(granted: Option<Mode>) -> Self {
        if granted.is_some() { Self::UpgradeDeadlock } else { Self::Deadlock }
    }

    /// Whether it is one.
    pub(crate) fn ends_deadlock(self) -> bool {
        matches!(self, Self::Deadlock | Self::UpgradeDeadlock)
    }
}

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The transaction has the lock.
    Granted,
    /// It stands in line: [`Session::wait`](crate::Session::wait) is to be called, where nothing is latched.
    Waits,
}
