//! The records of one worker while it runs: an append-only buffer of events.
//!
//! Recording must hardly disturb what it observes: an event is one tag byte, fixed-width numbers
//! and the key, appended to a chunk that the worker owns. Chunks are about a mebibyte, so that
//! growth copies nothing, and end between transactions, so that each can be read by itself. The
//! encoding of events is that of the binary file (`HISTORY.md`).
//!
//! Invariant: every chunk but the last holds whole transactions, and the last one holds at most one
//! that is unfinished, at its end.

use crate::stamp::{Stamp, Version};

/// Opcodes, in the low four bits of a tag.
pub(super) mod opcode {
    pub(crate) const BEGIN: u8 = 1;
    pub(crate) const READ: u8 = 2;
    pub(crate) const ABSENT: u8 = 3;
    pub(crate) const SCAN_BEGIN: u8 = 4;
    pub(crate) const ENTRY: u8 = 5;
    pub(crate) const ENTRY_ABSENT: u8 = 6;
    pub(crate) const SCAN_END: u8 = 7;
    pub(crate) const INSERT: u8 = 8;
    pub(crate) const UPDATE: u8 = 9;
    pub(crate) const REMOVE: u8 = 10;
    pub(crate) const COMMIT: u8 = 11;
    pub(crate) const ABORT: u8 = 12;
}

/// Flags, in the high four bits of a tag.
pub(super) mod flag {
    /// An access: a stamp follows; without it the stamp is that of the initial state.
    pub(crate) const STAMP: u8 = 0x10;
    /// An access: a write index follows; without it the index is zero.
    pub(crate) const INDEX: u8 = 0x20;
    /// A write: a claimed order of its own follows.
    pub(crate) const ORDER: u8 = 0x40;
    /// Begin: a snapshot transaction.
    pub(crate) const SNAPSHOT: u8 = 0x10;
    /// Begin of a scan: from the high end to the low one.
    pub(crate) const DESCENDING: u8 = 0x10;
    /// End of a scan: it stopped at its last entry.
    pub(crate) const LIMITED: u8 = 0x10;
}

/// The size at which a chunk is full. It ends with the transaction that fills it.
const CHUNK_BYTES: usize = 1 << 20;

/// How a write changed its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// No record was visible, and now one is. The insert has seen the absence.
    Insert,
    /// A record was visible, and its value changed.
    Update,
    /// A record was visible, and a tombstone took its place.
    Remove,
}

/// One end of a scan's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound<'a> {
    /// No limit at this end.
    Unbounded,
    /// The key belongs to the range.
    Included(&'a [u8]),
    /// The key does not belong to the range.
    Excluded(&'a [u8]),
}

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the low bound upwards.
    Ascending,
    /// From the high bound downwards.
    Descending,
}

/// The events of one worker. Owned and `Send`: one for each thread or coroutine, merged at the end.
///
/// The calls follow the life of a transaction: `begin`, then accesses, then one of `commit`,
/// `abort`, `abort_bare` or `discard`. An access that a transaction makes to its own writes need
/// not be recorded; it says nothing.
///
/// Nothing is checked here: impossible sequences are found when a [`History`](crate::History) is
/// built.
#[derive(Clone, Debug)]
pub struct Recorder {
    worker: u32,
    full: Vec<Vec<u8>>,
    full_bytes: usize,
    chunk: Vec<u8>,
    /// Where the transaction that is open, or was the last, begins in `chunk`.
    begin: usize,
    transactions: u64,
}

impl Recorder {
    /// An empty recorder. It allocates with the first event.
    pub const fn new(worker: u32) -> Recorder {
        Recorder {
            worker,
            full: Vec::new(),
            full_bytes: 0,
            chunk: Vec::new(),
            begin: 0,
            transactions: 0,
        }
    }

    /// The worker whose events these are.
    pub const fn worker(&self) -> u32 {
        self.worker
    }

    /// The memory held, for a cap. A history takes about as much again while it is checked.
    #[inline]
    pub const fn bytes(&self) -> usize {
        self.full_bytes + self.chunk.capacity()
    }

    /// How many transactions were recorded, aborted ones included.
    pub const fn transactions(&self) -> u64 {
        self.transactions
    }

    /// A transaction begins at time `start`; a snapshot transaction is exempt from real time.
    #[inline]
    pub fn begin(&mut self, stamp: Stamp, start: u64, snapshot: bool) {
        if self.chunk.capacity() - self.chunk.len() < CHUNK_BYTES / 16 {
            self.next_chunk();
        }
        self.begin = self.chunk.len();
        self.chunk.push(opcode::BEGIN | if snapshot { flag::SNAPSHOT } else { 0 });
        self.word(stamp.0);
        self.word(start);
    }

    /// The value of `key` was read, and it was this version.
    #[inline]
    pub fn read(&mut self, table: u32, key: &[u8], version: Version) {
        self.access(opcode::READ, table, key, version);
    }

    /// `key` was looked for and not found. `version` is that of the tombstone met, or
    /// [`Version::INITIAL`] where there was no record at all: the checker then finds out which
    /// absent versions of the key it can have been.
    #[inline]
    pub fn absent(&mut self, table: u32, key: &[u8], version: Version) {
        self.access(opcode::ABSENT, table, key, version);
    }

    /// A write was installed, over the version written by `over`. A transaction records a key that
    /// it wrote once, with the last of its writes; `index` is that write's index. An insert where
    /// no record was found, not even a tombstone, is over [`Stamp::INITIAL`].
    #[inline]
    pub fn write(&mut self, table: u32, key: &[u8], kind: WriteKind, over: Stamp, index: u32) {
        self.access(write_opcode(kind), table, key, Version::new(over, index));
    }

