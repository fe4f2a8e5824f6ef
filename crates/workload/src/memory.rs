//! About how much memory rows take, before any of them is made.
//!
//! The estimate beside each workload's options is a sum of rows times bytes; a test compares it with what is
//! resident when the rows are there.

/// Words in front of a record's value.
const HEADER_BYTES: u64 = 16;

/// An index's part for each of its entries: nodes are about three quarters full.
const ENTRY_BYTES: u64 = 24;

/// A row of a secondary index: a record of its own, and a longer key that ends in the primary one.
const SECONDARY_BYTES: u64 = 110;

/// Slots that lie ready in pools, and parts of chunks, in hundredths of what is used.
const SPARE_PERCENT: u128 = 10;

/// The memory that rows will take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// The flag that says how many rows there are.
    pub flag: &'static str,
    /// Bytes.
    pub bytes: u64,
}

/// Adds up what a workload's tables take.
pub struct Tables {
    bytes: u128,
    kept: u64,
}

impl Tables {
    /// None yet. Of each value only the first `kept` bytes exist, where that is said.
    #[must_use]
    pub fn new(kept: Option<usize>) -> Self {
        Self { bytes: 0, kept: kept.map_or(u64::MAX, |kept| kept as u64) }
    }

    /// Rows with values of so many bytes, in a table.
    #[must_use]
    pub fn rows(mut self, rows: u64, value_bytes: u64) -> Self {
        let record = (value_bytes.min(self.kept) + HEADER_BYTES).next_multiple_of(16);
        self.bytes += u128::from(rows) * u128::from(record + ENTRY_BYTES);
        self
    }

    /// These rows in a secondary index.
    #[must_use]
    pub fn secondary(mut self, rows: u64) -> Self {
        self.bytes += u128::from(rows) * u128::from(SECONDARY_BYTES);
        self
    }

    /// All of it.
    #[must_use]
    pub fn estimate(self, flag: &'static str) -> Estimate {
        let bytes = self.bytes + self.bytes * SPARE_PERCENT / 100;
        Estimate { flag, bytes: u64::try_from(bytes).unwrap_or(u64::MAX) }
    }
}
