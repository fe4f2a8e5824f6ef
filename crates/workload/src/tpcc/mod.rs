//! TPC-C, the order-entry benchmark, complete: nine tables, five transactions, the standard mix.
//!
//! After the TPC-C specification, revision 5.11, clauses 1 to 4. Clients have a fixed home warehouse
//! and no think time. Money is in cents, taxes and discounts in hundredths of a percent; dates come
//! from a counter of the client, so that no clock is read. Tables are divided vertically and keys
//! packed as [`schema`] says.
//!
//! One transaction per file; each has a request, made up before the transaction begins (`draw`), and
//! a procedure (`run`). A procedure asks for all rows whose keys it knows in one
//! [`Transaction::get_many`], so that their cache misses overlap, and changes a row where the look-up
//! found it.

pub mod consistency;
mod customer;
mod delivery;
mod load;
mod new_order;
mod options;
mod order_status;
mod payment;
pub mod random;
mod rules;
pub mod schema;
pub mod sql;
mod stock_level;
mod tables;
pub mod tasks;
mod terminal;

pub use delivery::Delivery;
pub use options::{Mix, Scale, TpccOptions, WAREHOUSES_MAX};

use crate::{
    ClientId, Condition, DEFERRED_WORDS, Deferred, InsertRow, Outcome, RunReadOnly, Shape, Workload,
};
use chiliad_api::{Result, TableId, TableSpec, Transaction};
use rules::Rules;
use schema::Tables;
use terminal::Terminal;

/// The kinds of transaction, in the order of the mix's shares.
const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;

/// The workload.
#[derive(Debug)]
pub struct Tpcc {
    options: TpccOptions,
    rules: Rules,
    /// The sums of the shares of the kinds up to each.
    shares: [u32; 5],
}

impl Tpcc {
    /// TPC-C as asked for.
    ///
    /// # Errors
    /// Those of [`TpccOptions::validate`].
    pub fn new(options: TpccOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        let (rules, shares) = (Rules::new(&options), sums(&options));
        Ok(Self { options, rules, shares })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &TpccOptions {
        &self.options
    }
}

/// The sums of the shares of the kinds up to each.
fn sums(options: &TpccOptions) -> [u32; 5] {
    let mut sum = 0;
    options.mix.shares(options.scale).map(|share| {
        sum += share;
        sum
    })
}

/// One client: its terminal, the request in hand, and room for the procedures to work in.
pub struct Client {
    tables: Tables,
    terminal: Terminal,
    kind: usize,
    new_order: new_order::Request,
    payment: payment::Request,
    order_status: order_status::Request,
    delivery: delivery::Request,
    stock_level: stock_level::Request,
    /// The terminal's output after the last transaction, folded into a number, so that the
    /// compiler cannot leave out reading it.
    shown: u64,
}

impl Client {
    /// The terminal's output after the last transaction, folded into a number.
    #[must_use]
    pub fn shown(&self) -> u64 {
        self.shown
    }
}

impl Workload for Tpcc {
    type Client = Client;

    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        tables::specs(&self.options)
    }

    fn load_parts(&self) -> usize {
        load::parts(&self.rules)
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        load::part(&self.rules, Tables::new(tables), part, seed, insert)
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> Client {
        Client {
            tables: Tables::new(tables),
            terminal: Terminal::new(&self.rules, client_id),
            kind: 0,
            new_order: new_order::Request::default(),
            payment: payment::Request::default(),
            order_status: order_status::Request::default(),
            delivery: delivery::Request::default(),
            stock_level: stock_level::Request::default(),
            shown: 0,
        }
    }

    fn next(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        let terminal = &mut client.terminal;
        terminal.date += 1;
        let drawn = terminal.random.below(100);
        client.kind = self.shares.iter().filter(|&&sum| sum <= drawn).count();
        partitions.push(u32::from(terminal.home) - 1);
        match client.kind {
            NEW_ORDER => client.new_order.draw(&self.rules, terminal, partitions),
            PAYMENT => client.payment.draw(&self.rules, terminal, partitions),
            ORDER_STATUS => client.order_status.draw(&self.rules, terminal),
            DELIVERY => client.delivery.draw(&self.rules, terminal),
            _ => client.stock_level.draw(terminal),
        }
        let read_only = !matches!(client.kind, NEW_ORDER | PAYMENT | DELIVERY);
        Shape { kind: client.kind, read_only, snapshot: read_only && self.options.snapshot_reads }
    }

    fn draws(&self, client: &Client) -> u32 {
        if client.kind == NEW_ORDER { client.new_order.lines().len() as u32 } else { 1 }
    }

    fn execute<T: Transaction + ?Sized>(&self, client: &mut Client, tx: &mut T) -> Result<()> {
        let tables = &client.tables;
        client.shown = match client.kind {
            NEW_ORDER => client.new_order.run(tables, tx)?,
            PAYMENT => client.payment.run(tables, &mut client.terminal, tx)?,
            ORDER_STATUS => client.order_status.run(tables, tx)?,
            DELIVERY => client.delivery.run(tables, tx)?,
            _ => client.stock_level.run(tables, tx)?,
        };
        Ok(())
    }

    fn deferring(&self) -> u32 {
        self.options.warehouses
    }

    fn deferred(&self, client: &Client) -> Option<Deferred> {
        (client.kind == DELIVERY).then(|| client.delivery.deferred())
    }

    fn resume(
        &self,
        client: &mut Client,
        words: [u64; DEFERRED_WORDS],
        partitions: &mut Vec<u32>,
    ) -> Shape {
        client.kind = DELIVERY;
        client.delivery.resume(&self.rules, words, partitions);
        Shape { kind: DELIVERY, ..Shape::default() }
    }

    fn outcome(&self, client: &Client) -> Outcome {
        client.delivery.outcome()
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        let rows = consistency::Stored { rules: &self.rules, tables: Tables::new(tables) };
        consistency::check(&self.rules, &rows, run)
    }
}
