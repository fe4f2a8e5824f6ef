//! Reading ranges: leaf by leaf, each one pin; by the table's own key or by a secondary index.

use crate::arena::Piece;
use crate::contract::{Abort, LockTable, Scheme};
use crate::core::{Core, State};
use crate::read_ops::{Looked, check_key};
use crate::tables::catalog::View;
use crate::tables::table::Table;
use chiliad_api::{Entry, Error, Get, Part, Range, Reason, Result, Row, Scanned, TableId};
use chiliad_machine::Machine;
use chiliad_storage::{Direction, Index, LeafRun, RecordRef};

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    pub fn scan(&mut self, id: TableId, table: &Table<M>, range: &Range<'_>) -> Result<Scanned> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        debug_assert!(!self.heap.is_pinned(), "no operation is in progress");
        let start = self.handles.entries.len();
        let Index::Ordered(index) = &table.index else {
            return Err(Error::NotOrdered);
        };
        for bound in [range.low, range.high] {
            use core::ops::Bound::{Excluded, Included};
            if let Included(key) | Excluded(key) = bound {
                check_key(key)?;
            }
        }
        let direction = if range.reverse { Direction::Reverse } else { Direction::Forward };
        self.scan.cursor.reset(range.low, range.high, direction);
        self.verification.begin_scan();
        let mut left = range.limit;
        let mut run = core::mem::take(&mut self.scan.run);
        let mut scanned = Ok(());
        let mut more = left > 0;
        while more && scanned.is_ok() {
            let before = (self.handles.entries.len(), self.verification.met(), left);
            if S::NEEDS.waits {
                self.scan.bookmark.clone_from(&self.scan.cursor);
            }
            self.heap.pin();
            let sealed = self.goes_by(table);
            more = self.timed(Part::Index, |core| {
                index.next_leaf(&core.heap, &mut core.scan.cursor, &mut run)
            });
            let run_scanned = self.scan_run(id, table, sealed, &run, &mut left);
            self.heap.unpin();
            let again = matches!(run_scanned, Ok(false));
            scanned = run_scanned.map(|_| ());
            if again {
                M::mark("leaf scanned again");
                debug_assert!(S::NEEDS.waits, "others look the key up, not the leaf");
                debug_assert!(before.0 <= self.handles.entries.len(), "a scan only adds entries");
                self.handles.entries.truncate(before.0);
                self.verification.forget_met(before.1);
                left = before.2;
                core::mem::swap(&mut self.scan.cursor, &mut self.scan.bookmark);
                more = true;
                continue;
            }
            more &= left > 0;
        }
        self.scan.run = run;
        debug_assert!(!self.heap.is_pinned(), "each leaf was a pin of its own");
        let rows = self.handles.entries.len() - start;
        debug_assert!(rows <= range.limit && left == range.limit - rows, "each row counts once");
        self.verification.end_scan(id, range, scanned.is_ok(), left == 0, &self.arena);
        scanned?;
        Ok(self.handles.scanned(start))
    }

    /// Reads the records of one leaf until nothing is `left` to read. Whether that holds: if not, the
    /// leaf is to be read again, since the scheme has waited, and the rest is none of this pin, or since
    /// the scheme says so. Pinned.
    fn scan_run(
        &mut self,
        id: TableId,
        table: &Table<M>,
        sealed: bool,
        run: &LeafRun<M>,
        left: &mut usize,
    ) -> Result<bool> {
        debug_assert!(self.heap.is_pinned(), "the leaf stays");
        self.table = id;
        for (_, record) in run.iter().take(*left) {
            record.prefetch(64);
            S::LockTable::prefetch(&self.scheme, id, record);
        }
        for (key, record) in run.iter() {
            if *left == 0 {
                break;
            }
            let key_start = self.arena.used() as u32;
            match self.look_at(id, sealed, key, record)? {
                Looked::Row(row) => {
                    *left -= 1;
                    self.met_row(row, record);
                }
                Looked::Absent => {
                    let key = Piece { start: key_start, length: key.len() as u32 };
                    self.verification.meet_absent(key, record, &self.writes, &self.arena);
                }
                // What was read of the leaf may be of another pin, or the record has left it.
                Looked::Redo if S::NEEDS.waits => return Ok(false),
                Looked::Redo => self.scan_again(id, table, key, left)?,
            }
        }
        if let Some(seen) = run.seen.filter(|_| !sealed) {
            let step = self.observe_leaf(seen);
            return Ok(self.resolve(step)?.is_some());
        }
        Ok(true)
    }

    /// A record of the leaf has left its index since. A tracked transaction would notice at its
    /// commit; a snapshot never aborts and looks the key up again.
    #[cold]
    fn scan_again(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        left: &mut usize,
    ) -> Result<()> {
        if !self.attempt.in_past {
            return Err(self.mark_aborted(Abort::new(Reason::Phantom)));
        }
        debug_assert!(*left > 0, "a row more is wanted");
        M::mark("snapshot looked a scanned key up again");
        if let Some(row) = self.find(table, Get::read(id, key))? {
            *left -= 1;
            self.met_row(row, self.handles.access(row)?.record);
        }
        Ok(())
    }

    /// Adds a row to those of the scan, which has just read it of `record`.
    #[inline]
    fn met_row(&mut self, row: Row, record: RecordRef<M>) {
        self.handles.entries.push(Entry::new(row, row));
        self.verification.meet(record, &self.handles, &self.writes, &self.arena);
    }

    pub fn scan_index(
        &mut self,
        view: &View<M>,
        table: TableId,
        index: usize,
        range: &Range<'_>,
    ) -> Result<Scanned> {
        self.align_indexes(view)?;
        let declared: &Table<M> = view.readable(table, self.attempt.in_past)?;
        let Some(secondary) = declared.readable_index(index) else {
            return Err(Error::UnknownIndex(format!("number {index} of {}", declared.name())));
        };
        let scanned = self.scan(secondary.table, view.get(secondary.table)?, range)?;
        debug_assert!(scanned.len() <= self.handles.entries.len(), "its entries are the last");
        let start = self.handles.entries.len() - scanned.len();
        let mut kept = start;
        for at in start..self.handles.entries.len() {
            debug_assert!(kept <= at, "entries move to the front");
            let entry = self.handles.entries[at];
            let key = self.take_key(entry.row)?;
            let row = self.get(declared, Get::read(table, &key));
            self.key = key;
            // An entry whose row is gone belongs to a state that will not validate.
            if let Some(row) = row? {
                self.handles.entries[kept] = Entry::new(entry.key(), row);
                kept += 1;
            }
        }
        self.handles.entries.truncate(kept);
        Ok(self.handles.scanned(start))
    }

    /// The bytes of a row in the scratch key, which the caller puts back.
    fn take_key(&mut self, row: Row) -> Result<Vec<u8>> {
        let mut key = core::mem::take(&mut self.key);
        key.clear();
        key.extend_from_slice(self.bytes(row)?);
        Ok(key)
    }
}
