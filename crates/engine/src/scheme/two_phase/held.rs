//! The locks that a transaction holds.

use super::word::Mode;
use crate::record_slots::RecordSlots;
use chiliad_machine::Machine;
use chiliad_storage::RecordRef;

/// A locked record.
#[derive(Clone, Copy)]
pub(super) struct Lock<M: Machine> {
    pub record: RecordRef<M>,
    pub mode: Mode,
}

/// Each locked record once, in the order of locking.
pub(super) struct Held<M: Machine> {
    locks: Vec<Lock<M>>,
    slots: RecordSlots,
}

impl<M: Machine> Held<M> {
    pub fn new() -> Self {
        Self { locks: Vec::with_capacity(64), slots: RecordSlots::new() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.locks.len()
    }

    /// The lock of `record`.
    #[inline]
    pub fn find(&mut self, record: RecordRef<M>) -> Option<&mut Lock<M>> {
        if self.locks.is_empty() {
            return None;
        }
        let position = self.slots.find(record, |at| self.locks[at].record)?;
        Some(&mut self.locks[position as usize])
    }

    /// Takes note of a lock on a record that had none.
    #[inline]
    pub fn add(&mut self, record: RecordRef<M>, mode: Mode) {
        debug_assert!(self.find(record).is_none(), "a record is locked once");
        self.slots.add(record, self.locks.len(), |at| self.locks[at].record);
        self.locks.push(Lock { record, mode });
    }

    /// The locked records from the `first`-th on, with their numbers.
    pub fn from(&self, first: usize) -> impl Iterator<Item = (usize, RecordRef<M>)> {
        // Not `skip`, which would pass the others one by one: this is called for each lock.
        (first..).zip(self.locks[first..].iter().map(|lock| lock.record))
    }

    /// Forgets the lock of `record`, and returns it to be given back.
    #[cold]
    pub fn forget(&mut self, record: RecordRef<M>) -> Lock<M> {
        let at = self.locks.iter().rposition(|lock| lock.record == record).expect("it is locked");
        self.slots.clear(self.locks.len(), |at| self.locks[at].record);
        let lock = self.locks.remove(at);
        for length in 0..self.locks.len() {
            self.slots.add(self.locks[length].record, length, |at| self.locks[at].record);
        }
        debug_assert!(self.find(record).is_none(), "it was locked once");
        lock
    }

    /// Forgets all locks, handing out each to be given back.
    #[inline]
    pub fn drain(&mut self) -> impl Iterator<Item = Lock<M>> {
        self.slots.clear(self.locks.len(), |at| self.locks[at].record);
        self.locks.drain(..)
    }
}
