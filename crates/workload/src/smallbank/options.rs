//! SmallBank's options.

use crate::memory::{Estimate, Tables};
use crate::ranges::{percent, within};

/// SmallBank as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallbankOptions {
    /// `--accounts`: customers, each with savings and checking.
    pub accounts: u32,
    /// `--hot-accounts`: how many of them are asked for more often than others.
    pub hot_accounts: u32,
    /// `--hot-share`: the chance in percent that a transaction is about hot accounts only.
    pub hot_share: f64,
    /// `--partitions`: the accounts are divided into so many ranges.
    pub partitions: u32,
    /// `--multi-partition`: the chance in percent that the second account of a transaction lies in
    /// another partition than the first.
    pub multi_partition: f64,
    /// `--snapshot-reads`: balance reads a snapshot of the past.
    pub snapshot_reads: bool,
    /// The initial balance of an account, savings and checking each: from, to, in cents.
    pub first_balance: (u32, u32),
}

/// The most accounts: a name has eight digits.
pub const ACCOUNTS_MAX: u32 = 100_000_000;

impl Default for SmallbankOptions {
    fn default() -> Self {
        Self {
            accounts: 100_000,
            hot_accounts: 1000,
            hot_share: 90.0,
            partitions: 1,
            multi_partition: 50.0,
            snapshot_reads: false,
            first_balance: (1_000_000, 5_000_000),
        }
    }
}

impl SmallbankOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let accounts = u64::from(self.accounts);
        // An account's name, and two balances.
        Tables::new(kept).rows(accounts, 32).rows(2 * accounts, 8).estimate("--accounts")
    }

    /// A few customers with little money, so that transactions meet and funds do not suffice.
    #[must_use]
    pub fn micro() -> Self {
        Self {
            accounts: 18,
            hot_accounts: 4,
            hot_share: 50.0,
            snapshot_reads: true,
            first_balance: (0, 4000),
            ..Self::default()
        }
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        let accounts = u64::from(self.accounts);
        within("--accounts", accounts, 2, u64::from(ACCOUNTS_MAX))?;
        within("--hot-accounts", u64::from(self.hot_accounts), 0, accounts)?;
        percent("--hot-share", self.hot_share)?;
        // A transaction may want two accounts of one partition.
        within("--partitions", u64::from(self.partitions), 1, (accounts / 2).min(65_536))?;
        percent("--multi-partition", self.multi_partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_what_is_accepted() {
        let fine = SmallbankOptions::default();
        assert_eq!(fine.validate(), Ok(()));
        assert_eq!(SmallbankOptions::micro().validate(), Ok(()));
        for (options, message) in [
            (
                SmallbankOptions { accounts: 1, ..fine.clone() },
                "--accounts 1: accepted is 2 to 100000000",
            ),
            (
                SmallbankOptions { accounts: 50, ..fine.clone() },
                "--hot-accounts 1000: accepted is 0 to 50",
            ),
            (
                SmallbankOptions { hot_share: f64::NAN, ..fine.clone() },
                "--hot-share NaN: accepted is 0 to 100 (percent)",
            ),
            (
                SmallbankOptions { partitions: 10, ..SmallbankOptions::micro() },
                "--partitions 10: accepted is 1 to 9",
            ),
            (
                SmallbankOptions { multi_partition: 101.0, ..fine.clone() },
                "--multi-partition 101: accepted is 0 to 100 (percent)",
            ),
        ] {
            assert_eq!(options.validate(), Err(message.to_owned()));
        }
    }
}
