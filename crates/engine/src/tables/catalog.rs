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
use crate::tables::table::{Declared, Entry, Stored, Table};
use chiliad_api::stamp::TombstoneStamps;
use chiliad_api::{Error, IndexKind, Result, Secondary, TableId, TableLayout, TableSpec, Writes};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use chiliad_storage::{HashIndex, Heap, Index, LocalHeap, OrderedIndex, Slot};
use std::sync::Arc;

/// A table's place, with what is known of its columns.
pub(super) struct Place<M: Machine> {
    pub table: Entry<M>,
    pub layout: TableLayout,
    /// It is being made: no catalog on a disk has it, and no look-up by name leads to it.
    pub hidden: bool,
}

impl<M: Machine> Clone for Place<M> {
    fn clone(&self) -> Self {
        let (table, layout) = (self.table.clone(), self.layout.clone());
        Self { table, layout, hidden: self.hidden }
    }
}

impl<M: Machine> Place<M> {
    /// Whether a user finds the table by this name.
    pub fn has_name(&self, name: &str) -> bool {
        !self.hidden && self.table.as_ref().is_some_and(|table| table.name() == name)
    }

    /// The declaration of a table that users have created.
    fn declared(&self) -> Option<(TableSpec, Vec<TableId>)> {
        let table = self.table.as_ref().filter(|it| is_whole(it) && !self.hidden)?;
        Some(table.spec_now(&self.layout))
    }
}

/// All tables. Lives in the machine's memory.
pub struct Catalog<M: Machine> {
    /// Counts changes. It moves after the tables have changed.
    pub(super) version: M::Word,
    pub(super) tables: Latch<M, Vec<Place<M>>>,
    /// The migrations that were made, by number.
    pub(super) applied: Latch<M, Vec<(u32, String)>>,
    /// Tables that were dropped and still hold memory.
    pub dropped_tables: DroppedTables<M>,
}

/// A table that users find by name.
pub struct Listed {
    pub name: String,
    pub number: u32,
    /// Its secondary indexes, those that come or go as well: their names, and the numbers of their tables.
    pub indexes: Vec<(String, u32)>,
}

/// A worker's view of the catalog.
pub struct View<M: Machine> {
    version: u64,
    /// The version of the newest of its tables.
    newest: u64,
    tables: Vec<Entry<M>>,
}

impl<M: Machine> Catalog<M> {
    /// A catalog of these tables, which were made as `blob` declares them.
    pub fn new(tables: Vec<Entry<M>>, blob: &Blob) -> Self {
        let place = |table| Place { table, layout: TableLayout::Bytes, hidden: false };
        let mut places: Vec<Place<M>> = tables.into_iter().map(place).collect();
        debug_assert!(places.len() == blob.next as usize, "a place for each number given out");
        for (number, spec) in &blob.tables {
            places[*number as usize].layout = spec.layout.clone();
            for (at, group) in spec.groups.iter().enumerate() {
                places[TableId(*number).group(at).0 as usize].layout = group.layout.clone();
            }
        }
        Self {
            version: M::Word::new(1),
            tables: Latch::new(places),
            applied: Latch::new(blob.applied.clone()),
            dropped_tables: DroppedTables::new(),
        }
    }

    /// Makes a table and the tables of its secondary indexes, which are not visible yet. The caller holds the
    /// declaring turn. A `hidden` one may have the name of another.
    pub fn prepare(
        &self,
        heap: &Arc<Shared<M, Heap<M>>>,
        spec: TableSpec,
        hidden: bool,
        verify: bool,
    ) -> Result<Made<M>> {
        spec.validate()?;
        let id = {
            let tables = self.tables.lock();
            if !hidden {
                check_names(&tables, &spec)?;
            }
            if tables.len() + spec.numbers() > TABLE_NUMBERS_MAX as usize {
                return Err(Error::InvalidOption(format!(
                    "table {}: a database has had {} tables and indexes; up to {TABLE_NUMBERS_MAX} are accepted",
                    spec.name,
                    tables.len()
                )));
            }
            TableId(tables.len() as u32)
        };
        let layout = spec.layout.clone();
        let first = id.group(spec.groups.len());
        let numbers = (first.0..).map(TableId).take(spec.secondary.len()).collect();
        Ok(Made { id, tables: make(heap, spec, numbers, verify)?, layout, hidden })
    }

