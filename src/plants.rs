//! Planted bugs by name.

use chiliad_machine::{Fault, Rig};
use std::fmt::Write;

/// All planted bugs of this build, the engine's first.
pub fn all() -> Vec<&'static Fault> {
    chiliad_driver::faults()
}

/// The rig's name.
pub fn rig(rig: Rig) -> &'static str {
    match rig {
        Rig::SimSc => "sim-sc",
        Rig::SimTso => "sim-tso",
        Rig::SimCrews => "sim-crews",
        Rig::Loom => "loom",
        Rig::Waits => "waits",
        Rig::Disk => "disk",
        Rig::Soak => "soak",
    }
}

/// The table that `--plant list` prints.
pub fn table() -> String {
    let mut out = String::new();
    for fault in all() {
        let (name, rig) = (fault.name, rig(fault.rig));
        let (workload, limit) = match fault.rig {
            Rig::Loom => ("-", "by the models in the tests".to_owned()),
            Rig::Waits => ("-", "by the engine's tests".to_owned()),
            _ => (fault.workload, format!("within {} seeds", fault.seeds)),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<30}{rig:<10}{workload:<7}{limit}");
        let _ = writeln!(out, "    {}", fault.step);
        let _ = writeln!(out, "    expected: {}", fault.expected.join(", "));
    }
    out
}
