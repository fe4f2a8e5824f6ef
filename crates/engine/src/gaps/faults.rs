//! The planted bugs of looking again at what a transaction has seen.

use chiliad_machine::{Fault, Rig};

pub(super) static RANGE_NOT_LOOKED_AT_AGAIN: Fault = Fault {
    name: "range-not-looked-at-again",
    step: "where a leaf has changed, what was met in it is compared with what is there now",
    rig: Rig::SimSc,
    schemes: &["silo", "occ", "occ-serial", "no-wait", "wait-die", "dl-detect"],
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 200,
};

pub(super) static LIMIT_TAKEN_FOR_END: Fault = Fault {
    name: "limit-taken-for-end",
    step: "the piece of a scan that met its limit ends with the last row that it returned, and not before",
    rig: Rig::SimSc,
    schemes: &["silo", "occ", "occ-serial", "no-wait", "wait-die", "dl-detect"],
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 1000,
};

pub(super) static ANOTHER_ABSENCE: Fault = Fault {
    name: "another-absence",
    step: "a key that has come and gone since it was missed is not the same absence",
    rig: Rig::SimSc,
    schemes: &["silo", "occ", "occ-serial", "no-wait", "wait-die", "dl-detect"],
    workload: "scan",
    expected: &["G2", "G2-item", "G-single", "G1c"],
    seeds: 1000,
};

/// The planted bugs of looking again.
pub(crate) static FAULTS: &[&Fault] =
    &[&RANGE_NOT_LOOKED_AT_AGAIN, &LIMIT_TAKEN_FOR_END, &ANOTHER_ABSENCE];
