//! Stock-level (clause 2.8): how many of the items sold by the last 20 orders of a district are low.
//!
//! One look-up of the district, one scan of some 200 order lines, and the stock of each distinct
//! item, looked up together.

use super::schema::{self, Tables, district, order_line, stock};
use super::terminal::Terminal;
use crate::workload::present;
use chiliad_api::{Range, Result, Transaction};
use core::ops::ControlFlow;

/// Slots for items that were met: a power of two, well above the 300 that 20 orders can hold.
pub(super) const SLOTS: usize = 512;

/// The input of the terminal's user (clause 2.8.1), and buffers.
pub(super) struct Request {
    pub(super) w: u16,
    pub(super) d: u8,
    pub(super) threshold: u32,
    /// The items met, hashed; 0 is free.
    met: Box<[u32; SLOTS]>,
    /// The keys of their stock.
    keys: Vec<[u8; 6]>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            w: 0,
            d: 0,
            threshold: 0,
            met: Box::new([0; SLOTS]),
            keys: Vec::with_capacity(SLOTS),
        }
    }
}

impl Request {
    pub(super) fn draw(&mut self, terminal: &mut Terminal) {
        self.w = terminal.home;
        self.d = terminal.own_district();
        self.threshold = terminal.random.range(10, 20);
    }

    pub(super) fn run<T: Transaction + ?Sized>(
        &mut self,
        tables: &Tables,
        tx: &mut T,
    ) -> Result<u64> {
        let row = present(tx.get(tables.district, &schema::key::district(self.w, self.d))?)?;
        let next = district::D_NEXT_O_ID.get(tx.bytes(row)?);
        let low = schema::key::order_line(self.w, self.d, next.saturating_sub(20), 0);
        let high = schema::key::order_line(self.w, self.d, next, 0);
        self.met.fill(0);
        self.keys.clear();
        tx.visit(tables.order_line, Range::between(&low, &high), &mut |_, line| {
            self.meet(order_line::OL_I_ID.get(line));
            ControlFlow::Continue(())
        })?;
        let (mut low_stocks, mut met) = (0, 0);
        let keys: Vec<_> = self.keys.iter().map(|key| &key[..]).collect();
        tx.visit_many(tables.stock, &keys, &mut |_, row| {
            met += 1;
            low_stocks += u64::from(stock::S_QUANTITY.get(row) < self.threshold);
            ControlFlow::Continue(())
        })?;
        // Stock stays: a line of an item that has none is of a state that never was.
        present((met == self.keys.len()).then_some(low_stocks))
    }

    /// Remembers an item, unless it was met before.
    #[inline]
    fn meet(&mut self, item: u32) {
        let mut slot = slot(item);
        // In a state that never was there may be more lines than 20 orders have.
        while self.met[slot] != item && self.keys.len() < SLOTS - 1 {
            if self.met[slot] == 0 {
                self.met[slot] = item;
                self.keys.push(schema::key::stock(self.w, item));
                return;
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// The slot where the search for an item begins.
#[inline]
pub(super) fn slot(item: u32) -> usize {
    (item.wrapping_mul(0x9e37_79b9) >> 23) as usize
}
