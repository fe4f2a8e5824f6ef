//! Events in binary, to and from a history.
//!
//! Invariant: a chunk is read without trust. Every length is checked against the bytes that are
//! left, and every error names its offset.

use super::builder::{Builder, Built, Outcome, ScanHead};
use super::error::{ReadError, ReadErrorKind};
use super::model::{End, Header, History, Op, OpKind, Scan};
use super::recorder::{Bound, Direction, Recorder, WriteKind, flag, opcode};
use crate::stamp::{Stamp, Version};

pub(super) fn from_recorders(
    header: Header,
    recorders: impl IntoIterator<Item = Recorder>,
) -> Result<History, ReadError> {
    let mut builder = Builder::new(header);
    let mut position = 0;
    for recorder in recorders {
        let worker = recorder.worker();
        for chunk in recorder.into_chunks() {
            events(&mut builder, worker, &chunk, position)?;
            position += chunk.len() as u64;
        }
        builder.drop_unfinished();
    }
    Ok(builder.build())
}

/// Reads the events of one chunk, which lies at `position` of its file.
pub(super) fn events(
    builder: &mut Builder,
    worker: u32,
    chunk: &[u8],
    position: u64,
) -> Result<(), ReadError> {
    let mut cursor = Cursor { bytes: chunk, at: 0 };
    while cursor.at < chunk.len() {
        let start = cursor.at;
        event(builder, worker, &mut cursor)
            .map_err(|kind| ReadError::new(kind, position + start as u64))?;
    }
    Ok(())
}

fn event(builder: &mut Builder, worker: u32, cursor: &mut Cursor) -> Built<()> {
    let tag = cursor.byte()?;
    match tag & 0x0f {
        opcode::BEGIN => {
            let (stamp, start) = (Stamp(cursor.word()?), cursor.word()?);
            builder.begin(worker, stamp, start, tag & flag::SNAPSHOT != 0)
        }
        op @ (opcode::READ | opcode::ABSENT) => {
            let (table, key) = (cursor.varint()?, cursor.key()?);
            builder.read(table, key, cursor.version(tag)?, op == opcode::READ)
        }
        opcode::SCAN_BEGIN => scan_begin(builder, tag, cursor),
        op @ (opcode::ENTRY | opcode::ENTRY_ABSENT) => {
            let key = cursor.key()?;
            builder.scan_entry(key, cursor.version(tag)?, op == opcode::ENTRY)
        }
        opcode::SCAN_END => builder.scan_end(tag & flag::LIMITED != 0),
        op @ (opcode::INSERT | opcode::UPDATE | opcode::REMOVE) => {
            let kind = match op {
                opcode::INSERT => OpKind::Insert,
                opcode::UPDATE => OpKind::Update,
                _ => OpKind::Remove,
            };
            let (table, key) = (cursor.varint()?, cursor.key()?);
            let over = cursor.version(tag)?;
            let order = if tag & flag::ORDER != 0 { Some(cursor.word()?) } else { None };
            builder.write(kind, table, key, over, order)
        }
        opcode::COMMIT => {
            let (end, order, epoch) = (cursor.word()?, cursor.word()?, cursor.word()?);
            builder.finish(Outcome { committed: true, end, order, epoch })
        }
        opcode::ABORT => {
            let end = cursor.word()?;
            builder.finish(Outcome { committed: false, end, order: 0, epoch: 0 })
        }
        _ => Err(ReadErrorKind::Damaged("an unknown event")),
    }
}

fn scan_begin(builder: &mut Builder, tag: u8, cursor: &mut Cursor) -> Built<()> {
    let kinds = cursor.byte()?;
    let table = cursor.varint()?;
    let low = cursor.bound(kinds & 3)?;
    let high = cursor.bound(kinds >> 2)?;
    let descending = tag & flag::DESCENDING != 0;
    builder.scan_begin(&ScanHead { table, low, high, descending })
}

