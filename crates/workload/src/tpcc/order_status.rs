//! Order-status (clause 2.6): what became of a customer's last order.
//!
//! Reads the customer's two parts in one group (by last name, 60 times in a hundred, after a scan of
//! the index by name), the last order through the index of orders by customer, backwards, and its
//! lines.

use super::customer;
use super::rules::Rules;
use super::schema::{self, Tables};
use super::schema::{customer_info, order, order_line};
use super::terminal::{By, Terminal};
use crate::workload::present;
use chiliad_api::{Get, Range, Result, Transaction};

/// The input of the terminal's user (clause 2.6.1).
pub(super) struct Request {
    pub(super) w: u16,
    pub(super) d: u8,
    pub(super) by: By,
    /// Customers of one name.
    namesakes: Vec<u16>,
}

impl Default for Request {
    fn default() -> Self {
        Self { w: 0, d: 0, by: By::Number(0), namesakes: Vec::with_capacity(64) }
    }
}

impl Request {
    pub(super) fn draw(&mut self, rules: &Rules, terminal: &mut Terminal) {
        self.w = terminal.home;
        self.d = terminal.any_district(&rules.sizes);
        self.by = By::draw(terminal, &rules.sizes);
    }

    pub(super) fn run<T: Transaction + ?Sized>(
        &mut self,
        tables: &Tables,
        tx: &mut T,
    ) -> Result<u64> {
        let of = (self.w, self.d);
        let c = customer::number(tables, tx, of, &self.by, &mut self.namesakes)?;
        let shown = self.show_customer(tables, tx, c)?;
        // Every customer has an order from the start (clause 4.3.3.1).
        let low = schema::key::order_customer(self.w, self.d, c, 0);
        let high = schema::key::order_customer(self.w, self.d, c, u32::MAX);
        let range = Range::closed(&low, &high).reverse().limit(1);
        let last = tx.scan(tables.order_customer, range)?;
        let entry = *present(tx.entries(last)?.first())?;
        let o = schema::key::order_of_customer(tx.key(entry)?);
        Ok(shown ^ self.show_order(tables, tx, o)?)
    }

    fn show_customer<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        c: u16,
    ) -> Result<u64> {
        let key = schema::key::customer(self.w, self.d, c);
        let gets = [Get::read(tables.customer, &key), Get::read(tables.customer_info, &key)];
        let mut rows = [None; 2];
        tx.get_many(&gets, &mut rows)?;
        let balance = schema::customer::C_BALANCE.get(tx.bytes(present(rows[0])?)?);
        Ok(shown_customer(balance, tx.bytes(present(rows[1])?)?))
    }

    fn show_order<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        o: u32,
    ) -> Result<u64> {
        let row = present(tx.get(tables.order, &schema::key::order(self.w, self.d, o))?)?;
        let row = tx.bytes(row)?;
        let count = usize::from(order::O_OL_CNT.get(row));
        let mut shown = shown_order(row);
        let low = schema::key::order_line(self.w, self.d, o, 0);
        let high = schema::key::order_line(self.w, self.d, o, u8::MAX);
        let lines = tx.scan(tables.order_line, Range::closed(&low, &high).limit(count))?;
        for &entry in tx.entries(lines)? {
            shown = show_line(shown, tx.bytes(entry.row)?);
        }
        Ok(shown)
    }
}

/// What the terminal shows of a customer.
pub(super) fn shown_customer(balance: i64, info: &[u8]) -> u64 {
    let names = customer_info::C_FIRST.get(info).len() + customer_info::C_LAST.get(info).len();
    balance as u64 ^ (names as u64) << 48
}

/// What it shows of the order itself.
pub(super) fn shown_order(row: &[u8]) -> u64 {
    order::O_ENTRY_D.get(row) ^ u64::from(order::O_CARRIER_ID.get(row))
}

/// What it shows when it has shown one more line.
#[inline]
pub(super) fn show_line(shown: u64, line: &[u8]) -> u64 {
    shown.wrapping_mul(31)
        ^ u64::from(order_line::OL_I_ID.get(line))
        ^ u64::from(order_line::OL_AMOUNT.get(line)) << 20
        ^ u64::from(order_line::OL_SUPPLY_W_ID.get(line)) << 40
        ^ u64::from(order_line::OL_QUANTITY.get(line)) << 56
        ^ order_line::OL_DELIVERY_D.get(line)
}
