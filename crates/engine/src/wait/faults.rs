//! The planted bugs of waiting.

use chiliad_machine::{Fault, Rig};

/// The verdict of all: a transaction that should have been aborted goes on waiting.
const WAITS_ON: &[&str] = &["waits on"];

pub(super) static PAST_DEADLINE: Fault = Fault {
    name: "waited-past-deadline",
    step: "a wait ends at the transaction's deadline",
    rig: Rig::Waits,
    schemes: &[],
    workload: "waits",
    expected: WAITS_ON,
    seeds: 20,
};

pub(super) static PAST_LIMIT: Fault = Fault {
    name: "waited-past-limit",
    step: "a wait for a lock ends at its own limit",
    rig: Rig::Waits,
    schemes: &[],
    workload: "waits",
    expected: WAITS_ON,
    seeds: 20,
};

pub(super) static BEGUN_ANEW: Fault = Fault {
    name: "limit-begun-anew",
    step: "the limit of a wait holds for all its pieces",
    rig: Rig::Waits,
    schemes: &["timestamp", "mvcc"],
    workload: "waits",
    expected: WAITS_ON,
    seeds: 20,
};

pub(super) static PAST_CANCEL: Fault = Fault {
    name: "waited-past-cancel",
    step: "a wait ends when the transaction is told to give up",
    rig: Rig::Waits,
    schemes: &[],
    workload: "waits",
    expected: WAITS_ON,
    seeds: 20,
};

pub(super) static FOR_OUTER: Fault = Fault {
    name: "outer-waited-for",
    step: "nobody waits for the transaction that it runs inside",
    rig: Rig::Waits,
    schemes: &[],
    workload: "waits",
    expected: WAITS_ON,
    seeds: 20,
};

/// The planted bugs of waiting.
pub(crate) static FAULTS: &[&Fault] =
    &[&PAST_DEADLINE, &PAST_LIMIT, &BEGUN_ANEW, &PAST_CANCEL, &FOR_OUTER];
