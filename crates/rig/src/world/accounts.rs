//! The answers that clients got, compared with the outcome of the log.

use super::common::Account;
use crate::clients::ledger::{Attempt, Ended};
use crate::clients::verdicts::Verdicts;
use chiliad_api::{Stamp, stamp};
use chiliad_hyder::{Oracle, Version};
use std::collections::{BTreeMap, BTreeSet};

/// Judges the answers that clients got.
pub(super) fn judge(
    told: &[Account],
    attempts: &[Attempt],
    oracle: &Oracle,
    verdicts: &mut Verdicts,
) {
    let mut labels = BTreeSet::new();
    for account in told.iter().filter(|account| account.wrote) {
        let label = account.label;
        if oracle.decided(label).is_none_or(|decided| !decided.commits) {
            verdicts.add("acknowledged lost", || {
                format!(
                    "server {}: what committed as number {label} is not in the log",
                    account.server
                )
            });
        }
        if !labels.insert(label) {
            verdicts
                .add("acknowledged lost", || format!("two were told that they are number {label}"));
        }
    }
    judge_attempts(attempts, &labels_by_stamp(oracle), verdicts);
    judge_readers(told, verdicts);
}

/// The numbers of all that has committed, by the stamps of what it wrote.
pub(super) fn labels_by_stamp(oracle: &Oracle) -> BTreeMap<Stamp, Vec<u64>> {
    let mut labels: BTreeMap<Stamp, Vec<u64>> = BTreeMap::new();
    for (label, decided) in oracle.all() {
        if let Some(write) = decided.writes.first() {
            labels.entry(stamp_of(&write.now)).or_default().push(label);
        }
    }
    // That of rows that were loaded.
    labels.remove(&0);
    labels
}

/// The stamp of a version.
pub(super) fn stamp_of(version: &Version) -> Stamp {
    stamp::read(&version.value, stamp::reach(None), version.tombstone)
}

fn judge_attempts(
    attempts: &[Attempt],
    labels: &BTreeMap<Stamp, Vec<u64>>,
    verdicts: &mut Verdicts,
) {
    for attempt in attempts {
        let stamp = attempt.stamp;
        let there = labels.get(&stamp).map_or(&[][..], Vec::as_slice);
        if there.len() > 1 {
            verdicts
                .add("doubled", || format!("transaction {stamp:#x} has committed as {there:?}"));
        }
        match attempt.ended {
            Ended::Aborted if !there.is_empty() => verdicts.add("doubled", || {
                format!("transaction {stamp:#x} was refused, and has committed as {there:?}")
            }),
            Ended::Committed { order, .. } if attempt.writes() && there != [order] => {
                verdicts.add("acknowledged lost", || {
                    format!("transaction {stamp:#x} was told number {order}, and has {there:?}")
                });
            }
            _ => {}
        }
    }
}

/// A read sees what the same server has answered before.
fn judge_readers(told: &[Account], verdicts: &mut Verdicts) {
    let mut by_end: Vec<&Account> = told.iter().collect();
    by_end.sort_by_key(|account| account.end);
    let mut by_start: Vec<&Account> = told.iter().collect();
    by_start.sort_by_key(|account| account.start);
    let mut ended = by_end.into_iter().peekable();
    let mut newest: BTreeMap<(usize, u32), u64> = BTreeMap::new();
    for account in by_start {
        while let Some(before) = ended.next_if(|before| before.end < account.start) {
            let label = newest.entry((before.server, before.incarnation)).or_default();
            *label = before.label.max(*label);
        }
        let known = newest.get(&(account.server, account.incarnation)).copied().unwrap_or(0);
        if account.label < known {
            verdicts.add("stale read", || {
                let Account { server, label, .. } = account;
                format!("server {server} had answered as of {known}, and then as of {label}")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_never_goes_back() {
        let account = |server, start, end, label| Account {
            server,
            incarnation: 0,
            start,
            end,
            label,
            wrote: false,
        };
        let judged = |told: &[Account]| {
            let mut verdicts = Verdicts::default();
            judge_readers(told, &mut verdicts);
            verdicts.is_empty()
        };
        assert!(judged(&[account(0, 1, 5, 7), account(0, 6, 8, 7), account(1, 6, 8, 3)]));
        assert!(judged(&[account(0, 1, 5, 7), account(0, 5, 8, 6)]), "at the same time");
        assert!(!judged(&[account(0, 1, 5, 7), account(0, 6, 8, 6)]));
    }
}
