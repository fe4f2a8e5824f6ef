//! Instants and durations on the machine's clock.

use chiliad_machine::{Interleaved, Machine, Ticks};
use std::time::{Duration, Instant};

/// `time` on the machine's clock.
pub(crate) fn ticks_at(time: Instant) -> Ticks {
    Interleaved::now() + ticks(time.saturating_duration_since(Instant::now()))
}

/// `time` in ticks of the machine's clock.
pub(crate) fn ticks(time: Duration) -> Ticks {
    let ticks = time.as_nanos() * u128::from(Interleaved::ticks_per_second()) / 1_000_000_000;
    // Far enough from the end of time that it can be added to now.
    Ticks::try_from(ticks).unwrap_or(Ticks::MAX / 2)
}
