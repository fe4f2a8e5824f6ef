//! What a transaction has found and what it means to write.

use crate::arena::Piece;
use crate::table::TableId;
use chiliad_machine::Machine;
use chiliad_storage::RecordRef;

/// No write, no access: an index that is none.
pub const NONE: u32 = u32::MAX;

/// A record that an operation found, behind a [`crate::Row`].
pub struct Access<M: Machine> {
    pub record: RecordRef<M>,
    pub table: TableId,
    pub key: Piece,
    /// The value as it was read; for the transaction's own writes, the value written.
    pub value: Piece,
    /// The entry of the write set, or [`NONE`].
    pub write: u32,
}

/// What becomes of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It gets a value.
    Put,
    /// It becomes absent.
    Remove,
}

/// A deferred write. At most one for each record.
pub struct Write<M: Machine> {
    pub record: RecordRef<M>,
    pub table: TableId,
    pub kind: Kind,
    pub key: Piece,
    pub value: Piece,
    /// The value before the transaction, where a secondary index needs it; empty otherwise.
    pub before: Piece,
    /// Snapshots may want the version that it overwrites.
    pub keep: bool,
    /// The transaction inserted the record itself and holds its latch.
    pub placed: bool,
    /// Index entries have to be brought in line with `value`.
    pub dirty: bool,
    /// The header word when the write latch was taken.
    pub prior: u64,
    /// The scheme holds the write latch.
    pub latched: bool,
    /// Blocks put by for the old version and for a value that outgrows the record.
    pub spare: [Option<RecordRef<M>>; 2],
}

/// The deferred writes, found by record.
pub struct WriteSet<M: Machine> {
    pub entries: Vec<Write<M>>,
    /// Indexes of entries in the order in which latches are taken.
    pub order: Vec<u32>,
    /// Open addressing from record to entry, plus one; a power of two long.
    slots: Vec<u32>,
}

const SLOTS_INITIAL: usize = 64;
/// Slots kept after a transaction that wrote more than usual.
const SLOTS_KEPT: usize = 1024;

impl<M: Machine> WriteSet<M> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), order: Vec::new(), slots: vec![0; SLOTS_INITIAL] }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets all writes.
    #[inline]
    pub fn clear(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        // Short to begin with, and grown only by transactions that wrote a lot.
        self.slots.fill(0);
        if self.slots.len() > SLOTS_KEPT {
            self.slots.truncate(SLOTS_KEPT);
            self.slots.shrink_to_fit();
        }
        self.entries.clear();
        self.order.clear();
    }

    #[inline]
    fn hash(record: RecordRef<M>) -> usize {
        ((record.address() >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
    }

    #[inline]
    fn position(&self, record: RecordRef<M>) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut at = Self::hash(record) & mask;
        loop {
            match self.slots[at] {
                0 => return None,
                entry if self.entries[entry as usize - 1].record == record => return Some(at),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The entry that writes `record`.
    #[inline]
    pub fn find(&self, record: RecordRef<M>) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        self.position(record).map(|at| self.slots[at] - 1)
    }

    /// Adds a write of a record that has none yet, and returns its index.
    pub fn push(&mut self, write: Write<M>) -> u32 {
        if self.entries.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let index = self.entries.len() as u32;
        let mask = self.slots.len() - 1;
        let mut at = Self::hash(write.record) & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = index + 1;
        self.entries.push(write);
        index
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        self.slots.clear();
        self.slots.resize(mask + 1, 0);
        for (index, write) in self.entries.iter().enumerate() {
            let mut at = Self::hash(write.record) & mask;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = index as u32 + 1;
        }
    }
}
