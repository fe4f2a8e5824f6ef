//! Rare branches that a campaign must have taken, or it has proven less than it seems to.

use std::collections::BTreeSet;

/// From this many seeds on, a campaign over all schemes must have taken all of them.
pub const SEEDS_MIN: u64 = 200;

/// By workload, under schemes that track what they read. Marks are set where the branch is, by
/// `Machine::mark`.
const EXPECTED: [(&str, &[&str]); 5] = [
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
            "snapshot read an old version",
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
            "snapshot read an old version",
            "value outgrew its record",
        ],
    ),
    (
        "bank",
        &[
            "leaf removed",
            "leaf split",
            "old version put by",
            "record unlinked",
            "snapshot read an old version",
        ],
    ),
    (
        "tpcc",
        &[
            "inner split",
            "leaf removed",
            "leaf split",
            "old version put by",
            "record unlinked",
            "snapshot read an old version",
            "value outgrew its record",
            "version collected",
        ],
    ),
    ("ycsb", &["leaf split", "read waited for a latch"]),
];

/// The marks that `workload` must hit and did not, where the campaign covers all schemes.
pub fn missing(
    workload: &str,
    hit: &BTreeSet<&'static str>,
    all_schemes: bool,
) -> Vec<&'static str> {
    let expected = EXPECTED.iter().find(|(name, _)| *name == workload).map_or(&[][..], |e| e.1);
    let missing = expected.iter().filter(|mark| all_schemes && !hit.contains(*mark));
    missing.copied().collect()
}
