//! The tables of a database, by name and number.
//!
//! Numbers are never used again. Workers keep their own list of the tables they have seen and
//! refresh it when the catalog's version has moved, so that an operation reaches its table without
//! touching anything shared. What becomes of a dropped table is told in `dropped.rs`.
//!
//! The table of a secondary index is called `table/index`. Tables that users create have no `/` in
//! their names (`TableSpec::validate`), so the two kinds never collide, and no look-up by name leads
//! to the second.

use crate::contract::UseIndex;
use crate::durable::{CatalogBlob as Blob, TABLE_NUMBERS_MAX, Walk};
use crate::tables::dropped::{DroppedTables, pin_catalog_version};
use crate::tables::seal::Seal;
use crate::tables::table::{Entry, Table};
use chiliad_api::stamp::TombstoneStamps;
use chiliad_api::{Error, IndexKind, Result, TableId, TableLayout, TableSpec, Writes};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use chiliad_storage::{HashIndex, Heap, Index, LocalHeap, OrderedIndex, Slot};
use std::sync::Arc;

/// A table's place, with what is known of its columns.
struct Place<M: Machine> {
    table: Entry<M>,
    layout: TableLayout,
}

impl<M: Machine> Place<M> {
    /// The declaration of a table that users have created.
    fn declared(&self) -> Option<TableSpec> {
        let table = self.table.as_ref().filter(|table| !table.is_index())?;
        Some(table.spec_now(&self.layout))
    }
}

/// All tables. Lives in the machine's memory.
pub struct Catalog<M: Machine> {
    /// Counts creations and drops. It moves after the tables have changed.
    version: M::Word,
    tables: Latch<M, Vec<Place<M>>>,
    /// Tables that were dropped and still hold memory.
    pub dropped_tables: DroppedTables<M>,
}

/// A worker's view of the catalog.
pub struct View<M: Machine> {
    version: u64,
    tables: Vec<Entry<M>>,
}

impl<M: Machine> Catalog<M> {
    /// A catalog of these tables, which were made as `blob` declares them.
    pub fn new(tables: Vec<Entry<M>>, blob: &Blob) -> Self {
        let place = |table| Place { table, layout: TableLayout::Bytes };
        let mut places: Vec<Place<M>> = tables.into_iter().map(place).collect();
        debug_assert!(places.len() == blob.next as usize, "a place for each number given out");
        for (number, spec) in &blob.tables {
            places[*number as usize].layout = spec.layout.clone();
        }
        Self {
            version: M::Word::new(1),
            tables: Latch::new(places),
            dropped_tables: DroppedTables::new(),
        }
    }

    /// Makes a table and the tables of its secondary indexes, which are not visible yet. The caller holds the
    /// declaring turn.
    pub fn prepare(
        &self,
        heap: &Arc<Shared<M, Heap<M>>>,
        spec: TableSpec,
        verify: bool,
    ) -> Result<Made<M>> {
        spec.validate()?;
        let id = {
            let tables = self.tables.lock();
            let mut others = tables.iter().filter_map(|place| place.table.as_ref());
            if others.any(|table| table.spec.name == spec.name) {
                return Err(Error::TableExists(spec.name));
            }
            if tables.len() + spec.secondary.len() >= TABLE_NUMBERS_MAX as usize {
                return Err(Error::InvalidOption(format!(
                    "table {}: a database has had {} tables and indexes; up to {TABLE_NUMBERS_MAX} are accepted",
                    spec.name,
                    tables.len()
                )));
            }
            TableId(tables.len() as u32)
        };
        let layout = spec.layout.clone();
        Ok(Made { id, tables: make(heap, id, spec, verify)?, layout })
    }

    /// Shows a table that was made.
    pub fn publish(&self, made: Made<M>) -> TableId {
        debug_assert!(!made.tables.is_empty(), "a table, and its indexes");
        let mut layout = Some(made.layout);
        let places = made.tables.into_iter().map(|table| Place {
            table: Some(Arc::new(Shared::new(table))),
            // The first one's: the others are its indexes.
            layout: layout.take().unwrap_or_default(),
        });
        {
            let mut tables = self.tables.lock();
            debug_assert!(tables.len() == made.id.0 as usize, "whoever declares takes turns");
            tables.extend(places);
        }
        // Release pairs with the acquire in `pin_catalog_version`.
        self.version.fetch_add(1, Ordering::Release);
        made.id
    }

    /// The tables of a catalog as it was, by number and empty.
    pub fn restore(
        heap: &Arc<Shared<M, Heap<M>>>,
        blob: &Blob,
        verify: bool,
    ) -> Result<Vec<Entry<M>>> {
        let mut entries: Vec<Entry<M>> = (0..blob.next).map(|_| None).collect();
        for (number, spec) in &blob.tables {
            let made = make(heap, TableId(*number), spec.clone(), verify)?;
            for (entry, table) in entries[*number as usize..].iter_mut().zip(made) {
                *entry = Some(Arc::new(Shared::new(table)));
            }
        }
        Ok(entries)
    }

