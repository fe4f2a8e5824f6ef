//! A transaction of statements: what they have read, and how to take back what they have written.
//!
//! Statements write at once; there is nobody beside them. A rollback brings the rows that were written back to what
//! they were, in reverse order. All of it lies in vectors that are kept, so that steady state allocates nothing.
//!
//! Hardware may abandon a statement at any access to the database, without a destructor. So none owns a vector of its own
//! meanwhile, nor takes one from here: what an abandoned one has left is used again by the next. (Secondary indexes are
//! the exception: their keys are made up on the way.)

use crate::memory::NoMemory;
use crate::record::{KeySource, Place};
use crate::table::{State, Table};
use crate::view::View;
use chiliad_api::{
    Entry, Error, IndexKind, KEY_BYTES_MAX, Numbers, Range, Result, Row, Scanned, Secondary,
    TableId, VALUE_BYTES_MAX,
};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{Cost, Machine};
use core::ops;
use std::collections::HashMap;

/// A part of an attempt's bytes.
type Part = ops::Range<usize>;

/// A row that was read, or the key of an entry in a secondary index.
struct Access {
    table: u32,
    key: Part,
    value: Part,
    /// The caller may have changed the value where it lies here.
    changed: bool,
}

/// A row as it was before a statement wrote it.
struct Undo {
    table: u32,
    key: Part,
    value: Option<Part>,
}

/// Room for the statements of one transaction at a time.
#[derive(Default)]
pub struct Attempt {
    pub(crate) read_only: bool,
    /// It loads rows of tables that take loads only.
    pub(crate) loads: bool,
    numbers: Numbers,
    accesses: Vec<Access>,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    undo: Vec<Undo>,
    /// The accesses that are marked as changed.
    changed: Vec<usize>,
    /// The access of a row, by table and key.
    known: HashMap<(u32, Box<[u8]>), usize>,
    /// A change in place that could not be made: the transaction cannot commit.
    failed: Option<Error>,
}

impl Attempt {
    /// Begins a transaction.
    pub(crate) fn begin(&mut self, read_only: bool) {
        self.numbers.pass(self.accesses.len().max(self.entries.len()));
        self.read_only = read_only;
        self.loads = false;
        self.accesses.clear();
        self.entries.clear();
        self.bytes.clear();
        self.undo.clear();
        self.changed.clear();
        self.known.clear();
        self.failed = None;
    }

    fn keep(&mut self, bytes: &[u8]) -> Part {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// Appends bytes that are here already.
    fn keep_again(&mut self, part: Part) -> Part {
        let start = self.bytes.len();
        self.bytes.extend_from_within(part);
        start..self.bytes.len()
    }

    /// Appends the key and the value of a row.
    fn copy<M: Machine>(&mut self, place: Place<M>) -> (Part, Part) {
        let start = self.bytes.len();
        let middle = start + place.key_bytes();
        let end = middle + place.value_bytes();
        self.bytes.resize(end, 0);
        place.read_key(0, &mut self.bytes[start..middle]);
        let is_read = place.read(0, &mut self.bytes[middle..end]);
        debug_assert!(is_read.is_some(), "the whole value");
        (start..middle, middle..end)
    }

    fn access(&self, row: Row) -> Result<usize> {
        let at = self.numbers.place(row.number().get());
        if at < self.accesses.len() { Ok(at) } else { Err(Error::ForeignHandle) }
    }

    /// The handle of a row that was found.
    fn note<M: Machine>(&mut self, table: u32, place: Place<M>) -> usize {
        M::work(Cost::Read, 1);
        let (key, value) = self.copy(place);
        let known = (table, self.bytes[key.clone()].into());
        if let Some(&at) = self.known.get(&known) {
            self.bytes.truncate(key.start);
            return at;
        }
        self.accesses.push(Access { table, key, value, changed: false });
        self.known.insert(known, self.accesses.len() - 1);
        self.accesses.len() - 1
    }

    fn row(&self, at: usize) -> Row {
        Row::from_number(self.numbers.number(at))
    }

    pub(crate) fn bytes(&self, row: Row) -> Result<&[u8]> {
        Ok(&self.bytes[self.accesses[self.access(row)?].value.clone()])
    }

    pub(crate) fn entries(&self, scanned: Scanned) -> Result<&[Entry]> {
        let (start, length) = scanned.parts();
        let start = self.numbers.place(start);
        let end = start.checked_add(length as usize).ok_or(Error::ForeignHandle)?;
        self.entries.get(start..end).ok_or(Error::ForeignHandle)
    }

    pub(crate) fn key(&self, entry: Entry) -> Result<&[u8]> {
        Ok(&self.bytes[self.accesses[self.access(entry.key())?].key.clone()])
    }

    pub(crate) fn table_of(&self, row: Row) -> Result<TableId> {
        Ok(TableId(self.accesses[self.access(row)?].table))
    }

    pub(crate) fn find<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: TableId,
        key: &[u8],
    ) -> Result<Option<Row>> {
        self.operate(view);
        check_key(key)?;
        let found = view.find_place(known(view, table)?, KeySource::Bytes(key));
        Ok(found.map(|place| {
            let at = self.note(table.0, place);
            self.row(at)
        }))
    }

