//! What to type to run a cell again.

use chiliad_rig::soak::{Cell, On};

/// The line that runs a cell again with this seed.
pub fn again(cell: Cell, seed: u64) -> String {
    let Cell { on, scheme, workload, interleave } = cell;
    let machine = if on == On::Native { "native" } else { "simulated" };
    format!(
        "chiliad soak --{machine} --scheme {scheme} --workload {workload} --interleave \
         {interleave} --seed {seed}"
    )
}
