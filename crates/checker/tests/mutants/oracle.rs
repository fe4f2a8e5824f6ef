//! Whether any serial order explains a history, by trying them all.
//!
//! The rules are those of `HISTORY.md`, applied to one transaction after the other; there are no
//! graphs and no edges here. What cannot be in any order is looked at first. Then each transaction is
//! written down as what it needs of the state before it and what it leaves; and transactions are
//! placed one by one, each where its needs are met.

use super::model::{Key, Kind, Model, Op, Read, Scan, Stamp, Transaction, Write_};
use std::collections::{BTreeSet, HashSet};

/// What is asked of a history beside serializability.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    pub strict: bool,
    pub insertion: bool,
    pub order_follows_reads: bool,
}

/// Searches for a serial order; the stamps in it.
pub fn explain(model: &Model, rules: Rules) -> Option<Vec<Stamp>> {
    let committed: Vec<&Transaction> = model.transactions.iter().filter(|t| t.committed).collect();
    assert!(committed.len() < 32, "a small history");
    let stamps: HashSet<&Stamp> = model.transactions.iter().map(|t| &t.stamp).collect();
    let sound = stamps.len() == model.transactions.len()
        && committed.iter().all(|t| is_sound(t))
        && overwritten_exist(&committed)
        && (!rules.order_follows_reads || orders_follow_reads(&committed));
    if !sound {
        return None;
    }
    let search = Search::new(model, committed, rules);
    let mut order = Vec::new();
    let found = search.extend(&search.initial, 0, &mut order, &mut HashSet::new());
    found.then(|| order.iter().map(|&n| search.transactions[n].stamp.clone()).collect())
}

/// What a transaction says is possible in itself.
fn is_sound(t: &Transaction) -> bool {
    let keys: HashSet<&Key> = t.writes().map(|write| &write.key).collect();
    let own = t.reads().filter(|read| read.seen.stamp == t.stamp);
    let own_written = own
        .into_iter()
        .all(|read| t.write(&read.key).is_some_and(|write| read.seen.index <= write.index));
    let scans = t.ops.iter().all(|op| match op {
        Op::Scan(scan) => in_order(scan),
        _ => true,
    });
    t.stamp != "0" && keys.len() == t.writes().count() && own_written && scans
}

/// The entries of a scan lie in its range, one after the other.
fn in_order(scan: &Scan) -> bool {
    let ascending = |pair: &[Read]| pair[0].key.bytes < pair[1].key.bytes;
    let descending = |pair: &[Read]| pair[0].key.bytes > pair[1].key.bytes;
    let mut pairs = scan.entries.windows(2);
    scan.entries.iter().all(|entry| in_range(scan, &entry.key))
        && if scan.descending { pairs.all(descending) } else { pairs.all(ascending) }
}

fn in_range(scan: &Scan, key: &Key) -> bool {
    let above =
        |(low, included): &(Vec<u8>, bool)| key.bytes > *low || *included && key.bytes == *low;
    let below =
        |(high, included): &(Vec<u8>, bool)| key.bytes < *high || *included && key.bytes == *high;
    key.table == scan.table
        && scan.low.as_ref().is_none_or(above)
        && scan.high.as_ref().is_none_or(below)
}

/// The scan looked at the key: its range ends at the last entry where a limit ended it.
fn covers(scan: &Scan, key: &Key) -> bool {
    let reached = match (scan.limited, scan.entries.last()) {
        (false, _) => true,
        (true, None) => false,
        (true, Some(last)) if scan.descending => last.key.bytes <= key.bytes,
        (true, Some(last)) => key.bytes <= last.key.bytes,
    };
    reached && in_range(scan, key)
}

/// A writer claims a greater order than the writer of each record that it read.
fn orders_follow_reads(committed: &[&Transaction]) -> bool {
    committed.iter().filter(|t| t.writes().next().is_some()).all(|t| {
        t.reads().filter(|read| read.present && read.seen.stamp != t.stamp).all(|read| {
            let writer = committed.iter().find(|other| other.stamp == read.seen.stamp);
            let write = writer.and_then(|writer| Some((writer, writer.write(&read.key)?)));
            write.is_none_or(|(writer, write)| claimed(writer, write) < t.order)
        })
    })
}

fn claimed(writer: &Transaction, write: &Write_) -> u64 {
    write.order.unwrap_or(writer.order)
}

/// The keys of which two writes replaced the same version.
fn contested(committed: &[&Transaction]) -> HashSet<Key> {
    let mut seen = HashSet::new();
    let writes = committed.iter().flat_map(|t| t.writes());
    writes.filter(|w| !seen.insert((&w.key, &w.over))).map(|w| w.key.clone()).collect()
}

/// Each write names a version that somebody else left.
fn overwritten_exist(committed: &[&Transaction]) -> bool {
    committed.iter().all(|t| {
        t.writes().all(|write| {
            let left = |other: &&Transaction| {
                other.stamp == write.over && other.write(&write.key).is_some()
            };
            write.over == "0" || write.over != t.stamp && committed.iter().any(left)
        })
    })
}

/// A key at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State<'a> {
    stamp: &'a str,
    index: u32,
    present: bool,
    order: u64,
}

