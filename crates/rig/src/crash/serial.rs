//! The survivors' part of the history, for the checker.
//!
//! Orders of different incarnations are made comparable: those of a later incarnation are the greater ones. What
//! was read in tables of secondary indexes is left out, since recovery gives every entry the stamp of
//! its row.

use super::oracle::{Oracle, Survivor};
use crate::clients::entered;
use crate::clients::verdicts::Verdicts;
use chiliad_checker::{Header, History, Isolation, Options, Recorder, Stamp, check};
use std::collections::BTreeMap;

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
    // Times say nothing from one incarnation to the next, and real time is not asked for.
    to.begin(Stamp(attempt.stamp), 0, attempt.snapshot);
    entered::enter(to, attempt, |table| oracle.holds_rows(table));
    to.commit(0, rank, survivor.epoch);
}