/// A position in a chunk.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Built<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if n > rest.len() {
            return Err(ReadErrorKind::Truncated);
        }
        self.at += n;
        Ok(&rest[..n])
    }

    fn byte(&mut self) -> Built<u8> {
        Ok(self.take(1)?[0])
    }

    fn word(&mut self) -> Built<u64> {
        let bytes = self.take(8)?.try_into().expect("eight bytes were taken");
        Ok(u64::from_le_bytes(bytes))
    }

    fn varint(&mut self) -> Built<u32> {
        let mut n = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(n).map_err(|_| ReadErrorKind::Damaged("a number too large"));
            }
        }
        Err(ReadErrorKind::Damaged("a number too long"))
    }

    fn key(&mut self) -> Built<&'a [u8]> {
        let length = self.varint()?;
        self.take(length as usize)
    }

    fn version(&mut self, tag: u8) -> Built<Version> {
        let stamp = if tag & flag::STAMP != 0 { Stamp(self.word()?) } else { Stamp::INITIAL };
        let index = if tag & flag::INDEX != 0 { self.varint()? } else { 0 };
        Ok(Version::new(stamp, index))
    }

    fn bound(&mut self, kind: u8) -> Built<Bound<'a>> {
        match kind {
            0 => Ok(Bound::Unbounded),
            1 => Ok(Bound::Included(self.key()?)),
            2 => Ok(Bound::Excluded(self.key()?)),
            _ => Err(ReadErrorKind::Damaged("an unknown kind of bound")),
        }
    }
}

/// Records a history anew: one recorder for each worker, in order of first appearance.
pub(super) fn to_recorders(history: &History) -> Vec<Recorder> {
    let mut recorders: Vec<Recorder> = Vec::new();
    for transaction in &history.transactions {
        let worker = transaction.worker;
        let at = recorders.iter().position(|r| r.worker() == worker).unwrap_or_else(|| {
            recorders.push(Recorder::new(worker));
            recorders.len() - 1
        });
        let recorder = &mut recorders[at];
        recorder.begin(transaction.stamp, transaction.start, transaction.snapshot);
        let mut scans = history.scans_of(transaction).iter().peekable();
        let mut op = transaction.ops.start;
        loop {
            // A scan without entries has no operation of its own to stand before.
            while let Some(scan) = scans.next_if(|scan| scan.entries.start == op) {
                record_scan(history, recorder, scan);
                op = scan.entries.end;
            }
            if op == transaction.ops.end {
                break;
            }
            record_op(history, recorder, op);
            op += 1;
        }
        if transaction.committed {
            recorder.commit(transaction.end, transaction.order, transaction.epoch);
        } else {
            recorder.abort(transaction.end);
        }
    }
    recorders
}

fn record_op(history: &History, recorder: &mut Recorder, at: u32) {
    let op = history.ops[at as usize];
    let (table, key) = (history.keys.table(op.key), history.keys.bytes(op.key));
    let kind = match op.kind() {
        OpKind::Read => return recorder.read(table, key, op.seen()),
        OpKind::Absent => return recorder.absent(table, key, op.seen()),
        OpKind::Insert => WriteKind::Insert,
        OpKind::Update => WriteKind::Update,
        OpKind::Remove => WriteKind::Remove,
        OpKind::Entry | OpKind::EntryAbsent => unreachable!("entries belong to their scan"),
    };
    match history.write_orders.binary_search_by_key(&at, |&(op, _)| op) {
        Ok(found) => {
            let order = history.write_orders[found].1;
            recorder.write_ordered(table, key, kind, op.stamp, op.index(), order);
        }
        Err(_) => recorder.write(table, key, kind, op.stamp, op.index()),
    }
}

fn record_scan(history: &History, recorder: &mut Recorder, scan: &Scan) {
    let bound = |end: End| match end {
        End::Unbounded => Bound::Unbounded,
        End::Included(key) => Bound::Included(history.keys.bytes(key)),
        End::Excluded(key) => Bound::Excluded(history.keys.bytes(key)),
    };
    let direction = if scan.descending { Direction::Descending } else { Direction::Ascending };
    recorder.scan_begin(scan.table, bound(scan.low), bound(scan.high), direction);
    for op in &history.ops[scan.entries.start as usize..scan.entries.end as usize] {
        let key = history.keys.bytes(op.key);
        match Op::kind(*op) {
            OpKind::Entry => recorder.scan_entry(key, op.seen()),
            _ => recorder.scan_tombstone(key, op.seen()),
        }
    }
    recorder.scan_end(scan.limited);
}
