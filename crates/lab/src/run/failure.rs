//! A driver's failure as a reason to stop.

use chiliad_driver::Failure;
use chiliad_engine::Error;
use chiliad_host::{Stop, threads};

/// A driver's failure as a reason to stop: what only other flags mend is bad input.
pub fn stop(failure: Failure) -> Stop {
    match &failure {
        Failure::Interrupted => Stop::Interrupted,
        Failure::Engine { error: Error::InvalidOption(what), .. } => {
            Stop::BadInput(if what.starts_with("--") { what.clone() } else { format!("--{what}") })
        }
        Failure::Engine { error: error @ Error::TooManyWorkers { .. }, .. } => {
            Stop::bad("--clients", format!("{error}; accepted: fewer clients"))
        }
        Failure::Engine { error: error @ Error::HostExhausted(_), .. } => {
            let accepted = "accepted: fewer clients, or fewer transactions in flight";
            Stop::bad("--clients", format!("{error}; {accepted}"))
        }
        Failure::Engine { error: error @ Error::OutOfMemory { .. }, .. } => {
            Stop::bad("memory", format!("{error}; accepted: fewer or smaller rows"))
        }
        Failure::Host(problem) => threads::too_much(problem),
        _ => Stop::Failed(failure.to_string()),
    }
}
