//! From a cyclic subgraph to named cycles.
//!
//! A cyclic subgraph may hold cycles of every class at once, and the smallest of all need not be the one
//! that the isolation level forbids. So the search goes level by level, from the strictest set of
//! edges to all of them, and reports the smallest cycle of each component of each level:
//!
//! ```text
//! overwrites                       G0
//! + reads                          G1c
//! + one anti-dependency            lost update, G-single (on a record), G2 (on a predicate)
//! + all on records                 G2-item
//! + all on predicates              G2
//! + real time                      real-time violation
//! ```
//!
//! Invariant: a cycle is reported once, though several levels find it.

use std::collections::HashSet;

use super::cyclic::{CyclicSubgraph, Hunt, Step};
use super::edges::Derived;
use super::findings::{Findings, show_key, show_transaction};
use super::ranges::MANY_KEYS;
use crate::anomaly::{Anomaly, Class, Edge, EdgeKind};
use crate::history::keys::KeyId;
use crate::history::model::OpKind;
use crate::stamp::{Stamp, Version};

/// How many edges the searches for smallest cycles may look at, for each level: a fraction of a
/// second.
const BUDGET: u64 = 10_000_000;

/// Finds, names and reports the cycles of a cyclic subgraph. With `by_cases`, some edges hold because the
/// other way to explain an ambiguous read closes a cycle too: that no serial order explains the history is proven then, and
/// nothing for a level that allows some cycles.
pub(crate) fn report<'h>(
    cyclic: &CyclicSubgraph,
    derived: &Derived<'h>,
    findings: &mut Findings<'h>,
    by_cases: bool,
) {
    let mut reporter = Reporter { derived, findings, by_cases, known: HashSet::new() };
    use EdgeKind::{PredicateReadWrite, ReadWrite, RealTime, WriteRead, WriteWrite};
    reporter.level(cyclic, &[WriteWrite]);
    reporter.level(cyclic, &[WriteWrite, WriteRead]);
    reporter.single(cyclic, ReadWrite);
    reporter.single(cyclic, PredicateReadWrite);
    reporter.level(cyclic, &[WriteWrite, WriteRead, ReadWrite]);
    reporter.level(cyclic, &[WriteWrite, WriteRead, ReadWrite, PredicateReadWrite]);
    reporter.level(cyclic, &[WriteWrite, WriteRead, ReadWrite, PredicateReadWrite, RealTime]);
}

struct Reporter<'a, 'h> {
    derived: &'a Derived<'h>,
    findings: &'a mut Findings<'h>,
    by_cases: bool,
    /// The cycles reported, by class and sorted transactions.
    known: HashSet<(Class, Vec<u32>)>,
}

impl Reporter<'_, '_> {
    /// The smallest cycle of each component over edges of some kinds.
    fn level(&mut self, cyclic: &CyclicSubgraph, kinds: &[EdgeKind]) {
        let components = cyclic.graph.components(|edge| kinds.contains(&cyclic.kind(edge)));
        let mut hunt = Hunt::new(cyclic, BUDGET);
        for (number, members) in components.members.iter().enumerate() {
            let inside = |_, _, edge: u32| {
                let target = cyclic.graph.targets[edge as usize];
                kinds.contains(&cyclic.kind(edge))
                    && components.of[target as usize] == number as u32
            };
            if let Some(cycle) = hunt.smallest(members, inside) {
                self.add(&cycle);
            }
        }
    }

    /// The smallest cycle of each component with exactly one anti-dependency, of the given kind.
    /// It leaves the start; from there on only overwrites and reads lead on.
    fn single(&mut self, cyclic: &CyclicSubgraph, anti: EdgeKind) {
        let whole = cyclic.graph.components(|edge| cyclic.kind(edge) != EdgeKind::RealTime);
        let mut hunt = Hunt::new(cyclic, BUDGET);
        for (number, members) in whole.members.iter().enumerate() {
            let allowed = |start: u32, source: u32, edge: u32| {
                let kind = cyclic.kind(edge);
                // Helpers of anti-dependencies are only reached through one.
                let leads = if source == start {
                    kind == anti
                } else {
                    matches!(kind, EdgeKind::WriteWrite | EdgeKind::WriteRead)
                        || kind == anti && cyclic.is_helper(source)
                };
                let target = cyclic.graph.targets[edge as usize];
                leads && whole.of[target as usize] == number as u32
            };
            if let Some(cycle) = hunt.smallest(members, allowed) {
                self.add(&cycle);
            }
        }
    }

    fn add(&mut self, cycle: &[Step]) {
        let class = classify(cycle);
        let mut parties: Vec<u32> = cycle.iter().map(|step| step.from).collect();
        let transactions = parties.clone();
        parties.sort_unstable();
        if !self.known.insert((class, parties)) {
            return;
        }
        let edges: Vec<Edge> = cycle.iter().map(|&step| self.edge(step)).collect();
        let text = self.explain(&transactions, cycle, &edges);
        let stamp = |&t: &u32| self.derived.history.transactions[t as usize].stamp;
        let transactions = transactions.iter().map(stamp).collect();
        let anomaly = Anomaly { class, violation: false, cycle: edges, transactions, text };
        self.findings.verdict.add(anomaly, self.findings.keep, self.by_cases);
    }

