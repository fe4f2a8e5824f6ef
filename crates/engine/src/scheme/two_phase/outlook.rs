//! Predicts whether a worker's wait for a lock, where waits have a time limit, ends before the limit.
//!
//! A transaction that waits keeps others from what it holds. If its wait is cut off at the limit, it did so for nothing, and
//! so do those who waited for it meanwhile, until none of them gets through; and each that gives up takes the latch of the
//! list, which the transaction that releases the lock has to take as well. So a transaction does not begin a wait that is
//! likely to be cut off: it gives up at once, as it does without time to wait at all.
//!
//! The expectation is an average of the worker's last waits, in which one that was cut off counts as more than the limit. Each
//! wait that is not begun lowers it a little, so that in the end one is tried again. Where the first to
//! wait stands before a holder that runs, others stand behind transactions that wait, so both have averages of their own.
//! Waits without a limit are always begun.
//!
//! Under `wait-die`, where threads share cores, it is a bound and no limit: a wait that was begun lasts until it is granted. As
//! one is tried again after so many that were not begun, the oldest transaction still waits in the end, and nobody refuses
//! what it waits for.

use chiliad_machine::Ticks;

/// A wait that was cut off counts as so many limits: where one in four is, hardly any is begun.
const CUT_OFF_LIMITS: u64 = 4;

/// The newest wait is this part of the average.
const NEWEST_PART: u64 = 8;

/// A wait that is not begun lowers the average by this part of itself: one wait in some eighty is begun where all are cut off.
const FORGOTTEN_PART: u64 = 256;

/// How long a worker's waits have lasted, on average, and so how long its next one is expected to last.
#[derive(Clone, Copy, Default)]
pub(super) struct Outlook {
    /// Averages, in ticks: of the first to wait for a lock, and of those behind others.
    expected: [Ticks; 2],
}

impl Outlook {
    /// Whether to begin a wait of at most `limit` ticks, `behind` others or not.
    pub fn allows(&mut self, behind: bool, limit: Ticks) -> bool {
        let expected = &mut self.expected[usize::from(behind)];
        let allows = *expected <= limit;
        if !allows {
            *expected -= expected.div_ceil(FORGOTTEN_PART);
        }
        allows
    }

    /// A wait has ended after so many ticks, by a grant or in a deadlock.
    pub fn ended(&mut self, behind: bool, took: Ticks) {
        let expected = &mut self.expected[usize::from(behind)];
        *expected = *expected - *expected / NEWEST_PART + took / NEWEST_PART;
    }

    /// A wait of at most `limit` ticks was cut off.
    pub fn cut_off(&mut self, behind: bool, limit: Ticks) {
        if let Some(took) = limit.checked_mul(CUT_OFF_LIMITS) {
            self.ended(behind, took);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Ticks = 1000;

    #[test]
    fn waits_that_are_cut_off_are_given_up_and_tried_again() {
        let mut outlook = Outlook::default();
        let mut begun = 0;
        while outlook.allows(false, LIMIT) {
            outlook.cut_off(false, LIMIT);
            begun += 1;
        }
        assert!((2..10).contains(&begun), "{begun} waits in vain");
        let refused = (0..1000).take_while(|_| !outlook.allows(false, LIMIT)).count();
        assert!((10..200).contains(&refused), "tried again after {refused}");
        assert!(outlook.allows(true, LIMIT), "those behind others have their own");
    }

    #[test]
    fn waits_that_are_granted_in_time_go_on() {
        let mut outlook = Outlook::default();
        for turn in 0..1000 {
            assert!(outlook.allows(true, LIMIT));
            match turn % 10 {
                0 => outlook.cut_off(true, LIMIT),
                _ => outlook.ended(true, LIMIT / 10),
            }
        }
    }

    #[test]
    fn without_a_limit_nobody_gives_up() {
        let mut outlook = Outlook::default();
        for _ in 0..100 {
            outlook.cut_off(true, Ticks::MAX);
            outlook.ended(true, Ticks::MAX / 2);
            assert!(outlook.allows(true, Ticks::MAX));
        }
    }
}
