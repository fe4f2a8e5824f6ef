//! Why the command ends without doing what it was asked, and with which status.

use crate::interrupt;
use crate::output::{complain, print};
use std::fmt;
use std::process::ExitCode;

/// Why the command stops.
#[derive(Debug)]
pub enum Stop {
    /// A flag, a value or a file is wrong: nothing was changed. One line says which, what was wrong
    /// and what is accepted.
    BadInput(String),
    /// A verification, a consistency condition or a run failed; what is to be said about it.
    Failed(String),
    /// The same, and all has been said.
    FailedAndSaid,
    /// A signal has ended it early; what came of it until then has been said.
    Interrupted,
    /// What was asked for is done: help and version.
    Done(String),
}

impl Stop {
    /// Bad input in `what`, a flag or a file.
    pub fn bad(what: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self::BadInput(format!("{what}: {problem}"))
    }

    /// Tells the user, and the shell.
    pub fn report(self) -> ExitCode {
        match self {
            Self::BadInput(line) => {
                complain(&format!("chiliad: {}\n", one_line(&line)));
                ExitCode::from(2)
            }
            Self::Failed(text) => {
                complain(&format!("chiliad: {text}\n"));
                ExitCode::from(1)
            }
            Self::FailedAndSaid => ExitCode::from(1),
            Self::Interrupted => {
                complain("chiliad: interrupted\n");
                ExitCode::from(interrupt::status())
            }
            Self::Done(text) => match print(&text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(stop) => stop.report(),
            },
        }
    }
}

/// Line breaks become spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
