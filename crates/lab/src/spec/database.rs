//! The identity of a loaded database: runs of which this is equal can share one.

use super::run::{Place, RunSpec};
use chiliad_driver::{Durability, Opening};
use chiliad_engine::Supply;
use chiliad_simulator::MemoryModel;
use chiliad_simulator::description::Description;
use chiliad_workload::WorkloadOptions;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// The identity of a loaded database.
#[derive(Clone, PartialEq, Debug)]
pub struct Database {
    scheme: &'static str,
    workload: WorkloadOptions,
    /// How it is opened, of which all counts.
    opened: Opening,
    on: Machine,
}

/// Numbers of a workload that was validated are none that differ from themselves.
impl Eq for Database {}

impl Hash for Database {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Of equal ones all of this is equal; what has fractions is left out.
        self.scheme.hash(state);
        discriminant(&self.workload).hash(state);
        self.opened.engine.hash(state);
        self.opened.cluster.hash(state);
        discriminant(&self.on).hash(state);
    }
}

/// The machine that it is loaded on.
#[derive(Clone, PartialEq, Debug)]
enum Machine {
    /// This computer. Whether its clients wait for a log counts too.
    Host(Durability),
    /// A simulated one whose time passes.
    Timed { description: Box<Description>, memory_model: MemoryModel, fault: Option<&'static str> },
}

impl RunSpec {
    /// The identity of its database; `None` where only this run has one.
    #[must_use]
    pub fn database(&self) -> Option<Database> {
        if self.shared_log().is_some() {
            return None;
        }
        let (on, workload) = match &self.on {
            // A database on this computer makes the requests too.
            Place::Host(_) => (Machine::Host(self.plan.durability), self.workload.clone()),
            Place::Simulated(machine) => {
                // Where the order of events is drawn, what is loaded is a function of the seed too.
                let description = machine.timed()?.description.clone();
                // Nothing loaded depends on task units.
                let description = Box::new(Description { tasks: None, ..description });
                let fault = machine.fault.map(|fault| fault.name);
                let memory_model = machine.memory_model;
                let on = Machine::Timed { description, memory_model, fault };
                (on, self.workload.rows(self.scheme.needs_partitions))
            }
        };
        let mut opened = self.opening();
        if let WorkloadOptions::Ycsb(rows) = &workload {
            // Most schemes have no partitions.
            opened.engine.partitions = rows.partitions;
        }
        Some(Database { scheme: self.scheme.name, workload, opened, on })
    }
}

/// Where memory comes from, as results have it.
pub(super) fn supply_name(supply: Supply) -> &'static str {
    match supply {
        Supply::Pools => "pool",
        Supply::FixedPools => "fixed",
        Supply::Single(allocator) => allocator.name(),
    }
}
