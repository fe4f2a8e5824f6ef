//! The planted bugs of looking again at what a transaction has seen.

use chiliad_machine::{Fault, Rig};

const PHANTOMS: &[&str] = &["G2", "G2-item", "G-single", "G1c"];

pub(super) static COUNTS_NOT_COMPARED: Fault = Fault {
    name: "counts-not-compared",
    step: "a leaf whose count has moved is noticed",
    rig: Rig::SimSc,
    schemes: &["silo", "occ", "no-wait", "wait-die", "dl-detect"],
    workload: "scan",
    expected: PHANTOMS,
    seeds: 200,
};

pub(super) static RANGE_NOT_LOOKED_AT_AGAIN: Fault = Fault {
    name: "range-not-looked-at-again",
    step: "where a leaf has changed, what was met in it is compared with what is there now",
    rig: Rig::SimSc,
    schemes: &["silo", "occ", "no-wait", "wait-die", "dl-detect"],
    workload: "scan",
    expected: PHANTOMS,
    seeds: 200,
};

pub(crate) static REST_OF_RANGE_FORGOTTEN: Fault = Fault {
    name: "rest-of-range-forgotten",
    step: "a scan that was not stopped by its limit has seen the keys after its last row, too",
    rig: Rig::SimSc,
    schemes: &["silo", "occ", "no-wait", "wait-die", "dl-detect"],
    workload: "scan",
    expected: PHANTOMS,
    seeds: 1000,
};

pub(super) static ANOTHER_ABSENCE: Fault = Fault {
    name: "another-absence",
    step: "a key that has come and gone since it was missed is not the same absence",
    rig: Rig::SimSc,
    schemes: &["silo", "wait-die"],
    workload: "scan",
    expected: PHANTOMS,
    seeds: 1000,
};

/// The planted bugs of looking again.
pub(crate) static FAULTS: &[&Fault] =
    &[&COUNTS_NOT_COMPARED, &RANGE_NOT_LOOKED_AT_AGAIN, &REST_OF_RANGE_FORGOTTEN, &ANOTHER_ABSENCE];
