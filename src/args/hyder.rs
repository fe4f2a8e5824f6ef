//! The flags of `bench meld` and `bench log`, which have no clients.

use chiliad_host::values;
use chiliad_lab::run::Way;
use chiliad_words::value::{Words, choice, count, real};
use clap::Args;
use std::time::Duration;

/// `meld`.
#[derive(Args)]
pub struct MeldFlags {
    /// Rows, 1 to 4000000000.
    #[arg(long, value_name = "N", default_value = "1000000",
          value_parser = count(1, 4_000_000_000))]
    pub records: usize,
    /// Bytes of a row, 0 to 65536.
    #[arg(long, value_name = "BYTES", default_value = "100", value_parser = count(0, 65_536))]
    pub record_bytes: usize,
    /// Keys that an intention depends on, 1 to 1024.
    #[arg(long, value_name = "N", default_value = "10", value_parser = count(1, 1024))]
    pub ops: usize,
    /// How many of them it writes, 0 to 1024.
    #[arg(long, value_name = "N", default_value = "2", value_parser = count(0, 1024))]
    pub writes: usize,
    /// Intentions between the state that one has read and itself, 1 to 1000000: the conflict zone, exactly.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = count(1, 1_000_000))]
    pub zone: usize,
    /// The skew of the choice of keys, 0 (none) to 0.99.
    #[arg(long, value_name = "THETA", default_value = "0", value_parser = real(0.0, 0.99))]
    pub theta: f64,
    /// Intentions that are timed, 1 to 1000000000, after twice the zone.
    #[arg(long, value_name = "N", default_value = "100000", value_parser = count(1, 1_000_000_000))]
    pub transactions: usize,
    /// Threads that premeld, and how many intentions of its own each lies back: 32 or more together.
    #[arg(long, value_name = "T,D", default_value = "5,10", value_parser = threads_and_distance)]
    pub premeld: (u32, u32),
    /// Intentions depend on what they write alone, as under snapshot isolation.
    #[arg(long)]
    pub snapshot: bool,
    /// The ways to decide intentions, by name, in the order in which they run.
    #[arg(
        long,
        value_parser = choice(WAYS),
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "base,group,premeld,both,fused,fused-overlapped,plain,overlapped,window,window-overlapped"
    )]
    pub ways: Vec<Way>,
    /// Threads that play the stages, 1 to 64: with one they take turns; with two or more the last stage has a thread of its
    /// own.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 64))]
    pub pipeline: usize,
    /// Run each this many times, in turn, 1 to 100, and report medians.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 100))]
    pub repeat: usize,
    /// The seed of the intentions.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// The ways to decide intentions.
const WAYS: &Words<Way> = &[
    (
        Way::Base.name(),
        Way::Base,
        "Overlays built on the state that was read, and melded with the newest",
    ),
    (Way::Group.name(), Way::Group, "With group meld"),
    (Way::Premeld.name(), Way::Premeld, "With premeld"),
    (Way::Both.name(), Way::Both, "With both"),
    (
        Way::Fate.name(),
        Way::Fate,
        "With group meld of intentions that share their fate, as in the paper: other verdicts than those of the other ways",
    ),
    (
        Way::PremeldFate.name(),
        Way::PremeldFate,
        "With premeld, and then with group meld of intentions that share their fate",
    ),
    (Way::Fused.name(), Way::Fused, "Overlays built on the newest state at once"),
    (Way::FusedOverlapped.name(), Way::FusedOverlapped, "The same, descents overlapped"),
    (Way::Plain.name(), Way::Plain, "No overlays: keys looked up and written in the newest state"),
    (Way::Overlapped.name(), Way::Overlapped, "The same, descents overlapped"),
    (
        Way::Window.name(),
        Way::Window,
        "Keys looked up in a table of the last writers, writes applied to the newest state",
    ),
    (Way::WindowOverlapped.name(), Way::WindowOverlapped, "The same, descents overlapped"),
];

/// `log`.
#[derive(Args)]
pub struct LogFlags {
    /// The log: `memory:`, a directory, or `nats://HOST:PORT,.../NAME` where it is built in. What is appended stays in
    /// it [default: memory:].
    #[arg(long, value_name = "LOG", default_value = "memory:")]
    pub shared_log: String,
    /// Bytes of a record, 1 to 8388608.
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = count(1, 8 << 20))]
    pub record_bytes: usize,
    /// Threads that append, 1 to 1024.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 1024))]
    pub threads: usize,
    /// Records that each has in flight: in one call, 1 to 4096.
    #[arg(long, value_name = "N", default_value = "16", value_parser = count(1, 4096))]
    pub in_flight: usize,
    /// How long.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::time_above_zero)]
    pub duration: Duration,
}

/// Reads `--premeld` of `bench meld`.
fn threads_and_distance(text: &str) -> Result<(u32, u32), String> {
    let read = || {
        let (threads, distance) = text.split_once(',')?;
        let threads = values::count(threads, 1, 64).ok()? as u32;
        let distance = values::count(distance, 1, 65_536).ok()? as u32;
        (threads * distance >= 32).then_some((threads, distance))
    };
    read().ok_or_else(|| {
        "no place to meet; accepted: threads 1 to 64 and a distance 1 to 65536 of 32 or more together, such as 5,10"
            .into()
    })
}
