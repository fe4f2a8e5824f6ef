//! The work of one point of a panel: a run, or meld or appends alone.

use crate::result::Reading;
use crate::run::{AppendSpec, Job, MeldSpec};
use crate::spec::Database;
use chiliad_host::Stop;
use std::time::Duration;

/// The work of one point of a panel.
#[derive(Clone, Debug)]
pub enum Measurement {
    /// A run, of a workload or of timestamps.
    Run(Job),
    /// Meld alone, in one way.
    Meld(Box<MeldSpec>),
    /// Appends to a shared log alone.
    Appends(Box<AppendSpec>),
}

/// Nanoseconds of an intention's key in all stages, and of a row that is loaded, for estimates.
const MELD_KEY_NS: u64 = 4_500;
const MELD_ROW_NS: u64 = 350;

impl Measurement {
    /// The identity of its database; `None`: only this measurement has it, or there is none.
    pub fn database(&self) -> Option<Database> {
        match self {
            Self::Run(job) => job.database(),
            Self::Meld(_) | Self::Appends(_) => None,
        }
    }

    /// About how long it takes on this machine, without the loading of a workload's rows.
    pub fn time(&self) -> Duration {
        match self {
            Self::Run(job) => job.time(),
            Self::Meld(spec) => {
                let plan = &spec.plan;
                let keys = (2 * plan.zone + plan.intentions) * plan.operations;
                Duration::from_nanos(keys * MELD_KEY_NS + plan.records * MELD_ROW_NS)
            }
            Self::Appends(spec) => spec.appending.duration,
        }
    }
}

/// Decides intentions that `seed` draws.
///
/// # Errors
/// Those of the specification and of the engine; interrupted; [`Stop::Failed`] for several ways, which a point has no
/// place for.
pub fn meld(spec: &MeldSpec, seed: u64) -> Result<Reading, Stop> {
    let mut spec = spec.clone();
    spec.plan.seed = seed;
    match spec.run()?.readings().as_slice() {
        [reading] => Ok(reading.clone()),
        several => Err(Stop::Failed(format!("a point of {} ways to decide", several.len()))),
    }
}
