//! The tables of a database, by name and number.
//!
//! Numbers are never used again. Workers keep their own list of the tables they have seen and
//! refresh it when the catalog's version has moved, so that an operation reaches its table without
//! touching anything shared.

use crate::error::{Error, Result};
use crate::scheme::UseIndex;
use crate::secondary::Secondary;
use crate::stamp::Graveyard;
use crate::table::{IndexKind, TableId, TableSpec};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{HashIndex, Heap, Index, Latch, LocalHeap, OrderedIndex, Shared};
use std::sync::Arc;

/// A table in use.
pub struct Table<M: Machine> {
    pub spec: TableSpec,
    pub index: Index<M>,
    /// Its secondary indexes, which are tables of their own.
    pub secondary: Vec<Secondary>,
    /// The stamps of tombstones that have left, in verified runs.
    pub graveyard: Option<Graveyard<M>>,
}

/// A table's place: empty once it was dropped.
type Entry<M> = Option<Arc<Shared<M, Table<M>>>>;

/// All tables. Lives in the machine's memory.
pub struct Catalog<M: Machine> {
    /// Counts creations and drops.
    version: M::Word,
    tables: Latch<M, Vec<Entry<M>>>,
}

/// What a worker has seen of the catalog.
pub struct View<M: Machine> {
    version: u64,
    tables: Vec<Entry<M>>,
}

impl<M: Machine> Catalog<M> {
    pub fn new() -> Self {
        Self { version: M::Word::new(1), tables: Latch::new(Vec::new()) }
    }

    /// Creates a table and the tables of its secondary indexes.
    pub fn create(
        &self,
        heap: &Arc<Shared<M, Heap<M>>>,
        spec: TableSpec,
        verify: bool,
    ) -> Result<TableId> {
        spec.validate()?;
        let limit_bytes = heap.usage().limit_bytes;
        let mut local = LocalHeap::new(heap).ok_or(Error::TooManyWorkers)?;
        let mut index = |spec: &TableSpec| {
            let made = match spec.index {
                IndexKind::Ordered => OrderedIndex::new(&mut local).map(Index::Ordered),
                IndexKind::Hash => HashIndex::new(heap, spec.rows_expected).map(Index::Hash),
            };
            made.map_err(|_| Error::OutOfMemory { limit_bytes })
        };
        let grave = || verify.then(Graveyard::new);
        let mut tables = self.tables.lock();
        if tables.iter().flatten().any(|table| table.spec.name == spec.name) {
            return Err(Error::TableExists(spec.name));
        }
        let mut fresh = Vec::new();
        let id = TableId(tables.len() as u32);
        let mut secondary = Vec::new();
        for (at, index_spec) in spec.secondary.iter().enumerate() {
            let mut own = TableSpec::ordered(&format!("{}/{}", spec.name, index_spec.name));
            own.present_only = spec.present_only;
            let table = TableId(id.0 + 1 + at as u32);
            secondary.push(Secondary::new(index_spec.clone(), table));
            let index = index(&own)?;
            let table = Table { spec: own, index, secondary: vec![], graveyard: grave() };
            fresh.push(Arc::new(Shared::new(table)));
        }
        let index = index(&spec)?;
        let table = Table { spec, index, secondary, graveyard: grave() };
        tables.push(Some(Arc::new(Shared::new(table))));
        tables.extend(fresh.into_iter().map(Some));
        drop(tables);
        // Release pairs with the acquire in `View::refresh`.
        self.version.fetch_add(1, Ordering::Release);
        Ok(id)
    }

    /// Forgets a table and its secondary indexes. Transactions that have begun may finish with it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut tables = self.tables.lock();
        let at = position(&tables, name)?;
        if let Some(table) = tables[at].take() {
            for index in &table.secondary {
                tables[index.table.0 as usize] = None;
            }
        }
        drop(tables);
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The number of the table of this name.
    pub fn find(&self, name: &str) -> Result<TableId> {
        position(&self.tables.lock(), name).map(|at| TableId(at as u32))
    }

    /// The name of a table, for reports.
    pub fn name(&self, table: TableId) -> Option<String> {
        let tables = self.tables.lock();
        tables.get(table.0 as usize)?.as_ref().map(|table| table.spec.name.clone())
    }
}

fn position<M: Machine>(tables: &[Entry<M>], name: &str) -> Result<usize> {
    tables
        .iter()
        .position(|table| table.as_ref().is_some_and(|table| table.spec.name == name))
        .ok_or_else(|| Error::UnknownTable(name.into()))
}

impl<M: Machine> View<M> {
    pub fn new() -> Self {
        Self { version: 0, tables: Vec::new() }
    }

    /// Catches up with the catalog. Returns whether there was something new.
    #[inline]
    pub fn refresh(&mut self, catalog: &Catalog<M>) -> bool {
        let version = catalog.version.load(Ordering::Acquire);
        if version == self.version {
            return false;
        }
        self.tables.clone_from(&catalog.tables.lock());
        self.version = version;
        true
    }

    /// Which tables are closed to snapshots, by number.
    pub fn present_only(&self) -> impl Iterator<Item = bool> {
        self.tables.iter().map(|table| table.as_ref().is_some_and(|it| it.spec.present_only))
    }

    /// A table by number, to be read in the present or, if `in_past`, by a snapshot.
    #[inline]
    pub fn readable(&self, table: TableId, in_past: bool) -> Result<&Table<M>> {
        let found = self.get(table)?;
        if in_past && found.spec.present_only {
            return Err(Error::PresentOnly);
        }
        Ok(found)
    }

    /// A table by number.
    #[inline]
    pub fn get(&self, table: TableId) -> Result<&Table<M>> {
        match self.tables.get(table.0 as usize) {
            Some(Some(table)) => Ok(table),
            _ => Err(Error::UnknownTable(format!("number {}", table.0))),
        }
    }
}

impl<M: Machine> crate::scheme::Tables<M> for View<M> {
    fn with_index(&self, table: u32, use_it: &mut UseIndex<'_, M>) {
        if let Ok(table) = self.get(TableId(table)) {
            use_it(&table.index, table.graveyard.as_ref());
        }
    }
}
