//! A transaction that notes what it did, so that it can be acknowledged row by row.

use crate::kill::said::Said;
use chiliad::Result;
use chiliad::raw::{Entry, Get, Number, Range, Row, Scanned, TableId, Transaction};
use chiliad_workload::tpcc::schema::{Tables, history, order};

/// Passes everything on; orders, deliveries and payments become lines.
pub struct Witness<'a, T: Transaction> {
    tx: &'a mut T,
    tables: Tables,
    /// Orders that were looked up, with their keys.
    seen: Vec<(Row, [u8; 7])>,
    lines: &'a mut Vec<u8>,
}

impl<'a, T: Transaction> Witness<'a, T> {
    pub fn new(tx: &'a mut T, tables: Tables, lines: &'a mut Vec<u8>) -> Self {
        Self { tx, tables, seen: Vec::new(), lines }
    }

    fn note_seen(&mut self, table: TableId, key: &[u8], row: Option<Row>) {
        if let (true, Some(row), Ok(key)) = (table == self.tables.order, row, key.try_into()) {
            self.seen.push((row, key));
        }
    }
}

/// Warehouse, district and number of an order.
fn order_of(key: [u8; 7]) -> (u16, u8, u32) {
    let [a, b, d, o @ ..] = key;
    (u16::from_be_bytes([a, b]), d, u32::from_be_bytes(o))
}

impl<T: Transaction> Transaction for Witness<'_, T> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let row = self.tx.get(table, key)?;
        self.note_seen(table, key, row);
        Ok(row)
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let row = self.tx.get_for_update(table, key)?;
        self.note_seen(table, key, row);
        Ok(row)
    }

    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        self.tx.get_many(requests, rows)?;
        let both = requests.iter().zip(rows);
        both.for_each(|(get, row)| self.note_seen(get.table, get.key, *row));
        Ok(())
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.tx.scan(table, range)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.tx.scan_index(table, index, range)
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.tx.entries(scanned)
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        self.tx.key(entry)
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        self.tx.table_of(row)
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.tx.bytes(row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.tx.insert(table, key, value)?;
        if table == self.tables.order
            && let Ok(key) = key.try_into()
        {
            let lines = order::O_OL_CNT.get(value);
            Said::Ordered { order: order_of(key), lines }.write(self.lines);
        }
        if table == self.tables.history
            && let &[a, b, c, d, e, f, g, h] = key
        {
            let writer = u32::from_be_bytes([a, b, c, d]);
            let number = u32::from_be_bytes([e, f, g, h]);
            let amount = history::H_AMOUNT.get(value);
            Said::Paid { writer, number, amount }.write(self.lines);
        }
        Ok(())
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.tx.update(row, value)
    }

    /// Only a delivery changes an order.
    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        if let Some(&(_, key)) = self.seen.iter().find(|(seen, _)| *seen == row) {
            Said::Delivered { order: order_of(key) }.write(self.lines);
        }
        self.tx.modify(row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.tx.put(table, key, value)
    }

    fn add(&mut self, table: TableId, key: &[u8], number: Number, n: i64) -> Result<bool> {
        self.tx.add(table, key, number, n)
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        self.tx.remove_row(row)
    }
}
