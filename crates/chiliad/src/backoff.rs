//! The wait of an aborted transaction before it runs again, as an application states it.
//!
//! An application states time: it knows its deadlines, not the pauses of a machine. The drivers count pauses, so that a
//! simulated run is the same on every host; both use the arithmetic of [`chiliad_api::Backoff`].

use crate::clock::ticks;
use std::time::Duration;

/// A policy for waiting between two attempts of one transaction.
///
/// Waiting is randomised, so that two transactions that met do not meet again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Backoff {
    /// Run it again at once.
    None,
    /// Wait for a random time below this one.
    Random(Duration),
    /// Wait for a random time below a window, which begins at `first`, doubles with each attempt
    /// and stays at `most`.
    Exponential {
        /// The window after the first abort.
        first: Duration,
        /// The widest window.
        most: Duration,
    },
}

impl Default for Backoff {
    fn default() -> Self {
        Self::Exponential { first: Duration::from_micros(2), most: Duration::from_millis(1) }
    }
}

impl Backoff {
    /// This policy on the machine's clock.
    pub(crate) fn policy(self) -> chiliad_api::Backoff {
        let (first, most) = match self {
            Self::None => return chiliad_api::Backoff::None,
            Self::Random(window) => (window, window),
            Self::Exponential { first, most } => (first, most),
        };
        chiliad_api::Backoff::Timed { first: ticks(first), most: ticks(most) }
    }
}
