//! A witness for ambiguous reads: a serial order in which every read sees what it saw.
//!
//! An ambiguous absence gives a choice for each life of its key: the reader stands before the
//! insert that began it, or after the removal that ended it. Choices enough make the question hard
//! in general; in practice nearly all are settled by time. So a serial order near to real time is
//! taken and replayed over the keys in question. Where a reader would see a record that it did not
//! see, there are three cases:
//!
//! - Neither way is open, since each would close a cycle: the history is not serializable, and
//!   that is proven.
//! - One way is open: it was so, and the order is bent that way.
//! - Both are open. When only such are left, the nearer way is tried.
//!
//! An order that replays without a mismatch proves the history serializable. If guesses do not
//! lead to one, nothing is proven either way, and the number of reads left unexplained is told.
//!
//! Invariants: only orders of the graph are replayed, so that all other reads are right in them;
//! what was guessed never becomes part of a proof.

use super::edges::{Derived, Reason};
use super::graph::Graph;
use super::order::Order;
use super::versions::NONE;
use crate::anomaly::EdgeKind;
use crate::history::History;
use crate::history::keys::KeyId;
use crate::history::model::OpKind;
use crate::stamp::Stamp;

/// How often an order is bent and replayed, in each of the two phases.
const ROUNDS: usize = 16;

/// How many mismatches of a replay are mended; with more than this the order is far from true.
const MENDED_MAX: usize = 10_000;

/// The result of the search.
#[derive(Default)]
pub(crate) struct Examination {
    /// How many ambiguous reads no serial order that was tried explains.
    pub(crate) unexplained: u64,
    /// Edges that hold and close a cycle; empty unless one is proven.
    pub(crate) closing: Vec<Reason>,
}

/// A read that found nothing where the replay has a record.
#[derive(Clone, Copy)]
struct Mismatch {
    reader: u32,
    key: KeyId,
    scanned: bool,
}

/// Searches for a serial order of an acyclic graph that explains the ambiguous reads.
pub(crate) fn examine(derived: &Derived, graph: &Graph) -> Examination {
    let mut order = Order::new(graph, deadlines(derived, graph, Near::Time));
    let by_time = count(derived, &order);
    if by_time == 0 {
        return Examination::default();
    }
    let claimed = Order::new(graph, deadlines(derived, graph, Near::Claim));
    if count(derived, &claimed) < by_time {
        order = claimed;
    }
    bend(derived, order)
}

/// The order that a first attempt should be near to.
#[derive(Clone, Copy, PartialEq)]
enum Near {
    Time,
    Claim,
}

/// The deadline of each node, for an order that is near to real time or to the claimed order.
fn deadlines(derived: &Derived, graph: &Graph, near: Near) -> Vec<u64> {
    let mut deadlines = vec![u64::MAX; graph.nodes() as usize];
    for (deadline, transaction) in deadlines.iter_mut().zip(&derived.history.transactions) {
        *deadline = match near {
            Near::Claim => transaction.order,
            // A snapshot lies before its transaction.
            Near::Time if transaction.snapshot => transaction.start,
            Near::Time => transaction.end,
        };
    }
    deadlines
}

/// How many ambiguous reads an order does not explain.
fn count(derived: &Derived, order: &Order) -> u64 {
    let mut replay = Replay::new(derived);
    replay.run(order);
    replay.count
}

