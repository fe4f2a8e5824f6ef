//! Delivery (clause 2.7): the oldest new order of each district goes out. One transaction for all
//! ten; a district without a new order is skipped.
//!
//! Ten scans of one row take the orders from the queues; one group finds the orders, one the
//! customers; ten scans find the lines. It is deferred: the request waits in a queue for whoever runs those of its
//! warehouse, and what it has done is recorded (clause 2.7.2). The oldest is found from the left edge of the queue, where
//! earlier deliveries have removed all before it; no hint outside the database.

use super::customer;
use super::new_order::LINES_MAX;
use super::rules::Rules;
use super::schema::{self, Tables, order, order_line};
use super::terminal::Terminal;
use crate::workload::present;
use crate::{DEFERRED_WORDS, Deferred, Outcome};
use chiliad_api::{Get, Range, Result, Row, TableId, Transaction};

pub(super) const DISTRICTS_MAX: usize = 10;

/// The input of the terminal's user (clause 2.7.1).
#[derive(Default)]
pub(super) struct Request {
    pub(super) w: u16,
    pub(super) carrier: u8,
    pub(super) date: u64,
    pub(super) districts: u8,
    /// The orders that the last attempt sent out.
    outcome: Outcome,
}

/// A delivery that is deferred, as its words say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The warehouse, from one.
    pub warehouse: u16,
    /// The carrier, 1 to 10.
    pub carrier: u8,
    /// The date.
    pub date: u64,
}

impl Delivery {
    /// The delivery that these words stand for.
    #[must_use]
    pub fn of(words: [u64; DEFERRED_WORDS]) -> Self {
        Self { warehouse: words[0] as u16, carrier: (words[0] >> 16) as u8, date: words[1] }
    }

    /// The words that stand for it.
    #[must_use]
    pub fn words(self) -> [u64; DEFERRED_WORDS] {
        [u64::from(self.warehouse) | u64::from(self.carrier) << 16, self.date]
    }
}

/// An order that goes out.
#[derive(Clone, Copy, Default)]
struct Outgoing {
    d: u8,
    o: u32,
    lines: usize,
    /// The amount of its lines.
    amount: i64,
}

impl Request {
    pub(super) fn draw(&mut self, rules: &Rules, terminal: &mut Terminal) {
        self.w = terminal.home;
        self.carrier = terminal.random.range(1, 10) as u8;
        self.date = terminal.date;
        self.districts = rules.sizes.districts;
    }

    /// The request as one that may wait.
    pub(super) fn deferred(&self) -> Deferred {
        let Self { w: warehouse, carrier, date, .. } = *self;
        let words = Delivery { warehouse, carrier, date }.words();
        Deferred { partition: u32::from(warehouse) - 1, words }
    }

    /// Takes a request that has waited; the partition that it touches goes to `partitions`.
    pub(super) fn resume(
        &mut self,
        rules: &Rules,
        words: [u64; DEFERRED_WORDS],
        partitions: &mut Vec<u32>,
    ) {
        let Delivery { warehouse: w, carrier, date } = Delivery::of(words);
        *self = Self { w, carrier, date, districts: rules.sizes.districts, ..Self::default() };
        partitions.push(u32::from(w) - 1);
    }

    /// Takes note of the orders that went out: district and order, in the order of districts.
    pub(super) fn went_out(&mut self, orders: impl Iterator<Item = (u8, u32)>) {
        let mut orders = orders.peekable();
        self.outcome = Outcome::default();
        for d in 1..=self.districts {
            self.outcome.push(orders.next_if(|&(of, _)| of == d).map(|(_, o)| o));
        }
    }

    /// What the delivery has done, which has committed.
    pub(super) fn outcome(&self) -> Outcome {
        self.outcome
    }

