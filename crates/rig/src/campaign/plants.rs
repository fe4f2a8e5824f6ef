//! Planted bugs as people read them.

use chiliad_driver::faults;
use chiliad_machine::Rig;
use std::fmt::Write;

/// The rig's name.
#[must_use]
pub fn rig_name(rig: Rig) -> &'static str {
    match rig {
        Rig::SimSc => "sim-sc",
        Rig::SimTso => "sim-tso",
        Rig::SimCrews => "sim-crews",
        Rig::Loom => "loom",
        Rig::Waits => "waits",
        Rig::Disk => "disk",
        Rig::Soak => "soak",
        Rig::World => "world",
        Rig::Tasks => "tasks",
    }
}

/// All planted bugs of this build, the engine's first, as a table.
#[must_use]
pub fn table() -> String {
    let mut out = String::new();
    for fault in faults() {
        let (name, rig) = (fault.name, rig_name(fault.rig));
        let (workload, limit) = match fault.rig {
            Rig::Loom => ("-", "by the models in the tests".to_owned()),
            Rig::Waits => ("-", "by the engine's tests".to_owned()),
            _ => (fault.workload, format!("within {} seeds", fault.seeds)),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<37}{rig:<10}{workload:<10}{limit}");
        let _ = writeln!(out, "    {}", fault.step);
        if !fault.schemes.is_empty() {
            let _ = writeln!(out, "    schemes: {}", fault.schemes.join(", "));
        }
        let _ = writeln!(out, "    expected: {}", fault.expected.join(", "));
    }
    out
}