    pub(crate) fn scan<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: TableId,
        range: &Range<'_>,
    ) -> Result<Scanned> {
        self.operate(view);
        let of = known(view, table)?;
        if of.spec.index == IndexKind::Hash {
            return Err(Error::NotOrdered);
        }
        let first = self.entries.len();
        view.scan_places(of, range, &mut |place| {
            let at = self.note(table.0, place);
            let row = self.row(at);
            self.entries.push(Entry::new(row, row));
            true
        });
        Ok(self.scanned(first))
    }

    pub(crate) fn scan_index<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: TableId,
        index: usize,
        range: &Range<'_>,
    ) -> Result<Scanned> {
        self.operate(view);
        let of = known(view, table)?;
        let index =
            of.secondary.get(index).ok_or_else(|| Error::UnknownIndex(index.to_string()))?;
        let first = self.entries.len();
        view.scan_places(known(view, index.table)?, range, &mut |place| {
            let (key, primary) = self.copy(place);
            self.accesses.push(Access {
                table: index.table.0,
                key,
                value: primary.clone(),
                changed: false,
            });
            let key = self.row(self.accesses.len() - 1);
            let found = view.find_place(of, KeySource::Bytes(&self.bytes[primary]));
            if let Some(place) = found {
                let at = self.note(table.0, place);
                self.entries.push(Entry::new(key, self.row(at)));
            }
            true
        });
        Ok(self.scanned(first))
    }

    /// The scan whose entries begin with that numbered `first`.
    fn scanned(&self, first: usize) -> Scanned {
        let length = (self.entries.len() - first) as u32;
        Scanned::from_parts(self.numbers.number(first).get(), length)
    }

    pub(crate) fn insert<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.insert_parts(view, table, key, &[value])
    }

    /// Inserts a row, each part into a table of its own.
    pub(crate) fn insert_parts<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        self.operate(view);
        check_key(key)?;
        let of = self.writable(view, table)?;
        of.spec.check_parts(of.is_group, parts.len())?;
        if view.find_place(of, KeySource::Bytes(key)).is_some() {
            return Err(Error::duplicate_key(&of.spec.name, key));
        }
        self.set_bytes(view, table.0, key, parts[0])?;
        for (group, part) in parts[1..].iter().enumerate() {
            self.set_bytes(view, table.group(group).0, key, part)?;
        }
        Ok(())
    }

    pub(crate) fn put<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.operate(view);
        check_key(key)?;
        let of = self.writable(view, table)?;
        let in_parts = of.is_group || !of.spec.groups.is_empty();
        if in_parts && view.find_place(of, KeySource::Bytes(key)).is_none() {
            return self.insert(view, table, key, value);
        }
        self.set_bytes(view, table.0, key, value)
    }

    /// Gives a row another value, or removes it.
    pub(crate) fn change<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        row: Row,
        value: Option<&[u8]>,
    ) -> Result<()> {
        self.operate(view);
        let at = self.access(row)?;
        let Access { table, key, .. } = &self.accesses[at];
        let (table, key) = (*table, key.clone());
        self.writable(view, TableId(table))?;
        let value = value.map(|value| self.keep(value));
        self.set(view, table, key, value)
    }

    /// Removes a row, in all its parts.
    pub(crate) fn remove<T: Lines>(&mut self, view: &mut View<'_, T>, row: Row) -> Result<()> {
        let at = self.access(row)?;
        let Access { table, key, .. } = &self.accesses[at];
        let (id, key) = (TableId(*table), key.clone());
        let of = view.table(id);
        if of.is_group {
            return Err(Error::PartOfRow(of.spec.name.clone()));
        }
        let groups = of.spec.groups.len();
        self.change(view, row, None)?;
        // An execution that is given up would leave a copy of the key behind.
        for group in (0..groups).map(|at| id.group(at).0) {
            self.set(view, group, key.clone(), None)?;
        }
        Ok(())
    }

    pub(crate) fn modify<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        row: Row,
    ) -> Result<&mut [u8]> {
        let at = self.access(row)?;
        T::Machine::work(Cost::Operation, 1);
        self.writable(view, TableId(self.accesses[at].table))?;
        let access = &mut self.accesses[at];
        if !access.changed {
            access.changed = true;
            self.changed.push(at);
        }
        Ok(&mut self.bytes[access.value.clone()])
    }

    /// Begins an operation, which sees all that was changed before.
    fn operate<T: Lines>(&mut self, view: &mut View<'_, T>) {
        self.flush(view);
        T::Machine::work(Cost::Operation, 1);
    }

    /// Writes what the caller has changed in place. A change that cannot be made shows at the commit.
    fn flush<T: Lines>(&mut self, view: &mut View<'_, T>) {
        for number in 0..self.changed.len() {
            let access = &mut self.accesses[self.changed[number]];
            access.changed = false;
            let (table, key, value) = (access.table, access.key.clone(), access.value.clone());
            // Told at the commit.
            let _ = self.set(view, table, key, Some(value));
        }
        self.changed.clear();
    }

    /// Ends the transaction with its writes, or takes them back. Says whether there are any.
    pub(crate) fn commit<T: Lines>(&mut self, view: &mut View<'_, T>) -> Result<bool> {
        self.flush(view);
        T::Machine::work(Cost::Commit, 1);
        match self.failed.take() {
            None => Ok(!self.undo.is_empty()),
            Some(error) => {
                self.rollback(view);
                Err(error)
            }
        }
    }

    /// Brings all rows back to what they were.
    pub(crate) fn rollback<T: Lines>(&mut self, view: &mut View<'_, T>) {
        T::Machine::work(Cost::Abort, 1);
        self.changed.clear();
        while let Some(undo) = self.undo.pop() {
            let (key, value) = (&self.bytes[undo.key], undo.value.map(|value| &self.bytes[value]));
            let Some(table) = view.tables.get(undo.table) else { continue };
            if apply(view, table, key, value).is_err() {
                view.trap("no memory for a row that is brought back");
            }
        }
    }

    /// The table, if the transaction may write it.
    fn writable<'v, T: Lines>(
        &self,
        view: &View<'v, T>,
        table: TableId,
    ) -> Result<&'v Table<T::Machine>> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let table = known(view, table)?;
        match table.state.get() {
            State::Open => Ok(table),
            State::Loading if self.loads => Ok(table),
            _ => Err(Error::ReadOnlyTable(table.spec.name.clone())),
        }
    }

    /// As [`Attempt::set`], of bytes that are the caller's.
    fn set_bytes<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: u32,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let (key, value) = (self.keep(key), self.keep(value));
        self.set(view, table, key, Some(value))
    }

    /// Brings a row to this value, or to none, and notes what it was. Where that fails the transaction cannot commit.
    fn set<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: u32,
        key: Part,
        value: Option<Part>,
    ) -> Result<()> {
        let set = self.try_set(view, table, key, value);
        if let Err(error) = &set {
            self.failed.get_or_insert_with(|| error.clone());
        }
        set
    }

    fn try_set<T: Lines>(
        &mut self,
        view: &mut View<'_, T>,
        table: u32,
        key: Part,
        value: Option<Part>,
    ) -> Result<()> {
        T::Machine::work(Cost::Write, 1);
        let of = known(view, TableId(table))?;
        if let Some(value) = &value {
            let (key, value) = (&self.bytes[key.clone()], &self.bytes[value.clone()]);
            if value.len() > VALUE_BYTES_MAX {
                let accepted = (0, VALUE_BYTES_MAX);
                return Err(Error::ValueSize { bytes: value.len(), accepted });
            }
            for secondary in &of.secondary {
                secondary.check(key, value)?;
                check_unique(view, secondary, key, value)?;
            }
        }
        let before = view.find_place(of, KeySource::Bytes(&self.bytes[key.clone()]));
        let before = before.map(|place| self.copy(place).1);
        self.undo.push(Undo { table, key: key.clone(), value: before });
        let (bytes, now) =
            (&self.bytes[key.clone()], value.clone().map(|value| &self.bytes[value]));
        let applied = apply(view, of, bytes, now);
        let known = (table, self.bytes[key].into());
        if let Some(&at) = self.known.get(&known) {
            match value {
                // A copy: the caller may change it in place, and what is noted of before stays.
                Some(value) => self.accesses[at].value = self.keep_again(value),
                None => {
                    self.known.remove(&known);
                }
            }
        }
        applied.map_err(|NoMemory| Error::OutOfMemory { limit_bytes: u64::MAX })
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { bytes: key.len() });
    }
    Ok(())
}

