//! The choices that a seed makes for servers that share a log.

use chiliad_driver::{Certifier, ClusterOptions, Group, Premeld, RollOptions, scheme, shares_log};
use std::ops::Range;

/// How many servers there are, unless told.
pub const SERVERS: Range<usize> = 1..6;

/// At how many calls a log fails once, where it does.
const FAILS_ONE_IN: u64 = 20;

/// Every way to roll the log forward that comes to the same verdicts, in turn.
const WAYS: [(Certifier, Premeld, Group); 7] = [
    (Certifier::Plain, Premeld::Off, Group::Off),
    (Certifier::Window, Premeld::Off, Group::Off),
    (Certifier::Meld, Premeld::Off, Group::Off),
    (Certifier::Meld, Premeld::Newest, Group::Off),
    (Certifier::Meld, Premeld::Fixed { threads: 2, distance: 3 }, Group::Off),
    (Certifier::Meld, Premeld::Off, Group::Exact),
    (Certifier::Meld, Premeld::Newest, Group::Exact),
];

/// The servers of `seed`, of a number in `servers`; one as elsewhere, where the scheme has none that share a log.
pub fn drawn(name: &str, seed: u64, servers: Range<usize>) -> ClusterOptions {
    if !scheme(name).is_ok_and(shares_log) {
        return ClusterOptions::default();
    }
    let (certifier, premeld, group) = WAYS[seed as usize % WAYS.len()];
    let fails = seed / 5 % 2 == 1;
    // None in every other case: the clients do the servers' work.
    let pipeline = [0, 1, 0, 2, 0, 3, 0, 4][seed as usize / 3 % 8];
    ClusterOptions {
        servers: servers.start + seed as usize % servers.len(),
        roll: RollOptions { certifier, premeld, group, pipeline, ..RollOptions::default() },
        log_fails_one_in: if fails { FAILS_ONE_IN } else { 0 },
    }
}
