//! A history in memory: the transactions and their operations, in flat arrays.
//!
//! ```text
//! transactions  [ stamp, times, order, .. | operations start..end ]
//! operations    [ key, stamp, kind + index ]   16 bytes each, those of a transaction in one run
//! scans         [ bounds | entries start..end, a run of the operations ]
//! keys          (table, bytes) once each, operations name them by a dense id
//! ```
//!
//! Invariants: the operations of a transaction are one run, in the order of execution, but that a
//! scan's entries stand together where the scan ended; scans are sorted by their entries; the
//! bounds of a scan are keys too, so that one sort places both. A history does not change once
//! it is built. An operation is 16 bytes: checking is bound by memory, and a million TPC-C transactions
//! have about fifty million operations.

use std::ops::Range;

use super::keys::{KeyId, Keys};
use super::recorder::WriteKind;
use crate::stamp::{Stamp, Version};

/// The header of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The names of tables, by the number that operations use. A table without a name is shown by
    /// its number.
    pub tables: Vec<(u32, String)>,
    /// The recording was not cut short, by the cap on its memory for example.
    pub complete: bool,
    /// No tombstone was ever unlinked: where no record was found, none had ever been. Without this
    /// promise a missing record may as well be an unlinked tombstone, and the reader's version is
    /// ambiguous where the key had both.
    pub tombstones_kept: bool,
}

impl Default for Header {
    fn default() -> Header {
        Header { tables: Vec::new(), complete: true, tombstones_kept: false }
    }
}

/// The record of a run: every transaction with what it saw and what it wrote.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(crate) header: Header,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) ops: Vec<Op>,
    pub(crate) scans: Vec<Scan>,
    pub(crate) keys: Keys,
    /// Claimed orders of single writes that differ from their transaction's, by operation.
    pub(crate) write_orders: Vec<(u32, u64)>,
    pub(crate) unfinished: u64,
}

impl History {
    /// The header of the history.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many transactions there are, aborted ones included.
    pub fn transactions(&self) -> usize {
        self.transactions.len()
    }

    /// How many reads, writes and scanned records there are.
    pub fn operations(&self) -> usize {
        self.ops.len()
    }

    /// How many transactions had begun and not ended when the recording stopped. They are left
    /// out; a read of what one of them wrote is a read of an unknown version.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The name of a table, or its number where it has none.
    pub(crate) fn table_name(&self, table: u32) -> String {
        let named = self.header.tables.iter().find(|(id, _)| *id == table);
        named.map_or_else(|| table.to_string(), |(_, name)| name.clone())
    }

    /// The claimed order of a write.
    pub(crate) fn write_order(&self, transaction: u32, op: u32) -> u64 {
        if !self.write_orders.is_empty()
            && let Ok(at) = self.write_orders.binary_search_by_key(&op, |&(op, _)| op)
        {
            return self.write_orders[at].1;
        }
        self.transactions[transaction as usize].order
    }

    /// The scans whose entries end a transaction's run of operations or lie within it.
    pub(crate) fn scans_of(&self, transaction: &Transaction) -> &[Scan] {
        &self.scans[transaction.scans.start as usize..transaction.scans.end as usize]
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    /// Read a record.
    Read,
    /// Looked for a record and found none, or a tombstone.
    Absent,
    /// Met a record in a scan.
    Entry,
    /// Met a tombstone in a scan.
    EntryAbsent,
    /// Made a record where none was visible.
    Insert,
    /// Replaced a record.
    Update,
    /// Left a tombstone in the place of a record.
    Remove,
}

impl OpKind {
    const ALL: [OpKind; 7] = [
        OpKind::Read,
        OpKind::Absent,
        OpKind::Entry,
        OpKind::EntryAbsent,
        OpKind::Insert,
        OpKind::Update,
        OpKind::Remove,
    ];

    pub(crate) fn is_write(self) -> bool {
        self as u32 >= OpKind::Insert as u32
    }

    /// The reader saw a record, not its absence.
    pub(crate) fn is_present(self) -> bool {
        matches!(self, OpKind::Read | OpKind::Entry)
    }
}

impl From<WriteKind> for OpKind {
    fn from(kind: WriteKind) -> OpKind {
        match kind {
            WriteKind::Insert => OpKind::Insert,
            WriteKind::Update => OpKind::Update,
            WriteKind::Remove => OpKind::Remove,
        }
    }
}

/// One access to one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Reads: the writer of the version seen. Writes: the writer of the version overwritten.
    pub(crate) stamp: Stamp,
    pub(crate) key: KeyId,
    /// `kind << 28 | index`. Reads: the index of the version seen. Writes: of the version made.
    meta: u32,
}

const _: () = assert!(size_of::<Op>() == 16);

impl Op {
    /// The index must be at most [`Version::INDEX_MAX`]; decoders check it.
    #[inline]
    pub(crate) fn new(kind: OpKind, key: KeyId, stamp: Stamp, index: u32) -> Op {
        debug_assert!(index <= Version::INDEX_MAX);
        Op { stamp, key, meta: (kind as u32) << 28 | index }
    }

    #[inline]
    pub(crate) fn kind(self) -> OpKind {
        OpKind::ALL[(self.meta >> 28) as usize]
    }

    #[inline]
    pub(crate) fn index(self) -> u32 {
        self.meta & Version::INDEX_MAX
    }

    /// The version that a read saw.
    pub(crate) fn seen(self) -> Version {
        Version::new(self.stamp, self.index())
    }
}

/// One end of a scan's range: a key that may never have been a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Unbounded,
    Included(KeyId),
    Excluded(KeyId),
}

/// A range scan. Its entries are operations `entries` of the history.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub(crate) entries: Range<u32>,
    pub(crate) table: u32,
    pub(crate) low: End,
    pub(crate) high: End,
    pub(crate) descending: bool,
    /// The scan stopped at its last entry, before the end of the range.
    pub(crate) limited: bool,
}

/// One transaction.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) stamp: Stamp,
    pub(crate) worker: u32,
    pub(crate) committed: bool,
    /// It read a state in the past, and so stands outside of real time.
    pub(crate) snapshot: bool,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) order: u64,
    pub(crate) epoch: u64,
    pub(crate) ops: Range<u32>,
    pub(crate) scans: Range<u32>,
}

impl Transaction {
    /// The indexes of its operations.
    pub(crate) fn op_range(&self) -> Range<usize> {
        self.ops.start as usize..self.ops.end as usize
    }
}
