//! Rare branches that a campaign must have taken, or it has proven less than it seems to.

use super::Scope;
use std::collections::BTreeSet;

/// From this many seeds on, a campaign must have taken all of them.
pub const SEEDS_MIN: u64 = 200;

/// By workload. Marks are set where the branch is, by `Machine::mark`.
const EXPECTED: [(&str, &[&str]); 5] =
    [("scan", &[]), ("hash", &[]), ("bank", &[]), ("tpcc", &[]), ("ycsb", &[])];

/// The marks that `workload` must hit and did not.
pub fn missing(workload: &str, hit: &BTreeSet<&'static str>, _scope: &Scope) -> Vec<&'static str> {
    let expected = EXPECTED.iter().find(|(name, _)| *name == workload).map_or(&[][..], |e| e.1);
    expected.iter().filter(|mark| !hit.contains(*mark)).copied().collect()
}
