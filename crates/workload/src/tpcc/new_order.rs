//! New-order (clause 2.4): a customer orders 5 to 15 items.
//!
//! All rows are found in one group: warehouse, district and customer, then each item, then each stock, in two
//! parts; 3 + 10 + 10 look-ups on average. It inserts the order, its entries among the
//! new orders and under its customer, and its lines. One order in a hundred ends with an item number
//! that is not in use, which comes out at the last line, after everything else was written.

use super::random::has_original;
use super::rules::Rules;
use super::schema::{self, Tables};
use super::schema::{
    customer_info, district, item, order, order_line, stock, stock_info, warehouse,
};
use super::terminal::Terminal;
use crate::workload::{free, present};
use chiliad_api::{Error, Get, Result, Row, Transaction};

/// The most lines of an order.
pub(super) const LINES_MAX: usize = 15;
/// The most look-ups: three rows, an item and two parts of a stock for each line, and the way to the customer's orders.
const LOOK_UPS_MAX: usize = 3 + 3 * LINES_MAX + 1;

/// One line of the order.
#[derive(Clone, Copy, Default)]
pub(super) struct Line {
    pub(super) item: u32,
    pub(super) item_key: [u8; 4],
    pub(super) supplier: u16,
    pub(super) quantity: u8,
    /// Which of the stocks.
    stock: u8,
}

/// The input of the terminal's user (clause 2.4.1).
#[derive(Default)]
pub(super) struct Request {
    pub(super) w: u16,
    pub(super) d: u8,
    pub(super) c: u16,
    date: u64,
    pub(super) all_local: bool,
    count: usize,
    lines: [Line; LINES_MAX],
    /// The keys of the stocks, each once: an item may be on two lines.
    stocks: [[u8; 6]; LINES_MAX],
    stock_count: usize,
}

impl Request {
    pub(super) fn draw(
        &mut self,
        rules: &Rules,
        terminal: &mut Terminal,
        partitions: &mut Vec<u32>,
    ) {
        let sizes = &rules.sizes;
        self.w = terminal.home;
        self.d = terminal.any_district(sizes);
        self.c = terminal.any_customer(sizes);
        self.date = terminal.date;
        self.all_local = true;
        self.count = terminal.random.range(sizes.lines.0, sizes.lines.1) as usize;
        self.stock_count = 0;
        let rolls_back = terminal.random.chance(rules.rollbacks);
        // A bit per hashed stock: where it is not set, the stock is new, and no search is needed.
        let mut met = 0u64;
        for at in 0..self.count {
            let random = &mut terminal.random;
            let constant = terminal.constants.item;
            let item = if rolls_back && at + 1 == self.count {
                sizes.items + 1
            } else {
                super::random::nurand(random, 8191, constant, 1, sizes.items)
            };
            let quantity = random.range(1, 10) as u8;
            let mut supplier = self.w;
            if rules.warehouses > 1 && random.chance(rules.remote_item) {
                supplier = terminal.other_warehouse(rules.warehouses);
                self.all_local = false;
                partitions.push(u32::from(supplier) - 1);
            }
            let stock = self.stock(schema::key::stock(supplier, item), item, &mut met);
            let item_key = schema::key::item(item);
            self.lines[at] = Line { item, item_key, supplier, quantity, stock };
        }
        if !self.all_local {
            partitions.sort_unstable();
            partitions.dedup();
        }
    }

    /// Lines of the order.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// The number of the stock with `key`, which is added if it is new.
    fn stock(&mut self, key: [u8; 6], item: u32, met: &mut u64) -> u8 {
        let bit = 1u64 << (item % 64);
        if *met & bit != 0
            && let Some(at) = self.stocks[..self.stock_count].iter().position(|&has| has == key)
        {
            return at as u8;
        }
        *met |= bit;
        self.stocks[self.stock_count] = key;
        self.stock_count += 1;
        self.stock_count as u8 - 1
    }

