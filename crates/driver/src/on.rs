//! Defaults that depend on where a run's clients run: figures, campaigns and soaks take them from here.

use super::{FOLLOWED_ONE_IN, Plan, explored};
use chiliad_engine::{Info, Options, Snapshots};
use chiliad_workload::WorkloadOptions;
use std::time::Duration;

/// Where the clients of a run run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum On {
    /// The host's cores.
    Native,
    /// Simulated cores whose time passes.
    Timed,
    /// Simulated cores in an order that the seed draws.
    Explored,
}

impl On {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Timed => "timed",
            Self::Explored => "explored",
        }
    }

    /// The unit of its time.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Native => "ms",
            Self::Timed => "cycles",
            Self::Explored => "events",
        }
    }

    /// The commit epoch: that of the engine, unless many epochs are to fit into few events.
    #[must_use]
    pub fn epoch(self) -> Duration {
        match self {
            Self::Native | Self::Timed => Options::default().epoch,
            Self::Explored => explored::EPOCH,
        }
    }

    /// One transaction in so many is followed through the parts of its time; none where there is no time.
    #[must_use]
    pub fn follow(self) -> Option<u32> {
        match self {
            Self::Native => Some(FOLLOWED_ONE_IN),
            Self::Timed => Some(1),
            Self::Explored => None,
        }
    }

    /// The options of the engine for a run of `workload` under `scheme` as `plan` says. Those that do not follow from
    /// the three are as in `base`.
    #[must_use]
    pub fn engine(
        self,
        base: Options,
        scheme: &Info,
        workload: &WorkloadOptions,
        plan: &Plan,
    ) -> Options {
        let snapshots = match workload.reads_snapshots() {
            true => Snapshots::Always,
            false => Snapshots::OnDemand,
        };
        Options {
            snapshots,
            epoch: plan.epoch,
            snapshot_every: match self {
                Self::Native | Self::Timed => base.snapshot_every,
                Self::Explored => explored::SNAPSHOT_EVERY,
            },
            // Rows of which one column is looked at are looked at early, too.
            opacity: matches!((self, workload), (Self::Explored, WorkloadOptions::ByColumn(_))),
            partitions: workload.partitions(),
            wait_timeout: Some(scheme.wait_timeout),
            verify: plan.recording.is_some(),
            ..base
        }
    }
}
