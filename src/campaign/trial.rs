//! A case of either kind.

use super::case::{Case, Shown};
use super::crash::Crash;
use crate::failure::Stop;
use chiliad_machine::Rig;

/// An interleaving, or a crash.
#[derive(Clone)]
pub enum Trial {
    /// A simulated, verified run.
    Interleaving(Case),
    /// A database on a failing disk.
    Crash(Crash),
}

impl Trial {
    /// The case of `seed` for a rig that simulates.
    pub fn new(
        rig: Rig,
        workload: &'static str,
        scheme: &'static str,
        seed: u64,
        cores: Option<usize>,
        interleave: Option<usize>,
    ) -> Self {
        match rig {
            Rig::Disk => Self::Crash(Crash { workload, scheme, seed, plant: None }),
            _ => Self::Interleaving(Case::new(workload, scheme, seed, cores).on(rig, interleave)),
        }
    }

    /// The same with a planted bug.
    pub fn plant(self, name: &'static str) -> Self {
        match self {
            Self::Interleaving(case) => Self::Interleaving(case.plant(name)),
            Self::Crash(crash) => Self::Crash(Crash { plant: Some(name), ..crash }),
        }
    }

    /// What to type to run it.
    pub fn line(&self) -> String {
        match self {
            Self::Interleaving(case) => case.line(),
            Self::Crash(crash) => crash.line(),
        }
    }

    /// Runs it.
    pub fn run(&self) -> Result<Shown, Stop> {
        match self {
            Self::Interleaving(case) => case.run(),
            Self::Crash(crash) => crash.run(),
        }
    }

    /// The workload's name.
    pub fn workload(&self) -> &'static str {
        match self {
            Self::Interleaving(case) => case.workload,
            Self::Crash(crash) => crash.workload,
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        match self {
            Self::Interleaving(case) => case.seed,
            Self::Crash(crash) => crash.seed,
        }
    }
}