    /// Walks over the tables that users have created, with their numbers.
    pub fn walks(&self) -> Vec<(u32, Shared<M, Walk<M>>)> {
        let tables = self.tables.lock();
        let users = (0..).zip(tables.iter()).filter_map(|(number, place)| {
            let table = place.table.as_ref().filter(|table| !table.is_index())?;
            Some((number, Shared::new(Walk::new(&table.index))))
        });
        users.collect()
    }

    /// The catalog as it is kept on disk.
    pub fn blob(&self) -> Blob {
        let tables = self.tables.lock();
        let users = (0..).zip(tables.iter());
        let users = users.filter_map(|(number, place)| Some((number, place.declared()?)));
        Blob { next: tables.len() as u32, tables: users.collect() }
    }

    /// The blob of this catalog with a table that was made.
    pub fn blob_with(&self, made: &Made<M>) -> Blob {
        let mut blob = self.blob();
        debug_assert!(blob.next == made.id.0, "whoever declares takes turns");
        blob.next += made.tables.len() as u32;
        let declared = made.tables.first().map(|table| table.spec_now(&made.layout));
        blob.tables.extend(declared.map(|spec| (made.id.0, spec)));
        debug_assert!(
            blob.tables.iter().all(|(number, _)| *number < blob.next),
            "numbers given out"
        );
        blob
    }

    /// The blob of this catalog with another layout of a table.
    pub fn blob_changing(&self, id: TableId, layout: &TableLayout) -> Result<Blob> {
        let mut blob = self.blob();
        let table = blob.tables.iter_mut().find(|(number, _)| *number == id.0);
        let (_, spec) = table.ok_or_else(|| Error::UnknownTable(format!("number {}", id.0)))?;
        spec.change_layout(layout.clone())?;
        Ok(blob)
    }

    /// Gives a table the layout that [`Catalog::blob_changing`] has accepted. The caller holds the declaring turn.
    pub fn change_layout(&self, id: TableId, layout: TableLayout) {
        if let Some(place) = self.tables.lock().get_mut(id.0 as usize) {
            debug_assert!(place.table.is_some(), "its declaration was found");
            // The indexes learn the version first: no transaction writes a row of it before it is declared.
            let indexes = place.table.iter().flat_map(|table| &table.secondary);
            indexes.for_each(|index| index.change_layout(&layout));
            place.layout = layout;
        }
    }

    /// The blob of this catalog without one of its tables.
    pub fn blob_without(&self, dropped: TableId) -> Blob {
        let mut blob = self.blob();
        blob.tables.retain(|(number, _)| *number != dropped.0);
        blob
    }

    /// A table and those of its secondary indexes, by number.
    pub fn family(&self, id: TableId) -> Vec<Arc<Shared<M, Table<M>>>> {
        let tables = self.tables.lock();
        let table = |id: TableId| tables.get(id.0 as usize)?.table.clone();
        let first = table(id);
        let indexes = first.iter().flat_map(|first| &first.secondary).map(|index| index.table);
        let indexes: Vec<_> = indexes.filter_map(table).collect();
        first.into_iter().chain(indexes).collect()
    }

    /// Forgets a table and its secondary indexes. Transactions that have begun may finish with it;
    /// afterwards its memory can be had back from the dropped tables.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut tables = self.tables.lock();
        let at = position(&tables, name)?;
        tables[at].layout = TableLayout::Bytes;
        let mut dropped = Vec::from_iter(tables[at].table.take());
        let indexes = dropped.iter().flat_map(|table| &table.secondary);
        let indexes: Vec<_> = indexes.map(|index| index.table.0 as usize).collect();
        dropped.extend(indexes.into_iter().filter_map(|index| tables[index].table.take()));
        drop(tables);
        debug_assert!(
            dropped.first().is_some_and(|table| dropped.len() == 1 + table.secondary.len()),
            "a table goes with all its indexes"
        );
        // Release pairs with the acquire in `pin_catalog_version`.
        let version = self.version.fetch_add(1, Ordering::Release) + 1;
        self.dropped_tables.add(dropped, version);
        Ok(())
    }

    /// The number of the table of this name.
    pub fn find(&self, name: &str) -> Result<TableId> {
        position(&self.tables.lock(), name).map(|at| TableId(at as u32))
    }

    /// The name of a table, for reports.
    pub fn name(&self, table: TableId) -> Option<String> {
        let tables = self.tables.lock();
        tables.get(table.0 as usize)?.table.as_ref().map(|table| table.spec.name.clone())
    }
}

/// A table and the tables of its secondary indexes, not shown yet.
pub struct Made<M: Machine> {
    id: TableId,
    tables: Vec<Table<M>>,
    layout: TableLayout,
}

impl<M: Machine> Made<M> {
    /// Gives the memory back.
    pub fn forget(self, heap: &Arc<Shared<M, Heap<M>>>) {
        if let Some(mut local) = LocalHeap::new(heap) {
            for table in self.tables {
                table.index.dismantle(&mut local, &mut |_, _| {});
            }
        }
    }
}

