//! The last line and the exit status of a command.

use crate::failure::Stop;
use crate::interrupt;
use crate::output::{complain, print};
use std::process::ExitCode;

impl Stop {
    /// Tells the user of `chiliad`, and returns what the shell is told: 1 where something failed, 2 for bad input, 128 and
    /// the signal's number after one.
    #[must_use]
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