/// What a transaction needs of a key in the state before it.
enum Need<'a> {
    /// This version.
    Version { stamp: &'a str, index: u32, present: bool },
    /// Nothing at all: it was never there, or only an unlinked tombstone is left.
    Nothing,
    /// A version that its write may replace: this one, if it counts, of this presence, and not above
    /// this order.
    Replaced { stamp: Option<&'a str>, present: bool, order: u64 },
}

struct Search<'a> {
    kept: bool,
    strict: bool,
    transactions: Vec<&'a Transaction>,
    initial: Vec<State<'a>>,
    /// For each transaction, by the number of the key.
    needs: Vec<Vec<(usize, Need<'a>)>>,
    leaves: Vec<Vec<(usize, State<'a>)>>,
}

impl<'a> Search<'a> {
    fn new(model: &Model, transactions: Vec<&'a Transaction>, rules: Rules) -> Search<'a> {
        let contested = if rules.insertion { contested(&transactions) } else { HashSet::new() };
        let reads = transactions.iter().flat_map(|t| t.reads()).map(|read| &read.key);
        let writes = transactions.iter().flat_map(|t| t.writes()).map(|write| &write.key);
        let keys: Vec<&Key> = reads.chain(writes).collect::<BTreeSet<_>>().into_iter().collect();
        let existed = |key: &Key| {
            transactions.iter().any(|t| {
                let mut reads = t.reads().filter(|read| read.present && read.seen.is_initial());
                let mut writes = t.writes().filter(|w| w.kind != Kind::Insert && w.over == "0");
                reads.any(|read| read.key == *key) || writes.any(|write| write.key == *key)
            })
        };
        let initial = |key: &&Key| State { stamp: "0", index: 0, present: existed(key), order: 0 };
        Search {
            kept: model.kept,
            strict: rules.strict,
            initial: keys.iter().map(initial).collect(),
            needs: transactions.iter().map(|t| needs(t, &keys, &contested)).collect(),
            leaves: transactions.iter().map(|t| leaves(t, &keys)).collect(),
            transactions,
        }
    }

    /// Places one more of the transactions that are not `done`. What failed once is not tried again.
    fn extend(
        &self,
        states: &[State<'a>],
        done: u32,
        order: &mut Vec<usize>,
        failed: &mut HashSet<(u32, Vec<State<'a>>)>,
    ) -> bool {
        if order.len() == self.transactions.len() {
            return true;
        }
        let here = (done, states.to_vec());
        if failed.contains(&here) {
            return false;
        }
        for n in (0..self.transactions.len()).filter(|n| done & 1 << n == 0) {
            let met = |(key, need): &(usize, Need)| self.meets(&states[*key], need);
            if !self.may_be_next(n, done) || !self.needs[n].iter().all(met) {
                continue;
            }
            let mut after = states.to_vec();
            self.leaves[n].iter().for_each(|&(key, state)| after[key] = state);
            order.push(n);
            if self.extend(&after, done | 1 << n, order, failed) {
                return true;
            }
            order.pop();
        }
        failed.insert(here);
        false
    }

    /// Nobody who is left had ended before it began.
    fn may_be_next(&self, n: usize, done: u32) -> bool {
        let t = self.transactions[n];
        let mut left = (0..self.transactions.len()).filter(|m| done & 1 << m == 0);
        !self.strict
            || left.all(|m| {
                let other = self.transactions[m];
                t.snapshot || other.snapshot || other.end >= t.start
            })
    }

    fn meets(&self, state: &State, need: &Need) -> bool {
        match *need {
            Need::Version { stamp, index, present } => {
                (state.stamp, state.index, state.present) == (stamp, index, present)
            }
            Need::Nothing => !state.present && (!self.kept || state.stamp == "0"),
            Need::Replaced { stamp, present, order } => {
                stamp.is_none_or(|stamp| state.stamp == stamp)
                    && state.present == present
                    && (state.stamp == "0" || state.order < order)
            }
        }
    }
}

fn needs<'a>(
    t: &'a Transaction,
    keys: &[&Key],
    contested: &HashSet<Key>,
) -> Vec<(usize, Need<'a>)> {
    let number = |key: &Key| keys.binary_search(&key).expect("every key has a number");
    // That it found nothing may be its own doing.
    let removed = |key: &Key| t.write(key).is_some_and(|own| own.kind == Kind::Remove);
    let mut needs = Vec::new();
    for read in t.reads().filter(|read| read.seen.stamp != t.stamp) {
        let Read { key, seen, present } = read;
        if *present || !seen.is_initial() {
            let (stamp, index) = (seen.stamp.as_str(), seen.index);
            needs.push((number(key), Need::Version { stamp, index, present: *present }));
        } else if !removed(key) {
            needs.push((number(key), Need::Nothing));
        }
    }
    for op in &t.ops {
        let Op::Scan(scan) = op else { continue };
        let returned = |key: &Key| scan.entries.iter().any(|entry| entry.key == *key);
        let missed = |key: &&&Key| covers(scan, key) && !returned(key) && !removed(key);
        needs.extend(keys.iter().filter(missed).map(|key| (number(key), Need::Nothing)));
    }
    for write in t.writes() {
        let (key, present) = (number(&write.key), write.kind != Kind::Insert);
        let contested = contested.contains(&write.key);
        let over_nothing = !present && write.over == "0";
        if over_nothing && !contested {
            needs.push((key, Need::Nothing));
        }
        let stamp = (!over_nothing && !contested).then_some(write.over.as_str());
        needs.push((key, Need::Replaced { stamp, present, order: claimed(t, write) }));
    }
    needs
}

fn leaves<'a>(t: &'a Transaction, keys: &[&Key]) -> Vec<(usize, State<'a>)> {
    let state = |write: &Write_| State {
        stamp: &t.stamp,
        index: write.index,
        present: write.kind != Kind::Remove,
        order: claimed(t, write),
    };
    let number = |key: &Key| keys.binary_search(&key).expect("every key has a number");
    t.writes().map(|write| (number(&write.key), state(write))).collect()
}
