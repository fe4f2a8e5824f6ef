//! Planted bugs of timestamp ordering: each removes one step of the protocol.

use chiliad_machine::{Fault, Rig};

const BOTH: &[&str] = &["timestamp", "mvcc"];
const BASIC: &[&str] = &["timestamp"];
const MULTI_VERSION: &[&str] = &["mvcc"];
const NOT_SERIALIZABLE: &[&str] = &["G-single", "G2", "G2-item", "G1c", "lost update"];

pub(super) static READ_NOT_STAMPED: Fault = Fault {
    name: "read-not-stamped",
    step: "a reader raises the read timestamp of what it reads",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static CLAIM_IGNORED: Fault = Fault {
    name: "claim-ignored",
    step: "a reader waits for an older transaction that will write",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static WRITTEN_INTO_THE_PAST: Fault = Fault {
    name: "written-into-the-past",
    step: "who would write below a read timestamp gives up",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static CLAIMS_RELEASED_EARLY: Fault = Fault {
    name: "claims-released-early",
    step: "claims end when everything is installed",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static GAP_NOT_STAMPED: Fault = Fault {
    name: "gap-not-stamped",
    step: "who misses a key or scans a leaf raises the leaf's read timestamp",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 200,
};

pub(super) static INSERTED_INTO_THE_PAST: Fault = Fault {
    name: "inserted-into-the-past",
    step: "who would insert below a leaf's read timestamp gives up",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 200,
};

pub(super) static PLACED_UNREAD: Fault = Fault {
    name: "placed-unread",
    step: "a record takes the read timestamp of the leaf that it is placed in over",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "hash",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 1000,
};

pub(super) static SPLIT_FORGETS_GAP: Fault = Fault {
    name: "split-forgets-gap",
    step: "a new leaf gets the read timestamp of the one that was divided",
    rig: Rig::SimSc,
    // Under `timestamp` others of its checks stand in the way nearly always.
    schemes: MULTI_VERSION,
    workload: "hash",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 2000,
};

pub(super) static YOUNGER_VERSION_READ: Fault = Fault {
    name: "younger-version-read",
    step: "who finds a version younger than itself gives up",
    rig: Rig::SimSc,
    schemes: BASIC,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static NEWEST_VERSION_READ: Fault = Fault {
    name: "newest-version-read",
    step: "who finds a version younger than itself reads an older one",
    rig: Rig::SimSc,
    schemes: MULTI_VERSION,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static SNAPSHOT_TOO_YOUNG: Fault = Fault {
    name: "snapshot-too-young",
    step: "a snapshot reads at a time before which everything is settled",
    rig: Rig::SimSc,
    schemes: MULTI_VERSION,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static COLLECTED_UNCLAIMED: Fault = Fault {
    name: "collected-unclaimed",
    step: "a tombstone is claimed before it leaves its index",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "scan",
    expected: &["use of freed memory", "G-single", "G2", "G2-item", "G1c", "lost update"],
    seeds: 1000,
};

/// The planted bugs of both schemes.
pub static FAULTS: &[&Fault] = &[
    &READ_NOT_STAMPED,
    &CLAIM_IGNORED,
    &WRITTEN_INTO_THE_PAST,
    &CLAIMS_RELEASED_EARLY,
    &GAP_NOT_STAMPED,
    &INSERTED_INTO_THE_PAST,
    &PLACED_UNREAD,
    &SPLIT_FORGETS_GAP,
    &YOUNGER_VERSION_READ,
    &NEWEST_VERSION_READ,
    &SNAPSHOT_TOO_YOUNG,
    &COLLECTED_UNCLAIMED,
];
