//! Reading ranges: leaf by leaf, each one pin; by the table's own key or by a secondary index.

use crate::arena::Piece;
use crate::contract::{LockTable, Scheme};
use crate::core::{Core, State};
use crate::gaps::REST_OF_RANGE_FORGOTTEN;
use crate::read_ops::{GROUP, Looked, check_key};
use crate::tables::catalog::View;
use crate::tables::table::Table;
use chiliad_api::{Entry, Error, Get, Part, Range, Result, Row, Scanned, TableId};
use chiliad_api::{Visit, VisitIndex};
use chiliad_machine::Machine;
use chiliad_storage::{Direction, Index, LeafRun, RecordRef};
use core::ops::ControlFlow;

/// A scan calls this after each leaf, with what the index had of it and the place of its first entry. Returns whether to scan
/// on.
type AfterLeaf<'a, M, S> = dyn FnMut(&mut Core<M, S>, &LeafRun<M>, usize) -> Result<bool> + 'a;

/// Which of the rows that it reads a scan keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// An entry for each.
    Entries,
    /// Those of one leaf, in `Scan::shown`, until it has called the visitor with them.
    Shown,
}

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    pub fn scan(&mut self, id: TableId, table: &Table<M>, range: &Range<'_>) -> Result<Scanned> {
        let start = self.handles.entries.len();
        self.scan_leaves(id, table, range, Keeps::Entries, &mut |_, _, _| Ok(true))?;
        debug_assert!(self.handles.entries.len() - start <= range.limit, "each row counts once");
        Ok(self.handles.scanned(start))
    }

    /// Calls `visit` with key and bytes of each row, and keeps none of them.
    pub fn visit(
        &mut self,
        id: TableId,
        table: &Table<M>,
        range: &Range<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let mark = self.mark();
        self.scan_leaves(id, table, range, Keeps::Shown, &mut |core, run, _| {
            let more = core.show_values(run, visit);
            core.forget_to(&mark);
            Ok(more)
        })
    }

    /// As [`Core::visit`], by a secondary index: `visit` also gets the key in that, first.
    pub fn visit_index(
        &mut self,
        view: &View<M>,
        table: TableId,
        index: usize,
        range: &Range<'_>,
        visit: &mut VisitIndex<'_>,
    ) -> Result<()> {
        let secondary = self.begin_by_index(view, table, index)?;
        let mark = self.mark();
        let table_of_index = view.get(secondary)?;
        self.scan_leaves(secondary, table_of_index, range, Keeps::Entries, &mut |core, _, first| {
            core.rows_of_entries(view, table, first)?;
            let more = core.show(first, |core, entry| {
                let of_index = core.arena.get(core.handles.access(entry.key())?.key);
                let key = core.arena.get(core.handles.access(entry.row)?.key);
                Ok(visit(of_index, key, core.bytes(entry.row)?))
            });
            core.forget_to(&mark);
            more
        })
    }

    /// Calls `visit` with the keys of the entries of a secondary index, and reads no row: an entry is there when its row is.
    pub fn visit_index_keys(
        &mut self,
        view: &View<M>,
        table: TableId,
        index: usize,
        range: &Range<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let secondary = self.begin_by_index(view, table, index)?;
        debug_assert!(
            self.attempt.dirty == 0,
            "the index is in line with the transaction's writes"
        );
        // The row of an entry is the key of what it leads to.
        self.visit(secondary, view.get(secondary)?, range, visit)
    }

    /// Calls the visitor with the rows of a leaf, until it breaks off. Returns whether it did not.
    fn show_values(&self, run: &LeafRun<M>, visit: &mut Visit<'_>) -> bool {
        let mut shown = self.scan.shown.iter();
        shown.all(|&(at, value)| visit(run.key(at), self.arena.get(value)).is_continue())
    }

    /// Shows the entries from `first` on one after another, until it is told to stop; whether it was not.
    fn show(
        &self,
        first: usize,
        mut show: impl FnMut(&Self, Entry) -> Result<ControlFlow<()>>,
    ) -> Result<bool> {
        for &entry in &self.handles.entries[first..] {
            if show(self, entry)?.is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a range leaf by leaf; `after_leaf` is called after each.
    fn scan_leaves(
        &mut self,
        id: TableId,
        table: &Table<M>,
        range: &Range<'_>,
        keeps: Keeps,
        after_leaf: &mut AfterLeaf<'_, M, S>,
    ) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        debug_assert!(!self.heap.is_pinned(), "no operation is in progress");
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
        let (mut more, mut stopped) = (left > 0, false);
        // Rows that are absent do not count: after a piece that had as many entries as were wanted, and too few rows, the next
        // one has all of its leaf.
        let mut at_most = left;
        while more && scanned.is_ok() {
            let before = (self.handles.entries.len(), self.verification.met(), left);
            self.scan.place.mark(&self.scan.cursor);
            self.heap.pin();
            let sealed = self.goes_by(table);
            more = self.timed(Part::Index, |core| {
                index.next_leaf(&core.heap, &mut core.scan.cursor, &mut run, at_most)
            });
            let run_scanned = self.scan_run(id, table, sealed, (&run, keeps), &mut left);
            self.heap.unpin();
            let again = matches!(run_scanned, Ok(false));
            scanned = run_scanned.map(|_| ());
            if again {
                M::mark("leaf scanned again");
                debug_assert!(
                    !self.attempt.in_past || S::NEEDS.waits,
                    "a snapshot looks the key up"
                );
                debug_assert!(before.0 <= self.handles.entries.len(), "a scan only adds entries");
                self.handles.entries.truncate(before.0);
                self.verification.forget_met(before.1);
                left = before.2;
                self.scan.place.restore(&mut self.scan.cursor);
                more = true;
                continue;
            }
            if scanned.is_ok() {
                let goes_on = after_leaf(self, &run, before.0);
                scanned = goes_on.and_then(|goes_on| {
                    stopped |= !goes_on;
                    self.check_room()
                });
            }
            more &= left > 0 && !stopped;
            at_most = if run.records.len() < at_most { left } else { usize::MAX };
        }
        self.scan.run = run;
        debug_assert!(!self.heap.is_pinned(), "each leaf was a pin of its own");
        let limited = left == 0 || stopped;
        self.verification.end_scan(id, range, scanned.is_ok(), limited, &self.arena);
        scanned
    }

    /// Reads the records of one leaf until nothing is `left` to read. Whether that holds: if not, the
    /// leaf is to be read again, since the scheme has waited, and the rest is none of this pin, or since
    /// the scheme says so. Pinned.
    fn scan_run(
        &mut self,
        id: TableId,
        table: &Table<M>,
        sealed: bool,
        (run, keeps): (&LeafRun<M>, Keeps),
        left: &mut usize,
    ) -> Result<bool> {
        debug_assert!(self.heap.is_pinned(), "the leaf stays");
        self.table = id;
        self.scan.shown.clear();
        // The index has asked for the records.
        for &(_, record) in run.records.iter().take(*left) {
            S::LockTable::prefetch(&self.scheme, id, record);
        }
        let mut used = 0;
        for (key, record) in run.iter() {
            if *left == 0 {
                break;
            }
            if keeps == Keeps::Shown
                && let Some(version) = self.glance(table, sealed, record)
            {
                if !version.is_absent() {
                    *left -= 1;
                    self.scan.shown.push((used, version.bytes()));
                }
                used += 1;
                continue;
            }
            let met = self.handles.entries.len();
            let key_start = self.arena.used() as u32;
            let looked = match table.is_group() {
                true => self.use_part(table, sealed, Get::read(id, key), record)?,
                false => self.look_at(id, sealed, key, record)?,
            };
            match looked {
                Looked::Row(row) => {
                    *left -= 1;
                    self.met_row(row, table.of_row(record));
                }
                Looked::Absent => {
                    let key = Piece::new(key_start, key.len() as u32);
                    let record = table.of_row(record);
                    self.verification.meet_absent(key, record, &self.writes, &self.arena);
                }
                // What was read of the leaf may be of another pin, or the record has left it.
                Looked::Redo if S::NEEDS.waits || !self.attempt.in_past => return Ok(false),
                Looked::Redo => self.scan_again(id, table, key, left)?,
            }
            if keeps == Keeps::Shown
                && let Some(entry) = self.handles.entries.get(met)
            {
                let value = self.value_piece(entry.row)?;
                self.scan.shown.push((used, value));
            }
            used += 1;
        }
        if let Some(seen) = run.seen.filter(|_| !sealed) {
            self.table = table.table_of_group(id);
            if self.watches_gaps() {
                self.note_piece(self.table, run, used, *left == 0);
            }
            let step = self.observe_leaf(seen);
            return Ok(self.resolve(step)?.is_some());
        }
        Ok(true)
    }

    /// Remembers what the scan has seen of a leaf: its first entries, `used` of them, and what lies between.
    #[inline]
    fn note_piece(&mut self, id: TableId, run: &LeafRun<M>, used: usize, limited: bool) {
        let is_end = limited || M::fault(&REST_OF_RANGE_FORGOTTEN);
        let last = if is_end { run.iter().take(used).last().map(|(key, _)| key) } else { None };
        let met = run.records[..used].iter().map(|&(_, record)| record);
        self.gaps.begin_keys(id, &self.scan.place, &self.scan.cursor, last, met);
    }

    /// A record of the leaf has left its index since a snapshot found it there: it looks the key up again, as it never
    /// aborts.
    #[cold]
    fn scan_again(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        left: &mut usize,
    ) -> Result<()> {
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
        let secondary = self.begin_by_index(view, table, index)?;
        let scanned = self.scan(secondary, view.get(secondary)?, range)?;
        debug_assert!(scanned.len() <= self.handles.entries.len(), "its entries are the last");
        let start = self.handles.entries.len() - scanned.len();
        self.rows_of_entries(view, table, start)?;
        Ok(self.handles.scanned(start))
    }

    /// The table of a secondary index, brought in line with what the transaction has written.
    fn begin_by_index(&mut self, view: &View<M>, table: TableId, index: usize) -> Result<TableId> {
        self.align_indexes(view)?;
        let declared = view.readable(table, self.attempt.in_past)?;
        let secondary = declared.readable_index(index).map(|secondary| secondary.table);
        secondary
            .ok_or_else(|| Error::UnknownIndex(format!("number {index} of {}", declared.name())))
    }

    /// Puts the rows that entries of a secondary index lead to in their place, from `start` on, in groups whose misses
    /// overlap.
    fn rows_of_entries(&mut self, view: &View<M>, table: TableId, start: usize) -> Result<()> {
        let mut keys = core::mem::take(&mut self.key);
        let mut kept = start;
        let mut at = start;
        let mut found = Ok(());
        while at < self.handles.entries.len() && found.is_ok() {
            let group = (self.handles.entries.len() - at).min(GROUP);
            let mut rows = [None; GROUP];
            found = self.look_up_entries(view, table, at, &mut keys, &mut rows[..group]);
            for (entry, row) in (at..).zip(&rows[..group]) {
                debug_assert!(kept <= entry, "entries move to the front");
                // An entry whose row is gone belongs to a state that will not validate.
                if let Some(row) = *row {
                    let key = self.handles.entries[entry].key();
                    self.handles.entries[kept] = Entry::new(key, row);
                    kept += 1;
                }
            }
            at += group;
        }
        self.key = keys;
        self.handles.entries.truncate(kept);
        found
    }

    /// The rows of so many entries of a secondary index, from the one at `at` on; `keys` is scratch.
    fn look_up_entries(
        &mut self,
        view: &View<M>,
        table: TableId,
        at: usize,
        keys: &mut Vec<u8>,
        rows: &mut [Option<Row>],
    ) -> Result<()> {
        keys.clear();
        let mut ends = [0; GROUP];
        for (entry, end) in self.handles.entries[at..].iter().zip(&mut ends[..rows.len()]) {
            keys.extend_from_slice(self.bytes(entry.row)?);
            *end = keys.len();
        }
        if let [row] = rows {
            *row = self.get(view.readable(table, self.attempt.in_past)?, Get::read(table, keys))?;
            return Ok(());
        }
        let mut start = 0;
        let requests = ends.map(|end| {
            let key = &keys[start..end.max(start)];
            start = end.max(start);
            Get::read(table, key)
        });
        self.get_many(view, &requests[..rows.len()], rows)
    }
}