    pub(super) fn run<T: Transaction + ?Sized>(&self, tables: &Tables, tx: &mut T) -> Result<u64> {
        let mut rows = [None; LOOK_UPS_MAX];
        self.look_up(tables, tx, &mut rows)?;
        let w_tax = warehouse::W_TAX.get(tx.bytes(present(rows[0])?)?);
        let info = tx.bytes(present(rows[2])?)?;
        let discount = customer_info::C_DISCOUNT.get(info);
        let credit = customer_info::C_CREDIT.get(info)[0];
        let last = customer_info::C_LAST.get(info).len();

        let row = tx.modify(present(rows[1])?)?;
        let d_tax = district::D_TAX.get(row);
        let o = district::D_NEXT_O_ID.get(row);
        district::D_NEXT_O_ID.set(row, o + 1);

        self.insert_order(tables, tx, o)?;
        let (items, stocks) = rows[3..].split_at(self.count);
        let (mut sum, mut brands) = (0, 0);
        let mut lines = [([0; 8], [0; order_line::BYTES]); LINES_MAX];
        let mut known = 0;
        for (line, &item) in self.lines.iter().zip(items) {
            let Some(item) = item else { break };
            let stock = usize::from(line.stock);
            let rows = [item, present(stocks[2 * stock])?, present(stocks[2 * stock + 1])?];
            let (row, amount, brand) = self.order_line(tx, line, rows)?;
            lines[known] = (schema::key::order_line(self.w, self.d, o, known as u8 + 1), row);
            known += 1;
            sum += u64::from(amount);
            brands = brands << 1 | u64::from(brand);
        }
        let lines = lines.each_ref().map(|(key, row)| (&key[..], &row[..]));
        free(tx.insert_many(tables.order_line, &lines[..known]))?;
        // An item that is not in use: the order is not to be (clause 2.4.2.3).
        if known < self.count {
            return Err(Error::RolledBack);
        }
        let terms = Terms { discount, credit, last: last as u8, taxes: [w_tax, d_tax] };
        Ok(terms.shown(sum, brands))
    }

    fn look_up<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        rows: &mut [Option<Row>; LOOK_UPS_MAX],
    ) -> Result<()> {
        let w = schema::key::warehouse(self.w);
        let d = schema::key::district(self.w, self.d);
        let c = schema::key::customer(self.w, self.d, self.c);
        let mut gets = [Get::read(tables.warehouse, &w); LOOK_UPS_MAX];
        gets[1] = Get::update(tables.district, &d);
        gets[2] = Get::read(tables.customer_info, &c);
        let mut count = 3;
        for line in &self.lines[..self.count] {
            gets[count] = Get::read(tables.item, &line.item_key);
            count += 1;
        }
        for key in &self.stocks[..self.stock_count] {
            gets[count] = Get::update(tables.stock, key);
            gets[count + 1] = Get::read(tables.stock_info, key);
            count += 2;
        }
        // Its customer's orders lie far from the last ones that were inserted.
        let last = schema::key::order_customer(self.w, self.d, self.c, u32::MAX);
        gets[count] = Get::approach(tables.order_customer, &last);
        count += 1;
        tx.get_many(&gets[..count], &mut rows[..count])
    }

    fn insert_order<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        o: u32,
    ) -> Result<()> {
        let key = schema::key::order(self.w, self.d, o);
        free(tx.insert(tables.order, &key, &self.order()))?;
        free(tx.insert(tables.new_order, &key, &[]))?;
        let key = schema::key::order_customer(self.w, self.d, self.c, o);
        free(tx.insert(tables.order_customer, &key, &[]))
    }

    /// The row of ORDER.
    #[inline]
    pub(super) fn order(&self) -> [u8; order::BYTES] {
        let mut row = [0; order::BYTES];
        order::O_C_ID.set(&mut row, self.c);
        order::O_ENTRY_D.set(&mut row, self.date);
        order::O_OL_CNT.set(&mut row, self.count as u8);
        order::O_ALL_LOCAL.set(&mut row, u8::from(self.all_local));
        row
    }

    /// Takes a line of the order out of the stock. Returns its row, its amount and whether it is a brand.
    #[inline]
    fn order_line<T: Transaction + ?Sized>(
        &self,
        tx: &mut T,
        line: &Line,
        [item, stock, info]: [Row; 3],
    ) -> Result<([u8; order_line::BYTES], u32, bool)> {
        let item = tx.bytes(item)?;
        let amount = item::I_PRICE.get(item) * u32::from(line.quantity);
        let may_be_brand = has_original(item::I_DATA.get(item));
        let info = tx.bytes(info)?;
        let brand = may_be_brand && has_original(stock_info::S_DATA.get(info));

        let row = line.row(amount, stock_info::s_dist(self.d).get(info));
        take(tx.modify(stock)?, u32::from(line.quantity), line.supplier != self.w);
        Ok((row, amount, brand))
    }
}

