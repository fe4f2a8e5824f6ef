//! The choices that a seed makes for an interleaving.

use super::cluster;
use crate::ways::SERVERS;
use chiliad_driver::ClusterOptions;
use chiliad_engine::Timestamps;
use chiliad_machine::{Fault, MutexKind, Rig};
use std::ops::Range;

/// A simulated, verified run.
#[derive(Clone, Debug)]
pub struct Case {
    /// The workload's name.
    pub workload: &'static str,
    /// The scheme's name.
    pub scheme: &'static str,
    /// The seed.
    pub seed: u64,
    /// Simulated cores.
    pub cores: usize,
    /// Transactions in flight on each.
    pub interleave: usize,
    /// Total store order rather than sequential consistency.
    pub tso: bool,
    /// Few preemptions rather than a random schedule.
    pub few_preemptions: bool,
    /// More rows and more transactions than the workload's own micro scale, so that nodes divide
    /// and go while clients are at work.
    pub large: bool,
    /// No snapshots of the past, so that what is overwritten and removed goes at once, in the same
    /// commit epoch.
    pub no_snapshots: bool,
    /// Epochs a tenth as long, so that snapshots and what collects after them are seldom far off.
    pub short_epochs: bool,
    /// YCSB's transactions lock in the order of keys, and wait for ever rather than look for
    /// deadlocks.
    pub in_order: bool,
    /// TPC-C's items are in an ordinary table.
    pub no_read_only: bool,
    /// TPC-C's deliveries are run by the client that makes them up.
    pub inline: bool,
    /// Where timestamps come from: each kind in turn.
    pub timestamps: Timestamps,
    /// How draws under a mutex wait: each way in turn.
    pub latch: MutexKind,
    /// The servers, where the scheme has some that share a log: one with what is default elsewhere.
    pub cluster: ClusterOptions,
    /// A planted bug.
    pub plant: Option<&'static Fault>,
}

impl Case {
    /// The case of `seed`: half the seeds under total store order, the schedules in turn, a quarter
    /// larger than the others, a third without snapshots, a third with many epochs, timestamps of
    /// each kind in turn, a seventh locking in order, two
    /// fifths without read-only tables, a third with deliveries run by the client that makes them up, a third with two or three transactions in flight on each core,
    /// 4 to 8 cores unless told. Of servers that share a log 1 to 5, with every way to roll it forward in turn, and
    /// under half the seeds a log that fails.
    #[must_use]
    pub fn new(
        workload: &'static str,
        scheme: &'static str,
        seed: u64,
        cores: Option<usize>,
    ) -> Self {
        Self {
            workload,
            scheme,
            seed,
            cores: cores.unwrap_or(4 + (seed % 5) as usize),
            interleave: if seed / 3 % 3 == 2 { Self::crew(seed / 9) } else { 1 },
            tso: seed % 2 == 1,
            few_preemptions: seed / 2 % 2 == 1,
            large: seed / 4 % 4 == 3,
            no_snapshots: seed % 3 == 1,
            short_epochs: seed % 3 == 2,
            in_order: seed % 7 == 6,
            no_read_only: seed % 5 > 2,
            // Servers that share a log have no queue in common.
            inline: seed / 5 % 3 == 2 || cluster::has_servers(scheme),
            timestamps: Timestamps::ALL[(seed / 2 % 5) as usize],
            latch: MutexKind::ALL[(seed / 10 % 4) as usize],
            cluster: cluster::drawn(scheme, seed, SERVERS),
            plant: None,
        }
    }

    /// This case with as many servers, of a number in `servers`, as the seed says.
    #[must_use]
    pub fn servers(self, servers: Range<usize>) -> Self {
        Self { cluster: cluster::drawn(self.scheme, self.seed, servers), ..self }
    }

    /// Rows, and transactions of all clients, of `scan` and `hash`, whose nodes divide and go.
    #[must_use]
    pub fn insert_delete(&self) -> (u32, u64) {
        let (keys, each) = if self.large { (160, 80) } else { (40, 40) };
        (keys, each * self.workers())
    }

    /// Transactions in flight on all cores.
    pub(super) fn workers(&self) -> u64 {
        (self.cores * self.interleave) as u64
    }

    /// Two or three members in turn.
    fn crew(seed: u64) -> usize {
        2 + (seed % 2) as usize
    }

    /// This case under the memory model of `rig`, and with siblings only if it is for them, unless told.
    #[must_use]
    pub fn on(self, rig: Rig, interleave: Option<usize>) -> Self {
        let own = if rig == Rig::SimCrews { Self::crew(self.seed) } else { 1 };
        Self { tso: rig == Rig::SimTso, interleave: interleave.unwrap_or(own), ..self }
    }

    /// This case with a planted bug.
    #[must_use]
    pub fn plant(self, fault: &'static Fault) -> Self {
        Self { plant: Some(fault), ..self }
    }
}
