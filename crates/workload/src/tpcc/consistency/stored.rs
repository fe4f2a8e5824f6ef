//! The rows that the procedures read and write.

use super::{Balances, CHUNK, HISTORY_CHUNK, Line, Order, Payment, Piece, Rows};
use crate::tpcc::rules::Rules;
use crate::tpcc::schema::{
    self, Tables, customer, district, history, order, order_line, total, warehouse,
};
use crate::workload::present;
use chiliad_api::{Get, Range, Result, TableId, Transaction};
use core::ops::Bound;

/// The tables of the procedures.
pub(crate) struct Stored<'a> {
    pub rules: &'a Rules,
    pub tables: Tables,
}

impl Rows for Stored<'_> {
    fn payments(
        &self,
        tx: &mut dyn Transaction,
        after: Option<(u32, u32)>,
        rows: &mut Vec<Payment>,
    ) -> Result<Option<(u32, u32)>> {
        let after = after.map(|(writer, number)| schema::key::history(writer, number));
        let low = after.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..]));
        let range = Range { low, ..Range::all() }.limit(HISTORY_CHUNK);
        let scanned = tx.scan(self.tables.history, range)?;
        let entries = tx.entries(scanned)?;
        for entry in entries {
            rows.push(payment(tx.bytes(entry.row)?));
        }
        let last = entries.last().filter(|_| rows.len() == HISTORY_CHUNK);
        let key = last.map(|&entry| tx.key(entry)).transpose()?;
        Ok(key.map(|key| (schema::key::history_writer(key), schema::key::history_sequence(key))))
    }

    fn warehouse(&self, tx: &mut dyn Transaction, w: u16) -> Result<(u64, Vec<(u32, u64)>)> {
        let key = schema::key::warehouse(w);
        let row = present(tx.get(self.tables.warehouse, &key)?)?;
        let mut w_ytd = warehouse::W_YTD.get(tx.bytes(row)?);
        let keys: Vec<[u8; 3]> =
            (1..=self.rules.sizes.districts).map(|d| schema::key::district(w, d)).collect();
        let gets: Vec<Get<'_>> =
            keys.iter().map(|key| Get::read(self.tables.district, key)).collect();
        let mut rows = vec![None; gets.len()];
        tx.get_many(&gets, &mut rows)?;
        let mut districts = Vec::with_capacity(rows.len());
        for row in rows {
            let row = tx.bytes(present(row)?)?;
            districts.push((district::D_NEXT_O_ID.get(row), district::D_YTD.get(row)));
        }
        if let Some(totals) = self.tables.totals {
            w_ytd = total(tx, totals.warehouse, &key)?;
            for (key, (_, d_ytd)) in keys.iter().zip(&mut districts) {
                *d_ytd = total(tx, totals.district, key)?;
            }
        }
        Ok((w_ytd, districts))
    }

    fn piece(
        &self,
        tx: &mut dyn Transaction,
        (w, d): (u16, u8),
        from: u32,
        piece: &mut Piece,
    ) -> Result<()> {
        let low = schema::key::order(w, d, from);
        let high = schema::key::order(w, d, u32::MAX);
        let scanned = tx.scan(self.tables.order, Range::closed(&low, &high).limit(CHUNK))?;
        piece.orders.clear();
        for &entry in tx.entries(scanned)? {
            let row = tx.bytes(entry.row)?;
            piece.orders.push(Order {
                o: schema::key::order_number(tx.key(entry)?),
                c: order::O_C_ID.get(row),
                carrier: order::O_CARRIER_ID.get(row),
                lines: order::O_OL_CNT.get(row),
            });
        }
        let end = match piece.orders.last() {
            Some(last) if piece.orders.len() == CHUNK => last.o,
            _ => u32::MAX,
        };

        let high = schema::key::order(w, d, end);
        let scanned = tx.scan(self.tables.new_order, Range::closed(&low, &high))?;
        piece.new_orders.clear();
        for &entry in tx.entries(scanned)? {
            piece.new_orders.push(schema::key::order_number(tx.key(entry)?));
        }

        let low = schema::key::order_line(w, d, from, 0);
        let high = schema::key::order_line(w, d, end, u8::MAX);
        let scanned = tx.scan(self.tables.order_line, Range::closed(&low, &high))?;
        piece.lines.clear();
        for &entry in tx.entries(scanned)? {
            let row = tx.bytes(entry.row)?;
            piece.lines.push(Line {
                o: schema::key::order_and_line(tx.key(entry)?).0,
                amount: order_line::OL_AMOUNT.get(row),
                is_delivered: order_line::OL_DELIVERY_D.get(row) != 0,
            });
        }
        Ok(())
    }

    fn customers(
        &self,
        tx: &mut dyn Transaction,
        (w, d): (u16, u8),
        first: usize,
        count: usize,
    ) -> Result<Vec<Option<Balances>>> {
        let keys: Vec<[u8; 5]> =
            (first + 1..=first + count).map(|c| schema::key::customer(w, d, c as u16)).collect();
        let gets: Vec<Get<'_>> =
            keys.iter().map(|key| Get::read(self.tables.customer, key)).collect();
        let mut rows = vec![None; count];
        tx.get_many(&gets, &mut rows)?;
        let read = |row: &[u8]| {
            let ytd = customer::C_YTD_PAYMENT.get(row) as i64;
            (customer::C_BALANCE.get(row), ytd, customer::C_DELIVERY_CNT.get(row))
        };
        rows.into_iter().map(|row| row.map(|row| tx.bytes(row).map(read)).transpose()).collect()
    }
}

fn payment(row: &[u8]) -> Payment {
    use history::{H_AMOUNT, H_C_D_ID, H_C_ID, H_C_W_ID, H_D_ID, H_W_ID};
    Payment {
        customer: (H_C_W_ID.get(row), H_C_D_ID.get(row), H_C_ID.get(row)),
        paid_in: (H_W_ID.get(row), H_D_ID.get(row)),
        amount: H_AMOUNT.get(row),
    }
}

/// A total that has a row of its own.
fn total(tx: &mut dyn Transaction, table: TableId, key: &[u8]) -> Result<u64> {
    let row = present(tx.get(table, key)?)?;
    Ok(total::YTD.get(tx.bytes(row)?))
}
