//! One history of all servers and all their incarnations, for the checker: serializable, and updates in real time.
//!
//! A transaction that only reads may see a past state, unless its client asked for the newest: it is held to no time.

use super::accounts::{labels_by_stamp, stamp_of};
use super::common::Common;
use crate::clients::entered::enter;
use crate::clients::ledger::{Attempt, Ended, Op};
use crate::clients::verdicts::Verdicts;
use chiliad_api::WriteKind;
use chiliad_checker::{Header, History, Options, Recorder, Stamp, check};
use chiliad_hyder::{Decided, Oracle};
use std::collections::BTreeMap;

/// Has the checker look at all that has committed.
pub(super) fn judge(
    attempts: &[Attempt],
    common: &Common,
    oracle: &Oracle,
    verdicts: &mut Verdicts,
) {
    let labels = labels_by_stamp(oracle);
    // Those of one client follow each other.
    let mut recorders: BTreeMap<usize, Recorder> = BTreeMap::new();
    for attempt in attempts {
        let client = attempt.client;
        let to = recorders.entry(client).or_insert_with(|| Recorder::new(client as u32));
        match attempt.ended {
            Ended::Committed { order, .. } => {
                let is_timed = attempt.newest || attempt.writes();
                to.begin(Stamp(attempt.stamp), attempt.start, !is_timed);
                enter(to, attempt, |_| true);
                to.commit(attempt.end.unwrap_or(u64::MAX), order, order);
            }
            Ended::Open | Ended::Prepared { .. } => {
                let Some(&label) = labels.get(&attempt.stamp).and_then(|labels| labels.first())
                else {
                    continue;
                };
                let mut attempt = attempt.clone();
                // Its client may have died while it told of them.
                attempt.ops.retain(|op| !matches!(op, Op::Write { .. }));
                attempt.ops.extend(oracle.decided(label).into_iter().flat_map(writes));
                to.begin(Stamp(attempt.stamp), attempt.start, false);
                enter(to, &attempt, |_| true);
                to.commit(u64::MAX, label, label);
            }
            Ended::Aborted => {}
        }
    }
    let names = common.workload.tables().into_iter().map(|spec| spec.name);
    let tables = common.tables.iter().map(|table| table.0).zip(names).collect();
    let header = Header { tables, complete: true, tombstones_kept: false };
    match History::from_recorders(header, recorders.into_values().collect::<Vec<_>>()) {
        Ok(history) => {
            let options = Options { strict: true, order_follows_reads: true, ..Options::default() };
            let verdict = check(&history, &options);
            for anomaly in verdict.anomalies.iter().filter(|anomaly| anomaly.violation) {
                verdicts.add("history", || format!("{}\n{anomaly}", anomaly.class.name()));
            }
        }
        Err(error) => verdicts.add("history", || format!("malformed: {error}")),
    }
}

/// The writes of an intention whose client died before it could tell.
fn writes(decided: &Decided) -> impl Iterator<Item = Op> {
    decided.writes.iter().map(|write| {
        let there = write.over.as_ref().filter(|over| !over.tombstone);
        let kind = match (there, write.now.tombstone) {
            (None, _) => WriteKind::Insert,
            (Some(_), false) => WriteKind::Update,
            (Some(_), true) => WriteKind::Remove,
        };
        let over = write.over.as_ref().map_or(0, stamp_of);
        let key = write.key.as_slice().into();
        Op::Write { table: write.table, key, kind, over, value: Box::default() }
    })
}
