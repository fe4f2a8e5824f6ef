//! Walks: the rows of a range, by the key of their table or through a secondary index.
//!
//! A description first ([`Walk`]); run at once, with all rows of the range in the transaction's hands, or in
//! pieces ([`Pieces`]), of which the next one is read when the last one is used up.

use crate::bounds::Bounds;
use crate::form::Schemas;
use crate::raw::{Entry, Range, Scanned, TableId, Transaction as _, Untyped, Visit};
use crate::reader::flow;
use crate::{Fetched, Key, Reader, Result, Row, Table};
use core::ops::ControlFlow;

/// Rows that are read at a time where a scan may be ended early.
const PIECE: usize = 64;

/// The order in which the rows of a table are gone through.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// By primary key.
    Table,
    /// By the secondary index at this position.
    Index(usize),
}

impl Way {
    fn scan(self, raw: &mut Untyped<'_>, id: TableId, range: Range<'_>) -> Result<Scanned> {
        match self {
            Self::Table => raw.scan(id, range),
            Self::Index(index) => raw.scan_index(id, index, range),
        }
    }

    /// Shows key and bytes of each row.
    fn visit(
        self,
        raw: &mut Untyped<'_>,
        id: TableId,
        range: Range<'_>,
        show: &mut Visit<'_>,
    ) -> Result<()> {
        match self {
            Self::Table => raw.visit(id, range, show),
            Self::Index(at) => raw.visit_index(id, at, range, &mut |_, key, row| show(key, row)),
        }
    }

    /// Shows the key of each row; an index is read alone.
    fn visit_keys(
        self,
        raw: &mut Untyped<'_>,
        id: TableId,
        range: Range<'_>,
        show: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        match self {
            Self::Table => raw.visit(id, range, &mut |key, _| show(key)),
            Self::Index(at) => raw.visit_index_keys(id, at, range, &mut |_, key| show(key)),
        }
    }
}

/// Some rows of a table, in some order.
pub(crate) struct Walk<'r, 'w, K, V> {
    reader: &'r mut Reader<'w>,
    table: Table<K, V>,
    way: Way,
    bounds: Bounds,
    reverse: bool,
    limit: usize,
}

impl<'r, 'w, K, V> Walk<'r, 'w, K, V> {
    pub fn new(reader: &'r mut Reader<'w>, table: Table<K, V>, way: Way, bounds: Bounds) -> Self {
        Self { reader, table, way, bounds, reverse: false, limit: usize::MAX }
    }

    pub fn rev(self) -> Self {
        Self { reverse: !self.reverse, ..self }
    }

    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    pub fn count(self) -> Result<usize> {
        if self.table.expiring.is_none() {
            let mut count = 0;
            self.visit_keys(|_| {
                count += 1;
                Ok(())
            })?;
            return Ok(count);
        }
        let (reader, found) = self.run()?;
        found.entries(reader).map(<[Entry]>::len)
    }

    /// Calls `visit` with the key of each row of a table whose rows do not expire; by an index it reads no row.
    fn visit_keys(self, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut ended = Ok(());
        self.go(|way, raw, _, id, range| {
            way.visit_keys(raw, id, range, &mut |key| flow(visit(key), &mut ended))
        })?;
        ended
    }

    /// Calls `visit` with key and bytes of each row of a table whose rows do not expire, and keeps none of them.
    fn visit(self, mut visit: impl FnMut(&[u8], &[u8], &Schemas) -> Result<()>) -> Result<()> {
        let mut ended = Ok(());
        self.go(|way, raw, schemas, id, range| {
            let mut show = |key: &[u8], row: &[u8]| flow(visit(key, row, schemas), &mut ended);
            way.visit(raw, id, range, &mut show)
        })?;
        ended
    }

    /// Calls `go` with the range, unless it is empty.
    fn go(
        self,
        go: impl FnOnce(Way, &mut Untyped<'w>, &Schemas, TableId, Range<'_>) -> Result<()>,
    ) -> Result<()> {
        debug_assert!(self.table.expiring.is_none(), "each row counts");
        let id = self.reader.table(&self.table)?;
        if self.bounds.is_empty() || self.limit == 0 {
            return Ok(());
        }
        let range = self.bounds.range(self.reverse, self.limit);
        let (raw, scratch) = self.reader.parts();
        go(self.way, raw, scratch.schemas(), id, range)
    }

    fn run(self) -> Result<(&'r mut Reader<'w>, Found)> {
        if self.table.expiring.is_some() {
            return self.run_live();
        }
        let id = self.reader.table(&self.table)?;
        if self.bounds.is_empty() || self.limit == 0 {
            return Ok((self.reader, Found::Live(Vec::new())));
        }
        let range = self.bounds.range(self.reverse, self.limit);
        let scanned = self.way.scan(self.reader.raw(), id, range)?;
        Ok((self.reader, Found::Scanned(scanned)))
    }

