//! Rare branches that a campaign must have taken, or it has proven less than it seems to.

use std::collections::BTreeSet;

/// From this many seeds on, a campaign over all schemes must have taken all of them.
pub const SEEDS_MIN: u64 = 200;

/// By workload, under schemes that track what they read. Marks are set where the branch is, by
/// `Machine::mark`.
const EXPECTED: [(&str, &[&str]); 14] = [
    (
        "scan",
        &[
            "inner collapsed",
            "layer made",
            "layer removed",
            "leaf removed",
            "leaf split",
            "old version put by",
            "read waited for a latch",
            "record unlinked",
            "reverse scan over fence",
            "root split",
            "old version read",
            "value outgrew its record",
            "version collected",
        ],
    ),
    (
        "hash",
        &[
            "bucket chain freed",
            "bucket overflow",
            "bucket read again",
            "old version put by",
            "record unlinked",
            "old version read",
            "value outgrew its record",
        ],
    ),
    (
        "bank",
        &[
            "latches taken in order",
            "leaf removed",
            "leaf split",
            "old version put by",
            "record unlinked",
            "old version read",
        ],
    ),
    (
        "counters",
        &["old version put by", "read waited for a latch", "record unlinked", "old version read"],
    ),
    (
        "columns",
        &["old version put by", "read renewed", "read waited for a latch", "old version read"],
    ),
    (
        "tpcc",
        &[
            "inner split",
            "leaf removed",
            "leaf split",
            "old version put by",
            "record unlinked",
            "old version read",
            "owner's queue full",
            "run inserted",
            "value outgrew its record",
            "version collected",
        ],
    ),
    ("ycsb", &["leaf split", "read waited for a latch"]),
    ("smallbank", &["old version put by", "read waited for a latch", "old version read"]),
    (
        "tatp",
        &[
            "leaf removed",
            "leaf split",
            "old version put by",
            "record unlinked",
            "old version read",
            "version collected",
        ],
    ),
    ("txbench", &["old version put by", "read waited for a latch", "old version read"]),
    ("bidding", &["leaf split", "read waited for a latch", "root split"]),
    ("tpce", &["leaf split", "old version put by", "record unlinked", "old version read"]),
    (
        "tpcc-sql",
        &[
            "leaf removed",
            "leaf split",
            "old version put by",
            "record unlinked",
            "old version read",
            "value outgrew its record",
            "version collected",
        ],
    ),
    ("tpcb-sql", &["leaf split", "old version put by", "record unlinked", "old version read"]),
];

/// With several transactions in flight on a core, whatever the workload.
const EXPECTED_OF_SIBLINGS: &[&str] =
    &["sibling ran in a wait", "sibling ran while memory came", "turn kept from siblings"];

/// On a failing disk, whatever the workload and the scheme.
const EXPECTED_ON_DISKS: &[&str] = &[
    "checkpoint published",
    "closed",
    "damage in a checkpoint",
    "damage in a log",
    "damage in the manifest",
    "log segment completed",
    "recovery cut short",
];

/// Where servers share a log on hosts that crash, whatever the workload.
const EXPECTED_IN_WORLDS: &[&str] = &[
    "began with a checkpoint",
    "began with another server's checkpoint",
    "broken log refused",
    "checkpoint published",
    "host crashed",
    "host paused",
    "log emptied",
    "log full",
    "log made anew",
    "log overwritten",
    "log replaced by a copy",
    "log rolled back",
    "log's leader lost",
    "read while the log is full",
    "record damaged",
    "server cut off",
    "servers noticed that they differ",
    "table dropped beside writers",
];

/// On task units, whatever the workload.
const EXPECTED_OF_TASKS: &[&str] = &[
    "abort of eight tasks or more",
    "canary of a later task",
    "core taken from a later task",
    "entry of the commit queue taken from a later task",
    "task refused by a full queue",
    "task waited for an entry of the commit queue",
    "tasks came back from memory",
    "tasks went to memory",
];

/// On task units, of workloads whose graphs have many tasks.
const EXPECTED_OF_GRAPHS: &[&str] = &[
    "abort of a cascade",
    "child of the earliest task went to memory",
    "earliest task with all the children that it may have",
    "exception in a speculative task",
    "task replayed as the earliest",
];

/// The workloads with such graphs.
const WITH_GRAPHS: [&str; 2] = ["tpcc", "tpce"];

/// The cases that a campaign covers.
#[derive(Clone, Copy, Debug)]
pub struct Covers {
    /// All schemes.
    pub all_schemes: bool,
    /// Ordered tasks instead of interleavings.
    pub tasks: bool,
    /// Crashes instead of interleavings.
    pub disk: bool,
    /// Servers of one shared log, on hosts that crash.
    pub world: bool,
    /// Transactions in flight on each core, whatever the seed says.
    pub interleave: Option<usize>,
}

/// The marks that `workload` must hit and did not, where the campaign covers all schemes.
#[must_use]
pub fn missing(workload: &str, hit: &BTreeSet<&'static str>, covers: &Covers) -> Vec<&'static str> {
    if covers.tasks {
        let graphs = if WITH_GRAPHS.contains(&workload) { EXPECTED_OF_GRAPHS } else { &[] };
        let expected = EXPECTED_OF_TASKS.iter().chain(graphs);
        return expected.filter(|mark| !hit.contains(*mark)).copied().collect();
    }
    let expected = EXPECTED.iter().find(|(name, _)| *name == workload).map_or(&[][..], |e| e.1);
    let (expected, all) = match (covers.disk, covers.world) {
        (true, _) => (EXPECTED_ON_DISKS, true),
        (false, true) => (EXPECTED_IN_WORLDS, true),
        (false, false) => (expected, covers.all_schemes),
    };
    let siblings = match covers.disk || covers.world || covers.interleave == Some(1) {
        true => &[],
        false => EXPECTED_OF_SIBLINGS,
    };
    let expected = expected.iter().chain(siblings);
    expected.filter(|mark| all && !hit.contains(*mark)).copied().collect()
}
