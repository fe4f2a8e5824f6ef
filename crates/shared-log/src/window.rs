//! A stretch of a log that is held in memory: its newest records, in batches.

use crate::batch::Batch;
use chiliad_machine::shared_log::Position;
use std::collections::VecDeque;
use std::sync::Arc;

/// A batch, and the position of its first record.
pub(crate) type Placed = (Position, Arc<Batch>);

/// The records from `first` up to `next`.
#[derive(Debug)]
pub(crate) struct Window {
    batches: VecDeque<Placed>,
    first: Position,
    next: Position,
    bytes: usize,
}

impl Window {
    /// No records; the next one is at `next`.
    pub fn new(next: Position) -> Self {
        Self { batches: VecDeque::new(), first: next, next, bytes: 0 }
    }

    /// The first position that is held; that of the next record, if none is.
    pub fn first(&self) -> Position {
        self.first
    }

    /// The position of the next record.
    pub fn next(&self) -> Position {
        self.next
    }

    /// The bytes of the records that are held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a batch.
    pub fn push(&mut self, batch: Arc<Batch>) {
        if batch.len() == 0 {
            return;
        }
        self.bytes += batch.bytes();
        let first = self.next;
        self.next += batch.len() as Position;
        self.batches.push_back((first, batch));
    }

    /// Forgets the records below `position`, as far as there are records.
    pub fn trim(&mut self, position: Position) {
        self.first = position.clamp(self.first, self.next);
        while self.batches.front().is_some_and(|it| end(it) <= self.first) {
            self.pop();
        }
    }

    /// Forgets the oldest batches until no more than `bytes` are held.
    pub fn shrink_to(&mut self, bytes: usize) {
        while self.bytes > bytes {
            self.pop();
            self.first = self.batches.front().map_or(self.next, |it| it.0);
        }
    }

    fn pop(&mut self) {
        let popped = self.batches.pop_front();
        self.bytes -= popped.map_or(0, |(_, batch)| batch.bytes());
    }

    /// The batches that hold the record at `from`, which is not below [`Window::first`], and the next ones, up to
    /// about `bytes`.
    pub fn since(&self, from: Position, bytes: usize) -> Vec<Placed> {
        debug_assert!(from >= self.first, "{from} is held, or will be");
        let mut found = Vec::new();
        let mut left = bytes;
        let start = self.batches.partition_point(|it| end(it) <= from);
        for it in self.batches.range(start..) {
            found.push(it.clone());
            if it.1.bytes() >= left {
                break;
            }
            left -= it.1.bytes();
        }
        found
    }
}

/// The position after the last record of a batch.
fn end(placed: &Placed) -> Position {
    placed.0 + placed.1.len() as Position
}

/// Hands the records from `from` on to `take` until they have `bytes` bytes, at least one; returns the position after
/// the last.
pub(crate) fn hand_over(
    found: &[Placed],
    from: Position,
    bytes: usize,
    take: &mut dyn FnMut(Position, &[u8]),
) -> Position {
    let mut next = from;
    let mut handed = 0;
    for (first, batch) in found {
        debug_assert!(*first <= next, "no gaps");
        for number in (next - first) as usize..batch.len() {
            if next > from && handed >= bytes {
                return next;
            }
            let record = batch.record(number);
            handed += record.len();
            take(next, record);
            next += 1;
        }
    }
    next
}