    /// As [`Recorder::write`], for a write whose claimed order is not that of its transaction.
    #[inline]
    pub fn write_ordered(
        &mut self,
        table: u32,
        key: &[u8],
        kind: WriteKind,
        over: Stamp,
        index: u32,
        order: u64,
    ) {
        let tag = write_opcode(kind) | flag::ORDER;
        self.access(tag, table, key, Version::new(over, index));
        self.word(order);
    }

    /// A range scan begins. Point accesses may be recorded while it lasts, other scans not.
    #[inline]
    pub fn scan_begin(&mut self, table: u32, low: Bound, high: Bound, direction: Direction) {
        let descending = direction == Direction::Descending;
        self.chunk.push(opcode::SCAN_BEGIN | if descending { flag::DESCENDING } else { 0 });
        self.chunk.push(bound_kind(low) | bound_kind(high) << 2);
        self.varint(table);
        for bound in [low, high] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound {
                self.key(key);
            }
        }
    }

    /// The scan returned `key` with this version.
    #[inline]
    pub fn scan_entry(&mut self, key: &[u8], version: Version) {
        self.entry(opcode::ENTRY, key, version);
    }

    /// The scan met this tombstone and passed over it.
    #[inline]
    pub fn scan_tombstone(&mut self, key: &[u8], version: Version) {
        self.entry(opcode::ENTRY_ABSENT, key, version);
    }

    /// The scan ended. With `limit_reached` it stopped at its last entry and says nothing of what
    /// lies after it; else it saw the whole range.
    #[inline]
    pub fn scan_end(&mut self, limit_reached: bool) {
        self.chunk.push(opcode::SCAN_END | if limit_reached { flag::LIMITED } else { 0 });
    }

    /// The transaction committed. `order` is the place that the scheme claims for it: along the
    /// versions of each key it must grow.
    #[inline]
    pub fn commit(&mut self, end: u64, order: u64, epoch: u64) {
        self.chunk.push(opcode::COMMIT);
        self.word(end);
        self.word(order);
        self.word(epoch);
        self.transactions += 1;
    }

    /// The transaction aborted; its accesses are kept, to explain what read them.
    #[inline]
    pub fn abort(&mut self, end: u64) {
        self.chunk.push(opcode::ABORT);
        self.word(end);
        self.transactions += 1;
    }

    /// The transaction aborted; only its stamp is kept, which is enough to find its readers.
    #[inline]
    pub fn abort_bare(&mut self, end: u64) {
        const BEGIN_BYTES: usize = 1 + 8 + 8;
        self.chunk.truncate(self.begin + BEGIN_BYTES);
        self.abort(end);
    }

    /// Forgets the transaction that is open, as if it had never begun.
    #[inline]
    pub fn discard(&mut self) {
        self.chunk.truncate(self.begin);
    }

    /// The chunks, the last one perhaps with an unfinished transaction at its end.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.full.iter().chain([&self.chunk]).map(Vec::as_slice).filter(|chunk| !chunk.is_empty())
    }

    /// The chunks by value, so that each can be freed once it is read.
    pub(super) fn into_chunks(mut self) -> impl Iterator<Item = Vec<u8>> {
        self.full.push(self.chunk);
        self.full.into_iter().filter(|chunk| !chunk.is_empty())
    }

    #[cold]
    fn next_chunk(&mut self) {
        let full = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK_BYTES));
        if !full.is_empty() {
            self.full_bytes += full.capacity();
            self.full.push(full);
        }
    }

    #[inline]
    fn access(&mut self, tag: u8, table: u32, key: &[u8], version: Version) {
        let at = self.chunk.len();
        self.chunk.push(tag);
        self.varint(table);
        self.key(key);
        self.version(at, version);
    }

    #[inline]
    fn entry(&mut self, tag: u8, key: &[u8], version: Version) {
        let at = self.chunk.len();
        self.chunk.push(tag);
        self.key(key);
        self.version(at, version);
    }

    /// Appends what of the version is not zero, and says so in the tag at `at`.
    #[inline]
    fn version(&mut self, at: usize, version: Version) {
        if version.stamp != Stamp::INITIAL {
            self.chunk[at] |= flag::STAMP;
            self.word(version.stamp.0);
        }
        if version.index != 0 {
            self.chunk[at] |= flag::INDEX;
            self.varint(version.index);
        }
    }

    #[inline]
    fn key(&mut self, key: &[u8]) {
        debug_assert!(u32::try_from(key.len()).is_ok());
        self.varint(key.len() as u32);
        self.chunk.extend_from_slice(key);
    }

    #[inline]
    fn word(&mut self, word: u64) {
        self.chunk.extend_from_slice(&word.to_le_bytes());
    }

    #[inline]
    fn varint(&mut self, mut n: u32) {
        while n >= 0x80 {
            self.chunk.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.chunk.push(n as u8);
    }
}

fn write_opcode(kind: WriteKind) -> u8 {
    match kind {
        WriteKind::Insert => opcode::INSERT,
        WriteKind::Update => opcode::UPDATE,
        WriteKind::Remove => opcode::REMOVE,
    }
}

fn bound_kind(bound: Bound) -> u8 {
    match bound {
        Bound::Unbounded => 0,
        Bound::Included(_) => 1,
        Bound::Excluded(_) => 2,
    }
}
