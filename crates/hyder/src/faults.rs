//! The planted bugs of servers that share a log.

use chiliad_machine::{Fault, Rig};

/// All of them.
pub const FAULTS: &[&Fault] = &[
    &TRIMMED_BEFORE_DURABLE,
    &ITEMS_FORGOTTEN_AT_CHECKPOINT,
    &PARTS_FORGOTTEN_AT_CHECKPOINT,
    &NUMBERED_AT_FIRST_PART,
    &TOMBSTONE_PURGED_EARLY,
    &FREED_ABOVE_LOW_WATER,
    &NEWEST_NOT_RAISED,
    &READ_DEPENDENCE_DROPPED,
    &RANGE_DROPPED,
];

const fn fault(name: &'static str, step: &'static str, expected: &'static [&'static str]) -> Fault {
    let schemes = &["hyder"];
    Fault { name, step, rig: Rig::SimSc, schemes, workload: "", expected, seeds: 200 }
}

/// What is decided otherwise than by the plain validator.
const VERDICT: &[&str] = &["verdict"];

/// The log is trimmed before the checkpoint that replaces its beginning is durable.
pub static TRIMMED_BEFORE_DURABLE: Fault = fault(
    "hyder-trimmed-before-durable",
    "the log is trimmed after the checkpoint is durable",
    &["lost"],
);

/// A checkpoint does not say which items have been numbered.
pub static ITEMS_FORGOTTEN_AT_CHECKPOINT: Fault = fault(
    "hyder-items-forgotten-at-checkpoint",
    "a checkpoint says which items have been numbered",
    VERDICT,
);

/// A checkpoint does not have the parts of intentions that are not complete.
pub static PARTS_FORGOTTEN_AT_CHECKPOINT: Fault = fault(
    "hyder-parts-forgotten-at-checkpoint",
    "a checkpoint has the parts of intentions that are not complete",
    VERDICT,
);

/// An intention in several records gets its number where the first of them lies that was read at once.
pub static NUMBERED_AT_FIRST_PART: Fault = fault(
    "hyder-numbered-at-first-part",
    "an intention gets its number where its last part lies",
    VERDICT,
);

/// Tombstones leave the trees while intentions may come that have read states before them.
pub static TOMBSTONE_PURGED_EARLY: Fault = fault(
    "hyder-tombstone-purged-early",
    "a tombstone stays as long as an intention may depend on its absence",
    VERDICT,
);

/// What was replaced is freed while readers look at states that lead to it.
pub static FREED_ABOVE_LOW_WATER: Fault = fault(
    "hyder-freed-above-low-water",
    "what was replaced is freed after the last reader of the states before",
    &["use of freed memory"],
);

/// A new node's subtree does not count its own version.
pub static NEWEST_NOT_RAISED: Fault = fault(
    "hyder-newest-not-raised",
    "the newest version of a subtree is raised with each version written in it",
    VERDICT,
);

/// What was read and not written counts for nothing.
pub static READ_DEPENDENCE_DROPPED: Fault = fault(
    "hyder-read-dependence-dropped",
    "an intention depends on the keys that it has read",
    VERDICT,
);

/// What was scanned counts for nothing.
pub static RANGE_DROPPED: Fault =
    fault("hyder-range-dropped", "an intention depends on the ranges that it has scanned", VERDICT);
