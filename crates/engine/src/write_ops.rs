//! Writing: everything is deferred; an insertion alone shows in the index before the commit, as an
//! absent record that only this transaction may write (Tu, 2013, 4.5).

use crate::access::{Kind, NONE, Write};
use crate::arena::Piece;
use crate::contract::{Abort, Context, LockTable, Scheme, Step};
use crate::core::{Core, State, context};
use crate::read_ops::check_key;
use crate::tables::catalog::View;
use crate::tables::table::Table;
use chiliad_api::{Columns, Error, Get, Part, Result, Row, TableId};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{Change, Found, Inserted, Kind as SlotKind, LocalHeap};
use chiliad_storage::{OutOfMemory, RecordRef, VALUE_BYTES_MAX};

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    /// Refuses values that no record holds.
    pub(crate) fn check_value(value: &[u8]) -> Result<()> {
        if value.len() > VALUE_BYTES_MAX {
            return Err(Error::ValueSize { bytes: value.len(), accepted: (0, VALUE_BYTES_MAX) });
        }
        Ok(())
    }

    pub fn insert(&mut self, view: &View<M>, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        let table = view.writable(id, self.attempt.loads)?;
        check_key(key)?;
        Self::check_value(value)?;
        if table.is_plain() {
            return self.insert_one(id, table, key, &[value]);
        }
        self.check_parts(table, 1)?;
        self.insert_indexed(view, table, (id, key), &[value])
    }

    /// Inserts a row, all whose parts these are, into a table with indexes.
    pub(crate) fn insert_indexed(
        &mut self,
        view: &View<M>,
        table: &Table<M>,
        (id, key): (TableId, &[u8]),
        parts: &[&[u8]],
    ) -> Result<()> {
        let value = parts[0];
        self.align_indexes(view)?;
        if self.get(table, Get::read(id, key))?.is_some() {
            return Err(Error::duplicate_key(table.name(), key));
        }
        self.check_unique(view, table, key, None, value)?;
        self.insert_one(id, table, key, parts)?;
        self.remember_entries(id, key, value);
        self.insert_entries(view, table, key, value)
    }

    /// The row of the write of `key` has from now on the entries of `value`.
    fn remember_entries(&mut self, id: TableId, key: &[u8], value: &[u8]) {
        let before = self.arena.push(value);
        let arena = &self.arena;
        let mut writes = self.writes.entries.iter_mut().rev();
        let write = writes.find(|it| it.table == id && arena.get(it.key) == key);
        debug_assert!(write.is_some(), "the row was just inserted");
        if let Some(write) = write {
            write.before = before;
        }
    }

    /// Inserts into one index. In line always, so that of a plain table the number of parts is known.
    #[inline(always)]
    pub(crate) fn insert_one(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        self.heap.pin();
        let inserted = self.insert_pinned(id, table, key, parts);
        self.heap.unpin();
        inserted
    }

    #[inline(always)]
    fn insert_pinned(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "what is found stays");
        debug_assert!(parts.len() == table.parts(), "all parts of a row");
        let value = parts[0];
        loop {
            self.table = id;
            let part = self.clockwork.switch(Part::Index);
            if !self.lock_gap(table, key)? {
                continue;
            }
            let waits = self.attempt.waits;
            let placed = self.place(id, table, key, parts);
            self.clockwork.switch(part);
            let row = match placed? {
                Placed::Fresh(_) if parts.len() == 1 => return Ok(()),
                Placed::Fresh(record) if self.attempt.waits == waits => (record, true),
                Placed::Fresh(record) => (self.still_there(table, key, record)?, true),
                Placed::Found(record) => match self.claim(id, key, record)? {
                    Claim::Present => return Err(Error::duplicate_key(table.name(), key)),
                    Claim::Own(write) => {
                        let value = self.arena.push(value);
                        let own = &mut self.writes.entries[write as usize];
                        (own.kind, own.value) = (Kind::Put, value);
                        (record, false)
                    }
                    Claim::Absent => {
                        if S::NEEDS.declares_writes && !self.declare_write(record)? {
                            continue;
                        }
                        self.push_write(id, key, value, record, false);
                        (record, false)
                    }
                    Claim::Redo => continue,
                },
            };
            return match &parts[1..] {
                [] => Ok(()),
                others => self.write_mates(id, key, row, others),
            };
        }
    }

    /// The record that was placed, which the index still has. Where the insertion has waited for its lock, the holder may
    /// have taken it for a placeholder that nobody needs. Pinned.
    #[cold]
    fn still_there(
        &mut self,
        table: &Table<M>,
        key: &[u8],
        record: RecordRef<M>,
    ) -> Result<RecordRef<M>> {
        debug_assert!(self.heap.is_pinned(), "what is found stays");
        match table.index.get(&self.heap, key) {
            Found::Record(found) if found == record => Ok(record),
            _ => Err(self.has_left(record)),
        }
    }

    /// Whether the transaction may insert the key, or finds it; else to be asked again. Pinned.
    #[inline]
    fn lock_gap(&mut self, table: &Table<M>, key: &[u8]) -> Result<bool> {
        debug_assert!(self.heap.is_pinned(), "leaves stay");
        let find = |heap: &LocalHeap<M>| match table.index.get(heap, key) {
            Found::Absent(seen) => Some(seen),
            Found::Record(_) => None,
        };
        let step = S::LockTable::lock_gap(&mut self.scheme, &mut context!(self), find);
        Ok(self.resolve(step)?.is_some())
    }

    /// Finds the key's record or puts a fresh one into the index, absent and nobody else's to write, and
    /// into the write set.
    #[inline(always)]
    fn place(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<Placed<M>> {
        debug_assert!(self.heap.is_pinned(), "nodes stay");
        debug_assert!(parts.iter().all(|it| it.len() <= VALUE_BYTES_MAX), "values are checked");
        let Ok(record) = self.make_absent(parts) else {
            return Err(self.mark_aborted(Abort::out_of_memory()));
        };
        if parts.len() > 1 {
            self.begin_mates(record, table, key);
        }
        self.changes.clear();
        let Self { heap, leaf_hooks, changes, finger, .. } = self;
        let inserted = table.index.insert_near(heap, key, record, (leaf_hooks, changes), finger);
        let done = match inserted {
            Ok(Inserted::Yes) => Ok(Placed::Fresh(record)),
            Ok(Inserted::Exists(found)) => Ok(Placed::Found(found)),
            Err(_) => Err(self.mark_aborted(Abort::out_of_memory())),
        };
        // Even a failed insertion may have split leaves.
        let changes = core::mem::take(&mut self.changes);
        let step = match done {
            Ok(Placed::Fresh(_)) => self.note_placed(id, table, (key, parts[0]), record, &changes),
            _ => {
                // SAFETY: it was allocated above and the index has not taken it, so no other thread has seen it.
                unsafe { self.give_back(record) };
                self.scheme.after_insert(&mut context!(self), None, &changes)
            }
        };
        self.changes = changes;
        self.resolve(step)?;
        done
    }

    /// Obtains a record for each of these parts of a row, absent and nobody else's to write. Returns the first.
    #[inline(always)]
    pub(crate) fn make_absent(
        &mut self,
        parts: &[&[u8]],
    ) -> core::result::Result<RecordRef<M>, OutOfMemory> {
        let Self { heap, verification, .. } = self;
        let mut bytes = parts.iter().map(|value| verification.stored_bytes(value.len()));
        let record = match parts {
            [value] => heap.alloc_record(SlotKind::Record, verification.stored_bytes(value.len())),
            _ => heap.alloc_row(bytes.by_ref()),
        }?;
        self.scheme.begin_insert(&mut context!(self), record);
        self.verification.placing(record);
        Ok(record)
    }

    /// Gives a row back that [`Core::make_absent`] has obtained, from its first record on.
    ///
    /// # Safety
    /// The index has not taken it, so no other thread has seen it.
    pub(crate) unsafe fn give_back(&mut self, first: RecordRef<M>) {
        self.scheme.cancel_insert(&mut context!(self), first);
        first.row().skip(1).for_each(S::cancel_part);
        // SAFETY: the caller's promise.
        unsafe { self.heap.free_row(first) };
    }

    /// The index has taken the record with these `changes`: tells the scheme, and adds the write of key and value. Whatever
    /// the scheme says, which is returned: what is in the index is in the write set.
    #[inline(always)]
    pub(crate) fn note_placed(
        &mut self,
        id: TableId,
        table: &Table<M>,
        (key, value): (&[u8], &[u8]),
        record: RecordRef<M>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        self.verification.placed(record, table, key);
        let step = self.scheme.after_insert(&mut context!(self), Some(record), changes);
        if S::NEEDS.watches_gaps {
            self.gaps.settle(id, key, changes);
        }
        self.push_write(id, key, value, record, true);
        step
    }

    /// Adds the write of a record that has none yet, and returns its index.
    #[inline(always)]
    pub(crate) fn push_write(
        &mut self,
        id: TableId,
        key: &[u8],
        value: &[u8],
        record: RecordRef<M>,
        placed: bool,
    ) -> u32 {
        let prior = if placed { record.word().load(Ordering::Relaxed) } else { 0 };
        let key = self.arena.push(key);
        let value = (Kind::Put, self.arena.push(value));
        let write = Write::new(record, (id, key), value, self.keeps(id));
        self.writes.push(Write { placed, prior, ..write })
    }

    /// Looks at a record that an insertion found under its key.
    fn claim(&mut self, id: TableId, key: &[u8], record: RecordRef<M>) -> Result<Claim> {
        if let Some(write) = self.writes.find(record) {
            let present = self.writes.entries[write as usize].kind != Kind::Remove;
            return Ok(if present { Claim::Present } else { Claim::Own(write) });
        }
        debug_assert!(self.heap.is_pinned(), "the record stays");
        let mark = self.arena.used();
        let step = self.timed(Part::Manager, |core| {
            core.scheme.read(&mut context!(core), record, &mut core.arena, &core.writes)
        });
        let Some(version) = self.resolve(step)? else {
            return Ok(Claim::Redo);
        };
        let version = self.verification.read(record, (id, key), version, &self.arena);
        self.arena.truncate(mark);
        Ok(if version.is_absent() { Claim::Absent } else { Claim::Present })
    }

    /// The write of a row's record: the one there is, or a new one that keeps the value.
    #[inline]
    pub(crate) fn write_of(&mut self, row: Row, keep_before: bool) -> Result<u32> {
        let place = self.handles.place(row)?;
        let access = &self.handles.accesses[place];
        if access.write != NONE {
            if self.writes.has_partial() {
                self.writes.forget_changed(access.write);
            }
            let own = &self.writes.entries[access.write as usize];
            debug_assert!(
                own.record == access.record && own.table == access.table,
                "its own write"
            );
            return Ok(access.write);
        }
        let (record, id, key, value) = (access.record, access.table, access.key, access.value);
        let write = match self.writes.find(record) {
            Some(write) if self.writes.entries[write as usize].table == id => {
                self.writes.forget_changed(write);
                let own = &mut self.writes.entries[write as usize];
                own.base = own.base.min(value.start());
                write
            }
            Some(_) => return Err(self.has_left(record)),
            None => {
                if S::NEEDS.declares_writes {
                    self.table = id;
                    self.declare_write_of_read(record)?;
                }
                let before =
                    if keep_before { self.arena.duplicate(value) } else { Piece::default() };
                let write = Write::new(record, (id, key), (Kind::Put, value), self.keeps(id));
                self.writes.push(Write { before, ..write })
            }
        };
        self.handles.accesses[place].write = write;
        Ok(write)
    }

    pub fn update(&mut self, view: &View<M>, row: Row, value: &[u8]) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        Self::check_value(value)?;
        let access = self.handles.access(row)?;
        let table = view.writable(access.table, self.attempt.loads)?;
        let indexed = !table.secondary().is_empty();
        let key = access.key;
        for secondary in table.secondary() {
            secondary.check(self.arena.get(key), value)?;
        }
        self.read_added_row(table, row)?;
        let write = self.write_of(row, indexed)?;
        let value = self.arena.push(value);
        let own = &mut self.writes.entries[write as usize];
        if indexed && own.kind == Kind::Remove {
            return self.restore(view, write, value);
        }
        (own.kind, own.value) = (Kind::Put, value);
        if !indexed {
            return Ok(());
        }
        self.mark_dirty(write, indexed);
        self.align_indexes(view)
    }

    /// As [`Core::update`], of a value that differs from the row's in these columns at most.
    pub fn update_columns(
        &mut self,
        view: &View<M>,
        row: Row,
        value: &[u8],
        columns: Columns,
    ) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        if !S::NEEDS.knows_columns {
            return self.update(view, row, value);
        }
        let record = self.handles.access(row)?.record;
        let before = self.writes.changed_so_far(record);
        self.update(view, row, value)?;
        if let Some(before) = before
            && let Some(write) = self.writes.find(record)
        {
            self.writes.set_changed(write, before.with(columns));
        }
        Ok(())
    }

    /// Writes a row of a table with indexes after its removal, with its entries. A row that the
    /// indexes cannot take stays removed.
    fn restore(&mut self, view: &View<M>, write: u32, value: Piece) -> Result<()> {
        let own = &self.writes.entries[write as usize];
        debug_assert!(own.kind == Kind::Remove, "only what was removed comes back");
        let (id, key) = (own.table, self.arena.get(own.key).to_vec());
        let bytes = self.arena.get(value).to_vec();
        let table = view.get(id)?;
        self.check_unique(view, table, &key, None, &bytes)?;
        let before = self.arena.push(&bytes);
        let own = &mut self.writes.entries[write as usize];
        (own.kind, own.value, own.before) = (Kind::Put, value, before);
        self.insert_entries(view, table, &key, &bytes)
    }

    #[inline]
    pub fn modify(&mut self, view: &View<M>, row: Row) -> Result<&mut [u8]> {
        debug_assert!(!self.heap.is_pinned(), "no operation is in progress");
        let table = view.writable(self.handles.access(row)?.table, self.attempt.loads)?;
        let indexed = !table.secondary().is_empty();
        self.read_added_row(table, row)?;
        let write = self.write_of(row, indexed)?;
        let own = &mut self.writes.entries[write as usize];
        if own.kind == Kind::Remove {
            let value = own.value;
            if indexed {
                self.restore(view, write, value)?;
            } else {
                own.kind = Kind::Put;
            }
        }
        self.mark_dirty(write, indexed);
        let value = self.writes.entries[write as usize].value;
        Ok(self.arena.get_mut(value))
    }

    #[inline]
    fn mark_dirty(&mut self, write: u32, indexed: bool) {
        if indexed {
            let own = &mut self.writes.entries[write as usize];
            self.attempt.dirty += usize::from(!own.dirty);
            own.dirty = true;
            debug_assert!(
                self.attempt.dirty <= self.writes.entries.len(),
                "each write counts once"
            );
        }
    }

    pub fn put(&mut self, view: &View<M>, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        let table = view.writable(id, self.attempt.loads)?;
        check_key(key)?;
        Self::check_value(value)?;
        if !table.is_plain() {
            return match self.get(table, Get::read(id, key))? {
                Some(row) => self.update(view, row, value),
                None => self.insert(view, id, key, value),
            };
        }
        self.heap.pin();
        let put = self.put_pinned(id, table, key, value);
        self.heap.unpin();
        put
    }

    fn put_pinned(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        debug_assert!(self.heap.is_pinned(), "what is found stays");
        self.table = id;
        loop {
            let part = self.clockwork.switch(Part::Index);
            let found = table.index.get(&self.heap, key);
            let placed = match found {
                Found::Record(record) => Ok(Placed::Found(record)),
                Found::Absent(_) if !self.lock_gap(table, key)? => continue,
                Found::Absent(_) => self.place(id, table, key, &[value]),
            };
            self.clockwork.switch(part);
            let record = match placed? {
                Placed::Fresh(_) => return Ok(()),
                Placed::Found(record) => record,
            };
            if let Some(write) = self.writes.find(record) {
                let value = self.arena.push(value);
                let own = &mut self.writes.entries[write as usize];
                (own.kind, own.value) = (Kind::Put, value);
                return Ok(());
            }
            if !S::NEEDS.declares_writes || self.declare_write(record)? {
                self.push_write(id, key, value, record, false);
                return Ok(());
            }
        }
    }

    pub fn remove_row(&mut self, view: &View<M>, row: Row) -> Result<()> {
        debug_assert!(matches!(self.attempt.state, State::Active), "a transaction is in hand");
        let table = view.writable(self.handles.access(row)?.table, self.attempt.loads)?;
        if table.is_group() {
            return Err(Error::PartOfRow(table.name().to_owned()));
        }
        if table.parts() > 1 {
            self.remove_mates(view, row)?;
        }
        let indexed = !table.secondary().is_empty();
        if indexed {
            // Its entries must be those of the value that they are removed for.
            self.align_indexes(view)?;
        }
        self.read_added_row(table, row)?;
        let write = self.write_of(row, indexed)?;
        let own = &mut self.writes.entries[write as usize];
        let (key, value) = (own.key, own.value);
        let removed = own.kind == Kind::Put;
        own.kind = Kind::Remove;
        if indexed && removed {
            self.remove_entries(view, table, key, value)?;
        }
        Ok(())
    }
}

enum Placed<M: Machine> {
    Fresh(RecordRef<M>),
    Found(RecordRef<M>),
}

enum Claim {
    Present,
    Absent,
    Own(u32),
    Redo,
}
