//! Servers that share a log, as seeds have them: how many there are, and every way to roll the log forward.

use chiliad_driver::{Certifier, Group, Premeld, RollOptions};
use std::ops::Range;

/// How many servers there are, unless told.
pub const SERVERS: Range<usize> = 1..6;

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

/// How many ways there are to roll the log forward.
pub const ROLLS: u64 = WAYS.len() as u64;

/// A way to roll the log forward: each in turn.
pub fn roll(number: u64) -> RollOptions {
    let (certifier, premeld, group) = WAYS[(number % ROLLS) as usize];
    RollOptions { certifier, premeld, group, ..RollOptions::default() }
}
