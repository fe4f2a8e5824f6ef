//! Which absent versions a reader that found no record can have seen.
//!
//! Where a reader met no record, not even a tombstone, the record had never been, or its tombstone
//! had been unlinked. With one such version the reader saw that one. With several it is ambiguous;
//! what holds for every candidate still makes edges: the reader stands after the writer of the
//! *first* candidate (all others come later), and before the writer that replaced the *last* one.
//!
//! Invariant: `first` and `last` are nodes in the order of the chain, `NONE` where the key was
//! never absent.

use super::versions::{NONE, Versions};
use crate::history::History;
use crate::history::keys::KeyId;

/// The candidates of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absence {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Absence {
    /// The key was there all the time.
    pub(crate) fn never(self) -> bool {
        self.first == NONE
    }

    pub(crate) fn is_ambiguous(self) -> bool {
        self.first != self.last
    }
}

/// The candidates of every key.
pub(crate) fn candidates(history: &History, versions: &Versions) -> Vec<Absence> {
    let keys = 0..history.keys.len() as KeyId;
    keys.map(|key| of_key(versions, key, history.header.tombstones_kept)).collect()
}

fn of_key(versions: &Versions, key: KeyId, tombstones_kept: bool) -> Absence {
    let initial = versions.initial(key);
    let mut absence = if versions.present.get(key) {
        Absence { first: NONE, last: NONE }
    } else {
        Absence { first: initial, last: initial }
    };
    if tombstones_kept {
        return absence;
    }
    // Of a fork only the first branch is followed: the fork is reported, and edges that a candidate
    // on another branch would contradict are the lesser harm.
    let mut node = versions.next(initial);
    while node != NONE {
        let write = versions.writes[node as usize];
        if write.is_tombstone() {
            if absence.never() {
                absence.first = node;
            }
            absence.last = node;
        }
        node = write.next;
    }
    absence
}
