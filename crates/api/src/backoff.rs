//! The wait of an aborted transaction before it runs again.
//!
//! Waiting feeds no contention only if it ends at different times for different clients, so every
//! wait is drawn at random. It stays far below a time slice, so that no client starves, until a transaction has aborted
//! so often that its waits are too short: transactions that last longer than the longest wait, and each of which
//! invalidates the reads of another, would otherwise abort each other for ever.
//!
//! The drivers' windows count pauses of the machine, so that a simulated run is the same on every host; an application
//! states its own in time.

use crate::cancel::Cancel;
use chiliad_machine::{Machine, Ticks};

/// The policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Backoff {
    /// Try again at once.
    None,
    /// Up to `RANDOM_PAUSES` pauses.
    Random,
    /// Up to `FIRST_PAUSES` pauses, doubled with each abort up to `LONGEST_PAUSES`, and again after
    /// `PATIENT_RETRIES` of them.
    Exponential,
    /// Up to `first` ticks of the machine's clock, doubled with each abort up to `most`.
    Timed {
        /// The longest wait after the first abort.
        first: Ticks,
        /// The longest of all.
        most: Ticks,
    },
}

/// The limits of a timed wait.
pub struct WaitLimit<'a, M: Machine> {
    /// It lasts no longer than until then.
    pub deadline: Option<Ticks>,
    /// It ends when this handle is told.
    pub cancel: Option<&'a Cancel<M>>,
}

/// The longest random wait, in pauses of the machine.
const RANDOM_PAUSES: u64 = 128;

/// The longest wait after the first abort.
const FIRST_PAUSES: u64 = 16;

/// The longest wait of a transaction that does not abort all the time: some twenty to fifty microseconds natively.
const LONGEST_PAUSES: u64 = 1024;

/// Aborts after which it doubles again with each, and how often at most.
const PATIENT_RETRIES: u32 = 32;
const DOUBLINGS_MAX: u32 = 6;

/// Aborts after which a client also lets others run: the transaction in its way may have lost the core.
const POLITE_RETRIES: u32 = 4;

/// A timed wait of this fraction of a second or longer sleeps: a shorter one would be exceeded by the scheduler's own
/// delay.
const SLEEPS_PER_SECOND: u64 = 10_000;

impl<M: Machine> WaitLimit<'_, M> {
    /// Nothing ends the wait but its time.
    pub const NONE: Self = Self { deadline: None, cancel: None };
}

impl Backoff {
    /// The name of the policy in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Random => "random",
            Self::Exponential => "exponential",
            Self::Timed { .. } => "timed",
        }
    }

    /// The longest wait after the `retries`-th abort, in pauses, or in ticks for [`Backoff::Timed`].
    fn window<M: Machine>(self, retries: u32) -> u64 {
        match self {
            Self::None => 0,
            Self::Random => RANDOM_PAUSES,
            Self::Exponential => {
                // A schedule that is drawn keeps nobody in step with others.
                let beyond =
                    if M::explores() { 0 } else { retries.saturating_sub(PATIENT_RETRIES) };
                doubled(FIRST_PAUSES, LONGEST_PAUSES, retries) << beyond.min(DOUBLINGS_MAX)
            }
            Self::Timed { first, most } => doubled(first, most, retries),
        }
    }

    /// Waits after the `retries`-th abort of one transaction, counted from one. `below` draws a number below
    /// another one, which is not zero.
    #[cold]
    pub fn wait<M: Machine>(
        self,
        retries: u32,
        below: impl FnOnce(u64) -> u64,
        limit: &WaitLimit<'_, M>,
    ) {
        // A schedule without time lets a core spin for ever; its peers must get their turn.
        if self == Self::None && M::explores() && retries >= POLITE_RETRIES {
            return M::yield_now();
        }
        let window = self.window::<M>(retries);
        if window == 0 {
            return;
        }
        let drawn = below(window);
        if let Self::Timed { .. } = self {
            return limit.wait(drawn);
        }
        M::rest(drawn);
        if retries >= POLITE_RETRIES {
            M::yield_now();
        }
    }
}

/// `first`, doubled with each of `retries` but the first, up to `most`.
fn doubled(first: u64, most: u64, retries: u32) -> u64 {
    first.saturating_mul(1 << retries.saturating_sub(1).min(31)).min(most)
}

impl<M: Machine> WaitLimit<'_, M> {
    /// Waits for so many ticks, unless the limit comes first. Fibers on the same thread run meanwhile, and so do
    /// other threads: the transaction that is waited for may be theirs.
    fn wait(&self, ticks: Ticks) {
        let begun = M::now();
        let end = begun.saturating_add(ticks).min(self.deadline.unwrap_or(Ticks::MAX));
        let sleeps_from = M::ticks_per_second() / SLEEPS_PER_SECOND;
        let _woken = self.cancel.map(Cancel::wakes_caller);
        let mut now = begun;
        while now < end && !self.cancel.is_some_and(Cancel::is_canceled) {
            if end - now >= sleeps_from {
                M::park_until(end);
            } else {
                M::yield_now();
            }
            now = M::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, WaitLimit};
    use chiliad_machine::{Machine, Native};

    fn windows<const N: usize>(backoff: Backoff, retries: [u32; N]) -> [u64; N] {
        retries.map(|retries| backoff.window::<Native>(retries))
    }

    #[test]
    fn windows_double_up_to_their_caps() {
        let timed = Backoff::Timed { first: 3, most: 20 };
        assert_eq!(windows(timed, [1, 2, 3, 4, 99]), [3, 6, 12, 20, 20]);
        let long = Backoff::Timed { first: u64::MAX / 2, most: u64::MAX / 2 };
        assert_eq!(windows(long, [1, 9]), [u64::MAX / 2; 2]);
        assert_eq!(
            windows(Backoff::Exponential, [1, 2, 7, 32, 33, 38, 99]),
            [16, 32, 1024, 1024, 2048, 65_536, 65_536]
        );
        assert_eq!(windows(Backoff::Random, [1, 99]), [128; 2]);
        assert_eq!(windows(Backoff::None, [1, 99]), [0; 2]);
    }

    #[test]
    fn no_wait_goes_beyond_the_deadline() {
        let minute = 60 * Native::ticks_per_second();
        let begun = Native::now();
        let limit = WaitLimit::<Native> { deadline: Some(begun), cancel: None };
        for _ in 0..20 {
            Backoff::Timed { first: minute, most: minute }.wait(1, |below| below - 1, &limit);
        }
        assert!(Native::now() < begun + minute / 12);
    }
}
