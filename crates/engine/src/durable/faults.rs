//! Bugs planted into logging, checkpoints and recovery, each with what must catch it.

use crate::durable::recover::restore;
use chiliad_machine::{Fault, Rig};

/// Versions of an incarnation that is over keep their orders.
pub static INCARNATION_NOT_RAISED: Fault = Fault {
    name: "incarnation-not-raised",
    step: "every opening is an incarnation of its own, whose orders exceed those of all before",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["wrong state", "consistency", "acknowledged transaction lost"],
    seeds: 400,
};

/// A checkpoint is taken to hold everything up to the epoch in which its walk ended.
pub static REDO_AFTER_THE_END: Fault = Fault {
    name: "floor-at-the-end",
    step: "a checkpoint stands for the epochs before its walk began",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["wrong state", "consistency"],
    seeds: 1000,
};

/// A checkpoint counts before the epochs that it has effects of are durable.
pub static CHECKPOINT_TOO_EARLY: Fault = Fault {
    name: "checkpoint-too-early",
    step: "a checkpoint is published once the log is durable through the end of its walk",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["recovery refused", "wrong state", "not closed"],
    seeds: 1000,
};

/// Old logs go before the checkpoint that replaces them is published.
pub static LOG_REMOVED_TOO_EARLY: Fault = Fault {
    name: "log-removed-too-early",
    step: "old logs are removed after the manifest that does without them is durable",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["recovery refused", "acknowledged transaction lost", "wrong state"],
    seeds: 1000,
};

/// A transaction is appended when its window has closed already.
pub static APPENDED_AFTER_ITS_WINDOW: Fault = Fault {
    name: "appended-after-its-window",
    step: "a transaction is in its buffer before its commit window closes",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["acknowledged transaction lost", "wrong state", "not closed"],
    seeds: 1000,
};

/// A transaction that has only read is answered before what it read is durable.
pub static READER_NOT_HELD_BACK: Fault = Fault {
    name: "reader-not-held-back",
    step: "what a transaction has read is durable before its result is given out",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["acknowledged transaction lost"],
    seeds: 400,
};

/// The planted bugs of this folder.
pub static FAULTS: &[&Fault] = &[
    &INCARNATION_NOT_RAISED,
    &REDO_AFTER_THE_END,
    &CHECKPOINT_TOO_EARLY,
    &LOG_REMOVED_TOO_EARLY,
    &APPENDED_AFTER_ITS_WINDOW,
    &READER_NOT_HELD_BACK,
    &restore::REPLAYED_AS_FOUND,
];
