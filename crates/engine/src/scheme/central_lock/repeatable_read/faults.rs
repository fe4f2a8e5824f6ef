//! Planted bugs of snapshot reads over two-phase locking: each removes one step of the protocol.

use chiliad_machine::{Fault, Rig};

const SCHEMES: &[&str] = &["lock-table-repeatable-read"];
/// What snapshot isolation forbids.
const TORN_SNAPSHOT: &[&str] = &["G-single", "G2", "G1c", "lost update"];

pub(super) static MARK_PASSED_BY: Fault = Fault {
    name: "mark-passed-by",
    step: "who reads a record that a commit has marked waits for its version",
    rig: Rig::SimSc,
    schemes: SCHEMES,
    workload: "bank",
    expected: TORN_SNAPSHOT,
    seeds: 200,
};

pub(super) static COUNTED_BEFORE_MARKS: Fault = Fault {
    name: "counted-before-marks",
    step: "a commit marks its records before it is counted, and so in anybody's snapshot",
    rig: Rig::SimSc,
    schemes: SCHEMES,
    workload: "bank",
    expected: TORN_SNAPSHOT,
    seeds: 200,
};

pub(super) static YOUNGER_OVERWRITTEN: Fault = Fault {
    name: "younger-overwritten",
    step: "who would overwrite a version that is not in its snapshot gives up",
    rig: Rig::SimSc,
    schemes: SCHEMES,
    workload: "bank",
    expected: &["lost update"],
    seeds: 200,
};

/// All of them.
pub static FAULTS: &[&Fault] = &[&MARK_PASSED_BY, &COUNTED_BEFORE_MARKS, &YOUNGER_OVERWRITTEN];
