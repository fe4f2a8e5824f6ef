//! The planted bugs of the log in files, for its tests on a failing disk.

use chiliad_machine::{Fault, Rig};

/// All of them.
pub const FAULTS: &[&Fault] = &[
    &ACKNOWLEDGED_BEFORE_SYNC,
    &SEGMENT_NAME_NOT_SYNCED,
    &REMOVED_BEFORE_REMEMBERED,
    &TAIL_NOT_MADE_CERTAIN,
    &APPENDS_AFTER_A_FAILED_SYNC,
];

const fn fault(name: &'static str, step: &'static str, expected: &'static [&'static str]) -> Fault {
    Fault { name, step, rig: Rig::Disk, schemes: &[], workload: "", expected, seeds: 400 }
}

const LOST: &[&str] = &["lost"];

/// Appends return before their records are synced.
pub static ACKNOWLEDGED_BEFORE_SYNC: Fault =
    fault("shared-log-acknowledged-before-sync", "an append returns after the sync", LOST);

/// A new segment's name may be lost with everything in it.
pub static SEGMENT_NAME_NOT_SYNCED: Fault = fault(
    "shared-log-segment-name-not-synced",
    "a segment's name is synced before anything in it counts",
    LOST,
);

/// Segments go before the log remembers, durably, that it begins later.
pub static REMOVED_BEFORE_REMEMBERED: Fault = fault(
    "shared-log-removed-before-remembered",
    "the first position is durable before segments are removed",
    LOST,
);

/// Planted bug: records that a killed process left are handed to readers and may still vanish.
pub static TAIL_NOT_MADE_CERTAIN: Fault = fault(
    "shared-log-tail-not-made-certain",
    "the last frame found is written again and synced before anybody reads it",
    &["lost", "other record"],
);

/// After a failed sync the log tries again, and believes the answer.
pub static APPENDS_AFTER_A_FAILED_SYNC: Fault = fault(
    "shared-log-appends-after-a-failed-sync",
    "after a failed sync nothing more is appended",
    LOST,
);
