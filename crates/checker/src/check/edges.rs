//! The edges of the direct serialization graph, one transaction after the other.
//!
//! The same code runs twice: over the whole history, where only the ends of an edge are kept, and,
//! should there be a cycle, over the transactions of the cyclic subgraph alone, where each edge keeps its
//! reason. A million transactions have tens of millions of edges; reasons would double them.
//!
//! Invariant: an edge is emitted only if it holds in every explanation of the history.

use super::absence::Absence;
use super::findings::{Findings, show_key};
use super::ranges::{MANY_KEYS, Part, Ranges, Subset, Tree};
use super::stamps::{Stamps, Writer};
use super::versions::Versions;
use crate::anomaly::{Class, EdgeKind};
use crate::history::History;
use crate::history::keys::KeyId;
use crate::history::model::{Op, Scan};
use crate::history::text_write::{brief, show_table};
use crate::stamp::Stamp;

/// An edge with its reason. The ends are transactions, or helpers numbered above them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) key: KeyId,
    pub(crate) kind: EdgeKind,
}

/// The facts derived from a history before its edges.
pub(crate) struct Derived<'a> {
    pub(crate) history: &'a History,
    pub(crate) stamps: Stamps,
    pub(crate) versions: Versions,
    pub(crate) absences: Vec<Absence>,
    pub(crate) ranges: Ranges,
    /// How many nodes the graph has so far: transactions, then helpers.
    pub(crate) nodes: u32,
    pub(crate) gap_edges_max: usize,
}

/// Emits edges into `sink`. Findings are reported where there is somebody to take them.
pub(crate) struct Emitter<'a, 'h, F> {
    pub(crate) derived: &'a mut Derived<'h>,
    pub(crate) findings: Option<&'a mut Findings<'h>>,
    pub(crate) ambiguous: u64,
    pub(crate) sink: F,
    /// The gaps of the scan at hand.
    pub(crate) gaps: Vec<(u32, u32)>,
}

