//! Defaults of a run on simulated cores whose time passes.

use chiliad_simulator::Config;
use chiliad_simulator::description::Description;

/// Address space of a run: reserved, not touched.
const REGION_BYTES: usize = 1 << 40;

/// The configuration of `machine`: no end to its events, and memory that is not watched.
#[must_use]
pub fn config(machine: Description, seed: u64) -> Config {
    Config {
        machine: Some(machine),
        region_bytes: REGION_BYTES,
        events_max: u64::MAX,
        checked: false,
        ..Config::new(seed)
    }
}
