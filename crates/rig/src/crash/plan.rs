//! A plan drawn from the seed: the course of an incarnation, its end, and the events before the next one.

use chiliad_engine::{DurableOptions, LogOptions, Options, Snapshots};
use chiliad_machine::{Fault, Ticks};
use chiliad_simulator::{Config, DiskFaults, MemoryModel, Schedule};
use chiliad_workload::random::Random;
use std::time::Duration;

/// Incarnations of a database, at most.
const INCARNATIONS_MAX: u32 = 3;

/// Changing operations after which the disk is off, at most: more than most incarnations have.
const OPERATIONS_MAX: u32 = 260;

/// Events after which an incarnation is given up.
const EVENTS_MAX: u64 = 2_000_000;

/// How an incarnation ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// Power is lost after so many operations of the disk.
    Off(u64),
    /// Power is lost when the last client has done its share.
    RunsOut,
    /// The database is closed.
    Closed,
}

/// One incarnation.
pub(super) struct IncarnationPlan {
    pub clients: usize,
    /// Transactions of each.
    pub transactions: u32,
    /// Looks at what has become durable that each takes afterwards.
    pub looks: u32,
    pub epoch: Ticks,
    /// One commit in so many loses its core on its way, for so long at most.
    pub stalls: Option<(u32, Ticks)>,
    /// Whether checkpoints are made, one after the other, and the time between two.
    pub checkpoints: Option<Ticks>,
    pub durable: DurableOptions,
    pub faults: DiskFaults,
    pub end: End,
    pub config: Config,
    pub snapshots: Snapshots,
}

/// The events between two incarnations.
pub(super) struct Between {
    /// The process is killed, and power is not lost.
    pub killed: bool,
    /// Seed of what the disk has lost.
    pub seed: u64,
    /// A bit is turned over first, and recovery must find it. By which draws it is chosen.
    pub damage: Option<u64>,
    /// The end of a log is taken away in a copy of the disk, and recovery must miss it. By which draws it
    /// is chosen.
    pub cut: u64,
    /// Recoveries that are cut short, after so many operations each.
    pub cut_short: Vec<u64>,
}

/// A plan drawn from a seed.
pub(super) struct CrashPlan {
    seed: u64,
    fault: Option<&'static Fault>,
    pub incarnations: u32,
    /// Operations after which the making of the database is cut short.
    pub making_cut_short: Option<u64>,
}

impl CrashPlan {
    pub fn new(seed: u64, fault: Option<&'static Fault>) -> Self {
        let mut random = Random::new(seed, 0xc4a5);
        let incarnations = 1 + random.below(INCARNATIONS_MAX);
        let making_cut_short = (random.below(4) == 0).then(|| random.below(14).into());
        Self { seed, fault, incarnations, making_cut_short }
    }

    /// The machine on which nothing but opening happens.
    pub fn config(&self) -> Config {
        Config { fault: self.fault, ..Config::new(self.seed) }
    }

    pub fn incarnation(&self, incarnation: u32) -> IncarnationPlan {
        let mut random = Random::new(self.seed, 0x11fe_0000 + u64::from(incarnation));
        let log = LogOptions {
            writers: 1 + random.below(3),
            segment_bytes: 64 << 10,
            compress: random.below(3) == 0,
            buffer_bytes_max: if random.below(3) == 0 { 4096 } else { 1 << 20 },
        };
        // Drawn apart, so that all else is as it is without.
        let keeps = Random::new(self.seed, 0xc4a9_0000 + u64::from(incarnation)).below(2) == 0;
        let kept = if keeps { 256 << 10 } else { 0 };
        let effort = if random.below(2) == 0 { 100 } else { 50 };
        let epoch = [40, 120, 400][random.below(3) as usize];
        let end = match random.below(8) {
            0 => End::Closed,
            1 => End::RunsOut,
            2 | 3 => End::Off(random.below(30).into()),
            _ => End::Off(random.below(OPERATIONS_MAX).into()),
        };
        let mut faults = DiskFaults {
            sync_ticks_mean: [8, 64, 400][random.below(3) as usize],
            ..DiskFaults::default()
        };
        match random.below(10) {
            0 | 1 => faults.sync_errors_one_in = random.range(5, 60).into(),
            2 => faults.short_writes_one_in = random.range(10, 100).into(),
            3 => faults.full_after_bytes = Some(u64::from(random.range(64, 400)) << 10),
            _ => {}
        }
        if let End::Off(operations) = end {
            faults.off_after_operations = Some(operations);
        }
        let mut config = self.config();
        config.seed = random.bits();
        config.schedule =
            if random.below(2) == 0 { Schedule::Random } else { Schedule::few_preemptions() };
        config.memory_model = if random.below(4) == 0 { MemoryModel::Tso } else { MemoryModel::Sc };
        config.events_max = EVENTS_MAX;
        IncarnationPlan {
            clients: random.range(2, 4) as usize,
            transactions: random.range(6, 14),
            looks: random.below(8),
            epoch,
            stalls: (random.below(2) == 0).then(|| (random.range(2, 16), 8 * epoch)),
            checkpoints: (random.below(3) > 0).then(|| random.below(2000).into()),
            durable: DurableOptions {
                log,
                checkpoint_log_bytes: 256 << 10,
                checkpoint_effort: effort,
                change_log_bytes: kept,
            },
            faults,
            end,
            config,
            snapshots: if random.below(2) == 0 { Snapshots::Always } else { Snapshots::OnDemand },
        }
    }

    pub fn between(&self, incarnation: u32) -> Between {
        let mut random = Random::new(self.seed, 0xbe_0000 + u64::from(incarnation));
        let cuts = if random.below(2) == 0 { random.range(1, 3) } else { 0 };
        Between {
            killed: random.below(3) == 0,
            seed: random.bits(),
            damage: (random.below(3) == 0).then(|| random.bits()),
            cut_short: (0..cuts).map(|_| random.below(14).into()).collect(),
            cut: random.bits(),
        }
    }

    /// Which of `count` schemes rules an incarnation: the first one all of them in half of the seeds.
    pub fn scheme(&self, incarnation: u32, count: usize) -> usize {
        let mut random = Random::new(self.seed, 0x5c_0000);
        if incarnation == 0 || random.below(2) == 0 {
            return 0;
        }
        Random::new(self.seed, 0x5c_0000 + u64::from(incarnation)).below(count as u32) as usize
    }
}

impl IncarnationPlan {
    /// How the database is opened.
    pub fn options(&self, partitions: u32) -> Options {
        Options {
            snapshots: self.snapshots,
            epoch: Duration::from_micros(self.epoch),
            snapshot_every: 3,
            opacity: false,
            partitions,
            verify: true,
            ..Options::default()
        }
    }
}
