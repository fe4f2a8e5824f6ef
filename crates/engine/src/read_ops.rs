//! Reading: single rows and groups of rows; ranges are in `scan_ops`.
//!
//! Each operation is one pin: index, record, unpin. What is copied out stays valid without it.

use crate::access::{Access, Kind, NONE};
use crate::arena::Piece;
use crate::contract::{Abort, Context, LockTable, Scheme, Step};
use crate::core::{Core, Group, State, context};
use crate::tables::catalog::View;
use crate::tables::table::Table;
use crate::version::Version;
use chiliad_api::{Error, Get, GetKind, Part, Reason, Result, Row, TableId};
use chiliad_machine::{Cost, Machine};
use chiliad_storage::{Found, Index, KEY_BYTES_MAX, RecordRef, Seen};

/// Look-ups whose cache misses are in flight together: as many as a core has buffers for, and a
/// few more to keep them busy.
pub(crate) const GROUP: usize = 52;
const _: () = assert!(GROUP <= 64, "a bit for each");
/// Rows of a group that are read before each place that is only approached comes a step closer: what the last step has asked
/// for arrives meanwhile.
const READS_A_STEP: usize = 8;

/// A record looked at: its row, absence, or the news that it has left its index.
pub(crate) enum Looked {
    Row(Row),
    Absent,
    Redo,
}

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    #[inline]
    pub fn get(&mut self, table: &Table<M>, get: Get<'_>) -> Result<Option<Row>> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        check_key(get.key)?;
        self.heap.pin();
        let row = self.find(table, get);
        self.heap.unpin();
        row
    }

    /// Reads a row anew that was read before, and is to be written now.
    pub fn reread_for_update(&mut self, view: &View<M>, row: Row) -> Result<Option<Row>> {
        let access = self.handles.access(row)?;
        let (id, record, key) = (access.table, access.record, access.key);
        let table = view.writable(id, self.attempt.loads)?;
        if !S::NEEDS.declares_writes && self.writes.find(record).is_none() {
            // Another look at the record would show what was read, or that the transaction cannot commit.
            return Ok(Some(row));
        }
        let key = self.arena.get(key).to_vec();
        self.get(table, Get::update(id, &key))
    }

    /// Tells the scheme that a record will be written; whether that is done, or the record has to
    /// be looked up again. Pinned.
    #[inline]
    pub(crate) fn declare_write(&mut self, record: RecordRef<M>) -> Result<bool> {
        debug_assert!(S::NEEDS.declares_writes, "only schemes are told that ask for it");
        debug_assert!(self.heap.is_pinned(), "the record stays");
        let step = self
            .timed(Part::Manager, |core| core.scheme.declare_write(&mut context!(core), record));
        Ok(self.resolve(step)?.is_some())
    }

    /// Tells the scheme that a record that was read will be written.
    pub(crate) fn declare_write_of_read(&mut self, record: RecordRef<M>) -> Result<()> {
        loop {
            self.heap.pin();
            let declared = self.declare_write(record);
            self.heap.unpin();
            if declared? {
                return Ok(());
            }
        }
    }

    /// Looks the key up in the index, which leads to the first record of the row. Pinned.
    #[inline]
    pub(crate) fn look_up(&mut self, table: &Table<M>, key: &[u8]) -> Found<M> {
        debug_assert!(self.heap.is_pinned(), "nodes stay");
        debug_assert!(key.len() <= KEY_BYTES_MAX, "keys are checked");
        self.timed(Part::Index, |core| table.index.get(&core.heap, key))
    }

    /// The row asked for. Pinned.
    #[inline]
    pub(crate) fn find(&mut self, table: &Table<M>, get: Get<'_>) -> Result<Option<Row>> {
        loop {
            let sealed = self.goes_by(table);
            let found = self.look_up(table, get.key);
            match self.use_found(table, sealed, get, found)? {
                Looked::Row(row) => return Ok(Some(row)),
                Looked::Absent => return Ok(None),
                Looked::Redo => M::mark("record looked up again"),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn use_found(
        &mut self,
        table: &Table<M>,
        sealed: bool,
        get: Get<'_>,
        found: Found<M>,
    ) -> Result<Looked> {
        debug_assert!(self.heap.is_pinned(), "what was found stays");
        let Get { table: id, key, kind } = get;
        self.table = id;
        match found {
            Found::Record(first) if table.is_group() => self.use_part(table, sealed, get, first),
            Found::Record(record) => {
                // Declared before it is read: a transaction that reads first may never get to write.
                let updates = kind == GetKind::Update;
                let declares =
                    S::NEEDS.declares_writes && updates && self.writes.find(record).is_none();
                if declares && !self.declare_write(record)? {
                    return Ok(Looked::Redo);
                }
                self.look_at(id, sealed, key, record)
            }
            Found::Absent(seen) => self.miss(id, table, sealed, key, seen),
        }
    }

    /// The key is not in the index, as `seen` testifies.
    pub(crate) fn miss(
        &mut self,
        id: TableId,
        table: &Table<M>,
        sealed: bool,
        key: &[u8],
        seen: Seen<M>,
    ) -> Result<Looked> {
        M::work(Cost::Read, 1);
        debug_assert!(self.heap.is_pinned(), "the leaf stays");
        let absence = self.verification.absence(table, key);
        if absence.is_some() && !seen.holds() {
            return Ok(Looked::Redo);
        }
        if !sealed {
            // Gaps are those of the table, whichever part was asked for.
            self.table = table.table_of_group(id);
            if self.watches_gaps() && !self.gaps.begin_key(self.table, key, seen) {
                return Ok(Looked::Redo);
            }
            let step = self.observe_leaf(seen);
            if self.resolve(step)?.is_none() {
                return Ok(Looked::Redo);
            }
        }
        self.verification.missed(id, key, absence);
        Ok(Looked::Absent)
    }

    /// Whether what the transaction does not find is remembered.
    #[inline]
    pub(crate) fn watches_gaps(&self) -> bool {
        S::NEEDS.watches_gaps && !self.attempt.in_past
    }

    /// Tells the scheme that the keys of a leaf were looked at.
    #[inline]
    pub(crate) fn observe_leaf(&mut self, seen: Seen<M>) -> Step<M, ()> {
        debug_assert!(self.heap.is_pinned(), "the leaf stays");
        self.timed(Part::Manager, |core| core.scheme.observe_leaf(&mut context!(core), seen))
    }

    /// Whether the transaction may read the table without its scheme: nothing changes there, and the
    /// past that a snapshot reads may be one before it was loaded. Asked before the index is: what is
    /// missing there may be loaded until the seal.
    #[inline]
    pub(crate) fn goes_by(&mut self, table: &Table<M>) -> bool {
        let goes_by = table.is_sealed() && !self.attempt.in_past;
        self.attempt.went_by |= goes_by;
        goes_by
    }

    /// Reads a record that the index led to, or the transaction's own write of it. Pinned. In line always: the arguments and
    /// the result of a call would take as long as the read itself.
    #[inline(always)]
    pub(crate) fn look_at(
        &mut self,
        id: TableId,
        sealed: bool,
        key: &[u8],
        record: RecordRef<M>,
    ) -> Result<Looked> {
        M::work(Cost::Read, 1);
        debug_assert!(self.heap.is_pinned(), "the record stays");
        if let Some(write) = self.writes.find(record) {
            return self.own_write(id, key, record, write);
        }
        let key_piece = self.arena.push(key);
        // Most reads need no more than this, and their version stays in registers.
        let version = match self.read_alone(sealed, record) {
            Some(version) => version,
            None => match self.read(sealed, record)? {
                Some(version) => version,
                None => return Ok(Looked::Redo),
            },
        };
        let version = self.verification.read(record, (id, key), version, &self.arena);
        if version.is_absent() {
            return Ok(Looked::Absent);
        }
        let value = version.bytes();
        self.group.row_bytes.learn(id, value.length());
        Ok(Looked::Row(self.handles.note(Access {
            record,
            table: id,
            key: key_piece,
            value,
            write: NONE,
        })))
    }

    /// Reads a record into the arena, where a look at it is all that there is to do; `None`: [`Core::read`] does the rest.
    #[inline(always)]
    pub(crate) fn read_alone(&mut self, sealed: bool, record: RecordRef<M>) -> Option<Version> {
        if self.clockwork.is_on() {
            // `Core::read` books the time.
            return None;
        }
        if sealed {
            let stamped = self.verification.is_on();
            return self.scheme.read_sealed(record, &mut self.arena, stamped).done::<()>().ok();
        }
        let opaque = self.opacity.then_some(&self.inner.words.epochs);
        self.scheme.read_alone(record, &mut self.arena, &self.gaps, opaque)
    }

    /// Reads a record into the arena; `None`: it is to be looked up again.
    pub(crate) fn read(&mut self, sealed: bool, record: RecordRef<M>) -> Result<Option<Version>> {
        let step = self.timed(Part::Manager, |core| match sealed {
            // It has been asked, and finds the same.
            true => core.scheme.read_sealed(record, &mut core.arena, core.verification.is_on()),
            false => core.scheme.read(&mut context!(core), record, &mut core.arena, &core.writes),
        });
        self.resolve(step)
    }

    /// The slot of a record that the transaction has written holds another table's by now: the commit would find out.
    #[cold]
    pub(crate) fn has_left(&mut self, record: RecordRef<M>) -> Error {
        self.mark_aborted(Abort::over(Reason::Vanished, record))
    }

    fn own_write(
        &mut self,
        id: TableId,
        key: &[u8],
        record: RecordRef<M>,
        write: u32,
    ) -> Result<Looked> {
        if self.writes.entries[write as usize].kind == Kind::Add {
            self.read_added(write)?;
        }
        let own = &self.writes.entries[write as usize];
        let value = own.value;
        debug_assert!(own.record == record, "the write is of the record");
        if own.table != id {
            return Err(self.has_left(record));
        }
        if own.kind == Kind::Remove {
            return Ok(Looked::Absent);
        }
        let key = self.arena.push(key);
        Ok(Looked::Row(self.handles.note(Access { record, table: id, key, value, write })))
    }

    /// The bytes of a row.
    #[inline]
    pub fn bytes(&self, row: Row) -> Result<&[u8]> {
        Ok(self.arena.get(self.value_piece(row)?))
    }

    /// Where the bytes of a row are.
    #[inline]
    pub(crate) fn value_piece(&self, row: Row) -> Result<Piece> {
        let access = self.handles.access(row)?;
        debug_assert!(
            access.write == NONE
                || self.writes.entries[access.write as usize].record == access.record,
            "the write is of the record"
        );
        Ok(match access.write {
            NONE => access.value,
            write => self.writes.entries[write as usize].value,
        })
    }

    pub fn get_many(
        &mut self,
        view: &View<M>,
        requests: &[Get<'_>],
        rows: &mut [Option<Row>],
    ) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        assert_eq!(requests.len(), rows.len(), "one answer for each request");
        for (requests, rows) in requests.chunks(GROUP).zip(rows.chunks_mut(GROUP)) {
            self.heap.pin();
            let done = self.find_group(view, requests, rows);
            self.heap.unpin();
            done?;
            self.check_room()?;
        }
        Ok(())
    }

    /// Descends the group, then reads the records that it has found.
    fn find_group(
        &mut self,
        view: &View<M>,
        requests: &[Get<'_>],
        rows: &mut [Option<Row>],
    ) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "a group is one pin");
        debug_assert!(requests.len() <= GROUP && requests.len() == rows.len(), "one group");
        let mut tables = [None; GROUP];
        let tables = &mut tables[..requests.len()];
        let sealed = self.timed(Part::Index, |core| core.descend(view, requests, tables))?;
        let waits = self.attempt.waits;
        for (at, ((request, table), row)) in requests.iter().zip(&*tables).zip(rows).enumerate() {
            if at % READS_A_STEP == READS_A_STEP - 1 && self.group.lookups.goes_ahead() {
                self.go_ahead(requests, tables, waits);
            }
            let Some(table) = table else { unreachable!("its look-up has begun") };
            if request.kind == GetKind::Approach {
                *row = None;
                continue;
            }
            let found = self.found_in_pin(at, waits);
            *row = self.row_of(table, sealed >> at & 1 != 0, *request, found)?;
        }
        while self.group.lookups.goes_ahead() {
            self.go_ahead(requests, tables, waits);
        }
        Ok(())
    }

    /// Takes a step to each place that is only approached; none any more once the scheme has waited since there were so
    /// many `waits`.
    fn go_ahead(&mut self, requests: &[Get<'_>], tables: &[Option<&Table<M>>], waits: u64) {
        debug_assert!(self.heap.is_pinned(), "the ways lead through nodes that stay");
        let Self { group: Group { lookups, .. }, heap, attempt, .. } = self;
        if attempt.waits != waits {
            lookups.clear();
            return;
        }
        lookups.step_ahead(heap, begun(requests, tables));
    }

    /// What the look-up of this number of the group has found, unless the scheme has waited since there were so many `waits`:
    /// then another pin has found it.
    #[inline(always)]
    pub(crate) fn found_in_pin(&self, at: usize, waits: u64) -> Option<Found<M>> {
        (self.attempt.waits == waits).then(|| self.group.lookups.found(at))
    }

    /// Reads the row that a look-up of a group has found; without what it has found, or where that has left the index, it
    /// looks the key up again. Pinned.
    #[inline(always)]
    pub(crate) fn row_of(
        &mut self,
        table: &Table<M>,
        sealed: bool,
        get: Get<'_>,
        found: Option<Found<M>>,
    ) -> Result<Option<Row>> {
        let looked = match found {
            Some(found) => self.use_found(table, sealed, get, found)?,
            None => Looked::Redo,
        };
        match looked {
            Looked::Row(row) => Ok(Some(row)),
            Looked::Absent => Ok(None),
            Looked::Redo => self.find(table, get),
        }
    }

    /// Descends the group a step at a time, so that each step's miss is in flight while the others
    /// take theirs; the last steps ask for the records. Parts of one row that follow each other, under the same slice, are
    /// one look-up. Fills in the requests' `tables`, and returns a bit for each request, set where the table is read without
    /// its scheme.
    #[inline]
    fn descend<'v>(
        &mut self,
        view: &'v View<M>,
        requests: &[Get<'_>],
        tables: &mut [Option<&'v Table<M>>],
    ) -> Result<u64> {
        debug_assert!(requests.len() <= GROUP, "a bit for each");
        debug_assert!(requests.len() == tables.len(), "a table for each");
        self.group.lookups.clear();
        // A bit for each request.
        let (mut sealed, mut in_parts) = (0u64, 0u64);
        let mut last: Option<(&Table<M>, &[u8])> = None;
        let mut may_write = false;
        for (at, (request, slot)) in requests.iter().zip(&mut *tables).enumerate() {
            check_key(request.key)?;
            let table = if request.kind == GetKind::Update {
                if !may_write {
                    self.ready(true)?;
                    may_write = true;
                }
                view.writable(request.table, self.attempt.loads)?
            } else {
                view.readable(request.table, self.attempt.in_past)?
            };
            *slot = Some(table);
            if request.kind == GetKind::Approach {
                self.group.lookups.begin_ahead(&table.index, request.key);
                last = None;
                continue;
            }
            sealed |= u64::from(self.goes_by(table)) << at;
            in_parts |= u64::from(table.is_group()) << at;
            match last {
                Some((other, key))
                    if core::ptr::eq(key, request.key)
                        && core::ptr::eq(&raw const other.index, &raw const table.index) =>
                {
                    self.group.lookups.begin_as_before();
                }
                _ => self.group.lookups.begin(&table.index, request.key),
            }
            last = Some((table, request.key));
        }
        let Self { group: Group { lookups, row_bytes }, scheme, heap, .. } = self;
        lookups.finish(heap, begun(requests, tables), |at, record| {
            record.prefetch(row_bytes.of_first(table_of(tables, at), requests[at].table));
            S::LockTable::prefetch(scheme, requests[at].table, record);
        });
        self.expect_parts(in_parts, tables, requests);
        if self.attempt.in_past {
            self.expect_old_versions(tables, requests);
        }
        Ok(sealed)
    }

    /// Asks for the records of parts of rows that were found; `in_parts` has a bit for each request for one.
    #[inline]
    fn expect_parts(
        &mut self,
        mut in_parts: u64,
        tables: &[Option<&Table<M>>],
        requests: &[Get<'_>],
    ) {
        debug_assert!(self.heap.is_pinned(), "what was found stays");
        let Group { lookups, row_bytes } = &mut self.group;
        let mut last = None;
        while in_parts != 0 {
            let at = in_parts.trailing_zeros() as usize;
            in_parts &= in_parts - 1;
            if let Some(table) = tables[at]
                && let Found::Record(first) = lookups.found(at)
            {
                debug_assert!(table.is_group(), "a request for a part");
                let record = table.of_row(first);
                record.prefetch(row_bytes.of(requests[at].table));
                S::LockTable::prefetch(&self.scheme, requests[at].table, record);
                last = Some((table.table_of_group(requests[at].table), first));
            }
        }
        if let Some((table, first)) = last {
            row_bytes.learn_way(table, first.bytes_to_mate());
        }
    }

    /// Asks for the newest of the older versions of records that were found: a reader of the past wants one of these of
    /// most rows that are changed often.
    fn expect_old_versions(&self, tables: &[Option<&Table<M>>], requests: &[Get<'_>]) {
        debug_assert!(self.heap.is_pinned(), "what was found stays");
        for (at, table) in tables.iter().enumerate() {
            if let Some(table) = table
                && requests[at].kind != GetKind::Approach
                && let Found::Record(first) = self.group.lookups.found(at)
            {
                table.of_row(first).prefetch_older();
            }
        }
    }
}

/// The table that the look-up of this number of a group has begun in.
#[inline(always)]
fn table_of<'a, M: Machine>(tables: &[Option<&'a Table<M>>], at: usize) -> &'a Table<M> {
    let Some(table) = tables[at] else { unreachable!("its look-up has begun") };
    table
}

/// By number, the index and the key that each look-up of a group has begun with.
#[inline(always)]
fn begun<'a, M: Machine>(
    requests: &'a [Get<'_>],
    tables: &'a [Option<&Table<M>>],
) -> impl Fn(usize) -> (&'a Index<M>, &'a [u8]) {
    |at| (&table_of(tables, at).index, requests[at].key)
}

/// Refuses keys that no index holds.
#[inline]
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { bytes: key.len() });
    }
    Ok(())
}
