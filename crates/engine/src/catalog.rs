//! The tables of a database, by name and number.
//!
//! Numbers are never used again. Workers keep their own list of the tables they have seen and
//! refresh it when the catalog's version has moved, so that an operation reaches its table without
//! touching anything shared. What becomes of a dropped table is told in `scheme/ruins.rs`.
//!
//! The table of a secondary index is called `table/index`. Tables that users create have no `/` in
//! their names (`TableSpec::validate`), so the two kinds never collide, and no look-up by name leads
//! to the second.

use crate::error::{Error, Result};
use crate::scheme::UseIndex;
use crate::scheme::ruins::{Ruins, show_view};
use crate::secondary::Secondary;
use crate::stamp::Graveyard;
use crate::table::{IndexKind, TableId, TableSpec};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use chiliad_storage::{HashIndex, Heap, Index, LocalHeap, OrderedIndex, Slot};
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
    /// Counts creations and drops. It moves after the tables have changed.
    version: M::Word,
    tables: Latch<M, Vec<Entry<M>>>,
    /// Tables that were dropped and still hold memory.
    pub ruins: Ruins<M>,
}

/// What a worker has seen of the catalog.
pub struct View<M: Machine> {
    version: u64,
    tables: Vec<Entry<M>>,
}

impl<M: Machine> Catalog<M> {
    pub fn new() -> Self {
        Self { version: M::Word::new(1), tables: Latch::new(Vec::new()), ruins: Ruins::new() }
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
        let grave = || verify.then(Graveyard::new);
        let mut tables = self.tables.lock();
        if tables.iter().flatten().any(|table| table.spec.name == spec.name) {
            return Err(Error::TableExists(spec.name));
        }
        let id = TableId(tables.len() as u32);
        let mut secondary = Vec::new();
        let mut specs = Vec::new();
        for (at, index_spec) in spec.secondary.iter().enumerate() {
            let mut own = TableSpec::ordered(&format!("{}/{}", spec.name, index_spec.name));
            own.present_only = spec.present_only;
            let table = TableId(id.0 + 1 + at as u32);
            secondary.push(Secondary::new(index_spec.clone(), table));
            specs.push((own, vec![]));
        }
        specs.insert(0, (spec, secondary));
        let made = indexes(heap, &mut local, specs.iter().map(|(spec, _)| spec));
        let made = made.ok_or(Error::OutOfMemory { limit_bytes })?;
        for ((spec, secondary), index) in specs.into_iter().zip(made) {
            let table = Table { spec, index, secondary, graveyard: grave() };
            tables.push(Some(Arc::new(Shared::new(table))));
        }
        drop(tables);
        // Release pairs with the acquire in `show_view`.
        self.version.fetch_add(1, Ordering::Release);
        Ok(id)
    }

    /// Forgets a table and its secondary indexes. Transactions that have begun may finish with it;
    /// afterwards its memory can be had back from the ruins.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut tables = self.tables.lock();
        let at = position(&tables, name)?;
        let mut dropped = Vec::from_iter(tables[at].take());
        let indexes = dropped.iter().flat_map(|table| &table.secondary);
        let indexes: Vec<_> = indexes.map(|index| index.table.0 as usize).collect();
        dropped.extend(indexes.into_iter().filter_map(|index| tables[index].take()));
        drop(tables);
        // Release pairs with the acquire in `show_view`.
        let version = self.version.fetch_add(1, Ordering::Release) + 1;
        self.ruins.add(dropped, version);
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

/// An empty index for each declaration, or none at all when there is no memory for one of them.
fn indexes<'a, M: Machine>(
    heap: &Arc<Shared<M, Heap<M>>>,
    local: &mut LocalHeap<M>,
    specs: impl Iterator<Item = &'a TableSpec>,
) -> Option<Vec<Index<M>>> {
    let mut made = Vec::new();
    for spec in specs {
        let index = match spec.index {
            IndexKind::Ordered => OrderedIndex::new(local).map(Index::Ordered),
            IndexKind::Hash => HashIndex::new(heap, spec.rows_expected).map(Index::Hash),
        };
        let Ok(index) = index else {
            for index in made {
                Index::dismantle(index, local, &mut |_, _| {});
            }
            return None;
        };
        made.push(index);
    }
    Some(made)
}

/// The place of the table that a user has given this name.
fn position<M: Machine>(tables: &[Entry<M>], name: &str) -> Result<usize> {
    tables
        .iter()
        .filter(|_| !name.contains('/'))
        .position(|table| table.as_ref().is_some_and(|table| table.spec.name == name))
        .ok_or_else(|| Error::UnknownTable(name.into()))
}

impl<M: Machine> View<M> {
    pub fn new() -> Self {
        Self { version: 0, tables: Vec::new() }
    }

    /// Catches up with the catalog, for as long as `slot` shows it (`ruins::hide_view` ends that):
    /// meanwhile no table that is in the list is taken apart. Returns whether there was something
    /// new.
    #[inline]
    pub fn show(&mut self, catalog: &Catalog<M>, slot: &Slot<M>) -> bool {
        let version = show_view(slot, &catalog.version, self.version);
        if version == self.version {
            return false;
        }
        // What these are newer than what is shown does no harm: no table is held too short.
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

    #[inline]
    fn contains(&self, table: u32) -> bool {
        self.get(TableId(table)).is_ok()
    }
}
