//! TxBench's options.

use super::schema::TEXTS;
use crate::memory::{Estimate, Tables};
use crate::ranges::{percent, share, within};

/// TxBench as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct TxbenchOptions {
    /// `--rows`: rows of each table.
    pub rows: u32,
    /// `--rows-read`: the rows of a range query, the paper's S.
    pub rows_read: u32,
    /// `--updates`: the chance in percent that a transaction updates after it has read.
    pub updates: f64,
    /// `--hotspot`: the percentage of the rows that transactions choose among.
    pub hotspot: f64,
    /// `--partitions`: the rows of each table are divided into so many ranges.
    pub partitions: u32,
    /// `--snapshot-reads`: transactions that only read do so in a snapshot of the past.
    pub snapshot_reads: bool,
    /// Letters of a column of characters: from, to, at most 255.
    pub letters: (u32, u32),
}

/// The most rows of a table.
pub const ROWS_MAX: u32 = 100_000_000;

/// The most rows of a range query.
pub const ROWS_READ_MAX: u32 = 10_000;

impl Default for TxbenchOptions {
    fn default() -> Self {
        Self {
            rows: 100_000,
            rows_read: 10,
            updates: 0.0,
            hotspot: 100.0,
            partitions: 1,
            snapshot_reads: false,
            // With them the three tables hold 0.5 GiB.
            letters: (100, 250),
        }
    }
}

impl TxbenchOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let (shortest, longest) = self.lengths();
        Tables::new(kept)
            .rows(3 * u64::from(self.rows), usize::midpoint(shortest, longest) as u64)
            .estimate("--rows")
    }

    /// A few short rows, and as many transactions that update as others.
    #[must_use]
    pub fn micro() -> Self {
        Self {
            rows: 24,
            rows_read: 6,
            updates: 50.0,
            snapshot_reads: true,
            letters: (0, 6),
            ..Self::default()
        }
    }

    /// The rows that a transaction updates: a fifth of those that it reads, rounded up.
    #[must_use]
    pub fn rows_updated(&self) -> usize {
        self.rows_read.div_ceil(5) as usize
    }

    /// How many of a partition's `rows` transactions choose among: the first of them.
    pub(super) fn hot(&self, rows: u32) -> u32 {
        (f64::from(rows) * self.hotspot / 100.0).round() as u32
    }

    /// The least and the greatest length of a row.
    pub(super) fn lengths(&self) -> (usize, usize) {
        let length = |letters: u32| super::schema::item::length(letters as usize * TEXTS);
        (length(self.letters.0), length(self.letters.1))
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        let rows = u64::from(self.rows);
        within("--rows", rows, 1, u64::from(ROWS_MAX))?;
        within("--rows-read", u64::from(self.rows_read), 1, u64::from(ROWS_READ_MAX))?;
        percent("--updates", self.updates)?;
        if !(self.hotspot > 0.0 && self.hotspot <= 100.0) {
            let given = self.hotspot;
            return Err(format!("--hotspot {given}: accepted is above 0 to 100 (percent)"));
        }
        within("--partitions", u64::from(self.partitions), 1, rows.min(65_536))?;
        let sizes = (0..self.partitions).map(|it| share(self.rows, it, self.partitions).len());
        let least = self.hot(sizes.min().unwrap_or(0) as u32);
        if self.rows_read > least {
            let given = self.rows_read;
            return Err(format!(
                "--rows-read {given}: accepted is at most {least}, the rows that a client chooses among"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_what_is_accepted() {
        let fine = TxbenchOptions::default();
        assert_eq!(fine.validate(), Ok(()));
        assert_eq!(TxbenchOptions::micro().validate(), Ok(()));
        for (options, message) in [
            (TxbenchOptions { rows: 0, ..fine.clone() }, "--rows 0: accepted is 1 to 100000000"),
            (
                TxbenchOptions { rows_read: 10_001, ..fine.clone() },
                "--rows-read 10001: accepted is 1 to 10000",
            ),
            (
                TxbenchOptions { updates: f64::NAN, ..fine.clone() },
                "--updates NaN: accepted is 0 to 100 (percent)",
            ),
            (
                TxbenchOptions { hotspot: 0.0, ..fine.clone() },
                "--hotspot 0: accepted is above 0 to 100 (percent)",
            ),
            (
                TxbenchOptions { partitions: 25, ..TxbenchOptions::micro() },
                "--partitions 25: accepted is 1 to 24",
            ),
            (
                TxbenchOptions { rows: 1000, hotspot: 0.5, ..fine.clone() },
                "--rows-read 10: accepted is at most 5, the rows that a client chooses among",
            ),
            (
                TxbenchOptions { partitions: 5, ..TxbenchOptions::micro() },
                "--rows-read 6: accepted is at most 4, the rows that a client chooses among",
            ),
        ] {
            assert_eq!(options.validate(), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_fifth_is_updated_and_the_hot_spot_is_as_large_as_told() {
        for (rows_read, updated) in [(1, 1), (5, 1), (6, 2), (10, 2), (100, 20)] {
            let options = TxbenchOptions { rows_read, ..TxbenchOptions::default() };
            assert_eq!(options.rows_updated(), updated);
        }
        let options = TxbenchOptions { hotspot: 5.0, ..TxbenchOptions::default() };
        assert_eq!(options.hot(100_000), 5000);
        assert_eq!(TxbenchOptions::default().hot(100_000), 100_000);
    }
}
