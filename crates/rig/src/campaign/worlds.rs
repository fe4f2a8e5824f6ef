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
        let transactions = report.transactions;
        Ok(Shown::of(&report.verdicts, report.marks, transactions, report.events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::WORKLOADS;

    fn run(world: &World) -> Shown {
        world.run().expect("the host has room")
    }

    #[test]
    fn servers_crash_and_come_to_the_same() {
        let mut transactions = 0;
        for seed in 0..20 {
            for workload in WORKLOADS {
                let shown = run(&World::new(workload, seed));
                assert!(shown.passed(), "{workload} of seed {seed}: {}", shown.text);
                transactions += shown.transactions;
            }
        }
        assert!(transactions > 10_000, "{transactions}");
    }

    #[test]
    fn a_world_is_a_function_of_its_seed() {
        for seed in 0..6 {
            let [one, other] = [(); 2].map(|()| run(&World::new("bank", seed)));
            assert_eq!((one.events, one.transactions), (other.events, other.transactions));
        }
    }

    #[test]
    fn every_planted_bug_is_caught() {
        for fault in chiliad_hyder::FAULTS {
            let caught = (0..u64::from(fault.seeds)).find(|&seed| {
                let world = World::new(fault.workload, seed);
                let shown = run(&World { plant: Some(fault), ..world });
                shown.verdicts.iter().any(|found| fault.expected.contains(&found.as_str()))
            });
            let Some(seed) = caught else { panic!("{}: not caught", fault.name) };
            let clean = run(&World::new(fault.workload, seed));
            assert!(clean.passed(), "{} alone is wrong at seed {seed}: {}", fault.name, clean.text);
            println!("{:<40} {} at seed {seed}", fault.name, fault.workload);
        }
    }
}
