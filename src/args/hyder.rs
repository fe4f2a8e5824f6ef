//! The flags of `bench meld` and `bench log`, which have no clients.

use chiliad_host::values;
use chiliad_lab::run::Way;
use chiliad_words::flags;
use chiliad_words::value::{Words, choice};

flags! {
    /// `meld`.
    MeldFlags {
        /// Rows, 1 to 4000000000.
        records: count(1, 4_000_000_000) = "1000000",
        /// Bytes of a row, 0 to 65536.
        record_bytes: count(0, 65_536) = "100",
        /// Keys that an intention depends on, 1 to 1024.
        ops: count(1, 1024) = "10",
        /// How many of them it writes, 0 to 1024.
        writes: count(0, 1024) = "2",
        /// Intentions between the state that one has read and itself, 1 to 1000000: the conflict zone, exactly.
        zone: count(1, 1_000_000) = "10000",
        /// The skew of the choice of keys, 0 (none) to 0.99.
        theta: real(0.0, 0.99) [value_name = "THETA"] = "0",
        /// Intentions that are timed, 1 to 1000000000, after twice the zone.
        transactions: count(1, 1_000_000_000) = "100000",
        /// Threads that premeld, and how many intentions of its own each lies back: 32 or more together.
        #[arg(long, value_name = "T,D", default_value = "5,10", value_parser = threads_and_distance)]
        pub premeld: (u32, u32),
        /// Intentions depend on what they write alone, as under snapshot isolation.
        snapshot: switch,
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
        pipeline: count(1, 64) = "1",
        /// Run each this many times, in turn, 1 to 100, and report medians.
        repeat: count(1, 100) = "1",
        /// The seed of the intentions.
        seed: whole(0, u64::MAX) = "1",
    }
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

flags! {
    /// `log`.
    LogFlags {
        /// The log: `memory:`, a directory, or `nats://HOST:PORT,.../NAME` where it is built in. What is appended stays in
        /// it [default: memory:].
        shared_log: text() [value_name = "LOG"] = "memory:",
        /// Bytes of a record, 1 to 8388608.
        record_bytes: count(1, 8 << 20) = "1024",
        /// Threads that append, 1 to 1024.
        threads: count(1, 1024) = "1",
        /// Records that each has in flight: in one call, 1 to 4096.
        in_flight: count(1, 4096) = "16",
        /// How long.
        duration: time_above_zero() = "5s",
    }
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
