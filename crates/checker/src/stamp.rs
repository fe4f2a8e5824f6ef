//! Which write made a version: the stamp of its transaction, and its number inside it.
//!
//! Invariant: zero is the state before the history; every transaction has a stamp of its own.

use std::fmt;

/// The identity of a transaction, and of the versions that it wrote.
///
/// Any nonzero number that no other transaction of the history bears. Producers build it from the
/// worker and a sequence number of that worker ([`Stamp::new`]), so that no counter is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// The bits of a stamp that hold the sequence number.
const SEQUENCE_BITS: u32 = 40;

impl Stamp {
    /// The version that existed before the history: loaded in bulk, or never there.
    pub const INITIAL: Stamp = Stamp(0);

    /// The stamp of the `sequence`-th transaction of a worker; the sequence starts at one.
    #[inline]
    pub const fn new(worker: u32, sequence: u64) -> Stamp {
        debug_assert!(sequence < 1 << SEQUENCE_BITS && (worker as u64) < 1 << 24);
        Stamp((worker as u64) << SEQUENCE_BITS | sequence)
    }

    /// The worker, where the stamp was made by [`Stamp::new`].
    pub const fn worker(self) -> u32 {
        (self.0 >> SEQUENCE_BITS) as u32
    }

    /// The sequence number, where the stamp was made by [`Stamp::new`].
    pub const fn sequence(self) -> u64 {
        self.0 & ((1 << SEQUENCE_BITS) - 1)
    }
}

/// Small stamps print as a number, others as `worker:sequence`; the text form reads both.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.worker() == 0 {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{}:{}", self.worker(), self.sequence())
        }
    }
}

/// One version of a key: its writer, and which of the writer's writes of the key made it.
///
/// A transaction may write a key several times; only the last write is installed. A read of any
/// other index is a read of an intermediate version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The writer.
    pub stamp: Stamp,
    /// Which write of this key by this writer; at most [`Version::INDEX_MAX`].
    pub index: u32,
}

impl Version {
    /// The greatest write index that a history can hold.
    pub const INDEX_MAX: u32 = (1 << 28) - 1;

    /// The state before the history.
    pub const INITIAL: Version = Version { stamp: Stamp::INITIAL, index: 0 };

    /// The version that the write `index` of the transaction `stamp` made.
    pub const fn new(stamp: Stamp, index: u32) -> Version {
        Version { stamp, index }
    }
}

impl From<Stamp> for Version {
    /// The version made by a transaction that wrote the key once and does not count its writes.
    fn from(stamp: Stamp) -> Version {
        Version { stamp, index: 0 }
    }
}

/// The index is shown only where it is not zero: `7`, `7.2`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stamp)?;
        if self.index != 0 {
            write!(f, ".{}", self.index)?;
        }
        Ok(())
    }
}
