//! Losing the core between transactions rather than in one.
//!
//! Where threads are more than cores the system takes each off its core now and then, wherever it stands, and what it has
//! in hand (locks, latches, the sight of a chain) stays in the others' way until it gets a core again. With 250 threads to a
//! core that takes a second. So a thread that has had its core for nearly as long as the system leaves it one gives it up by
//! itself as soon as it has nothing in hand.
//!
//! Nobody tells a thread when it got its core. It looks at the clock every few transactions, and takes it that it was
//! without a core where that was long ago. (Whose transactions are so long that this is always the case never gives up
//! its core: they would not end at the right moment either.)

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a thread stays: Linux looks for others at a tick of its clock, with 250 a second mostly after 4 ms.
const STAY: Duration = Duration::from_millis(3);

/// From one look at the clock to the next of a thread that has a core.
const GAP_MAX: Duration = Duration::from_millis(2);

/// Transactions from one look to the next. The clock costs a tenth of a very short one.
const LOOK_EVERY: u32 = 16;

/// A thread's time on a core.
struct Turn {
    transactions: Cell<u32>,
    /// When it began, as far as the thread can tell, and when the thread looked last.
    times: Cell<Option<(Instant, Instant)>>,
}

thread_local! {
    static TURN: Turn = const { Turn { transactions: Cell::new(0), times: Cell::new(None) } };
}

/// Whether that of the calling thread is over, which begins a transaction. Another one begins then.
#[inline]
pub(crate) fn is_over() -> bool {
    TURN.with(|turn| {
        let transactions = turn.transactions.get().wrapping_add(1);
        turn.transactions.set(transactions);
        transactions.is_multiple_of(LOOK_EVERY) && turn.is_over_at(Instant::now())
    })
}

impl Turn {
    #[cold]
    fn is_over_at(&self, now: Instant) -> bool {
        let began = match self.times.get() {
            Some((began, looked)) if now.saturating_duration_since(looked) <= GAP_MAX => began,
            _ => now,
        };
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
        let turn = Turn { transactions: Cell::new(0), times: Cell::new(None) };
        let start = Instant::now();
        let over = |micros| turn.is_over_at(start + Duration::from_micros(micros));
        assert!((0..3_000).step_by(500).all(|micros| !over(micros)));
        assert!(over(3_000), "it has stayed for long enough");
        assert!(!over(3_100), "nobody else wanted the core, and it has it again");
        assert!(!over(5_200), "it was without a core, and has a new one");
        assert!((5_700..8_200).step_by(500).all(|micros| !over(micros)));
        assert!(over(8_200));
    }
}
