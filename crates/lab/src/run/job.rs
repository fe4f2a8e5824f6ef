//! Anything that can be run.

use super::locks::LocksSpec;
use super::lookups::LookupSpec;
use crate::spec::{Database, DrawSpec, Price, RunSpec};
use chiliad_driver::Length;
use std::time::Duration;

/// A run, ready to go.
#[derive(Clone, Debug)]
pub enum Job {
    /// Of a workload.
    Workload(Box<RunSpec>),
    /// Of timestamps alone.
    Timestamps(Box<DrawSpec>),
    /// Of look-ups alone.
    Lookups(Box<LookupSpec>),
    /// Of locks alone.
    Locks(Box<LocksSpec>),
}

impl Job {
    /// How often it runs.
    #[must_use]
    pub fn repeat(&self) -> usize {
        match self {
            Self::Workload(spec) => spec.repeat,
            Self::Timestamps(spec) => spec.repeat,
            Self::Lookups(spec) => spec.repeat,
            Self::Locks(spec) => spec.repeat,
        }
    }

    /// Whether it runs on a simulated machine.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        match self {
            Self::Workload(spec) => spec.machine().is_some(),
            Self::Timestamps(spec) => spec.machine.is_some(),
            Self::Lookups(_) | Self::Locks(_) => false,
        }
    }

    /// The identity of its database; `None`: only this run has it, or there is none.
    #[must_use]
    pub fn database(&self) -> Option<Database> {
        match self {
            Self::Workload(spec) => spec.database(),
            Self::Timestamps(_) | Self::Lookups(_) | Self::Locks(_) => None,
        }
    }

    /// This job with another seed and, on a machine whose time passes, another price of computation.
    #[must_use]
    pub fn again(&self, seed: u64, price: Price) -> Self {
        match self {
            Self::Workload(spec) => Self::Workload(Box::new(spec.again(seed, price))),
            Self::Timestamps(spec) => Self::Timestamps(Box::new(spec.again(seed, price))),
            Self::Lookups(_) | Self::Locks(_) => self.clone(),
        }
    }

    /// Warm-up and measured window; of a run that counts transactions the warm-up.
    #[must_use]
    pub fn time(&self) -> Duration {
        match self {
            Self::Workload(spec) => match spec.plan.length {
                Length::Time(time) => spec.plan.warmup + time,
                Length::Transactions(_) => spec.plan.warmup,
            },
            Self::Timestamps(spec) => spec.drawing.warmup + spec.drawing.duration,
            Self::Lookups(spec) => spec.lookup.warmup + spec.lookup.duration,
            Self::Locks(spec) => spec.locking.warmup + spec.locking.duration,
        }
    }

    /// Seconds times cores; where transactions are counted, as if each took a microsecond.
    pub(crate) fn work(&self) -> f64 {
        let (cores, time) = match self {
            Self::Workload(spec) => match spec.plan.length {
                Length::Time(_) => (spec.plan.cores, self.time()),
                Length::Transactions(count) => (1, Duration::from_micros(count)),
            },
            Self::Timestamps(spec) => (spec.drawing.threads, self.time()),
            Self::Lookups(spec) => (spec.lookup.threads, self.time()),
            Self::Locks(spec) => (spec.locking.threads, self.time()),
        };
        cores as f64 * time.as_secs_f64()
    }
}
