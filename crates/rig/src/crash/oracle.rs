//! The state that must be there after a recovery, from the attempts of the clients of all incarnations.
//!
//! A *survivor* is a transaction whose epoch became durable before its incarnation ended. Survivors of all
//! incarnations together
//!
//! - include whatever was acknowledged. One that has only read leaves nothing behind: it counts as
//!   surviving if all that it has read does;
//! - have read from survivors only: they are closed;
//! - are serializable, or as isolated as their schemes promise, as the checker says of their part of the history;
//! - have written the state: for each key the version of the last incarnation that wrote it, and within that
//!   incarnation the one with the greatest order. Rows, their values and absences.

use super::open_database::{State, Survey};
use crate::clients::ledger::{Attempt, Key, Op};
use crate::clients::verdicts::Verdicts;
use chiliad_engine::{Recovered, Stamp, WriteKind};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A transaction that is still in the database.
pub(super) struct Survivor {
    pub incarnation: u32,
    pub attempt: Attempt,
    pub epoch: u64,
    pub order: u64,
}

/// The survivors so far, and what they make of the initial rows.
pub(super) struct Oracle {
    /// Tables of rows, by number, without those of secondary indexes: recovery makes these anew.
    tables: BTreeMap<u32, String>,
    pub survivors: Vec<Survivor>,
    stamps: HashSet<Stamp>,
    expected: State,
    /// Every key that was ever heard of.
    keys: BTreeSet<(u32, Key)>,
    incarnations: u32,
}

impl Oracle {
    /// Before the first incarnation, with what was loaded.
    pub fn new(tables: Vec<(u32, String)>, loaded: State) -> Self {
        Self {
            tables: tables.into_iter().collect(),
            survivors: Vec::new(),
            stamps: HashSet::from([0]),
            keys: loaded.keys().cloned().collect(),
            expected: loaded,
            incarnations: 0,
        }
    }

    /// The tables of rows.
    pub fn tables(&self) -> Vec<(u32, String)> {
        self.tables.iter().map(|(number, name)| (*number, name.clone())).collect()
    }

    /// Whether a table holds rows.
    pub fn holds_rows(&self, table: u32) -> bool {
        self.tables.contains_key(&table)
    }

    /// Every key that was ever heard of.
    pub fn keys(&self) -> &BTreeSet<(u32, Key)> {
        &self.keys
    }

    /// An incarnation has ended in which everything up to epoch `durable` became durable.
    pub fn incarnation_ended(
        &mut self,
        attempts: Vec<Attempt>,
        durable: u64,
        verdicts: &mut Verdicts,
    ) {
        let incarnation = self.incarnations;
        self.incarnations += 1;
        let mut survivors = Vec::new();
        for attempt in attempts {
            self.note_keys(&attempt);
            let Some((epoch, order)) = attempt.place() else { continue };
            let survives = epoch <= durable || attempt.acknowledged && !attempt.writes();
            if survives {
                survivors.push(Survivor { incarnation, attempt, epoch, order });
            } else if attempt.acknowledged {
                verdicts.add("acknowledged transaction lost", || {
                    format!(
                        "incarnation {incarnation}: transaction {:#x} of epoch {epoch} was acknowledged, and \
                         recovery ends with epoch {durable}",
                        attempt.stamp
                    )
                });
            }
        }
        self.stamps.extend(survivors.iter().map(|survivor| survivor.attempt.stamp));
        for survivor in &survivors {
            self.check_closed(survivor, verdicts);
        }
        self.apply(&survivors);
        self.survivors.append(&mut survivors);
    }

    fn note_keys(&mut self, attempt: &Attempt) {
        for op in &attempt.ops {
            if let Op::Write { table, key, .. } = op
                && self.tables.contains_key(table)
            {
                self.keys.insert((*table, key.clone()));
            }
        }
    }

    fn check_closed(&self, survivor: &Survivor, verdicts: &mut Verdicts) {
        // What nobody has written is for the checker to name.
        let known = |stamp: &Stamp| *stamp == Stamp::MAX || self.stamps.contains(stamp);
        let Some(lost) = survivor.attempt.read_from().find(|stamp| !known(stamp)) else {
            return;
        };
        let Survivor { incarnation, attempt, epoch, .. } = survivor;
        let only_read = attempt.acknowledged && !attempt.writes();
        let name = if only_read { "acknowledged transaction lost" } else { "not closed" };
        verdicts.add(name, || {
            format!(
                "incarnation {incarnation}: transaction {:#x} of epoch {epoch} has read from transaction {lost:#x}, \
                 which is lost",
                attempt.stamp
            )
        });
    }

    /// The greatest order wins, per key.
    fn apply(&mut self, survivors: &[Survivor]) {
        let mut last: BTreeMap<(u32, &Key), (u64, &Survivor, &Op)> = BTreeMap::new();
        for survivor in survivors {
            for op in &survivor.attempt.ops {
                let Op::Write { table, key, .. } = op else { continue };
                let newest = last.entry((*table, key)).or_insert((survivor.order, survivor, op));
                if survivor.order > newest.0 {
                    *newest = (survivor.order, survivor, op);
                }
            }
        }
        for ((table, key), (_, survivor, op)) in last {
            if !self.tables.contains_key(&table) {
                continue;
            }
            if let Op::Write { kind, value, .. } = op {
                let key = (table, key.clone());
                match kind {
                    WriteKind::Remove => self.expected.remove(&key),
                    _ => self.expected.insert(key, (survivor.attempt.stamp, value.clone())),
                };
            }
        }
    }

    /// Compares what is there with what must be.
    pub fn compare(&self, found: &Survey, recovered: &Recovered, verdicts: &mut Verdicts) {
        let wrong = self.first_difference(&found.rows);
        let count = (recovered.rows, self.expected.len() as u64);
        let miscounted =
            || format!("recovery made {} rows, and {} must be there", count.0, count.1);
        let wrong = wrong.or_else(|| (count.0 != count.1).then(miscounted));
        let wrong = wrong.or_else(|| found.disagreements.first().cloned());
        if let Some(wrong) = wrong {
            verdicts.add("wrong state", || wrong);
        }
        if let Some(condition) = found.failed_conditions.first() {
            verdicts.add("consistency", || condition.clone());
        }
    }

    fn first_difference(&self, found: &State) -> Option<String> {
        let keys: BTreeSet<&(u32, Key)> = found.keys().chain(self.expected.keys()).collect();
        let differs = |key: &&&(u32, Key)| found.get(**key) != self.expected.get(**key);
        keys.iter().find(differs).map(|key| {
            let show = |row: Option<&(Stamp, Box<[u8]>)>| match row {
                Some((stamp, value)) => format!("{value:?} of transaction {stamp:#x}"),
                None => "nothing".into(),
            };
            let (found, expected) = (show(found.get(*key)), show(self.expected.get(*key)));
            let table = &self.tables[&key.0];
            format!("{table} {:?}: there is {found}, and there must be {expected}", key.1)
        })
    }
}
