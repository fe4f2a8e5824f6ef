//! One case of the crash rig: a database that lives, crashes and recovers as its seed says.

use super::run::Trouble;
use super::shown::Shown;
use super::small::small;
use crate::crash::{CrashCase, run_crash};
use chiliad_driver::{Failure, lies_in_directories, promised_isolation, scheme, schemes};
use chiliad_machine::Fault;

/// A database on a failing disk.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The workload's name.
    pub workload: &'static str,
    /// The scheme of the first incarnation; later ones may have another.
    pub scheme: &'static str,
    /// The seed.
    pub seed: u64,
    /// A planted bug.
    pub plant: Option<&'static Fault>,
}

impl Crash {
    /// Runs it.
    ///
    /// # Errors
    /// [`Trouble`]: why it could not be run or judged.
    pub fn run(&self) -> Result<Shown, Trouble> {
        let (workload, partitions) = small(self.workload);
        let others = schemes().iter().filter(|info| info.is_serializable());
        let others = others.filter(|info| lies_in_directories(info));
        let others = others.map(|info| info.name).filter(|name| *name != self.scheme);
        let scheme = scheme(self.scheme)
            .map_err(|error| Failure::Engine { doing: "making up the case", error })?;
        let isolation = promised_isolation(scheme).map_err(Trouble::Unjudged)?;
        let report = run_crash(&CrashCase {
            workload,
            partitions,
            schemes: std::iter::once(self.scheme).chain(others).collect(),
            isolation,
            seed: self.seed,
            fault: self.plant,
        });
        if let Some(refused) = report.refused {
            return Err(Failure::Host(refused).into());
        }
        let transactions = report.survivors + report.lost;
        Ok(Shown::of(&report.verdicts, report.marks, transactions, report.events))
    }
}
