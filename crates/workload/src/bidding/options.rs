//! Bidding's options.

use crate::memory::{Estimate, Tables};
use crate::ranges::within;

/// Bidding as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct BiddingOptions {
    /// `--users`: those who bid.
    pub users: u32,
    /// `--products`: what they bid for.
    pub products: u32,
    /// `--partitions`: users and products are divided into so many ranges.
    pub partitions: u32,
}

/// The most users, and the most products.
pub const ROWS_MAX: u32 = 100_000_000;

impl Default for BiddingOptions {
    /// Those of Silo's code at scale factor 1.
    fn default() -> Self {
        Self { users: 1000, products: 1000, partitions: 1 }
    }
}

impl BiddingOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let flag = if self.users < self.products { "--products" } else { "--users" };
        let rows = u64::from(self.users) + u64::from(self.products);
        Tables::new(kept).rows(rows, 4).estimate(flag)
    }

    /// A few users and products, so that transactions meet.
    #[must_use]
    pub fn micro() -> Self {
        Self { users: 7, products: 5, ..Self::default() }
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        let (users, products) = (u64::from(self.users), u64::from(self.products));
        within("--users", users, 1, u64::from(ROWS_MAX))?;
        within("--products", products, 1, u64::from(ROWS_MAX))?;
        let most = users.min(products).min(65_536);
        within("--partitions", u64::from(self.partitions), 1, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_what_is_accepted() {
        let fine = BiddingOptions::default();
        assert_eq!(fine.validate(), Ok(()));
        assert_eq!(BiddingOptions::micro().validate(), Ok(()));
        for (options, message) in [
            (BiddingOptions { users: 0, ..fine.clone() }, "--users 0: accepted is 1 to 100000000"),
            (
                BiddingOptions { products: ROWS_MAX + 1, ..fine.clone() },
                "--products 100000001: accepted is 1 to 100000000",
            ),
            (
                BiddingOptions { partitions: 6, ..BiddingOptions::micro() },
                "--partitions 6: accepted is 1 to 5",
            ),
        ] {
            assert_eq!(options.validate(), Err(message.to_owned()));
        }
    }
}
