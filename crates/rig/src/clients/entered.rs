//! A client's transaction as the checker reads it.

use super::ledger::{Attempt, Key, Op};
use chiliad_checker::{Bound, Direction, Recorder, Stamp, Version, WriteKind};
use chiliad_engine as engine;
use std::ops;

/// Enters what a transaction has done, but for its end, as far as it concerns tables that are `meant`.
pub fn enter(to: &mut Recorder, attempt: &Attempt, meant: impl Fn(u32) -> bool) {
    let version = |stamp: engine::Stamp| Version::from(Stamp(stamp));
    // Whether the scan that is open stopped at its last entry.
    let mut open: Option<bool> = None;
    let mut is_meant = false;
    for op in &attempt.ops {
        if !matches!(op, Op::Entry { .. })
            && let Some(limited) = open.take()
        {
            to.scan_end(limited);
        }
        match op {
            Op::Scan { table, low, high, reverse, limited } => {
                is_meant = meant(*table);
                if is_meant {
                    let down = if *reverse { Direction::Descending } else { Direction::Ascending };
                    to.scan_begin(*table, bound(low), bound(high), down);
                    open = Some(*limited);
                }
            }
            Op::Entry { key, stamp, absent } if is_meant => {
                if *absent {
                    to.scan_tombstone(key, version(*stamp));
                } else {
                    to.scan_entry(key, version(*stamp));
                }
            }
            Op::Read { table, key, stamp, absent } if meant(*table) => {
                if *absent {
                    to.absent(*table, key, version(*stamp));
                } else {
                    to.read(*table, key, version(*stamp));
                }
            }
            Op::Write { table, key, kind, over, .. } if meant(*table) => {
                to.write(*table, key, kind_of(*kind), Stamp(*over), 0);
            }
            _ => {}
        }
    }
    if let Some(limited) = open {
        to.scan_end(limited);
    }
}

fn kind_of(kind: engine::WriteKind) -> WriteKind {
    match kind {
        engine::WriteKind::Insert => WriteKind::Insert,
        engine::WriteKind::Update => WriteKind::Update,
        engine::WriteKind::Remove => WriteKind::Remove,
    }
}

fn bound(bound: &ops::Bound<Key>) -> Bound<'_> {
    match bound {
        ops::Bound::Included(key) => Bound::Included(key),
        ops::Bound::Excluded(key) => Bound::Excluded(key),
        ops::Bound::Unbounded => Bound::Unbounded,
    }
}
