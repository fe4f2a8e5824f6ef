//! Reports of a verified run: every access, with the stamps found in the bytes themselves.
//!
//! The stamp of a version is written above the scheme, into the payload, tombstones included; so
//! when a scheme hands out the wrong version, the history shows it. The
//! engine knows no history format: it calls a [`Recorder`].

use crate::TableId;

/// Identifies the version of a key: the transaction that wrote it. Zero: before the history began.
pub type Stamp = u64;

/// The effect of a write on the version before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteKind {
    /// The key was absent and is present now.
    Insert,
    /// It was and is present.
    Update,
    /// It is absent now.
    Remove,
}

/// Receives the accesses of one session's transactions, in order: of each attempt [`Recorder::begin`], then reads
/// and scans as they happen; then, when nothing can refuse it any more, its writes, [`Recorder::prepared`] and
/// [`Recorder::commit`]; or [`Recorder::abort`] at any time after its beginning.
///
/// - What a transaction reads of its own writes is not reported by [`Recorder::read`]. A scan reports it, with the
///   transaction's own stamp.
/// - A row that one transaction inserts and removes again is no version: no write of it is reported.
/// - Entries of secondary indexes are reported as rows of tables with numbers of their own.
/// - Loaded rows are versions from before the history: their stamp is zero, and nobody reports their writes.
pub trait Recorder: Send {
    /// A transaction attempt begins at time `start`. `stamp` names it.
    fn begin(&mut self, stamp: Stamp, start: u64, snapshot: bool);
    /// `key` was read; `absent` if the version is a tombstone or nothing at all.
    fn read(&mut self, table: TableId, key: &[u8], version: Stamp, absent: bool);
    /// A scan of `range` ended after `last` (the last key looked at; `None`: it covered the range).
    /// The rows it met follow by [`Recorder::scan_entry`].
    fn scan(&mut self, table: TableId, range: &crate::Range<'_>, last: Option<&[u8]>);
    /// A row of the scan announced last; tombstones are reported as `absent`.
    fn scan_entry(&mut self, key: &[u8], version: Stamp, absent: bool);
    /// A write was installed over `overwritten`; `order` is the place that the scheme claims for
    /// it among the versions of the key.
    fn write(
        &mut self,
        table: TableId,
        key: &[u8],
        kind: WriteKind,
        overwritten: Stamp,
        order: u64,
    );
    /// The value of the write announced last; nothing for a removal.
    fn value(&mut self, value: &[u8]) {
        let _ = value;
    }
    /// All writes were announced, nothing refuses the attempt any more, and it goes to the log now:
    /// from here on it may outlive a crash, whether or not [`Recorder::commit`] is reached.
    fn prepared(&mut self, epoch: u64, order: u64) {
        let _ = (epoch, order);
    }
    /// The attempt committed in `epoch` at time `end`.
    fn commit(&mut self, end: u64, epoch: u64, order: u64);
    /// The attempt was refused or rolled back.
    fn abort(&mut self, end: u64);
    /// Bytes held so far, for the cap on a verified run's memory.
    fn bytes(&self) -> usize;
    /// Gives the recorder back to a caller that knows its type.
    fn into_any(self: Box<Self>) -> Box<dyn core::any::Any>;
}
