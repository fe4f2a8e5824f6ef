//! A server that joins where the log has broken its promises, and goes on appending: by its records the others learn
//! that they differ, or it learns that.

use super::common::{Common, is_left_behind, sleep};
use super::incarnation;
use chiliad_api::{Intent, Result, Running, Store};
use chiliad_machine::Ticks;
use chiliad_simulator::{DiskFaults, FaultyDisk, stopping};
use std::cell::RefCell;

/// Time between two of its records.
const NAP: Ticks = 300;

/// Appends until the world is over, or somebody has noticed; on a host of its own.
pub(super) fn run(common: &Common) {
    let server = common.plan.servers;
    while let Err(error) = append(common, server) {
        if !is_left_behind(&error) {
            common.complain(server, "the witness", &error);
            return;
        }
    }
}

fn append(common: &Common, server: usize) -> Result<()> {
    let none = RefCell::new(FaultyDisk::new(common.plan.config.seed, DiskFaults::default()));
    let hyder = incarnation::join_somehow(common, server, &none)?;
    let mut session = hyder.session()?;
    while !common.is_over.get() && !common.is_noticed.get() && !stopping() {
        let newest = Intent { newest: true, ..Intent::read_only() };
        // Its record says this label, or a later one.
        let (label, _) = hyder.digest();
        Running::begin(&mut *session, &newest)?.commit()?;
        common.witnessed.set(Some((label, hyder.position())));
        sleep(NAP);
    }
    Ok(())
}