fn known<'v, T: Lines>(view: &View<'v, T>, table: TableId) -> Result<&'v Table<T::Machine>> {
    view.tables.get(table.0).ok_or_else(|| Error::UnknownTable(table.0.to_string()))
}

/// Refuses a row that another one excludes from a unique index.
fn check_unique<T: Lines>(
    view: &View<'_, T>,
    secondary: &Secondary,
    key: &[u8],
    value: &[u8],
) -> Result<()> {
    let mut index_key = Vec::new();
    secondary.encode(key, value, &mut index_key);
    if index_key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { bytes: index_key.len() });
    }
    if !secondary.spec.unique {
        return Ok(());
    }
    let index = known(view, secondary.table)?;
    let Some(entry) = view.find_place(index, KeySource::Bytes(&index_key)) else { return Ok(()) };
    let mut primary = vec![0; entry.value_bytes()];
    match entry.read(0, &mut primary) {
        Some(()) if primary == key => Ok(()),
        _ => Err(Error::UniqueViolation { index: secondary.spec.name.clone() }),
    }
}

/// Brings a row and its entries in secondary indexes to this value, or to none. What a call before has done in part is
/// completed.
fn apply<T: Lines>(
    view: &mut View<'_, T>,
    table: &Table<T::Machine>,
    key: &[u8],
    value: Option<&[u8]>,
) -> core::result::Result<(), NoMemory> {
    let place = view.find_place(table, KeySource::Bytes(key));
    if !table.secondary.is_empty() {
        let before = place.map(|place| {
            let mut before = vec![0; place.value_bytes()];
            let is_read = place.read(0, &mut before);
            debug_assert!(is_read.is_some(), "the whole value");
            before
        });
        for secondary in &table.secondary {
            let Some(index) = view.tables.get(secondary.table.0) else { continue };
            let encode = |value: &[u8]| {
                let mut out = Vec::new();
                secondary.encode(key, value, &mut out);
                out
            };
            let (stale, fresh) = (before.as_deref().map(encode), value.map(encode));
            if stale != fresh
                && let Some(stale) = &stale
            {
                view.remove_row(index, stale);
            }
            if let Some(fresh) = &fresh {
                view.insert_row(index, fresh, key)?;
            }
        }
    }
    match (place, value) {
        (Some(place), Some(value)) => view.replace_value(table, place, value),
        (None, Some(value)) => view.insert_row(table, key, value).map(|_| ()),
        (_, None) => {
            view.remove_row(table, key);
            Ok(())
        }
    }
}
