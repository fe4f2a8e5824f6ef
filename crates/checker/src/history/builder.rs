//! Builds a history from events, whichever form they came in.
//!
//! Invariants: no event is believed: one that cannot follow the previous is an error, so that the
//! checker may rely on the shape of a history. Entries of an open scan wait in a side vector, since
//! point reads may be made while a scan is under way.

use super::error::ReadErrorKind;
use super::keys::{KeyId, Keys};
use super::model::{End, Header, History, Op, OpKind, Scan, Transaction};
use super::recorder::Bound;
use crate::stamp::{Stamp, Version};

pub(super) type Built<T> = Result<T, ReadErrorKind>;

/// How a transaction ended.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub(super) committed: bool,
    pub(super) end: u64,
    pub(super) order: u64,
    pub(super) epoch: u64,
}

/// The bounds of a scan.
pub(super) struct ScanHead<'a> {
    pub(super) table: u32,
    pub(super) low: Bound<'a>,
    pub(super) high: Bound<'a>,
    pub(super) descending: bool,
}

/// A history under construction.
#[derive(Default)]
pub(super) struct Builder {
    history: History,
    open: bool,
    scan: Option<Scan>,
    entries: Vec<Op>,
}

impl Builder {
    pub(super) fn new(header: Header) -> Builder {
        Builder { history: History { header, ..History::default() }, ..Builder::default() }
    }

    pub(super) fn header(&mut self) -> &mut Header {
        &mut self.history.header
    }

    pub(super) fn begin(
        &mut self,
        worker: u32,
        stamp: Stamp,
        start: u64,
        snapshot: bool,
    ) -> Built<()> {
        if self.open {
            return Err(ReadErrorKind::Protocol("a transaction begins inside another"));
        }
        if stamp == Stamp::INITIAL {
            return Err(ReadErrorKind::Protocol("the stamp 0 is the initial state"));
        }
        let (op, scan) = (self.next_op()?, self.next_scan()?);
        number(self.history.transactions.len())?;
        self.history.transactions.push(Transaction {
            stamp,
            worker,
            committed: false,
            snapshot,
            start,
            end: u64::MAX,
            order: 0,
            epoch: 0,
            ops: op..op,
            scans: scan..scan,
        });
        self.open = true;
        Ok(())
    }

    pub(super) fn read(
        &mut self,
        table: u32,
        key: &[u8],
        version: Version,
        present: bool,
    ) -> Built<()> {
        let kind = if present { OpKind::Read } else { OpKind::Absent };
        let op = self.op(kind, table, key, version)?;
        self.history.ops.push(op);
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        kind: OpKind,
        table: u32,
        key: &[u8],
        over: Version,
        order: Option<u64>,
    ) -> Built<()> {
        let op = self.op(kind, table, key, over)?;
        if let Some(order) = order {
            let at = self.next_op()?;
            self.history.write_orders.push((at, order));
        }
        self.history.ops.push(op);
        Ok(())
    }

    pub(super) fn scan_begin(&mut self, head: &ScanHead) -> Built<()> {
        self.inside()?;
        if self.scan.is_some() {
            return Err(ReadErrorKind::Protocol("a scan begins inside another"));
        }
        let low = self.end(head.table, head.low)?;
        let high = self.end(head.table, head.high)?;
        let (table, descending) = (head.table, head.descending);
        self.scan = Some(Scan { entries: 0..0, table, low, high, descending, limited: false });
        Ok(())
    }

    pub(super) fn scan_entry(&mut self, key: &[u8], version: Version, present: bool) -> Built<()> {
        let Some(scan) = &self.scan else {
            return Err(ReadErrorKind::Protocol("an entry outside a scan"));
        };
        let kind = if present { OpKind::Entry } else { OpKind::EntryAbsent };
        let op = self.op(kind, scan.table, key, version)?;
        self.entries.push(op);
        Ok(())
    }

    pub(super) fn scan_end(&mut self, limited: bool) -> Built<()> {
        let Some(mut scan) = self.scan.take() else {
            return Err(ReadErrorKind::Protocol("the end of a scan outside a scan"));
        };
        let start = self.next_op()?;
        self.history.ops.append(&mut self.entries);
        scan.entries = start..self.next_op()?;
        scan.limited = limited;
        self.history.scans.push(scan);
        Ok(())
    }

    pub(super) fn finish(&mut self, outcome: Outcome) -> Built<()> {
        self.inside()?;
        if self.scan.is_some() {
            return Err(ReadErrorKind::Protocol("a transaction ends inside a scan"));
        }
        let (op, scan) = (self.next_op()?, self.next_scan()?);
        let last = self.history.transactions.last_mut().expect("a transaction is open");
        last.committed = outcome.committed;
        last.end = outcome.end;
        last.order = outcome.order;
        last.epoch = outcome.epoch;
        last.ops.end = op;
        last.scans.end = scan;
        self.open = false;
        Ok(())
    }

    /// Forgets the transaction that is open, if any: its recording ended before it did.
    pub(super) fn drop_unfinished(&mut self) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let last = self.history.transactions.pop().expect("a transaction is open");
        self.history.ops.truncate(last.ops.start as usize);
        self.history.scans.truncate(last.scans.start as usize);
        while self.history.write_orders.pop_if(|&mut (op, _)| op >= last.ops.start).is_some() {}
        self.scan = None;
        self.entries.clear();
        self.history.unfinished += 1;
    }

    pub(super) fn build(mut self) -> History {
        self.drop_unfinished();
        self.history.keys.seal();
        self.history
    }

    fn op(&mut self, kind: OpKind, table: u32, key: &[u8], version: Version) -> Built<Op> {
        self.inside()?;
        if version.index > Version::INDEX_MAX {
            return Err(ReadErrorKind::Damaged("a write index above 2^28 - 1"));
        }
        let key = intern(&mut self.history.keys, table, key)?;
        Ok(Op::new(kind, key, version.stamp, version.index))
    }

    fn end(&mut self, table: u32, bound: Bound) -> Built<End> {
        let keys = &mut self.history.keys;
        Ok(match bound {
            Bound::Unbounded => End::Unbounded,
            Bound::Included(key) => End::Included(intern(keys, table, key)?),
            Bound::Excluded(key) => End::Excluded(intern(keys, table, key)?),
        })
    }

    fn inside(&self) -> Built<()> {
        if self.open { Ok(()) } else { Err(ReadErrorKind::Protocol("outside a transaction")) }
    }

    fn next_op(&self) -> Built<u32> {
        number(self.history.ops.len())
    }

    fn next_scan(&self) -> Built<u32> {
        number(self.history.scans.len())
    }
}

/// Half of what 32 bits can number: the checker numbers versions and keys in one space, and
/// transactions and its own auxiliary nodes in another.
const NUMBERS_MAX: usize = (u32::MAX / 2) as usize;

fn number(n: usize) -> Built<u32> {
    if n > NUMBERS_MAX { Err(ReadErrorKind::TooLarge) } else { Ok(n as u32) }
}

fn intern(keys: &mut Keys, table: u32, key: &[u8]) -> Built<KeyId> {
    number(keys.len())?;
    keys.intern(table, key).ok_or(ReadErrorKind::TooLarge)
}
