//! Why a command ends without doing what it was asked.

use std::fmt;

/// Why a command stops.
#[derive(Debug)]
pub enum Stop {
    /// A flag, a value or a file is wrong: nothing was changed. One line says which, what was wrong
    /// and what is accepted.
    BadInput(String),
    /// A verification, a consistency condition or a run failed; what is to be said about it.
    Failed(String),
    /// The command failed, and has printed everything already.
    FailedAndSaid,
    /// A signal has ended it early; what came of it until then has been said.
    Interrupted,
    /// The command is done: help and version.
    Done(String),
}

impl Stop {
    /// Bad input in `what`, a flag or a file.
    pub fn bad(what: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self::BadInput(format!("{what}: {problem}"))
    }
}
