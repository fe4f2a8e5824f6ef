//! Defaults of a run on simulated cores in an order that a seed draws.

use super::{Length, Plan};
use chiliad_simulator::{Config, Schedule};
use std::time::Duration;

/// The commit epoch: many of them in a run of a few ten thousand events.
pub const EPOCH: Duration = Duration::from_micros(500);

/// Commit epochs per snapshot epoch.
pub const SNAPSHOT_EVERY: u64 = 3;

/// Transactions per core, and per one that it has in flight.
pub const TRANSACTIONS_PER_WORKER: u64 = 12;

/// Address space of a run: reserved, not touched.
const REGION_BYTES: usize = 64 << 30;

/// Events after which a run is given up: so many, and so many more for each transaction, times what there
/// is in flight beyond a few: all are in each other's way.
const EVENTS_MAX: u64 = 4_000_000;
const EVENTS_MAX_PER_TRANSACTION: u64 = 100_000;
const WORKERS_FEW: u64 = 16;

/// Ticks of a simulated second where an event is a tick.
const EVENTS_PER_SECOND: f64 = 1e6;

/// The configuration of a run in the order of `schedule`.
#[must_use]
pub fn config(schedule: Schedule, seed: u64) -> Config {
    Config { schedule, region_bytes: REGION_BYTES, ..Config::new(seed) }
}

/// Events after which a run makes no progress any more.
#[must_use]
pub fn events_max(plan: &Plan) -> u64 {
    let expected = match plan.length {
        Length::Transactions(count) => {
            let crowd = (plan.workers() as u64).div_ceil(WORKERS_FEW);
            count.saturating_mul(EVENTS_MAX_PER_TRANSACTION).saturating_mul(crowd)
        }
        Length::Time(time) => {
            let seconds = time.as_secs_f64() + plan.warmup.as_secs_f64();
            (seconds * EVENTS_PER_SECOND * 4.0) as u64
        }
    };
    EVENTS_MAX.saturating_add(expected)
}
