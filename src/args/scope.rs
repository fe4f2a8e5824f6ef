//! The inputs that the defaults of a workload's flags depend on.

use chiliad_engine::Info;
use chiliad_host::Stop;
use chiliad_lab::spec::{Load, On};
use std::path::Path;

/// What a workload's defaults depend on.
pub struct Scope {
    /// Concurrent clients.
    pub clients: usize,
    /// The scheme.
    pub scheme: &'static Info,
    /// What it runs on.
    pub on: On,
}

impl Scope {
    /// On the simulated machine.
    pub fn simulated(&self) -> bool {
        self.on != On::Native
    }

    /// To see many interleavings of few transactions.
    pub fn explored(&self) -> bool {
        self.on == On::Explored
    }

    /// The partitions or warehouses that the clients would like: few, so that they meet, where interleavings are looked for.
    pub fn partners(&self) -> usize {
        if self.explored() { 2 } else { self.clients }
    }
}

/// The flags of a workload.
pub trait WorkloadFlags {
    /// Fills in the defaults.
    fn load(&self, scope: &Scope) -> Result<Load, Stop>;

    /// Where the results of deferred requests go.
    fn deliveries(&self) -> Option<&Path> {
        None
    }
}
