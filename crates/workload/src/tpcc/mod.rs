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
pub mod schema;
mod stock_level;

pub use options::{Mix, Scale, TpccOptions, WAREHOUSES_MAX};

use crate::random::{Chance, Random};
use crate::{ClientSeat, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Result, TableId, TableSpec, Transaction};
use options::Sizes;
use random::Constants;
use schema::Tables;

/// The kinds of transaction, in the order of the mix's shares.
const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;

/// The date of everything loaded. Clients count on from here.
const DATE_OF_LOAD: u64 = 1;

/// The workload.
#[derive(Debug)]
pub struct Tpcc {
    options: TpccOptions,
    sizes: Sizes,
    remote_item: Chance,
    rollbacks: Chance,
    /// The sums of the shares of the kinds up to each.
    shares: [u32; 5],
}

impl Tpcc {
    /// TPC-C as asked for.
    ///
    /// # Errors
    /// What [`TpccOptions::validate`] finds.
    pub fn new(options: TpccOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        let mut sum = 0;
        let shares = options.mix.shares(options.scale).map(|share| {
            sum += share;
            sum
        });
        let sizes = options.sizes();
        let remote_item = Chance::percent(options.remote_item);
        Ok(Self {
            options,
            sizes,
            remote_item,
            rollbacks: Chance::percent(sizes.rollbacks),
            shares,
        })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &TpccOptions {
        &self.options
    }

    fn warehouses(&self) -> u32 {
        self.options.warehouses
    }
}

/// Where a client sits, and what it draws from.
struct Terminal {
    random: Random,
    constants: Constants,
    /// Its number among the clients, from zero.
    number: u32,
    /// The home warehouse, the same for all its transactions.
    home: u16,
    /// The district whose stock level it looks at (clause 2.8.1.1).
    district: u8,
    /// The date: one second per request.
    date: u64,
    /// The number of its next row of HISTORY.
    history: u32,
}

impl Terminal {
    fn new(tpcc: &Tpcc, seat: ClientSeat) -> Self {
        let (number, client) = (seat.index as u32, seat.home as u32);
        let (warehouses, districts) = (tpcc.warehouses(), u32::from(tpcc.sizes.districts));
        Self {
            random: Random::new(seat.seed, 0x7e_0000_0000 + seat.index as u64),
            constants: Constants::of_run(seat.seed),
            number,
            home: 1 + (client % warehouses) as u16,
            district: 1 + (number / warehouses % districts) as u8,
            date: DATE_OF_LOAD,
            history: 0,
        }
    }

    fn any_district(&mut self, sizes: &Sizes) -> u8 {
        1 + self.random.below(u32::from(sizes.districts)) as u8
    }

    fn any_customer(&mut self, sizes: &Sizes) -> u16 {
        let high = u32::from(sizes.customers);
        random::nurand(&mut self.random, 1023, self.constants.customer, 1, high) as u16
    }

    fn any_last_name(&mut self, sizes: &Sizes) -> random::LastName {
        let high = sizes.last_names - 1;
        let constant = self.constants.last;
        random::LastName::new(random::nurand(&mut self.random, 255, constant, 0, high))
    }

    /// One of the other warehouses; there must be one.
    fn other_warehouse(&mut self, warehouses: u32) -> u16 {
        let drawn = 1 + self.random.below(warehouses - 1) as u16;
        if drawn >= self.home { drawn + 1 } else { drawn }
    }
}

/// How a customer is named (clauses 2.5.1.2 and 2.6.1.2).
#[derive(Clone, Copy)]
enum By {
    Number(u16),
    Name(random::LastName),
}

impl By {
    /// By last name in 60 of a hundred, else by number.
    fn draw(terminal: &mut Terminal, sizes: &Sizes) -> Self {
        if terminal.random.below(100) < 60 {
            Self::Name(terminal.any_last_name(sizes))
        } else {
            Self::Number(terminal.any_customer(sizes))
        }
    }
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
    /// What the terminal shows after the last transaction, folded into a number, so that the
    /// compiler cannot leave out reading it.
    shown: u64,
}

impl Client {
    /// What the terminal shows after the last transaction, folded into a number.
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
        schema::specs(&self.options)
    }

    fn load_parts(&self) -> usize {
        load::parts(self)
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        load::part(self, Tables::new(tables), part, seed, insert)
    }

    fn client(&self, tables: &[TableId], seat: ClientSeat) -> Client {
        Client {
            tables: Tables::new(tables),
            terminal: Terminal::new(self, seat),
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
            NEW_ORDER => client.new_order.draw(self, terminal, partitions),
            PAYMENT => client.payment.draw(self, terminal, partitions),
            ORDER_STATUS => client.order_status.draw(self, terminal),
            DELIVERY => client.delivery.draw(self, terminal),
            _ => client.stock_level.draw(terminal),
        }
        let read_only = !matches!(client.kind, NEW_ORDER | PAYMENT | DELIVERY);
        Shape { kind: client.kind, read_only, snapshot: read_only && self.options.snapshot_reads }
    }

    fn draws(&self, client: &Client) -> u32 {
        if client.kind == NEW_ORDER { client.new_order.lines() } else { 1 }
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

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        consistency::check(self, &Tables::new(tables), run)
    }
}
