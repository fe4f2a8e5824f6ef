//! The promises of an engine and its scheme, as `chiliad schemes` prints them.

use core::time::Duration;

/// The strongest isolation that all histories of a scheme have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Isolation {
    /// Equivalent to some serial order.
    Serializable,
    /// Each transaction reads one state of the past, and nobody has overwritten since what it writes.
    Snapshot,
    /// Each operation is atomic, a transaction is not.
    None,
}

impl Isolation {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Serializable => "serializable",
            Self::Snapshot => "snapshot",
            Self::None => "none",
        }
    }
}

/// A scheme's properties, as `chiliad schemes` prints them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// The name on the command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The isolation of all its histories.
    pub isolation: Isolation,
    /// Whether the serial order agrees with real time.
    pub strict: bool,
    /// Whether the order that a writer claims exceeds those of all versions that it read, not only of
    /// those that it overwrote.
    pub order_follows_reads: bool,
    /// Whether snapshot transactions read the past without being tracked.
    pub snapshots: bool,
    /// Whether the partitions must be declared before a transaction begins.
    pub needs_partitions: bool,
    /// How long transactions wait for a lock where `Options::wait_timeout` does not say, under schemes that wait
    /// for a limited time.
    pub wait_timeout: Duration,
    /// Where it comes from.
    pub source: &'static str,
}

impl Info {
    /// Whether the scheme has transactions at all.
    #[must_use]
    pub fn has_transactions(&self) -> bool {
        self.isolation != Isolation::None
    }

    /// Whether what its transactions leave is what some serial order of them leaves.
    #[must_use]
    pub fn is_serializable(&self) -> bool {
        self.isolation == Isolation::Serializable
    }
}
