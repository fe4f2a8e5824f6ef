//! Planted bugs of the task units. The programs of random tasks in this crate's tests catch each, and campaigns of ordered
//! tasks.

use chiliad_machine::{Fault, Rig};

const fn fault(name: &'static str, step: &'static str) -> Fault {
    Fault {
        name,
        step,
        rig: Rig::Tasks,
        schemes: &["swarm"],
        workload: "tpcc",
        expected: &["other memory", "unsound", "tasks lost", "consistency"],
        seeds: 200,
    }
}

pub(super) static TILE: Fault = fault("swarm-no-tile-check", "the tile's own tasks are checked");
pub(super) static CANARY: Fault = fault("swarm-canary", "a canary is that of the line's own set");
pub(super) static STICKY: Fault =
    fault("swarm-sticky", "a tile that lost a line is asked for its tasks all the same");
pub(super) static FLASH: Fault =
    fault("swarm-flash", "a core that goes back in virtual time clears its first cache");
pub(super) static UNDO_ORDER: Fault =
    fault("swarm-undo-order", "words are restored in the reverse order of their writes");
pub(super) static UNDO_UNCHECKED: Fault =
    fault("swarm-undo-unchecked", "tasks that used what is undone are aborted too");
pub(super) static ORPHAN: Fault = fault("swarm-orphan", "children of what is undone are squashed");
pub(super) static COLUMN: Fault =
    fault("swarm-column", "the sets that a commit clears are the task's own");
pub(super) static TRANSIT: Fault =
    fault("swarm-transit", "a task is unfinished until its children have arrived");
pub(super) static FREED: Fault =
    fault("swarm-freed", "what a task frees is handed out again after its commit only");

/// All of them.
pub static FAULTS: &[&Fault] = &[
    &TILE,
    &CANARY,
    &STICKY,
    &FLASH,
    &UNDO_ORDER,
    &UNDO_UNCHECKED,
    &ORPHAN,
    &COLUMN,
    &TRANSIT,
    &FREED,
];
