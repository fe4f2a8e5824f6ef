//! Silo's planted bugs: each removes one step of the protocol.

use crate::epoch::{
    BOUNDARY_WITHOUT_FENCE, COLLECT_TOO_EAGER, SNAPSHOT_TOO_NEW, TICK_WITHOUT_FENCE,
};
use crate::tables::dropped::RUIN_WITHOUT_FENCE;
use chiliad_machine::{Fault, Rig};
use chiliad_storage::SEGMENT_FREED_EARLY;

const NOT_SERIALIZABLE: &[&str] = &["G-single", "G2", "G2-item", "G1c", "lost update"];

pub(super) static NO_READ_VALIDATION: Fault = Fault {
    name: "no-read-validation",
    step: "the words of records read are compared at commit",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static FOREIGN_LATCH_IGNORED: Fault = Fault {
    name: "foreign-latch-ignored",
    step: "a record read whose latch another transaction holds fails validation",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static COLUMNS_NOT_COMPARED: Fault = Fault {
    name: "columns-not-compared",
    step: "a version is taken for the one read only if it has the same where the transaction has looked",
    rig: Rig::SimSc,
    schemes: &["silo"],
    workload: "columns",
    expected: NOT_SERIALIZABLE,
    seeds: 200,
};

pub(super) static RENEWED_AND_WRITTEN: Fault = Fault {
    name: "renewed-and-written",
    step: "no version is taken for one of which a value was made that is written",
    rig: Rig::SimSc,
    schemes: &["silo"],
    workload: "columns",
    expected: &["consistency"],
    seeds: 200,
};

pub(super) static RENEWED_IN_ONE_PASS: Fault = Fault {
    name: "renewed-in-one-pass",
    step: "where a version was taken for the one read, all that was read is looked at again",
    rig: Rig::SimSc,
    schemes: &["silo"],
    workload: "columns",
    expected: NOT_SERIALIZABLE,
    seeds: 400,
};

pub(super) static NO_NODE_SET: Fault = Fault {
    name: "no-node-set",
    step: "leaves passed by scans and absent look-ups are remembered",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 200,
};

pub(super) static NODE_SET_NOT_VALIDATED: Fault = Fault {
    name: "node-set-not-validated",
    step: "membership counts are compared once more when all latches are held",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 1000,
};

pub(super) static TID_NOT_ABOVE_OVERWRITTEN: Fault = Fault {
    name: "tid-not-above-overwritten",
    step: "the TID exceeds those of the versions overwritten",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["order reversal"],
    seeds: 200,
};

pub(super) static TID_NOT_ABOVE_READ: Fault = Fault {
    name: "tid-not-above-read",
    step: "the TID exceeds those of the versions read and the worker's last",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["order reversal"],
    seeds: 200,
};

pub(super) static EPOCH_AT_BEGIN: Fault = Fault {
    name: "epoch-at-begin",
    step: "the commit epoch is loaded after the write latches are held",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["G-single", "G2", "G2-item", "G1c", "order reversal"],
    seeds: 200,
};

pub(super) static UNLATCHED_BEFORE_TID: Fault = Fault {
    name: "unlatched-before-tid",
    step: "the latch is released by writing the new TID",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &[
        "G-single",
        "G2",
        "G2-item",
        "G1c",
        "lost update",
        "order reversal",
        "read of unknown version",
    ],
    seeds: 200,
};

pub(super) static NO_FENCE: Fault = Fault {
    name: "no-fence",
    step: "a full fence stands between taking the write latches and validation",
    // Under TSO the compare-and-swap that takes a latch is a full barrier already: only weaker
    // models tell. Its models are in `models.rs`.
    rig: Rig::Loom,
    schemes: &[],
    workload: "scan",
    expected: &["torn", "write skew"],
    seeds: 0,
};

pub(super) static NO_WRITE_LATCH: Fault = Fault {
    name: "no-write-latch",
    step: "records that are only overwritten are latched",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &[
        "lost update",
        "G0",
        "G-single",
        "G2",
        "G2-item",
        "G1c",
        "order reversal",
        "read of unknown version",
    ],
    seeds: 200,
};

pub(super) static LATCHES_KEPT: Fault = Fault {
    name: "latches-kept",
    step: "a commit that meets a foreign latch gives back its own before it latches in order",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["spin for nobody"],
    seeds: 200,
};

pub(super) static OLD_VERSION_LOST: Fault = Fault {
    name: "old-version-lost",
    step: "the overwritten version is put by for snapshots",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["G-single", "G2", "G2-item", "G1c"],
    seeds: 200,
};

pub(super) static UNLINK_NOT_DEAD: Fault = Fault {
    name: "unlink-not-dead",
    step: "a record that leaves its index is marked dead",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &[
        "G2",
        "G2-item",
        "G-single",
        "lost update",
        "G1c",
        "G0",
        "read of unknown version",
        "use of freed memory",
    ],
    seeds: 200,
};

pub(super) static OWN_CHANGES_FORGIVEN: Fault = Fault {
    name: "own-changes-forgiven",
    step: "one's own insertion brings the node set up to date only from the count seen",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 1000,
};

pub(super) static VERSION_FREED_AT_ONCE: Fault = Fault {
    name: "version-freed-at-once",
    step: "a version that nothing leads to is freed once its readers have left",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["use of freed memory"],
    seeds: 1000,
};

/// All of them, with those of the epochs and views that they stand on.
pub static FAULTS: &[&Fault] = &[
    &NO_READ_VALIDATION,
    &FOREIGN_LATCH_IGNORED,
    &COLUMNS_NOT_COMPARED,
    &RENEWED_AND_WRITTEN,
    &RENEWED_IN_ONE_PASS,
    &NO_NODE_SET,
    &NODE_SET_NOT_VALIDATED,
    &TID_NOT_ABOVE_OVERWRITTEN,
    &TID_NOT_ABOVE_READ,
    &EPOCH_AT_BEGIN,
    &UNLATCHED_BEFORE_TID,
    &NO_FENCE,
    &NO_WRITE_LATCH,
    &LATCHES_KEPT,
    &OLD_VERSION_LOST,
    &UNLINK_NOT_DEAD,
    &OWN_CHANGES_FORGIVEN,
    &VERSION_FREED_AT_ONCE,
    &SEGMENT_FREED_EARLY,
    &SNAPSHOT_TOO_NEW,
    &COLLECT_TOO_EAGER,
    &TICK_WITHOUT_FENCE,
    &BOUNDARY_WITHOUT_FENCE,
    &RUIN_WITHOUT_FENCE,
];
