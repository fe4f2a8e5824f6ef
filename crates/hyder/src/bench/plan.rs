//! The plan of a measurement, and its report.

use crate::options::RollOptions;
use chiliad_machine::Ticks;
use core::ops::AddAssign;

/// Intentions that go through each stage together.
pub const BATCH: u64 = 32;

/// The intentions that are measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeldPlan {
    /// Rows, 1 or more.
    pub records: u64,
    /// Bytes of a row.
    pub record_bytes: usize,
    /// Keys that an intention depends on, and how many of them it writes.
    pub operations: u64,
    /// Of these it writes so many.
    pub writes: u64,
    /// Intentions between the state that one has read and itself.
    pub zone: u64,
    /// Zipf's exponent of the choice of keys, 0 to below 1; 0: all alike.
    pub theta: f64,
    /// Intentions that are timed, after as many as the zone has.
    pub intentions: u64,
    /// The seed of rows and intentions.
    pub seed: u64,
}

/// How intentions are decided. With [`RollOptions::pipeline`] of two or more, the last stage has a thread of its own, and
/// the others play all that comes before it and after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeldSetting {
    /// The certifier and its stages.
    pub roll: RollOptions,
    /// Overlays are built on the newest state that is there at the time, in place of the one that was read.
    pub fused: bool,
}

/// The cost of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stage {
    /// Ticks of the machine: nanoseconds natively.
    pub time: Ticks,
    /// Nodes looked at.
    pub visited: u64,
    /// Nodes made.
    pub made: u64,
}

/// The results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MeldReport {
    /// Intentions timed.
    pub intentions: u64,
    /// Of these, committed.
    pub committed: u64,
    /// Of all verdicts, those before the timed ones too.
    pub digest: u64,
    /// Of all timed intentions with overlays together, the intentions between the state that the overlay was last built
    /// on and its own: what is left of the conflict zone.
    pub zone_left: u64,
    /// Of all rows that were written: keys, versions and values.
    pub state_digest: u64,
    /// The time that the whole has taken, in ticks of the machine: on one thread that of all stages together.
    pub elapsed: Ticks,
    /// Reading the bytes; the descents that wait together.
    pub decode: Stage,
    /// Building overlays.
    pub build: Stage,
    /// Premeld.
    pub premeld: Stage,
    /// Group meld.
    pub group: Stage,
    /// The last stage: what has to be done in the order of the log.
    pub last: Stage,
    /// Clearing away what is left of intentions, and freeing what was replaced.
    pub free: Stage,
}

impl MeldReport {
    /// All stages with their names.
    #[must_use]
    pub fn stages(&self) -> [(&'static str, Stage); 6] {
        [
            ("decode", self.decode),
            ("build", self.build),
            ("premeld", self.premeld),
            ("group", self.group),
            ("last", self.last),
            ("free", self.free),
        ]
    }

    /// Adds what another thread has done.
    pub fn add(&mut self, other: &Self) {
        self.intentions += other.intentions;
        self.committed += other.committed;
        self.zone_left += other.zone_left;
        for (stage, other) in [
            (&mut self.decode, other.decode),
            (&mut self.build, other.build),
            (&mut self.premeld, other.premeld),
            (&mut self.group, other.group),
            (&mut self.last, other.last),
            (&mut self.free, other.free),
        ] {
            *stage += other;
        }
    }
}

impl AddAssign for Stage {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.visited += other.visited;
        self.made += other.made;
    }
}
