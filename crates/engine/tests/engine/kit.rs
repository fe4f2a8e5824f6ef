//! What the tests share.

use chiliad_engine::{Database, KeyPart, PartType, Scheme, SecondarySpec, Source};
use chiliad_machine::{Fault, Machine};
use chiliad_simulator::{Config, MemoryModel, Run, Schedule, Sim, stopping};

/// A generator whose every run is the same.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// An index over bytes of the rows.
pub fn index(name: &str, offset: usize, length: usize, unique: bool) -> SecondarySpec {
    let (source, part_type) = (Source::Value, PartType::Bytes);
    let part = KeyPart { source, offset, length, part_type, descending: false };
    SecondarySpec { name: name.into(), parts: vec![part].into(), unique }
}

/// How many seeds a test tries: `CHILIAD_SEEDS`, or as many as it says itself.
pub fn seeds(usual: u64) -> u64 {
    std::env::var("CHILIAD_SEEDS").map_or(usual, |it| it.parse().expect("a number"))
}

/// Lets the other cores run until something is so.
pub fn pause_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        Sim::yield_now();
    }
}

/// The schedule of a seed: one of three has few preemptions.
pub fn schedule(seed: u64) -> Schedule {
    if seed.is_multiple_of(3) { Schedule::few_preemptions() } else { Schedule::Random }
}

/// A run with the schedule and the memory model of its seed.
pub fn drawn(seed: u64, fault: Option<&'static Fault>) -> Config {
    let memory_model = if seed.is_multiple_of(2) { MemoryModel::Tso } else { MemoryModel::Sc };
    Config { memory_model, schedule: schedule(seed), fault, ..Config::new(seed) }
}

/// A core that ticks until the run is over.
pub fn spawn_ticker<S: Scheme<Sim>>(run: &mut Run, db: &Database<Sim, S>) {
    let db = db.clone();
    run.spawn_daemon("ticks", move || {
        while !stopping() {
            db.tick();
            Sim::park_until(Sim::now() + 5_000);
        }
    });
}