/// Bends an order until it explains all, a contradiction is proven, or nothing more is gained.
fn bend(derived: &Derived, mut order: Order) -> Examination {
    let mut unexplained = u64::MAX;
    let mut forced: Vec<Reason> = Vec::new();
    let mut guessing = false;
    let mut rounds = ROUNDS;
    while rounds > 0 {
        rounds -= 1;
        let mut replay = Replay::new(derived);
        replay.run(&order);
        unexplained = unexplained.min(replay.count);
        if unexplained == 0 {
            break;
        }
        let mut bent = false;
        for mismatch in replay.mismatches {
            let ways = ways(derived, &order, mismatch);
            if guessing {
                bent |= ways.iter().any(|way| order.add(way.from, way.to));
                continue;
            }
            let mut open = ways.iter().filter(|way| order.admits(way.from, way.to));
            match (open.next().copied(), open.next()) {
                (Some(_), Some(_)) => {}
                (Some(only), None) => {
                    bent |= order.add(only.from, only.to);
                    forced.push(only);
                }
                (None, _) => {
                    // Any of the ways closes a cycle; the insert that was missed says most.
                    if let Some(&way) = ways.iter().max_by_key(|way| way.kind.is_anti()) {
                        forced.push(way);
                        return Examination { unexplained, closing: forced };
                    }
                }
            }
        }
        if !bent && guessing {
            break;
        }
        if !bent || (rounds == 0 && !guessing) {
            (guessing, rounds) = (true, ROUNDS);
        }
    }
    Examination { unexplained, closing: Vec::new() }
}

/// The ways out of a mismatch, that first which agrees with the claimed order, then the nearer: the reader before the insert of the life of
/// the key in which it stands, or the removal that ended this life before the reader.
fn ways(derived: &Derived, order: &Order, mismatch: Mismatch) -> Vec<Reason> {
    let Mismatch { reader, key, scanned } = mismatch;
    let versions = &derived.versions;
    let place = |node: u32| order.positions[node as usize];
    let here = place(reader);
    let mut live = versions.present.get(key);
    let mut insert = None;
    let mut node = versions.next(versions.initial(key));
    while node != NONE && place(versions.writes[node as usize].writer) < here {
        let write = versions.writes[node as usize];
        live = !write.is_tombstone();
        if write.is_insert() {
            insert = Some(write.writer);
        }
        node = write.next;
    }
    // An earlier mending may have moved the reader out of this life already.
    if !live {
        return Vec::new();
    }
    while node != NONE && !versions.writes[node as usize].is_tombstone() {
        node = versions.writes[node as usize].next;
    }
    let mut ways = Vec::new();
    if let Some(to) = insert {
        let kind = if scanned { EdgeKind::PredicateReadWrite } else { EdgeKind::ReadWrite };
        ways.push((here - place(to), Reason { from: reader, to, key, kind }));
    }
    if let Some(write) = versions.write(node).filter(|write| write.writer != reader) {
        let kind = EdgeKind::WriteRead;
        let reason = Reason { from: write.writer, to: reader, key, kind };
        ways.push((place(write.writer) - here, reason));
    }
    let claimed = |node: u32| derived.history.transactions[node as usize].order;
    ways.sort_by_key(|&(distance, way)| (claimed(way.from) >= claimed(way.to), distance));
    ways.into_iter().map(|(_, reason)| reason).collect()
}

/// The state of the keys in question while an order is replayed.
struct Replay<'a, 'h> {
    derived: &'a Derived<'h>,
    live: Vec<bool>,
    /// For each scanned table, which of its ambiguous keys are live, by position.
    marks: Vec<Marks>,
    mismatches: Vec<Mismatch>,
    count: u64,
}

impl<'a, 'h> Replay<'a, 'h> {
    fn new(derived: &'a Derived<'h>) -> Replay<'a, 'h> {
        let keys = derived.history.keys.len() as KeyId;
        let tables = derived.ranges.tables().map(|table| Marks::new(table.ambiguous.keys.len()));
        let marks = tables.collect();
        let mut replay = Replay {
            derived,
            live: vec![false; keys as usize],
            marks,
            mismatches: Vec::new(),
            count: 0,
        };
        for key in 0..keys {
            if derived.absences[key as usize].is_ambiguous() && derived.versions.present.get(key) {
                replay.set(key, true);
            }
        }
        replay
    }

    fn run(&mut self, order: &Order) {
        let transactions = self.derived.history.transactions.len() as u32;
        for &node in order.nodes.iter().filter(|&&node| node < transactions) {
            if self.derived.history.transactions[node as usize].committed {
                self.step(node);
            }
        }
    }

