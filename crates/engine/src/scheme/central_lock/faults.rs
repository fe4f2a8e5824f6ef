//! Planted bugs of two-phase locking by a lock table, and of snapshot reads over it: each removes one step of the scheme. Those of the lock
//! table itself are its own (`chiliad_lock::FAULTS`).

use chiliad_machine::{Fault, Rig};

const SERIALIZABLE: &[&str] = &[
    "lock-table",
    "lock-table-global",
    "lock-table-bucket",
    "lock-table-sli",
    "lock-table-no-ebr",
];
const NOT_SERIALIZABLE: &[&str] = &["G-single", "G2", "G2-item", "G1c", "lost update"];

pub(super) static READ_WITHOUT_LOCK: Fault = Fault {
    name: "read-without-lock",
    step: "a record is locked before it is read",
    rig: Rig::SimSc,
    schemes: SERIALIZABLE,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static RELEASED_BEFORE_INSTALL: Fault = Fault {
    name: "released-before-install",
    step: "locks are released when everything is installed",
    rig: Rig::SimSc,
    schemes: SERIALIZABLE,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static GAPS_UNLOCKED: Fault = Fault {
    name: "gaps-unlocked",
    step: "leaves passed by scans and absent look-ups are locked",
    rig: Rig::SimSc,
    schemes: SERIALIZABLE,
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 200,
};

pub(super) static DIVIDED_UNTOLD: Fault = Fault {
    name: "divided-untold",
    step: "a leaf that is divided, or leaves the tree, is not the one any more that was locked",
    rig: Rig::SimSc,
    schemes: &["lock-table"],
    workload: "hash",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 1000,
};

pub(super) static PLACED_WITHOUT_LOCK: Fault = Fault {
    name: "placed-without-lock",
    step: "a record is locked when it enters its index",
    rig: Rig::SimSc,
    schemes: SERIALIZABLE,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

const REPEATABLE_READ: &[&str] = &["lock-table-repeatable-read"];
/// Anomalies that snapshot isolation forbids.
const TORN_SNAPSHOT: &[&str] = &["G-single", "G2", "G1c", "lost update"];

pub(super) static MARK_PASSED_BY: Fault = Fault {
    name: "mark-passed-by",
    step: "who reads a record that a commit has marked waits for its version",
    rig: Rig::SimSc,
    schemes: REPEATABLE_READ,
    workload: "bank",
    expected: TORN_SNAPSHOT,
    seeds: 200,
};

pub(super) static COUNTED_BEFORE_MARKS: Fault = Fault {
    name: "counted-before-marks",
    step: "a commit marks its records before it is counted, and so in anybody's snapshot",
    rig: Rig::SimSc,
    schemes: REPEATABLE_READ,
    workload: "bank",
    expected: TORN_SNAPSHOT,
    seeds: 200,
};

pub(super) static YOUNGER_OVERWRITTEN: Fault = Fault {
    name: "younger-overwritten",
    step: "who would overwrite a version that is not in its snapshot gives up",
    rig: Rig::SimSc,
    schemes: REPEATABLE_READ,
    workload: "bank",
    expected: &["lost update"],
    seeds: 200,
};

/// The planted bugs of this folder.
pub static FAULTS: &[&Fault] = &[
    &READ_WITHOUT_LOCK,
    &RELEASED_BEFORE_INSTALL,
    &GAPS_UNLOCKED,
    &DIVIDED_UNTOLD,
    &PLACED_WITHOUT_LOCK,
    &MARK_PASSED_BY,
    &COUNTED_BEFORE_MARKS,
    &YOUNGER_OVERWRITTEN,
];
