//! Handles of a transaction: rows for records that it has found, entries for the rows of a scan.

use crate::access::Access;
use chiliad_api::{Entry, Error, Numbers, Result, Row, Scanned};
use chiliad_machine::Machine;

/// The accesses and scan entries of one transaction, and the numbers that name them outside.
pub struct Handles<M: Machine> {
    pub accesses: Vec<Access<M>>,
    pub entries: Vec<Entry>,
    numbers: Numbers,
}

impl<M: Machine> Handles<M> {
    /// None yet.
    pub fn new() -> Self {
        Self { accesses: Vec::with_capacity(64), entries: Vec::new(), numbers: Numbers::new() }
    }

    /// Forgets those of the last transaction; their numbers are not given out again.
    #[inline]
    pub fn begin(&mut self) {
        self.numbers.pass(self.accesses.len());
        self.accesses.clear();
        self.entries.clear();
    }

    /// Remembers a record found for later use by its [`Row`].
    #[inline]
    pub fn note(&mut self, access: Access<M>) -> Row {
        let row = Row::from_number(self.numbers.number(self.accesses.len()));
        self.accesses.push(access);
        debug_assert!(self.place(row).is_ok(), "the row leads to its access");
        row
    }

    /// The access noted last.
    pub fn last(&self) -> &Access<M> {
        self.accesses.last().expect("just noted")
    }

    /// The index of the access that a row stands for.
    ///
    /// # Errors
    /// [`Error::ForeignHandle`]: it is none of this transaction's.
    #[inline]
    pub fn place(&self, row: Row) -> Result<usize> {
        let place = self.numbers.place(row.number().get());
        if place < self.accesses.len() { Ok(place) } else { Err(Error::ForeignHandle) }
    }

    /// The access that a row stands for.
    ///
    /// # Errors
    /// As [`Handles::place`].
    #[inline]
    pub fn access(&self, row: Row) -> Result<&Access<M>> {
        Ok(&self.accesses[self.place(row)?])
    }

    /// The handle of the entries from `start` on, which are those of one scan.
    pub fn scanned(&self, start: usize) -> Scanned {
        debug_assert!(start <= self.entries.len(), "a scan only adds entries");
        let length = (self.entries.len() - start) as u32;
        Scanned::from_parts(self.numbers.first() + start as u64, length)
    }

    /// The entries that a scan stands for.
    ///
    /// # Errors
    /// [`Error::ForeignHandle`]: it is none of this transaction's.
    #[inline]
    pub fn entries_of(&self, scanned: Scanned) -> Result<&[Entry]> {
        let start = self.numbers.place(scanned.parts().0);
        self.entries
            .get(start..)
            .and_then(|rest| rest.get(..scanned.len()))
            .ok_or(Error::ForeignHandle)
    }
}
