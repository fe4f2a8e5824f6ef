//! Losing the core between transactions rather than in one.
//!
//! With more threads than cores the system takes each off its core now and then, wherever it stands, and what it has
//! in hand (locks, latches, the sight of a chain) stays in the others' way until it gets a core again. With 250 threads to a
//! core that takes a second. So a thread that has had its core for nearly as long as the system leaves it one gives it up by
//! itself as soon as it has nothing in hand.
//!
//! The system does not tell a thread when it got its core. So the thread looks at the clock every few transactions, as many as
//! take some 100 us, and concludes from a long gap between two looks that it was without a core.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a thread stays: Linux looks for others at a tick of its clock, with 250 a second mostly after 4 ms.
const STAY: Duration = Duration::from_millis(3);

/// From one look at the clock to the next of a thread that has a core. (A thread whose transactions last longer never gives
/// it up: they would not end at the right moment either.)
const GAP_MAX: Duration = Duration::from_millis(2);

/// After how long it looks: with less it looks half as often, with four times as much twice as often.
const LOOK_AFTER: Duration = Duration::from_micros(50);

/// Transactions from one look to the next, at most.
const EVERY_MAX: u32 = 1024;

/// A thread's time on a core.
struct Turn {
    /// Transactions until the next look, and from each look to the next.
    left: Cell<u32>,
    every: Cell<u32>,
    /// When it began, as far as the thread can tell, and when the thread looked last.
    times: Cell<Option<(Instant, Instant)>>,
}

thread_local! {
    static TURN: Turn = const { Turn::new() };
}

/// Returns true once when the calling thread's turn is over, and starts a new one. Called when a transaction begins.
#[inline]
pub(crate) fn is_over() -> bool {
    TURN.with(|turn| {
        let left = turn.left.get();
        if left == 0 {
            return turn.is_over_at(Instant::now());
        }
        turn.left.set(left - 1);
        false
    })
}

impl Turn {
    const fn new() -> Self {
        Self { left: Cell::new(0), every: Cell::new(1), times: Cell::new(None) }
    }

    #[cold]
    fn is_over_at(&self, now: Instant) -> bool {
        let (began, looked) = self.times.get().unwrap_or((now, now));
        let gap = now.saturating_duration_since(looked);
        let every = self.every.get();
        self.every.set(match gap {
            _ if gap < LOOK_AFTER => EVERY_MAX.min(every * 2),
            _ if gap > 4 * LOOK_AFTER => every.div_ceil(2),
            _ => every,
        });
        self.left.set(self.every.get() - 1);
        let began = if gap > GAP_MAX { now } else { began };
        let is_over = now.saturating_duration_since(began) >= STAY;
        self.times.set(Some((if is_over { now } else { began }, now)));
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_lasts_as_long_as_it_is_to() {
        let turn = Turn::new();
        let start = Instant::now();
        let over = |micros| turn.is_over_at(start + Duration::from_micros(micros));
        assert!((0..3_000).step_by(500).all(|micros| !over(micros)));
        assert!(over(3_000), "it has stayed for long enough");
        assert!(!over(3_100), "nobody else wanted the core, and it has it again");
        assert!(!over(5_200), "it was without a core, and has a new one");
        assert!((5_700..8_200).step_by(500).all(|micros| !over(micros)));
        assert!(over(8_200));
    }

    #[test]
    fn it_looks_as_often_as_it_is_worth_it() {
        let turn = Turn::new();
        let mut now = Instant::now();
        let mut looks_of = |nanos| {
            for _ in 0..32 {
                now += Duration::from_nanos(nanos) * (turn.left.get() + 1);
                turn.is_over_at(now);
            }
            turn.left.get() + 1
        };
        assert_eq!(looks_of(50), 1024, "transactions of 50 ns");
        assert_eq!(looks_of(400_000), 1, "of 400 us");
        assert_eq!(looks_of(5_000), 16, "of 5 us");
    }
}
