//! Planted bugs of two-phase locking: each removes one step of the protocol.

use chiliad_machine::{Fault, Rig};

const LOCKING: &[&str] = &["no-wait", "wait-die", "dl-detect"];
const NOT_SERIALIZABLE: &[&str] = &["G-single", "G2", "G2-item", "G1c", "lost update"];

pub(super) static NO_READ_LOCK: Fault = Fault {
    name: "no-read-lock",
    step: "a record is locked before it is read",
    rig: Rig::SimSc,
    schemes: LOCKING,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static READ_LOCK_DROPPED: Fault = Fault {
    name: "read-lock-dropped",
    step: "locks are kept to the end of the transaction",
    rig: Rig::SimSc,
    schemes: LOCKING,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static UPGRADE_BESIDE_READERS: Fault = Fault {
    name: "upgrade-beside-readers",
    step: "a reader becomes the writer only when it is the only reader",
    rig: Rig::SimSc,
    schemes: LOCKING,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static UNLOCKED_BEFORE_INSTALL: Fault = Fault {
    name: "unlocked-before-install",
    step: "locks are released when everything is installed",
    rig: Rig::SimSc,
    schemes: LOCKING,
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static GAPS_NOT_WATCHED: Fault = Fault {
    name: "gaps-not-watched",
    step: "leaves passed by scans and absent look-ups are as they were when all locks are held",
    rig: Rig::SimSc,
    schemes: LOCKING,
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 200,
};

pub(super) static PLACED_UNLOCKED: Fault = Fault {
    name: "placed-unlocked",
    step: "a record is locked when it enters its index",
    rig: Rig::SimSc,
    schemes: LOCKING,
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static COLLECTED_UNLOCKED: Fault = Fault {
    name: "collected-unlocked",
    step: "a tombstone leaves its index under its lock",
    rig: Rig::SimSc,
    schemes: LOCKING,
    workload: "hash",
    expected: NOT_SERIALIZABLE,
    seeds: 1000,
};

pub(super) static GRANTED_TWICE: Fault = Fault {
    name: "granted-twice",
    step: "a reader who wants to write is granted that when it is the only reader left",
    rig: Rig::SimSc,
    schemes: &["dl-detect"],
    workload: "bank",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static GRANTED_BESIDE_READERS: Fault = Fault {
    name: "granted-beside-readers",
    step: "a waiter who wants to write is granted that when no holder is left",
    rig: Rig::SimSc,
    schemes: &["dl-detect"],
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static HAND_OVER_FORGOTTEN: Fault = Fault {
    name: "hand-over-forgotten",
    step: "whoever releases a lock that others wait for hands it to them",
    rig: Rig::SimSc,
    // Where locks are taken in order it waits for ever; who is refused by age runs again and again instead.
    schemes: &["dl-detect"],
    workload: "ycsb",
    expected: &["deadlock"],
    seeds: 200,
};

pub(super) static QUEUE_BIT_LOST: Fault = Fault {
    name: "queue-bit-lost",
    step: "a waiter shows in the lock's word that it waits",
    rig: Rig::SimSc,
    schemes: &["dl-detect"],
    workload: "ycsb",
    expected: &["deadlock"],
    seeds: 200,
};

pub(super) static COUNT_KEPT: Fault = Fault {
    name: "reader-count-kept",
    step: "a reader who waited to write, in vain, is counted once",
    rig: Rig::Loom,
    schemes: &["wait-die", "dl-detect"],
    workload: "scan",
    expected: &["somebody is left"],
    seeds: 1,
};

pub(super) static YOUNGER_WAITS: Fault = Fault {
    name: "younger-waits",
    step: "who is younger than a transaction in its way gives up",
    rig: Rig::SimSc,
    schemes: &["wait-die"],
    workload: "bank",
    expected: &["deadlock"],
    seeds: 200,
};

pub(super) static BELL_OF_BEGIN: Fault = Fault {
    name: "bell-of-begin",
    step: "a grant wakes the thread that waits, not the one that began the transaction",
    rig: Rig::Waits,
    // A waiter of the other one wakes by itself, to look for deadlocks: it is late there.
    schemes: &["wait-die"],
    workload: "waits",
    expected: &["waits on"],
    seeds: 20,
};

/// The planted bugs of this folder.
pub static FAULTS: &[&Fault] = &[
    &NO_READ_LOCK,
    &READ_LOCK_DROPPED,
    &UPGRADE_BESIDE_READERS,
    &UNLOCKED_BEFORE_INSTALL,
    &GAPS_NOT_WATCHED,
    &PLACED_UNLOCKED,
    &COLLECTED_UNLOCKED,
    &GRANTED_TWICE,
    &GRANTED_BESIDE_READERS,
    &HAND_OVER_FORGOTTEN,
    &QUEUE_BIT_LOST,
    &COUNT_KEPT,
    &YOUNGER_WAITS,
    &BELL_OF_BEGIN,
];
