//! One case of the world rig: servers of one shared log, each on a host of its own.

use super::run::Trouble;
use super::shown::Shown;
use super::small::small;
use crate::ways::SERVERS;
use crate::world::{WorldCase, run_world};
use chiliad_driver::Failure;
use chiliad_machine::Fault;
use std::ops::Range;

/// Servers of one shared log.
#[derive(Clone, Debug)]
pub struct World {
    /// The workload's name.
    pub workload: &'static str,
    /// How many servers there are, by the seed.
    pub servers: Range<usize>,
    /// The seed.
    pub seed: u64,
    /// A planted bug.
    pub plant: Option<&'static Fault>,
}

impl World {
    /// That of `seed`.
    #[must_use]
    pub fn new(workload: &'static str, seed: u64) -> Self {
        Self { workload, servers: SERVERS, seed, plant: None }
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`Trouble`]: why it could not be run.
    pub fn run(&self) -> Result<Shown, Trouble> {
        let report = run_world(&WorldCase {
            workload: small(self.workload).0,
            servers: self.servers.clone(),
            seed: self.seed,
            fault: self.plant,
        });
        if let Some(refused) = report.refused {
            return Err(Failure::Host(refused).into());
        }
        let mut shown = Shown {
            marks: report.marks.iter().copied().collect(),
            transactions: report.transactions,
            events: report.events,
            ..Shown::default()
        };
        for (verdict, text) in report.verdicts.iter() {
            shown.add(verdict, text);
        }
        Ok(shown)
    }
}
