//! The elements of a history, packed for millions of transactions.
//!
//! Invariant: an operation is 16 bytes. Checking is bound by memory, and a million TPC-C
//! transactions have about fifty million operations.

use std::ops::Range;

use super::keys::KeyId;
use super::recorder::WriteKind;
use crate::stamp::{Stamp, Version};

/// What an operation did.
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
