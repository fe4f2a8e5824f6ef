//! How long a refused transaction waits before it is run again.

use crate::cancel::{Cancel, Until};
use chiliad_machine::{Interleaved, Machine, Ticks};
use std::time::{Duration, Instant};

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

/// Below this the scheduler's own delay would exceed the wait.
const SLEEP_FROM: Duration = Duration::from_micros(100);

impl Backoff {
    /// The window after `refusals` refusals (at least one).
    fn window(self, refusals: u32) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Random(window) => window,
            Self::Exponential { first, most } => {
                let doublings = refusals.saturating_sub(1).min(31);
                first.saturating_mul(1 << doublings).min(most)
            }
        }
    }

    /// Waits before the attempt that follows `refusals` refusals, but not beyond `limit`. Siblings on
    /// the same thread run meanwhile: the one that is waited for may be among them.
    pub(crate) fn wait(self, refusals: u32, limit: &Until) {
        let window = self.window(refusals);
        let nanos = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        if nanos == 0 {
            return;
        }
        let mut wait = Duration::from_nanos(Interleaved::random() % nanos);
        let start = Instant::now();
        if let Some(deadline) = limit.deadline {
            wait = wait.min(deadline.saturating_duration_since(start));
        }
        let _woken = limit.cancel.as_ref().map(Cancel::wakes_caller);
        while let Some(rest) = wait.checked_sub(start.elapsed()).filter(|rest| !rest.is_zero()) {
            if limit.cancel.as_ref().is_some_and(Cancel::is_canceled) {
                return;
            }
            if rest >= SLEEP_FROM {
                Interleaved::park_until(Interleaved::now() + ticks(rest));
            } else {
                // Others get the core meanwhile: the one we wait for may need it.
                Interleaved::yield_now();
            }
        }
    }
}

/// The same time of the machine's clock.
pub(crate) fn ticks_at(time: Instant) -> Ticks {
    Interleaved::now() + ticks(time.saturating_duration_since(Instant::now()))
}

fn ticks(time: Duration) -> Ticks {
    let ticks = time.as_nanos() * u128::from(Interleaved::ticks_per_second()) / 1_000_000_000;
    // Far enough from the end of time that it can be added to now.
    Ticks::try_from(ticks).unwrap_or(Ticks::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::{Backoff, Until};
    use std::time::{Duration, Instant};

    #[test]
    fn the_window_doubles_up_to_its_cap() {
        let backoff = Backoff::Exponential {
            first: Duration::from_micros(3),
            most: Duration::from_micros(20),
        };
        let windows = [1, 2, 3, 4, 99].map(|refusals| backoff.window(refusals).as_micros());
        assert_eq!(windows, [3, 6, 12, 20, 20]);
        assert_eq!(Backoff::None.window(5), Duration::ZERO);
    }

    #[test]
    fn no_wait_goes_beyond_the_deadline() {
        let start = Instant::now();
        let limit = Until { deadline: Some(start), ..Until::default() };
        for _ in 0..20 {
            Backoff::Random(Duration::from_secs(60)).wait(1, &limit);
        }
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
