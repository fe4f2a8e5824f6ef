//! Why a queue takes no more.

use core::fmt;

/// Why a transaction was not taken into a [`Queue`](crate::Queue).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// It has its greatest length.
    Full,
    /// [`Queue::close`](crate::Queue::close) was called.
    Closed,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the queue is full: try again when requests have ended"),
            Self::Closed => write!(f, "the queue is closed"),
        }
    }
}

impl std::error::Error for Refused {}
