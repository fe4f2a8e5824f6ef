//! The parent's books of TPC-C: every order, delivery and payment that was acknowledged.

use super::Load;
use crate::kill::ledger::Findings;
use crate::kill::said::Said;
use chiliad::raw::{Transaction, Untyped};
use chiliad::{Database, RunOptions};
use chiliad_workload::Workload;
use chiliad_workload::tpcc::schema::{Tables, history, key, order};
use std::collections::{BTreeMap, BTreeSet};

/// Warehouse, district, number.
type Order = (u16, u8, u32);

/// Rows looked up in one transaction.
const CHUNK: usize = 500;

/// The acknowledgements since the last load.
#[derive(Default)]
pub struct Books {
    /// The load was complete, durable.
    ready: bool,
    /// Orders, with their lines.
    orders: BTreeMap<Order, u8>,
    delivered: BTreeSet<Order>,
    /// Payments by writer and number, with their amounts.
    paid: BTreeMap<(u32, u32), u32>,
    /// Orders that were there at the last comparison and are not in the books: loaded, or under way
    /// when the process was killed.
    others: Option<usize>,
}

impl Books {
    /// Takes note of a line of the child; whether it acknowledges a transaction.
    pub fn note(&mut self, said: &Said) -> bool {
        match *said {
            Said::Resets => *self = Self::default(),
            Said::Ready => self.ready = true,
            Said::Ordered { order, lines } => {
                self.orders.insert(order, lines);
                return true;
            }
            // One transaction delivers several: it is counted by none of them.
            Said::Delivered { order } => {
                self.delivered.insert(order);
            }
            Said::Paid { writer, number, amount } => {
                self.paid.insert((writer, number), amount);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Takes what is there for granted.
    pub fn adopt(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        self.compare(db, findings)?;
        findings.unacknowledged = 0;
        Ok(())
    }

    /// Compares, and goes on from what is there.
    pub fn compare(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        let Some(load) = Load::open(db)? else {
            let lost = self.orders.len() + self.paid.len();
            findings.lose(lost as u64, || "every order and payment is gone".into());
            findings.demand(!self.ready, || "the load is gone".into());
            return Ok(());
        };
        self.ready = true;
        conditions(&load, db, findings)?;
        let tables = load.named();
        let orders: Vec<(Order, u8)> = self.orders.iter().map(|(&o, &lines)| (o, lines)).collect();
        each(db, &orders, |tx, &(order, lines)| {
            let whole = self.is_whole(tx, &tables, order, lines)?;
            findings.lose(u64::from(!whole), || {
                format!("order {order:?} of {lines} lines was acknowledged and is not there, or not whole")
            });
            Ok(())
        })?;
        let paid: Vec<_> = self.paid.iter().map(|(&at, &amount)| (at, amount)).collect();
        each(db, &paid, |tx, &((writer, number), amount)| {
            let row = tx.get(tables.history, &key::history(writer, number))?;
            let found = row.map(|row| tx.bytes(row)).transpose()?;
            let found = found.map(|bytes| history::H_AMOUNT.get(bytes));
            findings.lose(u64::from(found != Some(amount)), || {
                format!(
                    "payment {number} of client {writer} of {amount} was acknowledged: {found:?}"
                )
            });
            Ok(())
        })?;
        let others = load.orders(db)?.saturating_sub(self.orders.len());
        let before = self.others.replace(others).unwrap_or(others);
        findings.unacknowledged += others.saturating_sub(before) as u64;
        Ok(())
    }

    /// Whether an order is there with all its lines and entries, and delivered if that was
    /// acknowledged.
    fn is_whole(
        &self,
        tx: &mut Untyped<'_>,
        tables: &Tables,
        (w, d, o): Order,
        lines: u8,
    ) -> chiliad::Result<bool> {
        let Some(row) = tx.get(tables.order, &key::order(w, d, o))? else { return Ok(false) };
        let row = tx.bytes(row)?;
        let (customer, carrier) = (order::O_C_ID.get(row), order::O_CARRIER_ID.get(row));
        let mut whole = order::O_OL_CNT.get(row) == lines;
        let entry = key::order_customer(w, d, customer, o);
        whole &= tx.get(tables.order_customer, &entry)?.is_some();
        for line in 1..=lines {
            whole &= tx.get(tables.order_line, &key::order_line(w, d, o, line))?.is_some();
        }
        let waits = tx.get(tables.new_order, &key::order(w, d, o))?.is_some();
        let delivered = self.delivered.contains(&(w, d, o));
        Ok(whole && waits == (carrier == 0) && !(delivered && waits))
    }
}

/// The workload's own conditions.
fn conditions(load: &Load, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
    let read_only = RunOptions::default().read_only();
    let mut run = |body: &mut dyn FnMut(&mut dyn Transaction) -> chiliad::Result<()>| {
        db.run_with(&read_only, |tx| body(tx.raw()))
    };
    for condition in load.workload.conditions(&load.tables, &mut run)? {
        if let Some(failure) = condition.failure {
            findings.demand(false, || format!("condition {}: {failure}", condition.name));
        }
    }
    Ok(())
}

/// Looks at each item, many in a transaction. Nobody else is at work: nothing is looked at twice.
fn each<T>(
    db: &Database,
    items: &[T],
    mut look: impl FnMut(&mut Untyped<'_>, &T) -> chiliad::Result<()>,
) -> chiliad::Result<()> {
    let read_only = RunOptions::default().read_only();
    items.chunks(CHUNK).try_for_each(|chunk| {
        db.run_with(&read_only, |tx| chunk.iter().try_for_each(|item| look(tx.raw(), item)))
    })
}
