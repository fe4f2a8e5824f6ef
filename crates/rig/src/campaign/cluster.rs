//! The choices that a seed makes for servers that share a log.

use crate::ways::roll;
use chiliad_driver::{ClusterOptions, RollOptions, scheme, shares_log};
use std::ops::Range;

/// At how many calls a log fails once, where it does.
const FAILS_ONE_IN: u64 = 20;

/// Whether databases under the scheme of this name are servers that share a log.
pub fn has_servers(name: &str) -> bool {
    scheme(name).is_ok_and(shares_log)
}

/// The servers of `seed`, of a number in `servers`; one as elsewhere, where the scheme has none that share a log.
pub fn drawn(name: &str, seed: u64, servers: Range<usize>) -> ClusterOptions {
    if !has_servers(name) {
        return ClusterOptions::default();
    }
    let fails = seed / 5 % 2 == 1;
    // None in every other case: the clients do the servers' work.
    let pipeline = [0, 1, 0, 2, 0, 3, 0, 4][seed as usize / 3 % 8];
    ClusterOptions {
        servers: servers.start + seed as usize % servers.len(),
        roll: RollOptions { pipeline, ..roll(seed) },
        log_fails_one_in: if fails { FAILS_ONE_IN } else { 0 },
        ..ClusterOptions::default()
    }
}
