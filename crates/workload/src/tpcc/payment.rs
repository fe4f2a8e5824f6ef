//! Payment (clause 2.5): a customer pays, at the home warehouse or, 15 times in a hundred, as the
//! customer of another one.
//!
//! 60 times in a hundred the customer is named by the last name: a scan of the index by name, of
//! which the one at position ceil(n/2) by first name is meant. Warehouse, district and the parts of
//! the customer are then found in one group of four. The totals of warehouse and district are changed in
//! these rows or, where they are apart, added to blindly: the terminal does not show them. A
//! customer with bad credit gets the payment written in front of C_DATA, which grows up to its limit.
//! It inserts a row of HISTORY, numbered by the client.

use super::customer;
use super::rules::Rules;
use super::schema::{self, Tables, Totals};
use super::schema::{customer_info, district, history, total, warehouse};
use super::terminal::{By, Terminal};
use crate::workload::present;
use chiliad_api::{Error, Get, Integer, Number, Range, Result, Row, Transaction};
use std::io::Write;

/// A total that has a row of its own.
const TOTAL: Number = Number::at(total::YTD.offset(), Integer::U64);

/// The input of the terminal's user (clause 2.5.1), and buffers.
pub(super) struct Request {
    pub(super) w: u16,
    pub(super) d: u8,
    /// The customer's warehouse and district.
    pub(super) c_w: u16,
    pub(super) c_d: u8,
    pub(super) by: By,
    pub(super) amount: u32,
    date: u64,
    /// The number of the row of HISTORY.
    pub(super) sequence: u32,
    pub(super) data_max: usize,
    /// The new C_DATA.
    data: Vec<u8>,
    /// Customers of one name.
    namesakes: Vec<u16>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            w: 0,
            d: 0,
            c_w: 0,
            c_d: 0,
            by: By::Number(0),
            amount: 0,
            date: 0,
            sequence: 0,
            data_max: 0,
            data: Vec::with_capacity(1024),
            namesakes: Vec::with_capacity(64),
        }
    }
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
        (self.c_w, self.c_d) = (self.w, self.d);
        if rules.warehouses > 1 && terminal.random.below(100) < 15 {
            self.c_w = terminal.other_warehouse(rules.warehouses);
            self.c_d = terminal.any_district(sizes);
            partitions.push(u32::from(self.c_w) - 1);
            partitions.sort_unstable();
        }
        self.by = By::draw(terminal, sizes);
        self.amount = terminal.random.range(100, 500_000);
        self.date = terminal.date;
        self.data_max = sizes.data_max;
        self.sequence = terminal.history;
        terminal.history += 1;
    }

    pub(super) fn run<T: Transaction + ?Sized>(
        &mut self,
        tables: &Tables,
        terminal: &mut Terminal,
        tx: &mut T,
    ) -> Result<u64> {
        let of = (self.c_w, self.c_d);
        let c = customer::number(tables, tx, of, &self.by, &mut self.namesakes)?;
        let [warehouse, district, customer, info] = self.look_up(tables, tx, c)?;

        let names = match tables.totals {
            Some(totals) => {
                self.add_to_totals(totals, tx)?;
                let mut names = Names::of_warehouse(warehouse::W_NAME.get(tx.bytes(warehouse)?));
                names.append(district::D_NAME.get(tx.bytes(district)?));
                names
            }
            None => self.change_totals(warehouse, district, tx)?,
        };
        let row = tx.modify(customer)?;
        let balance = customer::pay(row, self.amount);
        let shown = tx.bytes(info)?;
        let has_bad_credit = customer_info::C_CREDIT.get(shown) == b"BC";
        let folded = u64::from(customer_info::C_DISCOUNT.get(shown)) ^ balance as u64;
        if has_bad_credit {
            self.note_bad_credit(tables, tx, c)?;
        }
        self.insert_history(tables, terminal, tx, c, &names)?;
        Ok(folded)
    }

    fn add_to_totals<T: Transaction + ?Sized>(&self, totals: Totals, tx: &mut T) -> Result<()> {
        let amount = i64::from(self.amount);
        let w = schema::key::warehouse(self.w);
        present(tx.add(totals.warehouse, &w, TOTAL, amount)?.then_some(()))?;
        let d = schema::key::district(self.w, self.d);
        present(tx.add(totals.district, &d, TOTAL, amount)?.then_some(()))
    }

    fn change_totals<T: Transaction + ?Sized>(
        &self,
        warehouse: Row,
        district: Row,
        tx: &mut T,
    ) -> Result<Names> {
        let row = tx.modify(warehouse)?;
        warehouse::W_YTD.set(row, warehouse::W_YTD.get(row) + u64::from(self.amount));
        let mut names = Names::of_warehouse(warehouse::W_NAME.get(row));
        let row = tx.modify(district)?;
        district::D_YTD.set(row, district::D_YTD.get(row) + u64::from(self.amount));
        names.append(district::D_NAME.get(row));
        Ok(names)
    }

    fn look_up<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        c: u16,
    ) -> Result<[Row; 4]> {
        let w = schema::key::warehouse(self.w);
        let d = schema::key::district(self.w, self.d);
        let c = schema::key::customer(self.c_w, self.c_d, c);
        let get = if tables.totals.is_none() { Get::update } else { Get::read };
        let gets = [
            get(tables.warehouse, &w),
            get(tables.district, &d),
            Get::update(tables.customer, &c),
            Get::read(tables.customer_info, &c),
        ];
        let mut rows = [None; 4];
        tx.get_many(&gets, &mut rows)?;
        Ok([present(rows[0])?, present(rows[1])?, present(rows[2])?, present(rows[3])?])
    }

    /// Writes the payment in front of C_DATA and cuts it at its limit (clause 2.5.2.2).
    fn note_bad_credit<T: Transaction + ?Sized>(
        &mut self,
        tables: &Tables,
        tx: &mut T,
        c: u16,
    ) -> Result<()> {
        let key = schema::key::customer(self.c_w, self.c_d, c);
        let row = present(tx.get_for_update(tables.customer_data, &key)?)?;
        let mut note = [0; NOTE_MAX];
        let length = self.note(c, &mut note);
        self.data.clear();
        self.data.extend_from_slice(&note[..length]);
        self.data.extend_from_slice(tx.bytes(row)?);
        self.data.truncate(self.data_max);
        tx.update(row, &self.data)
    }

    /// The text of a payment, at most [`NOTE_MAX`] bytes, and how long it is.
    pub(super) fn note(&self, c: u16, target: &mut [u8; NOTE_MAX]) -> usize {
        let Self { w, d, c_w, c_d, amount, .. } = *self;
        let (whole, cents) = (amount / 100, amount % 100);
        let mut rest = &mut target[..];
        // There is room for the greatest numbers.
        let _ = write!(rest, "{c} {c_d} {c_w} {d} {w} {whole}.{cents:02}|");
        NOTE_MAX - rest.len()
    }

    /// The row of HISTORY, and how long it is.
    #[inline]
    pub(super) fn history(&self, c: u16, names: &Names) -> ([u8; HISTORY_MAX], usize) {
        let mut row = [0; HISTORY_MAX];
        history::H_C_ID.set(&mut row, c);
        history::H_C_D_ID.set(&mut row, self.c_d);
        history::H_C_W_ID.set(&mut row, self.c_w);
        history::H_D_ID.set(&mut row, self.d);
        history::H_W_ID.set(&mut row, self.w);
        history::H_DATE.set(&mut row, self.date);
        history::H_AMOUNT.set(&mut row, self.amount);
        let end = history::BYTES + names.length;
        row[history::BYTES..end].copy_from_slice(&names.text[..names.length]);
        (row, end)
    }

    fn insert_history<T: Transaction + ?Sized>(
        &mut self,
        tables: &Tables,
        terminal: &mut Terminal,
        tx: &mut T,
        c: u16,
        names: &Names,
    ) -> Result<()> {
        let (row, end) = self.history(c, names);
        loop {
            let key = schema::key::history(terminal.number, self.sequence);
            match tx.insert(tables.history, &key, &row[..end]) {
                Err(Error::DuplicateKey(_)) => {
                    // An earlier run on the same database used this client's numbers: go on
                    // after the last.
                    self.sequence = next_sequence(tables, tx, terminal.number)?;
                    terminal.history = self.sequence + 1;
                }
                other => return other,
            }
        }
    }
}

