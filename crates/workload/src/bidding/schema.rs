//! Bidding's tables, keys and columns.
//!
//! | table | index | key | row |
//! | --- | --- | --- | --- |
//! | `biduser` | ordered | user, 4 bytes | how many bids the user has made |
//! | `bid` | ordered | user, number of the bid, 8 bytes | product, amount |
//! | `bidmax` | ordered | product, 4 bytes | the highest amount |
//!
//! Keys are big-endian, amounts are in cents. Bids of a user are numbered from zero.

use chiliad_api::{TableId, TableSpec};

/// The tables by name, once a database has numbered them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of Silo's code")]
pub struct Tables {
    pub biduser: TableId,
    pub bid: TableId,
    pub bidmax: TableId,
}

impl Tables {
    /// Names the tables that were created in the order of [`specs`].
    ///
    /// # Panics
    /// When there are not as many.
    #[must_use]
    pub fn new(tables: &[TableId]) -> Self {
        let &[biduser, bid, bidmax] = tables else {
            panic!("Bidding has 3 tables, not {}", tables.len())
        };
        Self { biduser, bid, bidmax }
    }
}

/// The declarations, in the order of [`Tables`].
#[must_use]
pub fn specs() -> Vec<TableSpec> {
    let bid = TableSpec::ordered("bid").spread();
    vec![TableSpec::ordered("biduser"), bid, TableSpec::ordered("bidmax")]
}

/// The primary keys.
pub mod key {
    /// BIDUSER.
    #[inline]
    #[must_use]
    pub fn user(user: u32) -> [u8; 4] {
        user.to_be_bytes()
    }

    /// BID.
    #[inline]
    #[must_use]
    pub fn bid(user: u32, number: u32) -> [u8; 8] {
        (u64::from(user) << 32 | u64::from(number)).to_be_bytes()
    }

    /// BIDMAX.
    #[inline]
    #[must_use]
    pub fn product(product: u32) -> [u8; 4] {
        product.to_be_bytes()
    }
}

/// BIDUSER.
pub mod biduser {
    crate::row::columns! {
        BIDS: u32,
    }
}

/// BID.
pub mod bid {
    crate::row::columns! {
        PRODUCT: u32,
        AMOUNT: u32,
    }
}

/// BIDMAX.
pub mod bidmax {
    crate::row::columns! {
        AMOUNT: u32,
    }
}
