//! One incarnation on the simulated machine: clients, a ticker, log writers and checkpointers.
//!
//! The plan says how it ends. The last client switches the power off, unless something else has cut
//! the run off; log writers and checkpointers then find the disk off, and return.

use super::client::Shared;
use super::open_database::OpenDatabase;
use super::plan::{End, IncarnationPlan};
use chiliad_engine::{Error, Stepped};
use chiliad_machine::{Machine, NoRoom};
use chiliad_simulator::{DiskFaults, FaultyDisk, Outcome, Run, Sim, stopping};
use chiliad_workload::ClientId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// State shared by the cores of an incarnation beside the database.
struct Common {
    shared: Shared,
    clients_left: Cell<usize>,
    /// Checkpoints are still being made.
    maintaining: Cell<bool>,
    failures: RefCell<Vec<Error>>,
}

impl Common {
    /// Nobody needs ticker and writers any more.
    fn is_over(&self) -> bool {
        stopping() && !self.maintaining.get()
    }
}

/// Runs an incarnation; returns what clients met that they should not have. Where the host has no room for stacks nobody has begun.
pub(super) fn run_one(
    run: &mut Run,
    open_database: &Rc<OpenDatabase>,
    plan: &IncarnationPlan,
    shared: Shared,
    seed: u64,
) -> Result<(Outcome, Vec<Error>), NoRoom> {
    let common = Rc::new(Common {
        shared,
        clients_left: Cell::new(plan.clients),
        maintaining: Cell::new(plan.checkpoints.is_some()),
        failures: RefCell::default(),
    });
    for index in 0..plan.clients {
        let (open_database, common, end) = (open_database.clone(), common.clone(), plan.end);
        let client_id = ClientId::apart(index, plan.clients, seed);
        run.spawn(format!("client {index}"), move || {
            if let Err(failure) = open_database.run_client(client_id, &common.shared) {
                common.failures.borrow_mut().push(failure);
            }
            common.clients_left.set(common.clients_left.get() - 1);
            if common.clients_left.get() == 0 && end != End::Closed {
                lose_power(&common.shared.disk);
            }
        });
    }
    let (epoch, writers) = (plan.epoch, plan.durable.log.writers as usize);
    let (ticking, common_too) = (open_database.clone(), common.clone());
    run.spawn_daemon("epochs", move || {
        while !common_too.is_over() {
            Sim::park_until(Sim::now() + epoch);
            ticking.tick();
        }
    });
    for writer in 0..writers {
        let (open_database, common) = (open_database.clone(), common.clone());
        run.spawn_daemon(format!("log writer {writer}"), move || {
            while !common.is_over() && open_database.step(writer) != Stepped::Failed {
                Sim::park_until(Sim::now() + epoch);
            }
        });
    }
    if let Some(pause) = plan.checkpoints {
        let (open_database, common) = (open_database.clone(), common.clone());
        run.spawn_daemon("checkpoints", move || {
            while !stopping() && maintain(&open_database).is_ok() {
                Sim::park_until(Sim::now() + pause);
            }
            common.maintaining.set(false);
        });
    }
    run.obtain_stacks()?;
    let outcome = run.go();
    let failures = common.failures.take();
    Ok((outcome, failures))
}

/// Prepares the log and makes a checkpoint. A disk that is full, or a write that failed, is no reason
/// to give up: the database goes on, and so does its maintenance.
fn maintain(open_database: &OpenDatabase) -> Result<(), Error> {
    for step in [open_database.prepare_log().map(|_| ()), open_database.checkpoint()] {
        if let Err(Error::LogFailed(error)) = step {
            return Err(Error::LogFailed(error));
        }
    }
    Ok(())
}

/// The disk is off from its next operation on.
fn lose_power(disk: &FaultyDisk) {
    disk.set_faults(DiskFaults { off_after_operations: Some(0), ..DiskFaults::default() });
}
