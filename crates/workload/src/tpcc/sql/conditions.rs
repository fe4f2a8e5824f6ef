//! The rows that the conditions are about, read by SQL.

use super::statements::Statement;
use super::values::Money;
use crate::sql::connection::{Connection, int, number, numbers};
use crate::tpcc::consistency::{Balances, CHUNK, HISTORY_CHUNK, Line, Order, Payment, Piece, Rows};
use crate::tpcc::rules::Rules;
use chiliad_api::{Result, Transaction};

/// Queries of SQL.
pub(super) struct Queried<'a> {
    pub rules: &'a Rules,
    pub connection: Connection,
}

impl Rows for Queried<'_> {
    fn payments(
        &self,
        tx: &mut dyn Transaction,
        after: Option<(u32, u32)>,
        rows: &mut Vec<Payment>,
    ) -> Result<Option<(u32, u32)>> {
        let (mut client, mut last) = match after {
            Some((client, last)) => (i64::from(client), i64::from(last)),
            None => (-1, -1),
        };
        loop {
            if client >= 0 {
                let of_client = [int(client), int(last)];
                self.connection.each(tx, Statement::Payments, &of_client, &mut |row| {
                    if let [found, parts @ .., amount] = row {
                        last = number(found);
                        rows.push(payment(numbers(parts), Money::to_cents(amount)));
                    }
                })?;
                if rows.len() >= HISTORY_CHUNK {
                    return Ok(Some((client as u32, last as u32)));
                }
            }
            let Some([next]) =
                self.connection.numbers(tx, Statement::NextClient, &[int(client)])?
            else {
                return Ok(None);
            };
            (client, last) = (next, -1);
        }
    }

    fn warehouse(&self, tx: &mut dyn Transaction, w: u16) -> Result<(u64, Vec<(u32, u64)>)> {
        let (mut w_ytd, mut districts) = (0, Vec::new());
        self.connection.each(tx, Statement::Districts, &[int(w)], &mut |row| {
            if let [of_warehouse, next, of_district] = row {
                w_ytd = Money::to_cents(of_warehouse).cast_unsigned();
                let d_ytd = Money::to_cents(of_district).cast_unsigned();
                districts.push((number(next) as u32, d_ytd));
            }
        })?;
        districts.resize(usize::from(self.rules.sizes.districts), (0, 0));
        Ok((w_ytd, districts))
    }

    fn piece(
        &self,
        tx: &mut dyn Transaction,
        (w, d): (u16, u8),
        from: u32,
        piece: &mut Piece,
    ) -> Result<()> {
        let connection = &self.connection;
        let start = [int(w), int(d), int(from)];
        piece.orders.clear();
        connection.each(tx, Statement::Orders, &start, &mut |row| {
            let [o, c, carrier, lines] = numbers(row);
            let (c, carrier, lines) = (c as u16, carrier as u8, lines as u8);
            piece.orders.push(Order { o: o as u32, c, carrier, lines });
        })?;
        let end = match piece.orders.last() {
            Some(last) if piece.orders.len() == CHUNK => int(last.o),
            _ => int(i32::MAX),
        };
        let [w, d, from] = start;
        let range = [w, d, from, end];
        piece.new_orders.clear();
        connection.each(tx, Statement::NewOrders, &range, &mut |row| {
            let [o] = numbers(row);
            piece.new_orders.push(o as u32);
        })?;
        piece.lines.clear();
        connection.each(tx, Statement::Lines, &range, &mut |row| {
            if let [o, amount, delivered] = row {
                piece.lines.push(Line {
                    o: number(o) as u32,
                    amount: Money::to_cents(amount) as u32,
                    is_delivered: number(delivered) == 1,
                });
            }
        })?;
        Ok(())
    }

    fn customers(
        &self,
        tx: &mut dyn Transaction,
        (w, d): (u16, u8),
        first: usize,
        count: usize,
    ) -> Result<Vec<Option<Balances>>> {
        let mut found = vec![None; count];
        let range = [int(w), int(d), int(first as i64 + 1), int((first + count) as i64)];
        self.connection.each(tx, Statement::Customers, &range, &mut |row| {
            if let [c, balance, paid, delivered] = row {
                let place = usize::try_from(number(c)).unwrap_or(0).wrapping_sub(first + 1);
                if let Some(slot) = found.get_mut(place) {
                    let (balance, paid) = (Money::to_cents(balance), Money::to_cents(paid));
                    *slot = Some((balance, paid, number(delivered) as u32));
                }
            }
        })?;
        Ok(found)
    }
}

fn payment([c_w, c_d, c, w, d]: [i64; 5], amount: i64) -> Payment {
    Payment {
        customer: (c_w as u16, c_d as u8, c as u16),
        paid_in: (w as u16, d as u8),
        amount: amount as u32,
    }
}
