//! Bidding: users bid for products, and the highest bid of each product is kept.
//!
//! The benchmark of an auction house in the public code of Silo (Tu, 2013: `bid.cc`), which Yan (2015)
//! measures beside TPC-C (5.1): three tables, one transaction. It is short, writes two rows always and a third one
//! seldom, and inserts at as many places as there are users. Our own code; departures from it:
//!
//! - amounts are whole cents, not floating-point numbers;
//! - with partitions each has a range of the users and of the products. A client bids for users of its own
//!   partition, for products of any.

mod conditions;
mod options;
mod request;
pub mod schema;
pub mod tasks;

pub use options::{BiddingOptions, ROWS_MAX};
pub use request::{Bid, Client, Shown};

use crate::ranges::share;
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Result, TableId, TableSpec, Transaction};
use core::ops::Range;
use schema::{Tables, bidmax, biduser, key};

const KINDS: [&str; 1] = ["bid"];

/// Users and products made by one part of the load.
const LOAD_PART: u32 = 1 << 14;

/// The workload.
#[derive(Debug)]
pub struct Bidding {
    options: BiddingOptions,
}

impl Bidding {
    /// Bidding as asked for.
    ///
    /// # Errors
    /// Those of [`BiddingOptions::validate`].
    pub fn new(options: BiddingOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        Ok(Self { options })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &BiddingOptions {
        &self.options
    }

    /// The users of a partition.
    #[inline]
    #[must_use]
    pub fn users_of(&self, partition: u32) -> Range<u32> {
        share(self.options.users, partition, self.options.partitions)
    }

    /// The products of a partition.
    #[inline]
    #[must_use]
    pub fn products_of(&self, partition: u32) -> Range<u32> {
        share(self.options.products, partition, self.options.partitions)
    }
}

impl Workload for Bidding {
    type Client = Client;

    fn name(&self) -> &'static str {
        "bidding"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        schema::specs()
    }

    fn load_parts(&self) -> usize {
        self.options.users.max(self.options.products).div_ceil(LOAD_PART) as usize
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        _seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let tables = Tables::new(tables);
        let first = part as u32 * LOAD_PART;
        let end = first + LOAD_PART;
        for user in first..end.min(self.options.users) {
            insert(tables.biduser, &key::user(user), &[0; biduser::BYTES])?;
        }
        for product in first..end.min(self.options.products) {
            insert(tables.bidmax, &key::product(product), &[0; bidmax::BYTES])?;
        }
        Ok(())
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> Client {
        Client::new(&self.options, Tables::new(tables), client_id)
    }

    #[inline]
    fn next(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        client.draw(self, partitions)
    }

    #[inline]
    fn draws(&self, _client: &Client) -> u32 {
        2
    }

    #[inline]
    fn execute<T: Transaction + ?Sized>(&self, client: &mut Client, tx: &mut T) -> Result<()> {
        client.run(tx)
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        conditions::check(&self.options, &Tables::new(tables), run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_divide_users_and_products() {
        let options = BiddingOptions { partitions: 3, ..BiddingOptions::micro() };
        let bidding = Bidding::new(options).unwrap();
        let users: Vec<u32> = (0..3).flat_map(|it| bidding.users_of(it)).collect();
        assert_eq!(users, (0..bidding.options().users).collect::<Vec<_>>());
        let products: Vec<u32> = (0..3).flat_map(|it| bidding.products_of(it)).collect();
        assert_eq!(products, (0..bidding.options().products).collect::<Vec<_>>());
    }
}
