//! Where in a list a record is: open addressing from records to positions.
//!
//! The list belongs to the caller, which names the record at each position, and adds each record once.

use chiliad_machine::Machine;
use chiliad_storage::RecordRef;

const SLOTS_INITIAL: usize = 256;
/// So many records are forgotten one by one, which takes less time than to clear all slots.
const FEW: usize = 8;
/// How many times as many there are where they no longer suffice.
const GROWTH: usize = 4;
/// For so many slots memory is kept after a transaction that touched more records than usual.
const SLOTS_KEPT: usize = 1024;
const _: () = assert!(SLOTS_INITIAL.is_power_of_two() && GROWTH.is_power_of_two());

/// Positions plus one, zero for nothing; a power of two long, and never more than half full. Each transaction begins with
/// few, so that a short one after a long one does not clear, and have in its cache, what only the long one needed.
pub struct RecordSlots(Vec<u32>);

/// The hash of a record's address (Fibonacci hashing: Knuth, 1973, 6.4). Its lowest bits tell no record from another.
#[inline]
pub fn hash_of(address: u64) -> usize {
    ((address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

impl RecordSlots {
    pub fn new() -> Self {
        Self(vec![0; SLOTS_INITIAL])
    }

    /// Forgets all records, `length` of them.
    #[inline]
    pub fn clear<M: Machine>(&mut self, length: usize, at: impl Fn(usize) -> RecordRef<M>) {
        if length > FEW {
            self.clear_all();
            return;
        }
        debug_assert!(self.0.len() == SLOTS_INITIAL, "few records need no more");
        for position in 0..length {
            let mut slot = self.first(at(position));
            while self.0[slot] != position as u32 + 1 {
                slot = (slot + 1) & (self.0.len() - 1);
            }
            self.0[slot] = 0;
        }
        debug_assert!(self.0.iter().all(|&it| it == 0), "no record is left");
    }

    fn clear_all(&mut self) {
        self.0.truncate(SLOTS_INITIAL);
        self.0.fill(0);
        self.0.shrink_to(SLOTS_KEPT);
    }

    #[inline]
    fn first<M: Machine>(&self, record: RecordRef<M>) -> usize {
        debug_assert!(self.0.len().is_power_of_two(), "a mask finds the slot");
        hash_of(record.address()) & (self.0.len() - 1)
    }

    /// The position of `record`, if it has one.
    #[inline]
    pub fn find<M: Machine>(
        &self,
        record: RecordRef<M>,
        at: impl Fn(usize) -> RecordRef<M>,
    ) -> Option<u32> {
        let mut slot = self.first(record);
        loop {
            match self.0[slot] {
                0 => return None,
                position if at(position as usize - 1) == record => return Some(position - 1),
                _ => slot = (slot + 1) & (self.0.len() - 1),
            }
        }
    }

    /// Adds the record of the next position, `length` of which are taken.
    #[inline]
    pub fn add<M: Machine>(
        &mut self,
        record: RecordRef<M>,
        length: usize,
        at: impl Fn(usize) -> RecordRef<M>,
    ) {
        if (length + 1) * 2 > self.0.len() {
            self.grow(length, at);
        }
        debug_assert!((length + 1) * 2 <= self.0.len(), "never more than half full: a search ends");
        self.put(record, length);
    }

    /// Makes more slots, and adds the records of the positions below `length` again.
    #[cold]
    fn grow<M: Machine>(&mut self, length: usize, at: impl Fn(usize) -> RecordRef<M>) {
        let slots = self.0.len() * GROWTH;
        self.0.clear();
        self.0.resize(slots, 0);
        for position in 0..length {
            self.put(at(position), position);
        }
    }

    #[inline]
    fn put<M: Machine>(&mut self, record: RecordRef<M>, position: usize) {
        debug_assert!(position < u32::MAX as usize, "zero stands for a free slot");
        let mut slot = self.first(record);
        while self.0[slot] != 0 {
            slot = (slot + 1) & (self.0.len() - 1);
        }
        self.0[slot] = position as u32 + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_machine::Native;
    use chiliad_storage::{Heap, Kind, LocalHeap};

    #[test]
    fn after_any_number_of_records_none_is_left() {
        let heap = Heap::<Native>::new(u64::MAX);
        let mut local = LocalHeap::new(&heap).expect("a slot");
        let records: Vec<_> = (0..700)
            .map(|_| local.alloc_record(Kind::Record, 24).expect("there is memory"))
            .collect();
        let mut slots = RecordSlots::new();
        for length in (0..40).chain([127, 128, 129, 700, 3, 600, 8, 9]) {
            for (position, &record) in records[..length].iter().enumerate() {
                assert_eq!(slots.find(record, |at| records[at]), None);
                slots.add(record, position, |at| records[at]);
            }
            for (position, &record) in records.iter().enumerate() {
                let there = (position < length).then_some(position as u32);
                assert_eq!(slots.find(record, |at| records[at]), there, "of {length}");
            }
            slots.clear(length, |at| records[at]);
            assert!(slots.0.iter().all(|&it| it == 0), "of {length}");
        }
    }
}
