//! The parts of a transaction's time (Yu, 2015, 3.2).

/// A part of a transaction's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The application's logic and its accesses to records.
    Useful,
    /// Attempts that were refused, from begin to roll-back. One that its own logic has rolled back counts
    /// like one that committed.
    Abort,
    /// Taking a timestamp.
    Timestamp,
    /// Looking up, inserting and scanning in indexes.
    Index,
    /// Waiting for others: locks, partitions, back-off, the boundary of a first snapshot.
    Wait,
    /// The scheme's own work: tracking, latching, validating, installing, collecting. Latches that are
    /// held for instructions are waited for here.
    Manager,
}

impl Part {
    /// All parts, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Useful, Self::Abort, Self::Timestamp, Self::Index, Self::Wait, Self::Manager];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Useful => "useful",
            Self::Abort => "abort",
            Self::Timestamp => "timestamp",
            Self::Index => "index",
            Self::Wait => "wait",
            Self::Manager => "manager",
        }
    }
}
