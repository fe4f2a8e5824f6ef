//! TPC-E: a brokerage house, six of its transactions and the tables that those need.
//!
//! After the TPC Benchmark E, revision 1.14.0, from what is published of it, in the choice that Yan (2015, 5.1 and 5.2.2) measures:
//! customer-position, market-watch, trade-status, trade-order and trade-update, and trade-result besides, which
//! completes what trade-order begins. The rows and requests are made up by a generator of our own, with distributions of our own;
//! the council's generator was not used. So its numbers are not those of the benchmark, and not comparable with any
//! published ones.
//!
//! What is different, and why:
//!
//! - **The exchange** is a queue of each broker: trade-order enters a trade, trade-result takes the oldest one. Market-Feed,
//!   which sends waiting orders to the exchange when their price has come, is folded into that.
//! - **The number of a trade** is the greatest one and one more (Yan, 2015, 5.2.2): all orders of a partition meet there.
//! - **Partitions** are ranges of brokers, each with its customers, companies and securities; no transaction leaves its own.
//! - Trade-update's dates are numbers of trades, and accounts settle with their holdings in the order of trades.
//! - Numbers stand for what texts identify in the specification, such as symbols; texts are shorter.

mod conditions;
mod costs;
mod customer_position;
mod list;
mod load;
mod market_watch;
mod options;
mod request;
mod rows;
mod rules;
pub mod schema;
pub mod tasks;
mod text;
mod trade_order;
mod trade_result;
mod trade_status;
mod trade_update;
mod trading;

pub use options::{CUSTOMERS_MAX, Mix, TRADE_DAYS_MAX, TpceOptions};
pub use request::Client;

use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Result, TableId, TableSpec, Transaction};
use rules::Rules;
use schema::Tables;

const KINDS: [&str; 6] = [
    "customer_position",
    "market_watch",
    "trade_status",
    "trade_order",
    "trade_update",
    "trade_result",
];

/// The workload.
#[derive(Debug)]
pub struct Tpce {
    options: TpceOptions,
    rules: Rules,
    /// The sums of the shares of the kinds up to each, of a thousand.
    sums: [u32; KINDS.len()],
}

impl Tpce {
    /// TPC-E as asked for.
    ///
    /// # Errors
    /// Those of [`TpceOptions::validate`].
    pub fn new(options: TpceOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        let mut sums = options.mix.shares(options.micro);
        for kind in 1..sums.len() {
            sums[kind] += sums[kind - 1];
        }
        Ok(Self { rules: options.rules(), options, sums })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &TpceOptions {
        &self.options
    }
}

impl Workload for Tpce {
    type Client = Client;

    fn name(&self) -> &'static str {
        "tpce"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        schema::specs(&self.rules)
    }

    fn load_parts(&self) -> usize {
        self.rules.brokers() as usize
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        load::broker(&self.rules, &Tables::new(tables), part as u32, seed, insert)
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> Client {
        Client::new(self, Tables::new(tables), client_id)
    }

    #[inline]
    fn next(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        client.draw(self, partitions)
    }

    #[inline]
    fn draws(&self, client: &Client) -> u32 {
        client.draws()
    }

    #[inline]
    fn unsuccessful(&self, client: &Client) -> bool {
        !client.found()
    }

    #[inline]
    fn execute<T: Transaction + ?Sized>(&self, client: &mut Client, tx: &mut T) -> Result<()> {
        client.run(tx)
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        conditions::check(&self.rules, &Tables::new(tables), run)
    }
}