    fn edge(&self, step: Step) -> Edge {
        let history = self.derived.history;
        let stamp = |t: u32| history.transactions[t as usize].stamp;
        let (from, to, kind) = (stamp(step.from), stamp(step.to), step.kind);
        if step.key == MANY_KEYS {
            let (table, key) = (String::new(), Vec::new());
            return Edge { from, to, kind, table, key, old: None, new: None };
        }
        let written = |t: u32| self.written(step.key, t);
        let (old, new) = match kind {
            EdgeKind::WriteWrite => (written(step.from), written(step.to)),
            EdgeKind::WriteRead => (written(step.from), None),
            _ => (self.seen(step), written(step.to)),
        };
        let table = history.table_name(history.keys.table(step.key));
        Edge { from, to, kind, table, key: history.keys.bytes(step.key).to_vec(), old, new }
    }

    /// The version of a key that a transaction made.
    fn written(&self, key: KeyId, transaction: u32) -> Option<Version> {
        let version = self.derived.versions.find(key, transaction)?;
        let index = self.derived.versions.writes[version as usize].index();
        Some(Version::new(self.derived.history.transactions[transaction as usize].stamp, index))
    }

    /// The version that the first transaction of an anti-dependency read, where it is certain.
    fn seen(&self, step: Step) -> Option<Version> {
        let history = self.derived.history;
        let versions = &self.derived.versions;
        let absence = self.derived.absences[step.key as usize];
        let version_of = |node: u32| match versions.write(node) {
            Some(write) => {
                let stamp = history.transactions[write.writer as usize].stamp;
                Version::new(stamp, write.index())
            }
            None => Version::INITIAL,
        };
        let replaced = |version: Version| {
            let node = match versions.of(step.key).find(|&v| version_of(v) == version) {
                Some(node) => node,
                None => versions.initial(step.key),
            };
            versions.replacers(node).any(|writer| writer == step.to)
        };
        let range = history.transactions[step.from as usize].op_range();
        let reads = history.ops[range].iter().filter(|op| !op.kind().is_write());
        for op in reads.filter(|op| op.key == step.key) {
            let by_name = op.stamp != Stamp::INITIAL || op.kind().is_present();
            if by_name && replaced(op.seen()) {
                return Some(op.seen());
            }
        }
        (!absence.never() && !absence.is_ambiguous()).then(|| version_of(absence.last))
    }

    fn explain(&self, transactions: &[u32], cycle: &[Step], edges: &[Edge]) -> String {
        const SHOWN_MAX: usize = 32;
        let history = self.derived.history;
        let mut keys: Vec<KeyId> = cycle.iter().map(|step| step.key).collect();
        keys.retain(|&key| key != MANY_KEYS);
        let mut out = String::new();
        for &transaction in transactions.iter().take(SHOWN_MAX) {
            out += &show_transaction(history, transaction, &keys);
        }
        for (step, edge) in cycle.iter().zip(edges).take(SHOWN_MAX) {
            out += &format!("  {}\n", self.sentence(*step, edge));
        }
        if cycle.len() > SHOWN_MAX {
            out += &format!("  ({} more)\n", cycle.len() - SHOWN_MAX);
        }
        if self.by_cases {
            out += "  (for an absence that may be another: that closes a cycle too)\n";
        }
        out
    }

    fn sentence(&self, step: Step, edge: &Edge) -> String {
        let Edge { from, to, kind, old, .. } = edge;
        if *kind == EdgeKind::RealTime {
            return format!("{from} -{kind}-> {to}: {from} ended before {to} started");
        }
        let key = show_key(self.derived.history, step.key);
        let version = old.map_or("an absence".to_owned(), |version| format!("version {version}"));
        let wrote = match self.derived.versions.find(step.key, step.to) {
            Some(version) => match self.derived.history.ops
                [self.derived.versions.writes[version as usize].op as usize]
                .kind()
            {
                OpKind::Insert => "inserted",
                OpKind::Remove => "removed",
                _ => "overwrote",
            },
            None => "wrote",
        };
        let reason = match kind {
            EdgeKind::WriteWrite => format!("{to} {wrote} {version} of {key}"),
            EdgeKind::WriteRead => format!("{to} read {version} of {key}"),
            EdgeKind::ReadWrite => format!("{from} read {version} of {key}, which {to} {wrote}"),
            _ => format!("{from} scanned and did not find {key}, which {to} {wrote}"),
        };
        format!("{from} -{kind}-> {to}: {reason}")
    }
}

/// The class of a cycle, by its edges.
fn classify(cycle: &[Step]) -> Class {
    let count = |kind| cycle.iter().filter(|step| step.kind == kind).count();
    let anti = count(EdgeKind::ReadWrite);
    let one_record = cycle.len() == 2
        && cycle[0].key == cycle[1].key
        && cycle.iter().all(|step| step.kind != EdgeKind::WriteRead);
    if count(EdgeKind::RealTime) > 0 {
        Class::RealTime
    } else if count(EdgeKind::PredicateReadWrite) > 0 {
        Class::G2
    } else if anti == 0 && count(EdgeKind::WriteRead) == 0 {
        Class::G0
    } else if anti == 0 {
        Class::G1c
    } else if one_record {
        Class::LostUpdate
    } else if anti == 1 {
        Class::GSingle
    } else {
        Class::G2Item
    }
}
