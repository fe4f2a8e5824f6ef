//! [`Transaction`] on a view: what lets workloads run as they are.

use crate::attempt::Attempt;
use crate::view::View;
use chiliad_api::{Entry, Range, Result, Row, Scanned, TableId, Transaction};
use chiliad_machine::tasks::Lines;

/// The statements of a transaction, in one task. What they write is in the database at once.
pub struct Statements<'t, 'v, T: Lines> {
    view: &'t mut View<'v, T>,
    attempt: &'t mut Attempt,
}

impl<'t, 'v, T: Lines> Statements<'t, 'v, T> {
    /// Begins a transaction on a view, with room of the caller's to work in.
    pub fn begin(view: &'t mut View<'v, T>, attempt: &'t mut Attempt) -> Self {
        attempt.begin(false);
        Self { view, attempt }
    }

    /// Ends the transaction with its writes.
    ///
    /// # Errors
    /// Why changes made by [`Transaction::modify`] could not be made; all are taken back then.
    pub fn commit(self) -> Result<()> {
        self.attempt.commit(self.view).map(|_| ())
    }

    /// Takes all writes back.
    pub fn rollback(self) {
        self.attempt.rollback(self.view);
    }
}

impl<T: Lines> Transaction for Statements<'_, '_, T> {
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.attempt.find(self.view, table, key)
    }

    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        self.get(table, key)
    }

    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned> {
        self.attempt.scan(self.view, table, &range)
    }

    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned> {
        self.attempt.scan_index(self.view, table, index, &range)
    }

    fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        self.attempt.entries(scanned)
    }

    fn key(&self, entry: Entry) -> Result<&[u8]> {
        self.attempt.key(entry)
    }

    fn table_of(&self, row: Row) -> Result<TableId> {
        self.attempt.table_of(row)
    }

    fn bytes(&self, row: Row) -> Result<&[u8]> {
        self.attempt.bytes(row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.attempt.insert(self.view, table, key, value)
    }

    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        self.attempt.insert_parts(self.view, table, key, parts)
    }

    fn groups(&self, table: TableId) -> Result<usize> {
        Ok(self.view.table(table).spec.groups.len())
    }

    fn update(&mut self, row: Row, value: &[u8]) -> Result<()> {
        self.attempt.change(self.view, row, Some(value))
    }

    fn modify(&mut self, row: Row) -> Result<&mut [u8]> {
        self.attempt.modify(self.view, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        self.attempt.put(self.view, table, key, value)
    }

    fn remove_row(&mut self, row: Row) -> Result<()> {
        self.attempt.remove(self.view, row)
    }
}
