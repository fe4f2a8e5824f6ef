//! The plan of a seed: the servers, the log, and the faults.

use crate::ways::roll;
use chiliad_hyder::{RollOptions, ServerOptions};
use chiliad_machine::{Fault, Ticks};
use chiliad_simulator::{Config, DiskFaults, LogFaults, MemoryModel, Schedule};
use chiliad_workload::random::Random;
use std::ops::Range;
use std::time::Duration;

/// Events after which a world makes no progress any more: many times what it takes.
const EVENTS_MAX: u64 = 20_000_000;

/// Transactions of all clients, about.
const TRANSACTIONS: u32 = 120;

/// A fault of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// A server's host crashes, and starts again after so many ticks; power is lost, or the process killed.
    Crash { server: usize, power: bool, down: Ticks },
    /// A server's host stops for so long.
    Pause { server: usize, ticks: Ticks },
    /// A server cannot append, read, or either, for so long.
    Cut { server: usize, appends: bool, reads: bool, ticks: Ticks },
    /// The log has no leader for so many calls.
    LoseLeader { calls: u64 },
    /// The log has no room for so long.
    Fill { ticks: Ticks },
    /// Against all promises.
    Break(Break),
}

/// A way in which the log breaks its promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Break {
    /// A server sees another record than the others next.
    Deceive { server: usize },
    /// A bit of the newest record turns over.
    Flip { bit: u64 },
    /// All records are gone; the log may be another one then.
    Empty { anew: bool },
    /// The log is another one, with the same records.
    Copy,
    /// The newer records are gone: of a hundred, so many stay.
    RollBack { percent: u64 },
    /// The newer records are others: of a hundred, so many stay as they were.
    Overwrite { percent: u64 },
}

impl Break {
    /// Draws one that does not depend on there being two servers.
    pub fn draw(random: &mut Random) -> Self {
        let percent = random.range(10, 60).into();
        match random.below(6) {
            0 => Self::Flip { bit: random.below(4096).into() },
            1 => Self::Empty { anew: false },
            2 => Self::Empty { anew: true },
            3 => Self::Copy,
            4 => Self::RollBack { percent },
            _ => Self::Overwrite { percent },
        }
    }

    /// Whether servers join afterwards and append: by what they say others learn that they differ.
    pub fn has_witness(self) -> bool {
        matches!(self, Self::Deceive { .. } | Self::Flip { .. })
    }
}

/// The plan of a seed.
pub(super) struct WorldPlan {
    pub servers: usize,
    /// Clients of each server.
    pub clients: usize,
    /// Transactions of each client.
    pub transactions: u32,
    /// Versions have stamps, and all accesses are recorded.
    pub verify: bool,
    /// Clients create and drop a table beside those of the workload.
    pub aside: bool,
    pub disk_faults: DiskFaults,
    /// Each server has threads that append and roll the log forward.
    pub threads: bool,
    /// Time between two checkpoints of a server, about.
    pub checkpoints: Ticks,
    /// How often each server looks at the log, though none of its clients does.
    pub tick: Ticks,
    pub log_faults: LogFaults,
    /// The faults, each so long after the one before.
    pub acts: Vec<(Ticks, Act)>,
    pub config: Config,
    /// How old a state may be that an intention has read.
    pub window: u64,
    seed: u64,
}

