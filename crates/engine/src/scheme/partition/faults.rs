//! Planted bugs of the partitioned schemes: of what they have in common, and of how a partition is got.

use chiliad_machine::{Fault, Rig};

/// Both schemes do it.
const BOTH: &[&str] = &["h-store", "partitioned"];

const NOT_SERIALIZABLE: &[&str] = &["G-single", "G2", "G2-item", "G1c", "lost update"];

pub(super) static PARTITION_NOT_LOCKED: Fault = Fault {
    name: "partition-not-locked",
    step: "the partitions declared are locked before the transaction begins",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static REMOTE_PARTITION_NOT_LOCKED: Fault = Fault {
    name: "remote-partition-not-locked",
    step: "all partitions declared are locked, not only the first",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "tpcc",
    expected: NOT_SERIALIZABLE,
    seeds: 1000,
};

pub(super) static RELEASED_EARLY: Fault = Fault {
    name: "partitions-released-early",
    step: "partitions are kept until everything is installed",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static UNLINKED_WITHOUT_PARTITIONS: Fault = Fault {
    name: "unlinked-without-partitions",
    step: "partitions are kept until tombstones have left their indexes",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "scan",
    expected: &[
        "G-single",
        "G2",
        "G2-item",
        "G1c",
        "lost update",
        "order reversal",
        "read of unknown version",
        "use of freed memory",
    ],
    seeds: 1000,
};

pub(super) static ORDER_NOT_ABOVE_OVERWRITTEN: Fault = Fault {
    name: "order-not-above-overwritten",
    step: "a version's order exceeds that of the version overwritten",
    rig: Rig::SimSc,
    schemes: BOTH,
    workload: "scan",
    expected: &["order reversal"],
    seeds: 200,
};

pub(super) static SIBLING_SPUN_FOR: Fault = Fault {
    name: "sibling-spun-for",
    step: "who waits for a partition lets siblings run, one of which may hold it",
    rig: Rig::SimCrews,
    schemes: &["partitioned"],
    workload: "scan",
    expected: &["spin for nobody"],
    seeds: 20,
};

pub(super) static TAKEN_IN_TWO_STEPS: Fault = Fault {
    name: "lock-taken-in-two-steps",
    step: "a free partition is taken in one step with seeing that it is free",
    rig: Rig::SimSc,
    schemes: &["h-store"],
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static TAKEN_FROM_YOUNGER: Fault = Fault {
    name: "lock-taken-from-younger",
    step: "the oldest waits until the holder has gone",
    rig: Rig::SimSc,
    schemes: &["h-store"],
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static CALL_KEPT: Fault = Fault {
    name: "call-kept",
    step: "a waiter that was woken in vain is woken again",
    rig: Rig::SimSc,
    schemes: &["h-store"],
    workload: "scan",
    expected: &["deadlock"],
    seeds: 1000,
};

/// All of them.
pub static FAULTS: &[&Fault] = &[
    &PARTITION_NOT_LOCKED,
    &REMOTE_PARTITION_NOT_LOCKED,
    &RELEASED_EARLY,
    &UNLINKED_WITHOUT_PARTITIONS,
    &ORDER_NOT_ABOVE_OVERWRITTEN,
    &SIBLING_SPUN_FOR,
    &TAKEN_IN_TWO_STEPS,
    &TAKEN_FROM_YOUNGER,
    &CALL_KEPT,
];
