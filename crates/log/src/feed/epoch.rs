//! The changes of one epoch: gathered from all writers, then put in order.

use crate::entry::{Transaction, Write, write_at};
use crate::position::Position;
use core::ops::Range;

/// The transactions of an epoch, as they were met.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Their writes as they stand in the log: a follower looks at each once, so taking them apart twice costs less than
    /// keeping the parts.
    bytes: Vec<u8>,
    /// Where each write begins.
    starts: Vec<usize>,
    transactions: Vec<TransactionAt>,
    /// Room for the order.
    ordered: Vec<(u32, usize)>,
}

#[derive(Debug)]
struct TransactionAt {
    order: u64,
    writer: u32,
    /// Its writes, by their places in the starts.
    writes: Range<usize>,
}

impl Gathered {
    /// Forgets the transactions and keeps the room.
    pub fn clear(&mut self) {
        let Self { bytes, starts, transactions, ordered } = self;
        bytes.clear();
        starts.clear();
        transactions.clear();
        ordered.clear();
    }

    /// Bytes of memory that it has.
    pub fn bytes_kept(&self) -> usize {
        let Self { bytes, starts, transactions, ordered } = self;
        bytes.capacity()
            + starts.capacity() * size_of::<usize>()
            + transactions.capacity() * size_of::<TransactionAt>()
            + ordered.capacity() * size_of::<(u32, usize)>()
    }

    /// Adds a transaction; whether all of it can be read.
    pub fn add(&mut self, transaction: &Transaction<'_>, writer: u32) -> bool {
        let first = self.starts.len();
        let mut start = self.bytes.len();
        self.bytes.extend_from_slice(transaction.bytes());
        while start < self.bytes.len() {
            let Some((_, next)) = write_at(&self.bytes, start) else { return false };
            debug_assert!(start < next && next <= self.bytes.len(), "a write has a head");
            self.starts.push(start);
            start = next;
        }
        let (order, writes) = (transaction.order, first..self.starts.len());
        self.transactions.push(TransactionAt { order, writer, writes });
        true
    }
}

/// The changes of one epoch in the order of their commits.
#[derive(Debug)]
pub struct EpochChanges {
    /// Before the first of them all.
    begins: Position,
    /// Its writes, `ordered`: each with the place of its transaction among those of the epoch, and where it begins.
    gathered: Gathered,
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
    pub(super) fn new(begins: Position, mut gathered: Gathered, first: u64) -> Self {
        let Gathered { starts, transactions, ordered, .. } = &mut gathered;
        // A stable sort: transactions of one writer with equal orders stay as its file has them, in every reading.
        transactions.sort_by_key(|it| (it.order, it.writer));
        ordered.reserve_exact(starts.len());
        for (number, transaction) in (0..).zip(transactions) {
            let writes = &starts[transaction.writes.clone()];
            ordered.extend(writes.iter().map(|&start| (number, start)));
        }
        debug_assert!(ordered.len() == starts.len(), "each write is in one transaction");
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(ordered.len());
        Self { begins: Position { index: 0, ..begins }, gathered, first }
    }

    /// The room that it takes, for another epoch.
    pub(super) fn into_room(self) -> Gathered {
        let mut room = self.gathered;
        room.clear();
        room
    }

    /// The places of the changes that a reader has not been given before.
    #[must_use]
    pub fn places(&self) -> Range<usize> {
        self.first..self.gathered.ordered.len()
    }

    /// The change at a place.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn at(&self, place: usize) -> WriteOf<'_> {
        let Gathered { bytes, ordered, .. } = &self.gathered;
        let (transaction, start) = ordered[place];
        let (write, _) = write_at(bytes, start).expect("it was read when it was gathered");
        let next = ordered.get(place + 1).map(|(transaction, _)| *transaction);
        WriteOf { write, transaction, is_last: next != Some(transaction) }
    }

    /// The position after the change at a place. After the last one it is that before the next epoch: nothing of this
    /// one is needed to go on.
    #[must_use]
    pub fn position_after(&self, place: usize) -> Position {
        if place + 1 >= self.gathered.ordered.len() {
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