impl WorldPlan {
    pub fn new(seed: u64, servers: Range<usize>, fault: Option<&'static Fault>) -> Self {
        let mut random = Random::new(seed, 0x3021d);
        let servers = servers.start + (seed % servers.len() as u64) as usize;
        let clients = random.range(1, 3) as usize;
        let verify = seed % 4 != 3;
        let mut log_faults = match random.below(3) {
            0 => LogFaults::default(),
            1 => LogFaults::all(40),
            _ => LogFaults::all(12),
        };
        log_faults.late_calls_mean = [50, 400][random.below(2) as usize];
        log_faults.append_ticks_mean = [16, 64, 200][random.below(3) as usize];
        if random.below(4) == 0 {
            log_faults.doubled_one_in = 3;
        }
        // Most intentions are larger than a record then.
        if random.below(4) == 0 {
            log_faults.record_bytes_max = random.range(120, 400) as usize;
        }
        let gap = [1500, 5000, 15_000][random.below(3) as usize];
        let acts = (0..random.range(3, 16))
            .map(|_| (random.range(50, gap).into(), Act::draw(&mut random, servers)))
            .collect();
        let mut acts: Vec<(Ticks, Act)> = acts;
        if servers > 1 && random.below(8) == 0 {
            let how = Break::Deceive { server: seed as usize % servers };
            acts.push((random.below(gap).into(), Act::Break(how)));
        }
        // Apart from all other choices.
        let mut apart = Random::new(seed, 0xb20ce);
        match apart.below(8) {
            0 if !acts.iter().any(|(_, act)| matches!(act, Act::Break(_))) => {
                let after = apart.below(gap).into();
                acts.push((after, Act::Break(Break::draw(&mut apart))));
            }
            1 | 2 => {
                let ticks = apart.range(50, 2500).into();
                let at = apart.below(acts.len() as u32) as usize;
                acts.insert(at, (apart.range(50, gap).into(), Act::Fill { ticks }));
            }
            _ => {}
        }
        let config = Config {
            seed: random.bits(),
            schedule: match random.below(2) {
                0 => Schedule::Random,
                _ => Schedule::few_preemptions(),
            },
            memory_model: if random.below(4) == 0 { MemoryModel::Tso } else { MemoryModel::Sc },
            fault,
            region_bytes: 16 << 30,
            events_max: EVENTS_MAX,
            stack_bytes: 512 << 10,
            ..Config::new(seed)
        };
        Self {
            servers,
            clients,
            transactions: (TRANSACTIONS / (servers * clients) as u32).max(4),
            verify,
            aside: random.below(2) == 0,
            disk_faults: disk_faults(&mut random),
            threads: random.below(2) == 0,
            checkpoints: random.range(100, 2500).into(),
            tick: [random.range(20, 100), random.range(400, 1500)][random.below(2) as usize].into(),
            log_faults,
            acts,
            config,
            window: if random.below(2) == 0 { 40 } else { 1 << 20 },
            seed,
        }
    }

    /// How a server runs: each rolls the log forward in another way.
    pub fn options(&self, server: usize) -> ServerOptions {
        let pipeline = (self.seed / 2 + server as u64) % 4 + 1;
        let window = self.window;
        let roll = roll(self.seed + server as u64);
        let roll = RollOptions { window, pipeline: pipeline as u32, ..roll };
        let log_patience = Duration::ZERO;
        ServerOptions { verify: self.verify, roll, log_patience, ..ServerOptions::default() }
    }
}

/// The faults of a server's disk while it runs.
fn disk_faults(random: &mut Random) -> DiskFaults {
    let mut faults = DiskFaults::default();
    match random.below(6) {
        0 => faults.sync_errors_one_in = random.range(4, 30).into(),
        1 => faults.short_writes_one_in = random.range(4, 30).into(),
        2 => faults.read_flips_one_in = random.range(4, 30).into(),
        _ => {}
    }
    faults
}

impl WorldPlan {
    /// How the log breaks its promises, if it does.
    pub fn breaks(&self) -> Option<Break> {
        self.acts.iter().find_map(|(_, act)| match act {
            Act::Break(how) => Some(*how),
            _ => None,
        })
    }

    /// Whether the disks do.
    pub fn disks_fail(&self) -> bool {
        self.disk_faults != DiskFaults::default()
    }
}

impl Act {
    fn draw(random: &mut Random, servers: usize) -> Self {
        let server = random.below(servers as u32) as usize;
        let ticks = random.range(100, 4000).into();
        match random.below(8) {
            0..=3 => {
                let down = [random.below(200), random.below(3000)][random.below(2) as usize].into();
                Self::Crash { server, power: random.below(2) == 0, down }
            }
            4 => Self::Pause { server, ticks },
            5 | 6 => {
                let which = random.below(3);
                Self::Cut { server, appends: which != 1, reads: which != 0, ticks }
            }
            _ => Self::LoseLeader { calls: random.range(10, 200).into() },
        }
    }
}
