//! Why the command ends without doing what it was asked, and with which status.

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
                eprintln!("chiliad: {}", one_line(&line));
                ExitCode::from(2)
            }
            Self::Failed(text) => {
                eprintln!("chiliad: {text}");
                ExitCode::from(1)
            }
            Self::FailedAndSaid => ExitCode::from(1),
            Self::Done(text) => {
                // A reader who has seen enough closes the pipe: that is no failure.
                let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
                ExitCode::SUCCESS
            }
        }
    }
}

/// Line breaks become spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
