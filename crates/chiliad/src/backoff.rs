//! How long a refused transaction waits before it is run again, as an application states it.

use crate::clock::ticks;
use std::time::Duration;

/// A policy for waiting between two attempts of one transaction.
///
/// Waiting is randomised, so that two transactions that met do not meet again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backoff {
    /// Run it again at once.
    None,
    /// Wait for a random time below this one.
    Random(Duration),
    /// Wait for a random time below a window, which begins at `first`, doubles with each attempt
    /// and stays at `most`.
    Exponential {
        /// The window after the first refusal.
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
    /// The same on the machine's clock.
    pub(crate) fn policy(self) -> chiliad_api::Backoff {
        let (first, most) = match self {
            Self::None => return chiliad_api::Backoff::None,
            Self::Random(window) => (window, window),
            Self::Exponential { first, most } => (first, most),
        };
        chiliad_api::Backoff::Timed { first: ticks(first), most: ticks(most) }
    }
}
