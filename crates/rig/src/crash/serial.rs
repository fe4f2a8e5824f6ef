//! The survivors' part of the history, for the checker.
//!
//! Orders of different incarnations are made comparable: those of a later incarnation are the greater ones. What
//! was read in tables of secondary indexes is left out, since recovery gives every entry the stamp of
//! its row.

use super::ledger::{Key, Op};
use super::oracle::{Oracle, Survivor};
use super::verdicts::Verdicts;
use chiliad_checker::{
    Bound, Direction, Header, History, Isolation, Options, Recorder, Stamp, Version, WriteKind,
    check,
};
use chiliad_engine as engine;
use std::collections::BTreeMap;
use std::ops;

/// Has the checker look at the survivors.
pub(super) fn judge(oracle: &Oracle, isolation: Isolation, verdicts: &mut Verdicts) {
    let places = oracle.survivors.iter().map(|it| (it.incarnation, it.order));
    let mut ranks: BTreeMap<(u32, u64), u64> = places.map(|place| (place, 0)).collect();
    for (rank, place) in (1..).zip(ranks.values_mut()) {
        *place = rank;
    }
    let mut recorder = Recorder::new(0);
    for survivor in &oracle.survivors {
        enter(&mut recorder, oracle, survivor, ranks[&(survivor.incarnation, survivor.order)]);
    }
    let header = Header { tables: oracle.tables(), complete: true, tombstones_kept: false };
    match History::from_recorders(header, [recorder]) {
        Ok(history) => {
            let options = Options { isolation, ..Options::default() };
            let verdict = check(&history, &options);
            for anomaly in verdict.anomalies.iter().filter(|anomaly| anomaly.violation) {
                verdicts.add(anomaly.class.name(), || anomaly.to_string());
            }
        }
        Err(error) => verdicts.add("malformed history", || error.to_string()),
    }
}

fn enter(to: &mut Recorder, oracle: &Oracle, survivor: &Survivor, rank: u64) {
    let attempt = &survivor.attempt;
    let version = |stamp: engine::Stamp| Version::from(Stamp(stamp));
    // Times say nothing from one incarnation to the next, and real time is not asked for.
    to.begin(Stamp(attempt.stamp), 0, attempt.snapshot);
    // Whether the scan that is open stopped at its last entry.
    let mut open: Option<bool> = None;
    let mut of_index = false;
    for op in &attempt.ops {
        if !matches!(op, Op::Entry { .. })
            && let Some(limited) = open.take()
        {
            to.scan_end(limited);
        }
        match op {
            Op::Scan { table, low, high, reverse, limited } => {
                of_index = !oracle.holds_rows(*table);
                if !of_index {
                    let down = if *reverse { Direction::Descending } else { Direction::Ascending };
                    to.scan_begin(*table, bound(low), bound(high), down);
                    open = Some(*limited);
                }
            }
            Op::Entry { key, stamp, absent } if !of_index => {
                if *absent {
                    to.scan_tombstone(key, version(*stamp));
                } else {
                    to.scan_entry(key, version(*stamp));
                }
            }
            Op::Read { table, key, stamp, absent } if oracle.holds_rows(*table) => {
                if *absent {
                    to.absent(*table, key, version(*stamp));
                } else {
                    to.read(*table, key, version(*stamp));
                }
            }
            Op::Write { table, key, kind, over, .. } if oracle.holds_rows(*table) => {
                to.write(*table, key, kind_of(*kind), Stamp(*over), 0);
            }
            _ => {}
        }
    }
    if let Some(limited) = open {
        to.scan_end(limited);
    }
    to.commit(0, rank, survivor.epoch);
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
