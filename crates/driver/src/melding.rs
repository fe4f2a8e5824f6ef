//! Meld alone: intentions made up with an exact conflict zone, decided by one thread that plays all stages, or by several.

use chiliad_engine::Result;
use chiliad_hyder::{MeldPlan, MeldReport, MeldSetting, run_meld};

/// Decides the intentions of `plan` natively, in the way that `setting` says.
///
/// # Errors
/// The plan and the setting contradict each other; there is no memory.
pub fn run_melding(plan: &MeldPlan, setting: MeldSetting) -> Result<MeldReport> {
    run_meld(plan, setting, u64::MAX)
}
