//! The records of a verified run: the engine's calls, in the form that the checker reads.

use super::signals::Signals;
use chiliad_checker as checker;
use chiliad_checker::{Direction, Version};
use chiliad_engine::{Range, Recorder, Stamp, TableId, WriteKind};
use core::ops::Bound;
use std::any::Any;
use std::sync::Arc;

/// Writes one client's accesses into a buffer of the checker's.
///
/// The engine announces a scan with its end known, and its entries follow; the checker wants the
/// end last. So a scan stays open here until the first call that is no entry of it.
pub(crate) struct HistoryRecorder {
    buffer: checker::Recorder,
    open_scan: Option<bool>,
    signals: Arc<Signals>,
    counted_bytes: usize,
}

impl HistoryRecorder {
    /// An empty history of client `index`.
    pub(crate) fn new(index: usize, signals: Arc<Signals>) -> Self {
        let worker = u32::try_from(index).unwrap_or(u32::MAX);
        let buffer = checker::Recorder::new(worker);
        Self { buffer, open_scan: None, signals, counted_bytes: 0 }
    }

    /// The records so far.
    pub(crate) fn into_buffer(mut self) -> checker::Recorder {
        self.close_scan();
        self.buffer
    }

    #[inline]
    fn close_scan(&mut self) {
        if let Some(limit_reached) = self.open_scan.take() {
            self.buffer.scan_end(limit_reached);
        }
    }

    /// Tells the driver what the buffer has grown by.
    #[inline]
    fn count(&mut self) {
        let bytes = self.buffer.bytes();
        if bytes != self.counted_bytes {
            self.signals.history_grew(bytes.saturating_sub(self.counted_bytes) as u64);
            self.counted_bytes = bytes;
        }
    }
}

fn version(stamp: Stamp) -> Version {
    Version::from(checker::Stamp(stamp))
}

fn bound(bound: Bound<&[u8]>) -> checker::Bound<'_> {
    match bound {
        Bound::Included(key) => checker::Bound::Included(key),
        Bound::Excluded(key) => checker::Bound::Excluded(key),
        Bound::Unbounded => checker::Bound::Unbounded,
    }
}

impl Recorder for HistoryRecorder {
    fn begin(&mut self, stamp: Stamp, start: u64, snapshot: bool) {
        self.buffer.begin(checker::Stamp(stamp), start, snapshot);
    }

    fn read(&mut self, table: TableId, key: &[u8], stamp: Stamp, absent: bool) {
        self.close_scan();
        if absent {
            self.buffer.absent(table.0, key, version(stamp));
        } else {
            self.buffer.read(table.0, key, version(stamp));
        }
    }

    fn scan(&mut self, table: TableId, range: &Range<'_>, last: Option<&[u8]>) {
        self.close_scan();
        let direction = if range.reverse { Direction::Descending } else { Direction::Ascending };
        self.buffer.scan_begin(table.0, bound(range.low), bound(range.high), direction);
        self.open_scan = Some(last.is_some());
    }

    fn scan_entry(&mut self, key: &[u8], stamp: Stamp, absent: bool) {
        if absent {
            self.buffer.scan_tombstone(key, version(stamp));
        } else {
            self.buffer.scan_entry(key, version(stamp));
        }
    }

    fn write(&mut self, table: TableId, key: &[u8], kind: WriteKind, over: Stamp, _order: u64) {
        self.close_scan();
        let kind = match kind {
            WriteKind::Insert => checker::WriteKind::Insert,
            WriteKind::Update => checker::WriteKind::Update,
            WriteKind::Remove => checker::WriteKind::Remove,
        };
        self.buffer.write(table.0, key, kind, checker::Stamp(over), 0);
    }

    fn commit(&mut self, end: u64, epoch: u64, order: u64) {
        self.close_scan();
        self.buffer.commit(end, order, epoch);
        self.count();
    }

    fn abort(&mut self, end: u64) {
        self.open_scan = None;
        // A read from an aborted transaction is found by its stamp alone.
        self.buffer.abort_bare(end);
        self.count();
    }

    fn bytes(&self) -> usize {
        self.buffer.bytes()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Gives the history back that a worker's recorder holds.
pub(crate) fn unwrap_recorder(recorder: Box<dyn Recorder>) -> Option<checker::Recorder> {
    let any: Box<dyn Any> = recorder.into_any();
    any.downcast::<HistoryRecorder>().ok().map(|recorder| recorder.into_buffer())
}
