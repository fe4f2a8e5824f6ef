//! The checker's verdict on a history.
//!
//! Invariant: `counts` counts every anomaly found; `anomalies` holds the first of them, as many as
//! the options allow.

use std::fmt;

use crate::anomaly::{Anomaly, Class, Isolation};

/// How many edges the graph had, by kind. Repeated edges between the same two transactions may be
/// counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Overwrites.
    pub write_write: u64,
    /// Reads of what another wrote.
    pub write_read: u64,
    /// Anti-dependencies on records.
    pub read_write: u64,
    /// Anti-dependencies on ranges; one may stand for many records.
    pub predicate: u64,
    /// Edges of real time and those inside the checker's own helper nodes.
    pub auxiliary: u64,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The history holds nothing that serializability forbids.
    pub serializable: bool,
    /// The level against which it was judged.
    pub isolation: Isolation,
    /// Real time was checked too.
    pub strict: bool,
    /// The history was recorded to its end.
    pub complete: bool,
    /// Transactions, aborted ones included.
    pub transactions: u64,
    /// Of these, the committed ones.
    pub committed: u64,
    /// Transactions that were cut off by the end of the recording.
    pub unfinished: u64,
    /// Reads, writes and scanned records.
    pub operations: u64,
    /// Absences seen whose version could not be determined: a key that a point read, or each key
    /// that a scan, did not find, and that was absent more than once. Only what holds for every
    /// candidate was used.
    pub ambiguous_reads: u64,
    /// Of these, those that no serial order found so far explains. Zero where there is a witness:
    /// an order of all transactions in which every read, ambiguous or not, sees what it saw.
    pub unexplained_reads: u64,
    /// The edges of the graph.
    pub edges: EdgeCounts,
    /// The anomalies, the worst class first.
    pub anomalies: Vec<Anomaly>,
    counts: [u64; Class::ALL.len()],
    violations: u64,
}

impl Verdict {
    /// A verdict on nothing, to be filled in.
    pub(crate) fn new(isolation: Isolation, strict: bool) -> Verdict {
        Verdict {
            serializable: true,
            isolation,
            strict,
            complete: true,
            transactions: 0,
            committed: 0,
            unfinished: 0,
            operations: 0,
            ambiguous_reads: 0,
            unexplained_reads: 0,
            edges: EdgeCounts::default(),
            anomalies: Vec::new(),
            counts: [0; Class::ALL.len()],
            violations: 0,
        }
    }

    /// Nothing was found that the isolation level, or real time where it was asked for, forbids.
    pub fn passed(&self) -> bool {
        self.violations == 0
    }

    /// How many anomalies the isolation level forbids, listed or not.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// How many anomalies of a class were found, listed or not. Of the cycles in a cyclic subgraph of
    /// transactions, only the smallest of each kind are found.
    pub fn count(&self, class: Class) -> u64 {
        self.counts[class as usize]
    }

    /// The classes found, with how often.
    pub fn classes(&self) -> impl Iterator<Item = (Class, u64)> {
        Class::ALL.into_iter().map(|class| (class, self.count(class))).filter(|&(_, n)| n > 0)
    }

    /// Judges an anomaly and counts it; keeps it while there are fewer than `keep` of its class. With `by_cases` it is a
    /// cycle some of whose edges hold in serial orders alone, which no other level promises.
    pub(crate) fn add(&mut self, mut anomaly: Anomaly, keep: usize, by_cases: bool) {
        let holds = !by_cases || self.isolation == Isolation::Serializable;
        let real_time = self.strict && anomaly.class == Class::RealTime;
        anomaly.violation = holds && (self.isolation.forbids(&anomaly) || real_time);
        self.violations += u64::from(anomaly.violation);
        self.serializable &= !Isolation::Serializable.forbids(&anomaly);
        self.counts[anomaly.class as usize] += 1;
        if self.count(anomaly.class) <= keep as u64 {
            self.anomalies.push(anomaly);
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.isolation;
        let strict = if self.strict { ", real time" } else { "" };
        let outcome = if self.passed() { "holds" } else { "VIOLATED" };
        writeln!(f, "isolation {level}{strict}: {outcome}")?;
        if !self.complete {
            writeln!(f, "the recording was cut short; this covers what it holds")?;
        }
        write!(f, "{} transactions ({} committed", self.transactions, self.committed)?;
        if self.unfinished > 0 {
            write!(f, ", {} more unfinished", self.unfinished)?;
        }
        writeln!(f, "), {} operations", self.operations)?;
        let e = &self.edges;
        let counts = (e.write_write, e.write_read, e.read_write, e.predicate);
        writeln!(
            f,
            "edges: {} ww, {} wr, {} rw, {} predicate",
            counts.0, counts.1, counts.2, counts.3
        )?;
        if self.ambiguous_reads > 0 {
            let (all, open) = (self.ambiguous_reads, self.unexplained_reads);
            writeln!(
                f,
                "ambiguous absences: {all}, of which no serial order found explains {open}"
            )?;
        }
        for (class, count) in self.classes() {
            writeln!(f, "{class}: {count}")?;
        }
        for anomaly in &self.anomalies {
            let note = if anomaly.violation { "" } else { " (allowed here)" };
            write!(f, "\n{}{note}\n{anomaly}", anomaly.class)?;
        }
        Ok(())
    }
}