    fn step(&mut self, number: u32) {
        let history: &History = self.derived.history;
        let transaction = &history.transactions[number as usize];
        let ops = &history.ops[transaction.op_range()];
        let in_question = |key: KeyId| self.derived.absences[key as usize].is_ambiguous();
        let mut missing: Vec<(KeyId, bool)> = Vec::new();
        for op in ops {
            let unnamed = op.stamp == Stamp::INITIAL && !op.kind().is_present();
            if unnamed && !op.kind().is_write() && in_question(op.key) && self.live[op.key as usize]
            {
                missing.push((op.key, false));
            }
        }
        for scan in history.scans_of(transaction) {
            let at = self.derived.ranges.table_at(scan.table);
            let question = &self.derived.ranges.table(at).ambiguous;
            self.derived.ranges.gaps(history, scan, |low, high| {
                let range = question.between(low, high);
                let mut from = range.start;
                while let Some(position) = self.marks[at].next(from, range.end) {
                    missing.push((question.keys[position], true));
                    from = position + 1;
                }
            });
        }
        // What it removed itself it may have looked for afterwards.
        let removed = |key| ops.iter().any(|op| op.key == key && op.kind() == OpKind::Remove);
        for (key, scanned) in missing.into_iter().filter(|&(key, _)| !removed(key)) {
            self.count += 1;
            if self.mismatches.len() < MENDED_MAX {
                self.mismatches.push(Mismatch { reader: number, key, scanned });
            }
        }
        for op in ops.iter().filter(|op| op.kind().is_write()) {
            if self.derived.absences[op.key as usize].is_ambiguous() {
                self.set(op.key, op.kind() != OpKind::Remove);
            }
        }
    }

    fn set(&mut self, key: KeyId, live: bool) {
        if std::mem::replace(&mut self.live[key as usize], live) == live {
            return;
        }
        if let Some((at, position)) = self.derived.ranges.question(self.derived.history, key) {
            self.marks[at].flip(position, live);
        }
    }
}

/// Which of a row of positions are set, with the next one found in a logarithm: a bit for each, and
/// above it a bit for each word that is not zero, and so on.
struct Marks {
    levels: Vec<Vec<u64>>,
}

impl Marks {
    fn new(mut length: usize) -> Marks {
        let mut levels = Vec::new();
        loop {
            length = length.div_ceil(64);
            levels.push(vec![0; length]);
            if length <= 1 {
                return Marks { levels };
            }
        }
    }

    fn flip(&mut self, mut position: usize, set: bool) {
        for level in &mut self.levels {
            let word = &mut level[position / 64];
            let was_zero = *word == 0;
            *word ^= 1 << (position % 64);
            // Above, only the change between zero and not zero shows.
            if if set { !was_zero } else { *word != 0 } {
                return;
            }
            position /= 64;
        }
    }

    /// The first position from `from` on, before `end`, that is set.
    fn next(&self, from: usize, end: usize) -> Option<usize> {
        let (mut level, mut at) = (0, from);
        loop {
            let word = self.levels.get(level)?.get(at / 64)?;
            let rest = word & (u64::MAX << (at % 64));
            if rest == 0 {
                (level, at) = (level + 1, at / 64 + 1);
                continue;
            }
            at = at / 64 * 64 + rest.trailing_zeros() as usize;
            if level == 0 {
                return (at < end).then_some(at);
            }
            (level, at) = (level - 1, at * 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_find_the_next() {
        let mut marks = Marks::new(300_000);
        for position in [0, 63, 64, 5000, 299_999] {
            marks.flip(position, true);
        }
        assert_eq!(marks.next(0, 300_000), Some(0));
        assert_eq!(marks.next(1, 300_000), Some(63));
        assert_eq!(marks.next(65, 300_000), Some(5000));
        assert_eq!(marks.next(5001, 299_999), None);
        assert_eq!(marks.next(5001, 300_000), Some(299_999));
        marks.flip(5000, false);
        assert_eq!(marks.next(65, 300_000), Some(299_999));
        assert_eq!(marks.next(300_000, 300_000), None);
    }
}
