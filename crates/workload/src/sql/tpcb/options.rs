//! TPC-B's options.

use crate::memory::{Estimate, Tables};
use crate::ranges::within;

/// TPC-B as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct TpcbOptions {
    /// `--branches`.
    pub branches: u32,
    /// `--scale`: a handful of accounts, which move between branches, and audits of branches.
    pub micro: bool,
    /// `--snapshot-reads`: audits read a snapshot of the past.
    pub snapshot_reads: bool,
}

/// The most branches: accounts have numbers of four bytes.
pub const BRANCHES_MAX: u32 = 20_000;

impl Default for TpcbOptions {
    fn default() -> Self {
        Self { branches: 1, micro: false, snapshot_reads: false }
    }
}

impl TpcbOptions {
    /// Two small branches.
    #[must_use]
    pub fn micro() -> Self {
        Self { branches: 2, micro: true, snapshot_reads: true }
    }

    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let accounts = u64::from(self.branches) * u64::from(self.accounts());
        let tables = Tables::new(kept).rows(accounts, 24);
        let tables = if self.micro { tables.secondary(accounts) } else { tables };
        tables.estimate("--branches")
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        within("--branches", u64::from(self.branches), 1, u64::from(BRANCHES_MAX))
    }

    /// Accounts of a branch.
    pub(super) fn accounts(&self) -> u32 {
        if self.micro { 8 } else { 100_000 }
    }

    /// Tellers of a branch.
    pub(super) fn tellers(&self) -> u32 {
        if self.micro { 2 } else { 10 }
    }

    /// Numbers of accounts, from one: where they move there are more than accounts.
    pub(super) fn numbers(&self) -> u32 {
        let accounts = self.branches * self.accounts();
        if self.micro { accounts + accounts / 2 } else { accounts }
    }

    /// The partition that an account of this number is in.
    pub(super) fn partition(&self, account: u32) -> u32 {
        (account - 1) / self.accounts() % self.branches
    }
}
