//! Instants and durations on the machine's clock.

use chiliad_machine::{Interleaved, Machine, Ticks};
use std::time::{Duration, Instant};

/// `time` on the machine's clock.
pub(crate) fn ticks_at(time: Instant) -> Ticks {
    Interleaved::now() + ticks(time.saturating_duration_since(Instant::now()))
}

/// `time` in ticks of the machine's clock.
pub(crate) fn ticks(time: Duration) -> Ticks {
    // Far enough from the end of time that it can be added to now.
    Interleaved::ticks(time).min(Ticks::MAX / 2)
}