    pub(super) fn run<T: Transaction + ?Sized>(
        &mut self,
        tables: &Tables,
        tx: &mut T,
    ) -> Result<u64> {
        let mut room = [Outgoing::default(); DISTRICTS_MAX];
        let count = self.take_oldest(tables, tx, &mut room)?;
        let outgoing = &mut room[..count];

        let mut keys = [([0; 7], [0; 8]); DISTRICTS_MAX];
        for (keys, &Outgoing { d, o, .. }) in keys.iter_mut().zip(&*outgoing) {
            *keys = (schema::key::order(self.w, d, o), schema::key::order_line(self.w, d, o, 1));
        }
        let ahead = keys.each_ref().map(|(_, line)| Get::approach(tables.order_line, line));
        let orders = keys[..count].iter().map(|(order, _)| &order[..]);
        let orders = find(tx, tables.order, orders, &ahead[..count])?;
        let mut keys = [[0; 5]; DISTRICTS_MAX];
        for (at, order) in outgoing.iter_mut().enumerate() {
            let row = tx.modify(present(orders[at])?)?;
            order::O_CARRIER_ID.set(row, self.carrier);
            order.lines = usize::from(order::O_OL_CNT.get(row));
            keys[at] = schema::key::customer(self.w, order.d, order::O_C_ID.get(row));
        }
        for order in &mut *outgoing {
            self.deliver_lines(tables, tx, order)?;
        }
        let customers = keys[..count].iter().map(|key| &key[..]);
        let customers = find(tx, tables.customer, customers, &[])?;
        for (at, order) in outgoing.iter().enumerate() {
            customer::deliver(tx.modify(present(customers[at])?)?, order.amount);
        }
        self.went_out(outgoing.iter().map(|order| (order.d, order.o)));
        Ok(count as u64)
    }

    /// Takes the oldest new order of each district out of its queue. Returns how many there were.
    fn take_oldest<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        outgoing: &mut [Outgoing; DISTRICTS_MAX],
    ) -> Result<usize> {
        let mut count = 0;
        for d in 1..=self.districts {
            let low = schema::key::order(self.w, d, 0);
            let high = schema::key::order(self.w, d, u32::MAX);
            let oldest = tx.scan(tables.new_order, Range::closed(&low, &high).limit(1))?;
            let Some(&entry) = tx.entries(oldest)?.first() else { continue };
            let o = schema::key::order_number(tx.key(entry)?);
            tx.remove_row(entry.row)?;
            outgoing[count] = Outgoing { d, o, ..Outgoing::default() };
            count += 1;
        }
        Ok(count)
    }

    fn deliver_lines<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        order: &mut Outgoing,
    ) -> Result<()> {
        let low = schema::key::order_line(self.w, order.d, order.o, 0);
        let high = schema::key::order_line(self.w, order.d, order.o, u8::MAX);
        let range = Range::closed(&low, &high).limit(order.lines);
        let lines = tx.scan(tables.order_line, range)?;
        let mut rows = [None; LINES_MAX];
        for (row, entry) in rows.iter_mut().zip(tx.entries(lines)?) {
            *row = Some(entry.row);
        }
        for line in rows.into_iter().flatten() {
            let row = tx.modify(line)?;
            order_line::OL_DELIVERY_D.set(row, self.date);
            order.amount += i64::from(order_line::OL_AMOUNT.get(row));
        }
        Ok(())
    }
}

/// Finds the rows with `keys`, to be written, at most one for each district, in one group that goes `ahead` to as many
/// other places at most.
fn find<'k, T: Transaction + ?Sized>(
    tx: &mut T,
    table: TableId,
    keys: impl Iterator<Item = &'k [u8]>,
    ahead: &[Get<'k>],
) -> Result<[Option<Row>; DISTRICTS_MAX]> {
    let mut gets = [Get::update(table, &[]); 2 * DISTRICTS_MAX];
    let mut count = 0;
    for get in keys.map(|key| Get::update(table, key)).chain(ahead.iter().copied()) {
        gets[count] = get;
        count += 1;
    }
    let mut rows = [None; 2 * DISTRICTS_MAX];
    tx.get_many(&gets[..count], &mut rows[..count])?;
    // An approach has no answer.
    Ok(core::array::from_fn(|at| rows[at]))
}
