//! Arrivals at a given rate, whether or not the transactions before have ended.
//!
//! Latency counts from the intended arrival: a closed loop hides the queue that builds up while a
//! transaction is slow, since it stops asking.

use super::sampling::Generator;
use super::signals::{Phase, Signals};
use chiliad_machine::Machine;

/// Below this distance a client spins until the next arrival instead of sleeping, in nanoseconds.
const SPIN_NS: u64 = 100_000;

/// The longest sleep, after which a client looks whether the run is over, in nanoseconds.
const SLEEP_NS_MAX: u64 = 20_000_000;

/// One client's arrivals: a Poisson process.
pub(crate) struct Arrivals {
    ticks_between: f64,
    /// The next arrival, in ticks. A float, so that rates above the clock's resolution add up.
    next: f64,
}

impl Arrivals {
    /// Arrivals at `rate` per second, from now on.
    pub(crate) fn new<M: Machine>(rate: f64) -> Self {
        Self { ticks_between: M::ticks_per_second() as f64 / rate, next: M::now() as f64 }
    }

    /// Waits for the next arrival and says when it was due; `None` when the run ended first.
    pub(crate) fn next<M: Machine>(
        &mut self,
        random: &mut Generator,
        signals: &Signals,
    ) -> Option<u64> {
        self.next -= random.unit().ln() * self.ticks_between;
        let due = self.next as u64;
        let per_ns = M::ticks_per_second() as f64 / 1e9;
        let (spin, longest) =
            ((SPIN_NS as f64 * per_ns) as u64, (SLEEP_NS_MAX as f64 * per_ns) as u64);
        loop {
            let now = M::now();
            if now >= due {
                return Some(due);
            }
            if signals.phase() == Phase::Stop {
                return None;
            }
            if due - now > spin {
                M::park_until((due - spin).min(now + longest));
            } else {
                M::pause();
            }
        }
    }
}
