//! SmallBank's tables, keys and columns.
//!
//! | table | index | key | row |
//! | --- | --- | --- | --- |
//! | `account` | hash | name, 16 bytes | customer |
//! | `savings`, `checking` | hash | customer, 4 bytes | balance |
//! | `ledger` | ordered | client, 4 bytes | what it brought into the bank, on balance |
//!
//! `ledger` is ours. A client has a row of its own there, which its first deposit or withdrawal
//! inserts; each part of the load has one too. Keys are big-endian.

use chiliad_api::{TableId, TableSpec};

/// The tables by name, once a database has numbered them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are SmallBank's")]
pub struct Tables {
    pub account: TableId,
    pub savings: TableId,
    pub checking: TableId,
    pub ledger: TableId,
}

impl Tables {
    /// Names the tables that were created in the order of [`specs`].
    ///
    /// # Panics
    /// When there are not as many.
    #[must_use]
    pub fn new(tables: &[TableId]) -> Self {
        let &[account, savings, checking, ledger] = tables else {
            panic!("SmallBank has 4 tables, not {}", tables.len())
        };
        Self { account, savings, checking, ledger }
    }
}

/// The declarations, in the order of [`Tables`], for so many accounts.
#[must_use]
pub fn specs(accounts: usize) -> Vec<TableSpec> {
    vec![
        TableSpec::hash("account", accounts),
        TableSpec::hash("savings", accounts),
        TableSpec::hash("checking", accounts),
        TableSpec::ordered("ledger").present_only(),
    ]
}

/// The primary keys.
pub mod key {
    /// ACCOUNT: `customer` and eight digits.
    #[inline]
    #[must_use]
    pub fn name(customer: u32) -> [u8; 16] {
        let mut name = *b"customer00000000";
        let mut rest = customer;
        for digit in name[8..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        name
    }

    /// SAVINGS and CHECKING.
    #[inline]
    #[must_use]
    pub fn customer(customer: u32) -> [u8; 4] {
        customer.to_be_bytes()
    }

    /// The row of a client in the ledger.
    #[inline]
    #[must_use]
    pub fn client(number: u32) -> [u8; 4] {
        number.to_be_bytes()
    }

    /// The row of a part of the load in the ledger: after those of the clients.
    #[inline]
    #[must_use]
    pub fn load_part(part: u32) -> [u8; 4] {
        (part | 1 << 31).to_be_bytes()
    }
}

/// ACCOUNT.
pub mod account {
    crate::row::columns! {
        CUSTOMER: u32,
    }
}

/// SAVINGS and CHECKING, and the ledger: cents.
pub mod balance {
    crate::row::columns! {
        CENTS: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn names_and_keys() {
        assert_eq!(&key::name(0), b"customer00000000");
        assert_eq!(&key::name(12_345_678), b"customer12345678");
        assert!(key::client(u32::MAX >> 1) < key::load_part(0));
    }
}
