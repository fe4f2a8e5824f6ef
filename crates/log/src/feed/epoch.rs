//! The changes of one epoch: gathered from all writers, then put in order.

use crate::entry::{Transaction, Write};
use crate::position::Position;
use core::ops::Range;

/// The transactions of an epoch, as they were met.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Keys and values.
    bytes: Vec<u8>,
    writes: Vec<WriteAt>,
    transactions: Vec<TransactionAt>,
}

/// A write, its bytes elsewhere.
#[derive(Clone, Copy, Debug)]
struct WriteAt {
    table: u32,
    removed: bool,
    start: usize,
    key_bytes: usize,
    value_bytes: usize,
}

#[derive(Debug)]
struct TransactionAt {
    order: u64,
    writer: u32,
    writes: Range<usize>,
}

impl Gathered {
    /// Adds a transaction; whether all of it can be read.
    pub fn add(&mut self, transaction: &Transaction<'_>, writer: u32) -> bool {
        let first = self.writes.len();
        for write in transaction.writes() {
            let Some(Write { table, removed, key, value }) = write else { return false };
            let (key_bytes, value_bytes) = (key.len(), value.len());
            let start = self.bytes.len();
            self.writes.push(WriteAt { table, removed, start, key_bytes, value_bytes });
            self.bytes.extend_from_slice(key);
            self.bytes.extend_from_slice(value);
        }
        let (order, writes) = (transaction.order, first..self.writes.len());
        self.transactions.push(TransactionAt { order, writer, writes });
        true
    }
}

/// The changes of one epoch in the order of their commits.
#[derive(Debug)]
pub struct EpochChanges {
    /// Before the first of them all.
    begins: Position,
    bytes: Vec<u8>,
    /// In order, each with the place of its transaction among those of the epoch.
    writes: Vec<(u32, WriteAt)>,
    /// The first that the reader has not been given before.
    first: usize,
}

/// A change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteOf<'a> {
    /// What was written.
    pub write: Write<'a>,
    /// Counts the transactions of the epoch from 0.
    pub transaction: u32,
    /// Whether it is the last of its transaction.
    pub is_last: bool,
}

impl EpochChanges {
    pub(super) fn new(begins: Position, gathered: Gathered, first: u64) -> Self {
        let Gathered { bytes, writes, mut transactions } = gathered;
        // A stable sort: transactions of one writer with equal orders stay as its file has them, in every reading.
        transactions.sort_by_key(|it| (it.order, it.writer));
        let numbered = (0..).zip(transactions);
        let writes: Vec<(u32, WriteAt)> = numbered
            .flat_map(|(number, it)| it.writes.map(move |at| (number, at)))
            .map(|(number, at)| (number, writes[at]))
            .collect();
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(writes.len());
        Self { begins: Position { index: 0, ..begins }, bytes, writes, first }
    }

    /// The places of the changes that a reader has not been given before.
    #[must_use]
    pub fn places(&self) -> Range<usize> {
        self.first..self.writes.len()
    }

    /// The change at a place.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn at(&self, place: usize) -> WriteOf<'_> {
        let (transaction, at) = self.writes[place];
        let (key, value) =
            self.bytes[at.start..at.start + at.key_bytes + at.value_bytes].split_at(at.key_bytes);
        let write = Write { table: at.table, removed: at.removed, key, value };
        let next = self.writes.get(place + 1).map(|(transaction, _)| *transaction);
        WriteOf { write, transaction, is_last: next != Some(transaction) }
    }

    /// The position after the change at a place. After the last one it is that before the next epoch: nothing of this
    /// one is needed to go on.
    #[must_use]
    pub fn position_after(&self, place: usize) -> Position {
        if place + 1 >= self.writes.len() {
            return Position { epoch: self.begins.epoch + 1, ..self.begins };
        }
        Position { index: place as u64 + 1, ..self.begins }
    }

    /// The incarnation and the epoch.
    #[must_use]
    pub fn epoch(&self) -> (u32, u64) {
        (self.begins.incarnation, self.begins.epoch)
    }
}
