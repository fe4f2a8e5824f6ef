//! Planted bugs of the log, which campaigns of ordered tasks catch.

use chiliad_machine::{Fault, Rig};

const fn fault(name: &'static str, step: &'static str) -> Fault {
    Fault {
        name,
        step,
        rig: Rig::Tasks,
        schemes: &["swarm"],
        workload: "tpcc",
        expected: &["other rows recovered", "other memory"],
        seeds: 200,
    }
}

pub(super) static EARLY: Fault =
    fault("swarm-log-early", "only entries that virtual time has passed are drained");
pub(super) static UNSORTED: Fault =
    fault("swarm-log-unsorted", "entries are drained in the order of their timestamps");

/// All of them.
pub static FAULTS: &[&Fault] = &[&EARLY, &UNSORTED];