    /// Shows a table that was made.
    pub fn publish(&self, made: Made<M>) -> TableId {
        debug_assert!(!made.tables.is_empty(), "a table, and its indexes");
        let hidden = made.hidden;
        let groups = made.tables.first().map(|table| table.declared().spec.groups.clone());
        let groups = groups.into_iter().flatten().map(|group| group.layout);
        // Those that are left are its indexes.
        let mut layouts = core::iter::once(made.layout).chain(groups);
        let places = made.tables.into_iter().map(|table| {
            let layout = layouts.next().unwrap_or_default();
            Place { table: Some(table), layout, hidden }
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

    /// Leaves the memory of a table that was made and not shown to the dropped ones.
    pub fn forget(&self, made: &Made<M>) {
        debug_assert!(!made.tables.is_empty(), "a table, and its indexes");
        // Release pairs with the acquire in `pin_catalog_version`.
        let version = self.version.fetch_add(1, Ordering::Release) + 1;
        let own = made.tables.iter().filter(|table| !table.is_group());
        let stored = own.map(|table| Arc::clone(table.stored()));
        self.dropped_tables.add(stored, version);
    }

    /// The tables of a catalog as it was, by number and empty.
    pub fn restore(
        heap: &Arc<Shared<M, Heap<M>>>,
        blob: &Blob,
        verify: bool,
    ) -> Result<Vec<Entry<M>>> {
        let mut entries: Vec<Entry<M>> = (0..blob.next).map(|_| None).collect();
        for (number, spec) in &blob.tables {
            let indexes = blob.numbers_of_indexes(*number, spec);
            let made = make(heap, spec.clone(), indexes.clone(), verify)?;
            debug_assert!(made.len() == spec.numbers(), "a table for each number");
            let own = (*number..).map(TableId).take(1 + spec.groups.len());
            for (at, table) in own.chain(indexes).zip(made) {
                entries[at.0 as usize] = Some(table);
            }
        }
        Ok(entries)
    }

    /// Walks over the tables that users have created, and their groups, with their numbers.
    pub fn walks(&self) -> Vec<(u32, Shared<M, Walk<M>>)> {
        let tables = self.tables.lock();
        let users = (0..).zip(tables.iter()).filter_map(|(number, place)| {
            let table = place.table.as_ref().filter(|table| !table.is_index)?;
            Some((number, Shared::new(Walk::new(&table.index))))
        });
        users.collect()
    }

    /// The tables that users find by name.
    pub fn listed(&self) -> Vec<Listed> {
        let tables = self.tables.lock();
        let users = (0..).zip(tables.iter()).filter_map(|(number, place)| {
            let table = place.table.as_ref().filter(|it| is_whole(it) && !place.hidden)?;
            let indexes = table.secondary().iter();
            let indexes = indexes.map(|it| (it.spec.name.clone(), it.table.0)).collect();
            Some(Listed { name: table.name().to_owned(), number, indexes })
        });
        users.collect()
    }

    /// Whether a table is being made, and may be brought into force or given up.
    pub fn is_hidden(&self, id: TableId) -> bool {
        let tables = self.tables.lock();
        tables.get(id.0 as usize).is_some_and(|place| place.hidden && place.table.is_some())
    }

    /// The catalog as it is kept on disk.
    pub fn blob(&self) -> Blob {
        let tables = self.tables.lock();
        blob_of(&tables, self.applied.lock().clone())
    }

    /// The blob of this catalog with a table that was made.
    pub fn blob_with(&self, made: &Made<M>) -> Blob {
        let mut blob = self.blob();
        debug_assert!(blob.next == made.id.0, "whoever declares takes turns");
        blob.next += made.tables.len() as u32;
        // Of a hidden one it has the number alone: nobody gets it again, whatever becomes of the rows in the log.
        let declared = made.tables.first().filter(|_| !made.hidden);
        let declared = declared.map(|table| table.spec_now(&made.layout));
        blob.tables.extend(declared.map(|(spec, _)| (made.id.0, spec)));
        debug_assert!(
            blob.tables.iter().all(|(number, _)| *number < blob.next),
            "numbers given out"
        );
        blob
    }

    /// A table, its groups and the tables of its secondary indexes, by number.
    pub fn family(&self, id: TableId) -> Vec<Table<M>> {
        let tables = self.tables.lock();
        let table = |id: TableId| tables.get(id.0 as usize)?.table.clone();
        let first = table(id);
        let groups = first.iter().flat_map(|it| (0..it.parts() - 1).map(|at| id.group(at)));
        let indexes = first.iter().flat_map(Table::secondary).map(|index| index.table);
        let others: Vec<_> = groups.chain(indexes).filter_map(table).collect();
        first.into_iter().chain(others).collect()
    }

    /// A table of users in the newest version, and its layout.
    pub fn declared(&self, id: TableId) -> Result<(Table<M>, TableLayout)> {
        let tables = self.tables.lock();
        table_of_users(&tables, id).map(|(table, layout)| (table.clone(), layout.clone()))
    }

    /// The number of the table of this name.
    pub fn find(&self, name: &str) -> Result<TableId> {
        position(&self.tables.lock(), name).map(|at| TableId(at as u32))
    }

    /// The name of a table, for reports.
    pub fn name(&self, table: TableId) -> Option<String> {
        let tables = self.tables.lock();
        tables.get(table.0 as usize)?.table.as_ref().map(|table| table.name().to_owned())
    }
}

/// A table, its groups and the tables of its secondary indexes, not shown yet.
pub struct Made<M: Machine> {
    id: TableId,
    tables: Vec<Table<M>>,
    layout: TableLayout,
    hidden: bool,
}

/// A table, followed by its groups and by the tables of its secondary indexes, which have these numbers.
fn make<M: Machine>(
    heap: &Arc<Shared<M, Heap<M>>>,
    spec: TableSpec,
    numbers: Vec<TableId>,
    verify: bool,
) -> Result<Vec<Table<M>>> {
    debug_assert!(numbers.len() == spec.secondary.len(), "a number for each index");
    let limit_bytes = heap.usage().limit_bytes;
    let mut local = LocalHeap::new(heap).ok_or(Error::NO_SLOT)?;
    let indexes_of = spec.secondary.iter().zip(numbers);
    let secondary = indexes_of
        .map(|(index, table)| Secondary::new(index.clone(), table, &spec.layout))
        .collect();
    let groups: Vec<_> =
        spec.group_tables().map(|it| Declared::new(it.exchange(()).0, vec![])).collect();
    let (spec, _) = spec.exchange(());
    let of_indexes = spec.secondary.iter().map(|index| index_spec(&spec, &index.name));
    let mut specs: Vec<_> = of_indexes.map(|spec| Declared::new(spec, vec![])).collect();
    specs.insert(0, Declared::new(spec, secondary));
    let made = indexes(heap, &mut local, specs.iter().map(|declared| &declared.spec));
    let made = made.ok_or(Error::OutOfMemory { limit_bytes })?;
    debug_assert!(made.len() == specs.len(), "an index for each declaration");
    let both = specs.into_iter().zip(made);
    let mut tables: Vec<_> = both.map(|(declared, index)| table(declared, index, verify)).collect();
    let groups: Vec<_> = (1..).zip(groups).map(|(at, it)| tables[0].group(at, it)).collect();
    tables.splice(1..1, groups);
    Ok(tables)
}

/// The table of an index, which is not shown yet.
pub(super) fn make_index<M: Machine>(
    heap: &Arc<Shared<M, Heap<M>>>,
    of: &TableSpec<()>,
    name: &str,
    verify: bool,
) -> Result<Table<M>> {
    let limit_bytes = heap.usage().limit_bytes;
    let mut local = LocalHeap::new(heap).ok_or(Error::NO_SLOT)?;
    debug_assert!(!name.contains('/'), "an index of a table");
    let declared = Declared::new(index_spec(of, name), vec![]);
    let mut made = indexes(heap, &mut local, [&declared.spec].into_iter());
    let made = made.as_mut().and_then(Vec::pop).ok_or(Error::OutOfMemory { limit_bytes })?;
    Ok(table(declared, made, verify))
}

/// The declaration of the table of an index.
fn index_spec(of: &TableSpec<()>, name: &str) -> TableSpec<()> {
    let (mut own, _) = TableSpec::ordered(&format!("{}/{name}", of.name)).exchange(());
    (own.present_only, own.writes) = (of.present_only, of.writes);
    own
}

fn table<M: Machine>(declared: Declared, index: Index<M>, verify: bool) -> Table<M> {
    let spec = &declared.spec;
    let stored = Stored {
        index,
        tombstone_stamps: verify.then(TombstoneStamps::new),
        seal: (spec.writes != Writes::Transactions)
            .then(|| Arc::new(Shared::new(Seal::new(spec.writes == Writes::Nobody)))),
        is_index: spec.name.contains('/'),
        row_parts: 1 + spec.groups.len() as u8,
    };
    Table::new(stored, declared)
}

/// A table of users, and its layout.
pub(super) fn table_of_users<M: Machine>(
    places: &[Place<M>],
    id: TableId,
) -> Result<(&Table<M>, &TableLayout)> {
    let place = places.get(id.0 as usize);
    let found = place.and_then(|place| Some((place.table.as_ref()?, &place.layout)));
    let found = found.filter(|(table, _)| is_whole(table));
    found.ok_or_else(|| Error::UnknownTable(format!("number {}", id.0)))
}

/// A declaration with the layouts that its groups have by now.
pub(super) fn with_group_layouts<M: Machine>(
    mut spec: TableSpec,
    places: &[Place<M>],
    id: TableId,
) -> TableSpec {
    debug_assert!(id.group(spec.groups.len()).0 as usize <= places.len(), "each group has a place");
    for (at, group) in spec.groups.iter_mut().enumerate() {
        group.layout = places[id.group(at).0 as usize].layout.clone();
    }
    spec
}

/// Whether it is a table that a user has created, and neither an index nor a group of one.
pub(super) fn is_whole<M: Machine>(table: &Table<M>) -> bool {
    !table.is_index && !table.is_group()
}

/// Refuses names that another table or group has: of the table and of its groups.
pub(super) fn check_names<M: Machine>(places: &[Place<M>], spec: &TableSpec) -> Result<()> {
    let names = core::iter::once(spec.name.clone()).chain(spec.group_tables().map(|it| it.name));
    for name in names {
        if places.iter().any(|place| place.has_name(&name)) {
            return Err(Error::TableExists(name));
        }
    }
    Ok(())
}

/// The catalog of these places as it is kept on disk.
pub(super) fn blob_of<M: Machine>(places: &[Place<M>], applied: Vec<(u32, String)>) -> Blob {
    let mut blob = Blob { next: places.len() as u32, applied, ..Blob::default() };
    for (number, place) in (0..).zip(places) {
        if let Some((spec, indexes)) = place.declared() {
            let spec = with_group_layouts(spec, places, TableId(number));
            blob.add(number, spec, indexes);
        }
    }
    debug_assert!(blob.tables.iter().all(|(it, _)| *it < blob.next), "numbers given out");
    blob
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
        .position(|place| place.has_name(name))
        .ok_or_else(|| Error::UnknownTable(name.into()))
}

impl<M: Machine> View<M> {
    pub fn new() -> Self {
        Self { version: 0, newest: 0, tables: Vec::new() }
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
        (self.version, self.newest) = (version, version);
    }

    /// Learns of tables that were made since; those that it has stay as they are, and so does the version that is shown.
    /// Returns whether there are some.
    pub fn show_newer(&mut self, catalog: &Catalog<M>) -> bool {
        // Acquire pairs with the release in the catalog's changes.
        let version = catalog.version.load(Ordering::Acquire);
        if version == self.newest {
            return false;
        }
        self.newest = version;
        // No table that is newer than the version shown is taken apart: see `catch_up`.
        let (tables, known) = (catalog.tables.lock(), self.tables.len());
        self.tables.extend(tables.iter().skip(known).map(|place| place.table.clone()));
        self.tables.len() > known
    }

    /// The tables by number.
    pub fn entries(&self) -> &[Entry<M>] {
        &self.tables
    }

    /// Which tables are closed to snapshots, by number.
    pub fn present_only(&self) -> impl Iterator<Item = bool> {
        self.tables.iter().map(|table| table.as_ref().is_some_and(|it| it.present_only()))
    }

    /// Which tables' writes are not logged, by number: those of secondary indexes, which recovery makes
    /// from rows.
    pub fn unlogged(&self) -> impl Iterator<Item = bool> {
        self.tables.iter().map(|table| table.as_ref().is_some_and(|it| it.is_index))
    }

    /// Which tables are groups of columns, by number.
    pub fn groups(&self) -> impl Iterator<Item = bool> {
        self.tables.iter().map(|table| table.as_ref().is_some_and(Table::is_group))
    }

    /// A table by number, to be read in the present or, if `in_past`, by a snapshot.
    #[inline]
    pub fn readable(&self, table: TableId, in_past: bool) -> Result<&Table<M>> {
        let found = self.get(table)?;
        if in_past && found.present_only() {
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
        found.check_writable(loads)?;
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