/// The number after the last row of HISTORY that client `number` wrote.
fn next_sequence<T: Transaction + ?Sized>(tables: &Tables, tx: &mut T, number: u32) -> Result<u32> {
    let low = schema::key::history(number, 0);
    let high = schema::key::history(number, u32::MAX);
    let last = tx.scan(tables.history, Range::closed(&low, &high).reverse().limit(1))?;
    let last = tx.entries(last)?.first().map(|&entry| tx.key(entry)).transpose()?;
    Ok(last.map_or(0, |key| schema::key::history_sequence(key) + 1))
}

/// The most bytes of a payment's text: five numbers, an amount and what is between them.
pub(super) const NOTE_MAX: usize = 40;

/// The most bytes of a row of HISTORY.
const HISTORY_MAX: usize = history::BYTES + NAMES_MAX;

/// The most letters of H_DATA: two names of ten, and four blanks.
const NAMES_MAX: usize = 24;

/// H_DATA: the names of warehouse and district.
pub(super) struct Names {
    text: [u8; NAMES_MAX],
    length: usize,
}

impl Names {
    /// The first half.
    #[inline]
    pub(super) fn of_warehouse(name: &[u8]) -> Self {
        let mut names = Self { text: [0; NAMES_MAX], length: 0 };
        names.append(name);
        names.append(b"    ");
        names
    }

    /// Appends to it.
    #[inline]
    pub(super) fn append(&mut self, text: &[u8]) {
        self.text[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }
}