impl<'h, F: FnMut(Reason)> Emitter<'_, 'h, F> {
    /// The edges between versions: each writer stands after the one whose version it replaced.
    pub(crate) fn overwrites(&mut self, wanted: impl Fn(u32) -> bool) {
        let history = self.derived.history;
        let versions = &self.derived.versions;
        for (write, &prev) in versions.writes.iter().zip(&versions.prev) {
            let Some(old) = versions.write(prev) else { continue };
            if wanted(write.writer) && wanted(old.writer) && write.writer != old.writer {
                let key = history.ops[write.op as usize].key;
                let (from, to) = (old.writer, write.writer);
                (self.sink)(Reason { from, to, key, kind: EdgeKind::WriteWrite });
            }
        }
    }

    /// The edges of a transaction's reads and scans.
    pub(crate) fn reads(&mut self, reader: u32) {
        let history = self.derived.history;
        let transaction = &history.transactions[reader as usize];
        for &op in &history.ops[transaction.op_range()] {
            if op.kind().is_write() {
                continue;
            }
            if op.stamp == transaction.stamp {
                self.own_read(reader, op);
            } else if op.stamp == Stamp::INITIAL && !op.kind().is_present() {
                self.absence(reader, op.key);
            } else {
                self.read(reader, op);
            }
        }
        for scan in history.scans_of(transaction) {
            self.scan(reader, scan);
        }
    }

    /// The links inside the trees of helpers. After all reads, which decide what is in use.
    pub(crate) fn links(&mut self) {
        let Derived { versions, absences, ranges, .. } = &mut *self.derived;
        let sink = &mut self.sink;
        for (subset, downwards) in ranges.subsets() {
            let Some(tree) = &mut subset.tree else { continue };
            let keys = &subset.keys;
            tree.links(|helper, child| match (child, downwards) {
                (Part::Helper(to), true) => {
                    let kind = EdgeKind::PredicateReadWrite;
                    sink(Reason { from: helper, to, key: MANY_KEYS, kind });
                }
                (Part::Helper(from), false) => {
                    let kind = EdgeKind::WriteRead;
                    sink(Reason { from, to: helper, key: MANY_KEYS, kind });
                }
                (Part::Key(at), true) => {
                    let key = keys[at];
                    for to in versions.replacers(absences[key as usize].last) {
                        let kind = EdgeKind::PredicateReadWrite;
                        sink(Reason { from: helper, to, key, kind });
                    }
                }
                (Part::Key(at), false) => {
                    let key = keys[at];
                    let first = versions.write(absences[key as usize].first);
                    let from = first.expect("a removed key has a tombstone").writer;
                    sink(Reason { from, to: helper, key, kind: EdgeKind::WriteRead });
                }
            });
        }
    }

    fn emit(&mut self, from: u32, to: u32, key: KeyId, kind: EdgeKind) {
        if from != to {
            (self.sink)(Reason { from, to, key, kind });
        }
    }

    /// A read that names the version it saw.
    fn read(&mut self, reader: u32, op: Op) {
        let node = if op.stamp == Stamp::INITIAL {
            self.derived.versions.initial(op.key)
        } else {
            let Some(node) = self.resolve(reader, op) else { return };
            let writer = self.derived.versions.writes[node as usize].writer;
            self.emit(writer, reader, op.key, EdgeKind::WriteRead);
            node
        };
        self.anti(reader, node, op.key, EdgeKind::ReadWrite);
    }

    /// The reader stands before the writers that replaced the node that it saw.
    fn anti(&mut self, reader: u32, node: u32, key: KeyId, kind: EdgeKind) {
        let Derived { versions, .. } = &*self.derived;
        for writer in versions.replacers(node) {
            if writer != reader {
                (self.sink)(Reason { from: reader, to: writer, key, kind });
            }
        }
    }

    /// A read of the transaction's own write says nothing, but it must have been written.
    fn own_read(&mut self, reader: u32, op: Op) {
        let history = self.derived.history;
        let own = self.derived.versions.find(op.key, reader);
        let last = own.map(|own| self.derived.versions.writes[own as usize].index());
        if last.is_some_and(|last| op.index() <= last) {
            return;
        }
        if let Some(findings) = self.findings.as_deref_mut() {
            findings.direct(Class::UnknownVersion, &[reader], &[op.key], || {
                let (key, seen) = (show_key(history, op.key), op.seen());
                format!("{key}: version {seen} was read by its own writer, which never wrote it")
            });
        }
    }

    /// The version that a read names, or a finding.
    #[inline]
    fn resolve(&mut self, reader: u32, op: Op) -> Option<u32> {
        let writer = self.derived.stamps.get(op.stamp);
        let version = match writer {
            Writer::Committed(writer) => self.derived.versions.find(op.key, writer),
            _ => None,
        };
        let write = version.and_then(|version| self.derived.versions.write(version));
        let sound = write.is_some_and(|write| {
            write.index() == op.index() && write.is_tombstone() != op.kind().is_present()
        });
        if !sound {
            self.unsound_read(reader, op, writer, version);
        }
        version
    }

    #[cold]
    fn unsound_read(&mut self, reader: u32, op: Op, writer: Writer, version: Option<u32>) {
        let history = self.derived.history;
        let write = version.and_then(|version| self.derived.versions.write(version));
        let Some(findings) = self.findings.as_deref_mut() else { return };
        let key = || show_key(history, op.key);
        let seen = op.seen();
        match (writer, write) {
            (Writer::Aborted(writer), _) => {
                findings.direct(Class::G1a, &[reader, writer], &[op.key], || {
                    format!("{}: version {seen} was read, whose writer aborted", key())
                });
            }
            (Writer::Committed(writer), Some(write)) if write.index() != op.index() => {
                findings.direct(Class::G1b, &[reader, writer], &[op.key], || {
                    let last = write.index();
                    format!(
                        "{}: write {} of {seen} was read; the last is {last}",
                        key(),
                        seen.index
                    )
                });
            }
            (Writer::Committed(writer), Some(_)) => {
                findings.direct(Class::UnknownVersion, &[reader, writer], &[op.key], || {
                    let was = if op.kind().is_present() { "a tombstone" } else { "no tombstone" };
                    format!("{}: version {seen} was read, which is {was}", key())
                });
            }
            (Writer::Committed(writer), None) => {
                findings.direct(Class::UnknownVersion, &[reader, writer], &[op.key], || {
                    format!("{}: version {seen} was read, whose writer never wrote it", key())
                });
            }
            (Writer::Unknown, _) => {
                findings.direct(Class::UnknownVersion, &[reader], &[op.key], || {
                    format!("{}: version {seen} was read, which nobody wrote", key())
                });
            }
        }
    }

    /// A point read that found no record.
    fn absence(&mut self, reader: u32, key: KeyId) {
        let absence = self.derived.absences[key as usize];
        self.ambiguous += u64::from(absence.is_ambiguous());
        if self.removed_itself(reader, key) {
            return;
        }
        if absence.never() {
            return self.lost(reader, key);
        }
        if let Some(first) = self.derived.versions.write(absence.first) {
            self.emit(first.writer, reader, key, EdgeKind::WriteRead);
        }
        self.anti(reader, absence.last, key, EdgeKind::ReadWrite);
    }

    /// The reader removed the key: what it did not find may be its own doing.
    fn removed_itself(&self, reader: u32, key: KeyId) -> bool {
        let own = self.derived.versions.find(key, reader);
        own.is_some_and(|own| self.derived.versions.writes[own as usize].is_tombstone())
    }

    fn lost(&mut self, reader: u32, key: KeyId) {
        let history = self.derived.history;
        if let Some(findings) = self.findings.as_deref_mut() {
            findings.direct(Class::LostRecord, &[reader], &[key], || {
                format!("{}: not found, though it was never absent", show_key(history, key))
            });
        }
    }

    /// The absences that a scan has seen.
    fn scan(&mut self, reader: u32, scan: &Scan) {
        let history = self.derived.history;
        // The gaps change the trees beside them, hence the copy; nearly always there are none.
        let mut gaps = std::mem::take(&mut self.gaps);
        let ordered = self.derived.ranges.gaps(history, scan, |low, high| gaps.push((low, high)));
        for (low, high) in gaps.drain(..) {
            self.gap(reader, scan, low, high);
        }
        self.gaps = gaps;
        if !ordered && let Some(findings) = self.findings.as_deref_mut() {
            let ops = &history.ops[scan.entries.start as usize..scan.entries.end as usize];
            let keys: Vec<KeyId> = ops.iter().map(|op| op.key).take(40).collect();
            findings.direct(Class::ScanDisorder, &[reader], &keys, || {
                let table = show_table(history, scan.table, brief);
                format!("a scan of {table} left its order or range")
            });
        }
    }

    /// The keys of ranks `low..high` were not found.
    fn gap(&mut self, reader: u32, scan: &Scan, low: u32, high: u32) {
        let at = self.derived.ranges.table_at(scan.table);
        let table = self.derived.ranges.table(at);
        self.ambiguous += table.ambiguous.between(low, high).len() as u64;
        let widest =
            table.inserted.between(low, high).len().max(table.removed.between(low, high).len());
        for position in table.solid.between(low, high) {
            let key = self.derived.ranges.table(at).solid.keys[position];
            if !self.removed_itself(reader, key) {
                self.lost(reader, key);
            }
        }
        if widest > self.derived.gap_edges_max {
            self.wide_gap(reader, at, low, high);
        } else {
            self.narrow_gap(reader, at, low, high);
        }
    }

    /// A gap with few keys: an edge for each.
    fn narrow_gap(&mut self, reader: u32, at: usize, low: u32, high: u32) {
        for position in self.derived.ranges.table(at).inserted.between(low, high) {
            let key = self.derived.ranges.table(at).inserted.keys[position];
            if !self.removed_itself(reader, key) {
                let last = self.derived.absences[key as usize].last;
                self.anti(reader, last, key, EdgeKind::PredicateReadWrite);
            }
        }
        for position in self.derived.ranges.table(at).removed.between(low, high) {
            let key = self.derived.ranges.table(at).removed.keys[position];
            let first = self.derived.versions.write(self.derived.absences[key as usize].first);
            let writer = first.expect("a removed key has a tombstone").writer;
            self.emit(writer, reader, key, EdgeKind::WriteRead);
        }
    }

    /// A gap through the trees. Keys that the reader wrote itself are taken one by one: through a
    /// helper it would stand before itself.
    fn wide_gap(&mut self, reader: u32, at: usize, low: u32, high: u32) {
        let history = self.derived.history;
        let range = history.transactions[reader as usize].op_range();
        let ranges = &self.derived.ranges;
        let number = history.keys.table(ranges.table(at).keys()[low as usize]);
        let writes = history.ops[range].iter().filter(|op| op.kind().is_write());
        let own = writes.filter(|op| history.keys.table(op.key) == number);
        let mut own: Vec<u32> = own.map(|op| ranges.rank(op.key)).collect();
        own.retain(|&rank| low <= rank && rank < high);
        own.sort_unstable();
        own.dedup();
        let mut from = low;
        for rank in own {
            self.cover(reader, at, from, rank);
            self.narrow_gap(reader, at, rank, rank + 1);
            from = rank + 1;
        }
        self.cover(reader, at, from, high);
    }

    fn cover(&mut self, reader: u32, at: usize, low: u32, high: u32) {
        let Derived { versions, absences, ranges, nodes, .. } = &mut *self.derived;
        let sink = &mut self.sink;
        let table = ranges.table_mut(at);
        let positions = table.inserted.between(low, high);
        let Subset { keys, tree, .. } = &mut table.inserted;
        let kind = EdgeKind::PredicateReadWrite;
        tree.get_or_insert_with(|| grow(nodes, keys.len())).cover(positions, |part| match part {
            Part::Helper(to) => sink(Reason { from: reader, to, key: MANY_KEYS, kind }),
            Part::Key(at) => {
                let key = keys[at];
                for to in versions.replacers(absences[key as usize].last) {
                    sink(Reason { from: reader, to, key, kind });
                }
            }
        });
        let positions = table.removed.between(low, high);
        let Subset { keys, tree, .. } = &mut table.removed;
        let kind = EdgeKind::WriteRead;
        tree.get_or_insert_with(|| grow(nodes, keys.len())).cover(positions, |part| match part {
            Part::Helper(from) => sink(Reason { from, to: reader, key: MANY_KEYS, kind }),
            Part::Key(at) => {
                let key = keys[at];
                let first = versions.write(absences[key as usize].first);
                let from = first.expect("a removed key has a tombstone").writer;
                sink(Reason { from, to: reader, key, kind });
            }
        });
    }
}

fn grow(nodes: &mut u32, leaves: usize) -> Tree {
    let base = *nodes;
    *nodes += leaves as u32;
    Tree::new(base, leaves)
}
