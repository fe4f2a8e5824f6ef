//! The locks that a transaction holds.

use super::word::{self, Mode};
use crate::record_slots::RecordSlots;
use chiliad_machine::Machine;
use chiliad_storage::RecordRef;

/// Each locked record once, in the order of locking.
pub(super) struct Held<M: Machine> {
    locks: Vec<(RecordRef<M>, Mode)>,
    slots: RecordSlots,
}

impl<M: Machine> Held<M> {
    pub fn new() -> Self {
        Self { locks: Vec::with_capacity(64), slots: RecordSlots::new() }
    }

    /// How `record` is locked.
    #[inline]
    pub fn mode(&mut self, record: RecordRef<M>) -> Option<&mut Mode> {
        if self.locks.is_empty() {
            return None;
        }
        let position = self.slots.find(record, |at| self.locks[at].0)?;
        Some(&mut self.locks[position as usize].1)
    }

    /// Takes note of a lock on a record that had none.
    #[inline]
    pub fn add(&mut self, record: RecordRef<M>, mode: Mode) {
        self.slots.add(record, self.locks.len(), |at| self.locks[at].0);
        self.locks.push((record, mode));
    }

    /// Gives the lock of `record` back before the end.
    #[cold]
    pub fn drop(&mut self, record: RecordRef<M>) {
        let at = self.locks.iter().rposition(|lock| lock.0 == record).expect("it is locked");
        let (_, mode) = self.locks.remove(at);
        word::unlock(record.further(0), mode);
        self.slots.clear();
        for length in 0..self.locks.len() {
            self.slots.add(self.locks[length].0, length, |at| self.locks[at].0);
        }
    }

    /// Gives all locks back.
    #[inline]
    pub fn unlock_all(&mut self) {
        for (record, mode) in self.locks.drain(..) {
            word::unlock(record.further(0), mode);
        }
        self.slots.clear();
    }
}
