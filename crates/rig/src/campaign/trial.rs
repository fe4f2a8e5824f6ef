//! A case of any kind.

use super::case::Case;
use super::crash::Crash;
use super::ordered::Ordered;
use super::run::Trouble;
use super::shown::Shown;
use super::worlds::World;
use crate::soak::{Cell, Load, On};
use chiliad_driver::{LockLoad, LockTableKind, LockTrial, NoProgress};
use chiliad_host::Stop;
use chiliad_machine::{Fault, Rig};
use chiliad_simulator::MemoryModel;
use chiliad_simulator::description::Description;

/// Transactions that each client of a soak has in flight, unless told, from seed to seed.
const SOAKED: [usize; 4] = [1, 2, 4, 8];

/// An interleaving, a crash, a world of servers, ordered tasks, or a soak.
#[derive(Clone, Debug)]
pub enum Trial {
    /// A simulated, verified run.
    Interleaving(Case),
    /// A database on a failing disk.
    Crash(Crash),
    /// Servers of one shared log on hosts of their own.
    World(World),
    /// Transactions as ordered tasks on hardware that speculates.
    Ordered(Ordered),
    /// A lock table without a database.
    Locks(LockTrial),
    /// A load on few rows, watched for commits.
    Soak {
        /// The load.
        cell: Cell,
        /// The seed.
        seed: u64,
        /// A planted bug.
        plant: Option<&'static Fault>,
    },
}

impl Trial {
    /// The case of `seed` for a rig that simulates.
    #[must_use]
    pub fn new(
        rig: Rig,
        workload: &'static str,
        scheme: &'static str,
        seed: u64,
        cores: Option<usize>,
        interleave: Option<usize>,
    ) -> Self {
        if let Some(load) = LockLoad::named(workload) {
            let memory_model = if rig == Rig::SimTso { MemoryModel::Tso } else { MemoryModel::Sc };
            let table = LockTableKind::Scalable;
            return Self::Locks(LockTrial { table, load, memory_model, seed, fault: None });
        }
        match rig {
            Rig::Soak => {
                let drawn = SOAKED[seed as usize % SOAKED.len()];
                let interleave = interleave.unwrap_or(drawn);
                let cell = Cell { on: On::Timed, scheme, workload, interleave };
                Self::Soak { cell, seed, plant: None }
            }
            Rig::Disk => Self::Crash(Crash { workload, scheme, seed, plant: None }),
            Rig::World => Self::World(World::new(workload, seed)),
            Rig::Tasks => Self::Ordered(Ordered { workload, seed, cores, plant: None }),
            _ => Self::Interleaving(Case::new(workload, scheme, seed, cores).on(rig, interleave)),
        }
    }

    /// This trial with a planted bug.
    #[must_use]
    pub fn plant(self, fault: &'static Fault) -> Self {
        match self {
            Self::Interleaving(case) => Self::Interleaving(case.plant(fault)),
            Self::Crash(crash) => Self::Crash(Crash { plant: Some(fault), ..crash }),
            Self::World(world) => Self::World(World { plant: Some(fault), ..world }),
            Self::Ordered(case) => Self::Ordered(Ordered { plant: Some(fault), ..case }),
            Self::Locks(trial) => Self::Locks(LockTrial { fault: Some(fault), ..trial }),
            Self::Soak { cell, seed, .. } => Self::Soak { cell, seed, plant: Some(fault) },
        }
    }

    /// Runs it, a timed soak on `machine`.
    ///
    /// # Errors
    /// [`Trouble`]: why it could not be run or judged.
    pub fn run(&self, machine: &Description) -> Result<Shown, Trouble> {
        match self {
            Self::Interleaving(case) => case.run(),
            Self::Crash(crash) => crash.run(),
            Self::World(world) => world.run(),
            Self::Ordered(case) => case.run(),
            Self::Locks(trial) => {
                let verdict = trial.run()?;
                Ok(Shown {
                    verdicts: verdict.wrong.map(str::to_owned).into_iter().collect(),
                    text: verdict.text,
                    marks: verdict.marks,
                    transactions: verdict.counts.granted.into(),
                    events: verdict.events,
                })
            }
            Self::Soak { cell, seed, plant } => {
                let measured = cell.run(*seed, &Load::simulated(machine), *plant, &NoProgress)?;
                let mut shown = Shown {
                    marks: measured.marks,
                    transactions: measured.committed,
                    events: measured.events,
                    ..Shown::default()
                };
                if let Some((verdict, text)) = &measured.wrong {
                    shown.add(verdict, text);
                }
                Ok(shown)
            }
        }
    }

    /// The workload's name.
    #[must_use]
    pub fn workload(&self) -> &'static str {
        match self {
            Self::Interleaving(case) => case.workload,
            Self::Crash(crash) => crash.workload,
            Self::World(world) => world.workload,
            Self::Ordered(case) => case.workload,
            Self::Locks(trial) => trial.load.name(),
            Self::Soak { cell, .. } => cell.workload,
        }
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        match self {
            Self::Interleaving(case) => case.seed,
            Self::Crash(crash) => crash.seed,
            Self::World(world) => world.seed,
            Self::Ordered(case) => case.seed,
            Self::Locks(trial) => trial.seed,
            Self::Soak { seed, .. } => *seed,
        }
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Driver(failure) => failure.into(),
            Trouble::Unjudged(problem) => Self::Failed(problem),
        }
    }
}
