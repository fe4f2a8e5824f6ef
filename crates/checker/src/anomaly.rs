//! The anomalies of a history, in the terms of Adya's thesis, and those that an isolation
//! level forbids.
//!
//! Invariant: the classes stand from the worst to the mildest; a cycle is named by its edges alone.

use std::fmt;

use crate::stamp::{Stamp, Version};

/// The class of an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The history contradicts itself: two transactions of one stamp, a key written twice by one
    /// transaction.
    Malformed,
    /// A read of a version that no known transaction wrote, or that was not what its writer left.
    UnknownVersion,
    /// A write over a version that does not exist, an insert over a record that does, or an update or
    /// removal over a tombstone.
    BrokenChain,
    /// A record that was there from the start and never removed was not found.
    LostRecord,
    /// A scan returned keys out of order, twice, or outside its bounds.
    ScanDisorder,
    /// Two blind writes replaced the same version.
    Fork,
    /// The claimed order does not grow along the versions of a key, or along reads where the scheme
    /// promises that.
    OrderReversal,
    /// A cycle of overwrites: dirty writes.
    G0,
    /// A read of, or a write over, a version of an aborted transaction.
    G1a,
    /// A read of a version that its writer replaced itself.
    G1b,
    /// A cycle of overwrites and reads: circular information flow.
    G1c,
    /// Two transactions read the same version of a record and both replaced it, or one replaced a
    /// newer version than it had read.
    LostUpdate,
    /// A cycle with exactly one anti-dependency, on a record: a torn view of another transaction.
    GSingle,
    /// A cycle with several anti-dependencies, all on records: write skew.
    G2Item,
    /// A cycle with an anti-dependency on a predicate: a phantom.
    G2,
    /// A cycle that only real time closes: serializable, but not strictly.
    RealTime,
}

impl Class {
    /// All classes, in order.
    pub const ALL: [Class; 16] = [
        Class::Malformed,
        Class::UnknownVersion,
        Class::BrokenChain,
        Class::LostRecord,
        Class::ScanDisorder,
        Class::Fork,
        Class::OrderReversal,
        Class::G0,
        Class::G1a,
        Class::G1b,
        Class::G1c,
        Class::LostUpdate,
        Class::GSingle,
        Class::G2Item,
        Class::G2,
        Class::RealTime,
    ];

    /// The name in outputs and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Malformed => "malformed history",
            Class::UnknownVersion => "read of unknown version",
            Class::BrokenChain => "broken chain",
            Class::LostRecord => "lost record",
            Class::ScanDisorder => "scan out of order",
            Class::Fork => "fork",
            Class::OrderReversal => "order reversal",
            Class::G0 => "G0",
            Class::G1a => "G1a",
            Class::G1b => "G1b",
            Class::G1c => "G1c",
            Class::LostUpdate => "lost update",
            Class::GSingle => "G-single",
            Class::G2Item => "G2-item",
            Class::G2 => "G2",
            Class::RealTime => "real-time violation",
        }
    }

    /// The class of this name.
    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The level against which a history is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Each operation alone: records may not be lost or invented, all else may happen.
    None,
    /// No dirty write, no read of what was aborted or intermediate, no circular information flow.
    ReadCommitted,
    /// Each transaction reads one state in the past; only write skew remains.
    Snapshot,
    /// As serializable, but for phantoms.
    RepeatableRead,
    /// As if one after the other.
    #[default]
    Serializable,
}

impl Isolation {
    /// All levels.
    pub const ALL: [Isolation; 5] = [
        Isolation::None,
        Isolation::ReadCommitted,
        Isolation::Snapshot,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ];

    /// The name in outputs and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Isolation::None => "none",
            Isolation::ReadCommitted => "read-committed",
            Isolation::Snapshot => "snapshot",
            Isolation::RepeatableRead => "repeatable-read",
            Isolation::Serializable => "serializable",
        }
    }

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Isolation> {
        Isolation::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Whether the level forbids the anomaly. Of the cycles with a predicate, snapshot isolation
    /// forbids those with one anti-dependency. Real time is asked for apart.
    pub fn forbids(self, anomaly: &Anomaly) -> bool {
        let class = anomaly.class;
        if class <= Class::LostRecord {
            return true;
        }
        match self {
            Isolation::None => class == Class::ScanDisorder,
            Isolation::ReadCommitted => class <= Class::G1c,
            Isolation::Snapshot => {
                class <= Class::GSingle || class == Class::G2 && anomaly.anti_dependencies() == 1
            }
            Isolation::RepeatableRead => class <= Class::G2Item,
            Isolation::Serializable => class <= Class::G2,
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why one transaction must stand before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// The second overwrote what the first wrote.
    WriteWrite,
    /// The second read what the first wrote.
    WriteRead,
    /// The first read what the second overwrote.
    ReadWrite,
    /// The first scanned a range and did not find what the second put there.
    PredicateReadWrite,
    /// The first ended before the second started.
    RealTime,
}

impl EdgeKind {
    /// The usual short name.
    pub const fn name(self) -> &'static str {
        match self {
            EdgeKind::WriteWrite => "ww",
            EdgeKind::WriteRead => "wr",
            EdgeKind::ReadWrite => "rw",
            EdgeKind::PredicateReadWrite => "rw (predicate)",
            EdgeKind::RealTime => "real time",
        }
    }

    pub(crate) const fn is_anti(self) -> bool {
        matches!(self, EdgeKind::ReadWrite | EdgeKind::PredicateReadWrite)
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One step of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The transaction that must come first.
    pub from: Stamp,
    /// The transaction that must come later.
    pub to: Stamp,
    /// Why.
    pub kind: EdgeKind,
    /// The table of the record, by name; empty for real time.
    pub table: String,
    /// The key of the record; empty for real time.
    pub key: Vec<u8>,
    /// The version overwritten (ww), read (wr), or read and then overwritten (rw). `None` where
    /// the edge holds for several candidates, and for real time.
    pub old: Option<Version>,
    /// The version that `to` made, for ww and rw.
    pub new: Option<Version>,
}

/// Something that went wrong.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// The class of the anomaly.
    pub class: Class,
    /// The isolation level that was asked for, or real time where that was asked for, forbids it.
    pub violation: bool,
    /// The cycle; empty for a class that needs none. Each edge starts where the previous ended.
    pub cycle: Vec<Edge>,
    /// The transactions that take part, in the order of the cycle.
    pub transactions: Vec<Stamp>,
    /// For people: the transactions with their relevant operations, and each edge.
    pub text: String,
}

impl Anomaly {
    /// How many anti-dependencies the cycle has.
    pub fn anti_dependencies(&self) -> usize {
        self.cycle.iter().filter(|edge| edge.kind.is_anti()).count()
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
