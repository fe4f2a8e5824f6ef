//! TPC-C as statements of SQL: the requests, terminals and population of the procedures, and other tables.
//!
//! The texts are those that clients of PostgreSQL send for TPC-C, such as BenchBase and go-tpc: joins, `FOR UPDATE`, lists
//! of keys, many rows in one `INSERT`, aggregates. One transaction per file; the conditions are those of the procedures, over
//! rows that SQL reads.

mod conditions;
mod delivery;
mod load;
mod new_order;
mod order_status;
mod payment;
mod statements;
mod stock_level;
mod values;

use super::options::Amounts;
use super::rules::Rules;
use super::terminal::Terminal;
use super::{
    DELIVERY, KINDS, NEW_ORDER, ORDER_STATUS, PAYMENT, TpccOptions, consistency, delivery as d,
    new_order as n, order_status as o, payment as p, stock_level as s,
};
use crate::memory::{Estimate, Tables};
use crate::sql::connection::Connection;
use crate::sql::plans::Program;
use crate::{
    AnyClient, AnyWorkload, ClientId, Condition, DEFERRED_WORDS, Deferred, InsertRow, Outcome,
    RunReadOnly, Shape,
};
use chiliad_api::{Result, TableId, TableSpec, Transaction};

/// The workload.
#[derive(Debug)]
pub struct TpccSql {
    options: TpccOptions,
    rules: Rules,
    /// The sums of the shares of the kinds up to each.
    shares: [u32; 5],
    program: Program,
}

impl TpccSql {
    /// TPC-C as asked for.
    ///
    /// # Errors
    /// Those of [`TpccOptions::validate`].
    pub fn new(options: TpccOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        let program = Program::new(statements::TABLES, statements::texts())?;
        let (rules, shares) = (Rules::new(&options), super::sums(&options));
        Ok(Self { options, rules, shares, program })
    }
}

impl TpccOptions {
    /// About what the rows take in SQL; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory_in_sql(&self, kept: Option<usize>) -> Estimate {
        let Amounts { stock, customers, data, lines } = self.amounts();
        Tables::new(kept)
            .rows(stock, 380)
            .rows(customers, 360 + data)
            .secondary(customers)
            // Their orders and payments.
            .rows(2 * customers, 110)
            .secondary(customers)
            .rows(lines, 110)
            .estimate("--warehouses")
    }
}

impl AnyWorkload for TpccSql {
    fn name(&self) -> &'static str {
        "tpcc-sql"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        let mut specs = self.program.specs();
        for spec in specs.iter_mut().filter(|it| self.options.read_only_tables && it.name == "item")
        {
            *spec = spec.clone().read_only();
        }
        specs
    }

    fn load_parts(&self) -> usize {
        super::load::parts(&self.rules)
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        load::part(&self.rules, &*self.program.plans(tables)?, tables, part, seed, insert)
    }

    fn any_client<'w>(
        &'w self,
        tables: &[TableId],
        client_id: ClientId,
    ) -> Box<dyn AnyClient + 'w> {
        // The texts have been prepared before, for the numbers of another database at least.
        let plans = self.program.plans(tables).unwrap_or_else(|wrong| panic!("{wrong}"));
        Box::new(Client {
            workload: self,
            connection: Connection::new(plans),
            terminal: Terminal::new(&self.rules, client_id),
            kind: 0,
            new_order: n::Request::default(),
            payment: p::Request::default(),
            order_status: o::Request::default(),
            delivery: d::Request::default(),
            stock_level: s::Request::default(),
            shown: 0,
        })
    }

    fn deferring(&self) -> u32 {
        self.options.warehouses
    }

    fn conditions_kept(
        &self,
        _serializable: bool,
        tables: &[TableId],
        run: &mut RunReadOnly<'_>,
    ) -> Result<Vec<Condition>> {
        let connection = Connection::new(self.program.plans(tables)?);
        let rows = conditions::Queried { rules: &self.rules, connection };
        consistency::check(&self.rules, &rows, run)
    }
}

/// One client: its terminal and the request in hand.
struct Client<'w> {
    workload: &'w TpccSql,
    connection: Connection,
    terminal: Terminal,
    kind: usize,
    new_order: n::Request,
    payment: p::Request,
    order_status: o::Request,
    delivery: d::Request,
    stock_level: s::Request,
    /// The terminal's output after the last transaction, folded into a number.
    shown: i64,
}

impl AnyClient for Client<'_> {
    fn next(&mut self, partitions: &mut Vec<u32>) -> Shape {
        let (workload, terminal) = (self.workload, &mut self.terminal);
        terminal.date += 1;
        self.connection.seconds = terminal.date;
        let drawn = terminal.random.below(100);
        self.kind = workload.shares.iter().filter(|&&sum| sum <= drawn).count();
        partitions.push(u32::from(terminal.home) - 1);
        let rules = &workload.rules;
        match self.kind {
            NEW_ORDER => self.new_order.draw(rules, terminal, partitions),
            PAYMENT => self.payment.draw(rules, terminal, partitions),
            ORDER_STATUS => self.order_status.draw(rules, terminal),
            DELIVERY => self.delivery.draw(rules, terminal),
            _ => self.stock_level.draw(terminal),
        }
        let read_only = !matches!(self.kind, NEW_ORDER | PAYMENT | DELIVERY);
        let snapshot = read_only && workload.options.snapshot_reads;
        Shape { kind: self.kind, read_only, snapshot }
    }

    fn next_stalled(&mut self, partitions: &mut Vec<u32>) -> Shape {
        self.next(partitions)
    }

    fn draws(&self) -> u32 {
        if self.kind == NEW_ORDER { self.new_order.lines().len() as u32 } else { 1 }
    }

    fn unsuccessful(&self) -> bool {
        false
    }

    fn deferred(&self) -> Option<Deferred> {
        (self.kind == DELIVERY).then(|| self.delivery.deferred())
    }

    fn resume(&mut self, words: [u64; DEFERRED_WORDS], partitions: &mut Vec<u32>) -> Shape {
        self.kind = DELIVERY;
        self.connection.seconds = d::Delivery::of(words).date;
        self.delivery.resume(&self.workload.rules, words, partitions);
        Shape { kind: DELIVERY, ..Shape::default() }
    }

    fn outcome(&self) -> Outcome {
        self.delivery.outcome()
    }

    fn execute(&mut self, tx: &mut dyn Transaction) -> Result<()> {
        let Self { connection, terminal, .. } = self;
        self.shown = match self.kind {
            NEW_ORDER => new_order::run(&self.new_order, connection, tx)?,
            PAYMENT => payment::run(&mut self.payment, connection, terminal, tx)?,
            ORDER_STATUS => order_status::run(&self.order_status, connection, tx)?,
            DELIVERY => delivery::run(&mut self.delivery, connection, tx)?,
            _ => stock_level::run(&self.stock_level, connection, tx)?,
        };
        Ok(())
    }
}