    /// As [`Walk::run`], for a table of which some rows may be past their time: they do not count.
    fn run_live(self) -> Result<(&'r mut Reader<'w>, Found)> {
        let Self { reader, table, way, bounds, reverse, limit } = self;
        let id = reader.table(&table)?;
        let mut pieces = Pieces::new(id, way, bounds, reverse, usize::MAX);
        let mut live = Vec::new();
        while live.len() < limit
            && let Some(piece) = pieces.read(reader.raw())?
        {
            for &entry in reader.untyped().entries(piece)? {
                if live.len() < limit && !reader.is_over(&table, entry.row)? {
                    live.push(entry);
                }
            }
        }
        Ok((reader, Found::Live(live)))
    }

    fn collect<T>(self, make: impl Fn(&Reader<'w>, Entry) -> Result<T>) -> Result<Vec<T>> {
        let (reader, found) = self.run()?;
        found.entries(reader)?.iter().map(|&entry| make(reader, entry)).collect()
    }

    /// The same in pieces, and how many of the rows are wanted; an error comes with the first piece.
    pub fn into_pieces(self) -> (&'r mut Reader<'w>, Table<K, V>, Result<Pieces>, usize) {
        let Self { reader, table, way, bounds, reverse, limit } = self;
        let id = reader.table(&table);
        let most = if table.expiring.is_some() { usize::MAX } else { limit };
        (reader, table, id.map(|id| Pieces::new(id, way, bounds, reverse, most)), limit)
    }
}

impl<'w, K: Key, V: Row> Walk<'_, 'w, K, V> {
    pub fn rows(self) -> Result<Vec<(K, V)>> {
        let table = self.table;
        self.collect(|reader, entry| reader.row(&table, entry.row))
    }

    pub fn keys(self) -> Result<Vec<K>> {
        if self.table.expiring.is_some() {
            return self.collect(|reader, entry| reader.key(entry.row));
        }
        let mut keys = Vec::new();
        self.visit_keys(|key| {
            keys.push(K::decode(key)?);
            Ok(())
        })?;
        Ok(keys)
    }

    pub fn values(self) -> Result<Vec<V>> {
        let table = self.table;
        self.collect(|reader, entry| reader.value(&table, entry.row))
    }

    pub fn fetch(self) -> Result<Vec<(K, Fetched<'w, V>)>> {
        let table = self.table;
        self.collect(|reader, entry| {
            Ok((reader.key(entry.row)?, reader.fetched(&table, entry.row)?))
        })
    }

    pub fn for_each(self, mut visit: impl FnMut(K, V) -> Result<()>) -> Result<()> {
        let table = self.table;
        if table.expiring.is_none() {
            return self.visit(|key, row, schemas| {
                visit(K::decode(key)?, table.form.read(table.id, schemas, row)?)
            });
        }
        let (reader, found) = self.run()?;
        for &entry in found.entries(reader)? {
            let (key, row) = reader.row(&table, entry.row)?;
            visit(key, row)?;
        }
        Ok(())
    }
}

/// The entries that a walk has found.
enum Found {
    Scanned(Scanned),
    /// The entries of rows that are not past their time.
    Live(Vec<Entry>),
}

impl Found {
    fn entries<'f>(&'f self, reader: &'f Reader<'_>) -> Result<&'f [Entry]> {
        match self {
            Self::Scanned(scanned) => reader.untyped().entries(*scanned),
            Self::Live(entries) => Ok(entries),
        }
    }
}

/// The rest of a walk that reads in pieces.
pub(crate) struct Pieces {
    id: TableId,
    way: Way,
    bounds: Bounds,
    reverse: bool,
    left: usize,
}

impl Pieces {
    pub fn new(id: TableId, way: Way, bounds: Bounds, reverse: bool, limit: usize) -> Self {
        let left = if bounds.is_empty() { 0 } else { limit };
        Self { id, way, bounds, reverse, left }
    }

    /// Reads the next piece: `None` where there is no more.
    pub fn read(&mut self, raw: &mut Untyped<'_>) -> Result<Option<Scanned>> {
        if self.left == 0 {
            return Ok(None);
        }
        let wanted = self.left.min(PIECE);
        let range = self.bounds.range(self.reverse, wanted);
        let scanned = self.way.scan(raw, self.id, range)?;
        let Some(&last) = raw.entries(scanned)?.last() else {
            self.left = 0;
            return Ok(None);
        };
        let is_last = match self.way {
            Way::Table => scanned.len() < wanted,
            // Where transactions are not serializable entries may be without their rows.
            Way::Index(_) => false,
        };
        self.left = if is_last { 0 } else { self.left - scanned.len() };
        if self.left > 0 {
            let key = raw.key(last)?.to_vec();
            self.bounds.go_on_after(key, self.reverse);
        }
        Ok(Some(scanned))
    }
}
