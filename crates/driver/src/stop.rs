//! A failure as a reason to stop a command: what only other flags mend is bad input.

use super::Failure;
use chiliad_engine::Error;
use chiliad_host::{Stop, threads};

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match &failure {
            Failure::Interrupted => Self::Interrupted,
            Failure::Engine { error: Error::InvalidOption(what), .. } => {
                Self::BadInput(if what.starts_with("--") {
                    what.clone()
                } else {
                    format!("--{what}")
                })
            }
            Failure::Engine { error: error @ Error::TooManyWorkers { .. }, .. } => {
                Self::bad("--clients", format!("{error}; accepted: fewer clients"))
            }
            Failure::Engine { error: error @ Error::HostExhausted(_), .. } => {
                let accepted = "accepted: fewer clients, or fewer transactions in flight";
                Self::bad("--clients", format!("{error}; {accepted}"))
            }
            Failure::Engine { error: error @ Error::OutOfMemory { .. }, .. } => {
                Self::bad("memory", format!("{error}; accepted: fewer or smaller rows"))
            }
            Failure::Host(problem) => threads::too_much(problem),
            _ => Self::Failed(failure.to_string()),
        }
    }
}
