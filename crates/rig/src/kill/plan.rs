//! The plan of a cycle, drawn from the seed: how the database is opened, and when it ends.

use chiliad::{Durability, Options, Scheme};
use chiliad_workload::random::{Chance, Random};
use std::time::Duration;

/// How a cycle ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Killed so long after it was started: while it opens, mostly.
    Opening(Duration),
    /// Killed so long after its clients have started.
    Working(Duration),
    /// Killed so long after a checkpoint has begun.
    Checkpoint(Duration),
    /// Asked to close so long after its clients have started.
    Close(Duration),
}

/// One cycle, seen from the parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// How it ends.
    pub end: End,
    /// The parent opens the directory for writing, not only to look: one more recovery.
    pub parent_writes: bool,
}

/// The longest that clients work.
const WORK_US: u32 = 120_000;
/// How long after a checkpoint has begun the kill comes, at most.
const CHECKPOINT_US: u32 = 6_000;

impl Cycle {
    /// Cycle number `number`. `opening` is how long it takes from the start of the process to an
    /// open database, as far as is known.
    #[must_use]
    pub fn draw(seed: u64, number: u64, opening: Duration) -> Self {
        let mut random = Random::new(seed, number << 1);
        let us = |random: &mut Random, most: u32| {
            Duration::from_micros(u64::from(random.range(1, most.max(1))))
        };
        let end = match random.below(20) {
            0..=3 => {
                let most = opening.as_micros().min(1 << 30) as u32;
                End::Opening(us(&mut random, most + most / 4))
            }
            4..=7 => End::Checkpoint(us(&mut random, CHECKPOINT_US)),
            8..=9 => End::Close(us(&mut random, WORK_US)),
            _ => End::Working(us(&mut random, WORK_US)),
        };
        Self { end, parent_writes: random.chance(Chance::percent(25.0)) }
    }
}

/// How the child opens the database in cycle `number`.
pub fn options(seed: u64, number: u64, scheme: Scheme, durability: Durability) -> Options {
    let mut random = Random::new(seed, number << 1 | 1);
    let options = Options::default()
        .scheme(scheme)
        .durability(durability)
        .epoch(Duration::from_millis(u64::from(random.range(1, 12))))
        .log_writers(random.range(1, 3))
        .log_segment_bytes(64 << 10 << random.below(6))
        .log_compress(random.chance(Chance::percent(50.0)))
        .checkpoint_effort(random.range(20, 100));
    match random.below(4) {
        0 => options,
        _ => options.checkpoint_log_bytes(64 << 10 << random.below(6)),
    }
}
