//! Names of what is locked.

/// A database, a table, a record of a table, or the gap below a record.
///
/// Records and gaps go by a number that the caller gives them: two that share one share a lock, which
/// costs waiting and is no error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Name {
    /// The kind above, the table below.
    space: u64,
    key: u64,
}

const KIND_SHIFT: u32 = 32;
const DATABASE: u64 = 0;
const TABLE: u64 = 1;
const RECORD: u64 = 2;
const GAP: u64 = 3;

impl Name {
    /// The database.
    pub const DATABASE: Self = Self { space: DATABASE << KIND_SHIFT, key: 0 };

    /// A table.
    #[must_use]
    pub const fn table(table: u32) -> Self {
        Self { space: TABLE << KIND_SHIFT | table as u64, key: 0 }
    }

    /// A record of a table.
    #[must_use]
    pub const fn record(table: u32, record: u64) -> Self {
        Self { space: RECORD << KIND_SHIFT | table as u64, key: record }
    }

    /// The gap below a record, or above the last.
    #[must_use]
    pub const fn gap(table: u32, record: u64) -> Self {
        Self { space: GAP << KIND_SHIFT | table as u64, key: record }
    }

    /// Its number among things that have parts with locks of their own.
    #[inline]
    pub(crate) const fn ground(self) -> Option<u64> {
        match self.space >> KIND_SHIFT {
            DATABASE => Some(0),
            TABLE => Some((self.space & u32::MAX as u64) + 1),
            _ => None,
        }
    }

    /// As two words.
    #[inline]
    pub(crate) const fn words(self) -> [u64; 2] {
        [self.space, self.key]
    }

    /// From the same two.
    #[inline]
    pub(crate) const fn from_words([space, key]: [u64; 2]) -> Self {
        Self { space, key }
    }

    /// A number whose bits are as good as random, for tables of up to 2^32 places.
    #[inline]
    pub(crate) const fn hash(self) -> u64 {
        // Multiplied by an odd number near 2^64 divided by the golden ratio, the upper half depends on all bits.
        let word = self.key ^ self.space.rotate_left(31);
        let product = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    }
}
