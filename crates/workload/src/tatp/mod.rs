//! TATP, the Telecom Application Transaction Processing benchmark: a home location register, four
//! tables, seven transactions.
//!
//! After the TATP Benchmark Description, version 1.0 (tatpbenchmark.sourceforge.net): its columns,
//! population, mix and choice of subscribers, which is not uniform. Many transactions find nothing
//! to act on: no such row, a call forwarding that is there already. That is expected. Such a
//! transaction changes nothing and commits; it counts as executed, and beside that as unsuccessful,
//! by kind. UPDATE_SUBSCRIBER_DATA without the special facility changes the subscriber neither.
//!
//! INSERT_CALL_FORWARDING draws its end from 1 to 24 whatever the start, as the description has it;
//! only the initial population ends after it starts.
//!
//! With partitions each has a range of the subscribers, and a client asks for those of its own.

mod conditions;
mod load;
mod options;
mod request;
pub mod schema;

pub use options::{Mix, SUBSCRIBERS_MAX, TatpOptions};
pub use request::Client;

use crate::random::Random;
use crate::ranges::share;
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Result, TableId, TableSpec, Transaction};
use core::ops::Range;
use schema::Tables;

const KINDS: [&str; 7] = [
    "get_subscriber_data",
    "get_new_destination",
    "get_access_data",
    "update_subscriber_data",
    "update_location",
    "insert_call_forwarding",
    "delete_call_forwarding",
];
const GET_SUBSCRIBER_DATA: usize = 0;
const GET_NEW_DESTINATION: usize = 1;
const GET_ACCESS_DATA: usize = 2;
const UPDATE_SUBSCRIBER_DATA: usize = 3;
const UPDATE_LOCATION: usize = 4;
const INSERT_CALL_FORWARDING: usize = 5;

/// The sums of the shares of the kinds up to each, in percent: 35, 10, 35, 2, 14, 2, 2.
const SHARES: [u32; 7] = [35, 45, 80, 82, 96, 98, 100];

/// The shares where writes are frequent: 8, 20, 12, 14, 14, 16, 16.
const SHARES_WRITING: [u32; 7] = [8, 28, 40, 54, 68, 84, 100];

/// Subscribers made by one part of the load.
const LOAD_PART: u32 = 1 << 13;

/// The workload.
#[derive(Debug)]
pub struct Tatp {
    options: TatpOptions,
    /// The constant A of the choice of subscribers.
    skew: u32,
    /// The sums of the shares of the kinds up to each.
    shares: [u32; 7],
    /// The sum of the shares of those kinds that the mix has: the first of all.
    mixed: u32,
}

impl Tatp {
    /// TATP as asked for.
    ///
    /// # Errors
    /// Those of [`TatpOptions::validate`].
    pub fn new(options: TatpOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        let skew = match options.subscribers {
            0..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        let shares = if options.writes_often { SHARES_WRITING } else { SHARES };
        let last = match options.mix {
            Mix::Standard => KINDS.len() - 1,
            Mix::ReadOnly => GET_ACCESS_DATA,
            Mix::ReadUpdate => UPDATE_LOCATION,
        };
        Ok(Self { options, skew, shares, mixed: shares[last] })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &TatpOptions {
        &self.options
    }

    /// The subscribers of a partition. They are numbered from one.
    #[inline]
    #[must_use]
    pub fn subscribers_of(&self, partition: u32) -> Range<u32> {
        let range = share(self.options.subscribers, partition, self.options.partitions);
        range.start + 1..range.end + 1
    }
}

impl Workload for Tatp {
    type Client = Client;

    fn name(&self) -> &'static str {
        "tatp"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        schema::specs(self.options.subscribers as usize)
    }

    fn load_parts(&self) -> usize {
        self.options.subscribers.div_ceil(LOAD_PART) as usize
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let mut random = Random::new(seed, 0x10ad_0000_0000 + part as u64);
        let first = part as u32 * LOAD_PART;
        let last = first.saturating_add(LOAD_PART).min(self.options.subscribers);
        load::subscribers(&Tables::new(tables), first + 1..last + 1, &mut random, insert)
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> Client {
        Client::new(self, Tables::new(tables), client_id)
    }

    #[inline]
    fn next(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        client.draw(self, partitions)
    }

    #[inline]
    fn execute<T: Transaction + ?Sized>(&self, client: &mut Client, tx: &mut T) -> Result<()> {
        client.run(tx)
    }

    #[inline]
    fn unsuccessful(&self, client: &Client) -> bool {
        !client.found()
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        conditions::check(self.options.subscribers, &Tables::new(tables), run)
    }
}
