//! Helpers that the tests of the hash index share.

use chiliad_machine::Machine;
use chiliad_storage::{Found, RecordRef};

/// A small generator, so that runs repeat.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 33) % bound
    }
}

/// The number that a record holds.
pub fn value<M: Machine>(record: RecordRef<M>) -> u64 {
    let mut bytes = [0; 8];
    record.read(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// The record that must have been found.
pub fn present<M: Machine>(found: Found<M>) -> RecordRef<M> {
    match found {
        Found::Record(record) => record,
        Found::Absent(_) => panic!("absent"),
    }
}