impl Line {
    /// The row of ORDER-LINE.
    #[inline]
    pub(super) fn row(&self, amount: u32, dist_info: &[u8]) -> [u8; order_line::BYTES] {
        let mut row = [0; order_line::BYTES];
        order_line::OL_I_ID.set(&mut row, self.item);
        order_line::OL_AMOUNT.set(&mut row, amount);
        order_line::OL_SUPPLY_W_ID.set(&mut row, self.supplier);
        order_line::OL_QUANTITY.set(&mut row, self.quantity);
        order_line::OL_DIST_INFO.set(&mut row, dist_info);
        row
    }
}

/// What an order costs besides its lines, and what else the terminal shows of its customer.
#[derive(Default)]
pub(super) struct Terms {
    pub(super) discount: u16,
    /// The first letter of C_CREDIT.
    pub(super) credit: u8,
    /// Letters of C_LAST.
    pub(super) last: u8,
    /// W_TAX and D_TAX.
    pub(super) taxes: [u16; 2],
}

impl Terms {
    /// The terminal's output for lines of this sum, of which these are brands: the last one in the lowest bit.
    #[inline]
    pub(super) fn shown(&self, sum: u64, brands: u64) -> u64 {
        let discounted = sum * u64::from(10_000 - self.discount);
        let taxes: u64 = self.taxes.into_iter().map(u64::from).sum();
        let total = discounted * (10_000 + taxes) / 100_000_000;
        total ^ brands << 32 ^ u64::from(self.credit) << 48 ^ u64::from(self.last) << 56
    }
}

/// Takes `quantity` out of a stock, which is refilled when it runs low (clause 2.4.2.2).
#[inline]
pub(super) fn take(row: &mut [u8], quantity: u32, remote: bool) {
    let left = stock::S_QUANTITY.get(row);
    let refill = if left >= quantity + 10 { 0 } else { 91 };
    stock::S_QUANTITY.set(row, left + refill - quantity);
    stock::S_YTD.set(row, stock::S_YTD.get(row) + quantity);
    stock::S_ORDER_CNT.set(row, stock::S_ORDER_CNT.get(row) + 1);
    if remote {
        stock::S_REMOTE_CNT.set(row, stock::S_REMOTE_CNT.get(row) + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stocks_are_refilled_when_fewer_than_ten_would_be_left() {
        let mut row = [0; stock::BYTES];
        stock::S_QUANTITY.set(&mut row, 15);
        take(&mut row, 5, false);
        assert_eq!(stock::S_QUANTITY.get(&row), 10);
        take(&mut row, 5, true);
        assert_eq!(stock::S_QUANTITY.get(&row), 96);
        assert_eq!(stock::S_YTD.get(&row), 10);
        assert_eq!(stock::S_ORDER_CNT.get(&row), 2);
        assert_eq!(stock::S_REMOTE_CNT.get(&row), 1);
    }
}