/// The table numbered `id`, followed by the tables of its secondary indexes.
fn make<M: Machine>(
    heap: &Arc<Shared<M, Heap<M>>>,
    id: TableId,
    spec: TableSpec,
    verify: bool,
) -> Result<Vec<Table<M>>> {
    debug_assert!(id.0 + (spec.secondary.len() as u32) < TABLE_NUMBERS_MAX, "numbers are left");
    let limit_bytes = heap.usage().limit_bytes;
    let mut local = LocalHeap::new(heap).ok_or(Error::NO_SLOT)?;
    let secondary = spec.indexes(id);
    let (spec, _) = spec.exchange(());
    let mut specs = Vec::new();
    for index_spec in &spec.secondary {
        let own = TableSpec::ordered(&format!("{}/{}", spec.name, index_spec.name));
        let (mut own, _) = own.exchange(());
        (own.present_only, own.writes) = (spec.present_only, spec.writes);
        specs.push((own, vec![]));
    }
    specs.insert(0, (spec, secondary));
    let made = indexes(heap, &mut local, specs.iter().map(|(spec, _)| spec));
    let made = made.ok_or(Error::OutOfMemory { limit_bytes })?;
    debug_assert!(made.len() == specs.len(), "an index for each declaration");
    let table = |((spec, secondary), index): ((TableSpec<()>, _), _)| Table {
        seal: (spec.writes != Writes::Transactions)
            .then(|| Arc::new(Shared::new(Seal::new(spec.writes == Writes::Nobody)))),
        spec,
        index,
        secondary,
        tombstone_stamps: verify.then(TombstoneStamps::new),
    };
    Ok(specs.into_iter().zip(made).map(table).collect())
}

/// An empty index for each declaration, or none at all when there is no memory for one of them.
fn indexes<'a, M: Machine>(
    heap: &Arc<Shared<M, Heap<M>>>,
    local: &mut LocalHeap<M>,
    specs: impl Iterator<Item = &'a TableSpec<()>>,
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
fn position<M: Machine>(tables: &[Place<M>], name: &str) -> Result<usize> {
    tables
        .iter()
        .filter(|_| !name.contains('/'))
        .position(|place| place.table.as_ref().is_some_and(|table| table.spec.name == name))
        .ok_or_else(|| Error::UnknownTable(name.into()))
}

impl<M: Machine> View<M> {
    pub fn new() -> Self {
        Self { version: 0, tables: Vec::new() }
    }

    /// Catches up with the catalog, for as long as `slot` shows it (`dropped::unpin_catalog_version` ends that):
    /// meanwhile no table that is in the list is taken apart. Returns whether there was something
    /// new.
    #[inline]
    pub fn show(&mut self, catalog: &Catalog<M>, slot: &Slot<M>) -> bool {
        let version = pin_catalog_version(slot, &catalog.version, self.version);
        let is_new = version != self.version;
        if is_new {
            self.catch_up(catalog, version);
        }
        is_new
    }

    #[cold]
    fn catch_up(&mut self, catalog: &Catalog<M>, version: u64) {
        debug_assert!(version > self.version, "the version of a catalog grows");
        // What these are newer than what is shown does no harm: no table is held too short.
        let tables = catalog.tables.lock();
        debug_assert!(tables.len() >= self.tables.len(), "no number is given out twice");
        self.tables.clear();
        self.tables.extend(tables.iter().map(|place| place.table.clone()));
        self.version = version;
    }

    /// Which tables are closed to snapshots, by number.
    pub fn present_only(&self) -> impl Iterator<Item = bool> {
        self.tables.iter().map(|table| table.as_ref().is_some_and(|it| it.spec.present_only))
    }

    /// Which tables' writes are not logged, by number: those of secondary indexes, which recovery makes
    /// from rows.
    pub fn unlogged(&self) -> impl Iterator<Item = bool> {
        self.tables.iter().map(|table| table.as_ref().is_some_and(|it| it.is_index()))
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

    /// The seal of a table that has one, to be held for longer than the view shows the table.
    pub fn gate(&self, table: TableId) -> Option<Arc<Shared<M, Seal<M>>>> {
        self.get(table).ok()?.seal.clone()
    }

    /// A table by number, to be changed by a transaction or by a load.
    #[inline]
    pub fn writable(&self, table: TableId, loads: bool) -> Result<&Table<M>> {
        let found = self.get(table)?;
        if found.seal.is_some() && !loads {
            return Err(Error::ReadOnlyTable(found.spec.name.clone()));
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

impl<M: Machine> crate::contract::Tables<M> for View<M> {
    fn with_index(&self, table: u32, use_it: &mut UseIndex<'_, M>) {
        if let Ok(table) = self.get(TableId(table)) {
            use_it(&table.index, table.tombstone_stamps.as_ref());
        }
    }

    #[inline]
    fn contains(&self, table: u32) -> bool {
        self.get(TableId(table)).is_ok()
    }
}
