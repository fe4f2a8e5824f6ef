//! The next version of the catalog, made of changes that come into force together.

use crate::durable::CatalogBlob as Blob;
use crate::tables::catalog::{
    Catalog, Place, blob_of, check_names, is_whole, table_of_users, with_group_layouts,
};
use crate::tables::table::{Declared, Kept, State, Table};
use chiliad_api::{Error, Result, TableChange, TableId, TableLayout, TableSpec};
use chiliad_machine::{Machine, Ordering, Word};
use std::sync::Arc;

/// A catalog with changes that nobody sees yet. Its maker holds the declaring turn, or makes it for a look.
pub struct Draft<M: Machine> {
    places: Vec<Place<M>>,
    applied: Vec<(u32, String)>,
}

impl<M: Machine> Catalog<M> {
    /// A draft without changes.
    pub fn draft(&self) -> Draft<M> {
        let places = self.tables.lock().clone();
        Draft { places, applied: self.applied.lock().clone() }
    }

    /// A draft with these changes.
    pub fn draft_with(&self, changes: &[TableChange]) -> Result<Draft<M>> {
        let mut draft = self.draft();
        changes.iter().try_for_each(|change| draft.make(change))?;
        Ok(draft)
    }

    /// Brings a draft into force, and returns the version of the catalog by which transactions go by it. The caller has
    /// held the declaring turn since the draft was begun.
    pub fn publish_draft(&self, draft: Draft<M>) -> u64 {
        let dropped: Vec<_> = {
            let mut tables = self.tables.lock();
            debug_assert!(draft.places.len() >= tables.len(), "no number is given out twice");
            // Indexes learn a version first: no transaction writes a row of it before it is declared.
            let both = draft.places.iter().zip(&*tables);
            for (new, _) in both.filter(|(new, old)| new.layout != old.layout) {
                let indexes = new.table.iter().flat_map(Table::secondary);
                indexes.for_each(|index| index.change_layout(&new.layout));
            }
            let gone = tables.iter().zip(&draft.places).filter(|(_, new)| new.table.is_none());
            let gone = gone.filter_map(|(old, _)| old.table.as_ref().filter(|it| !it.is_group()));
            let gone = gone.map(|table| Arc::clone(table.stored()));
            let gone = gone.collect();
            *tables = draft.places;
            gone
        };
        debug_assert!(draft.applied.is_sorted_by(|a, b| a.0 < b.0), "numbers of migrations ascend");
        *self.applied.lock() = draft.applied;
        // Release pairs with the acquire in `pin_catalog_version`.
        let version = self.version.fetch_add(1, Ordering::Release) + 1;
        if !dropped.is_empty() {
            self.dropped_tables.add(dropped.into_iter(), version);
        }
        version
    }
}

impl<M: Machine> Draft<M> {
    /// The catalog as it is kept on disk.
    pub fn blob(&self) -> Blob {
        blob_of(&self.places, self.applied.clone())
    }

    /// The tables of the draft, hidden ones among them.
    pub fn tables(&self) -> Vec<(TableId, TableSpec)> {
        let tables = (0..).map(TableId).zip(&self.places);
        let tables = tables.filter_map(|(id, place)| {
            let table = place.table.as_ref().filter(|table| is_whole(table))?;
            let spec = table.spec_now(&place.layout).0;
            Some((id, with_group_layouts(spec, &self.places, id)))
        });
        tables.collect()
    }

    /// A table of users.
    pub fn get(&self, id: TableId) -> Result<(&Table<M>, &TableLayout)> {
        table_of_users(&self.places, id)
    }

    /// Gives a table another declaration.
    pub fn redeclare(&mut self, id: TableId, declared: Declared) -> Result<()> {
        let table = self.get(id)?.0.redeclared(declared);
        self.places[id.0 as usize].table = Some(table);
        Ok(())
    }

    /// Adds the table of an index.
    pub fn add_index_table(&mut self, table: Table<M>) -> TableId {
        debug_assert!(table.is_index, "its rows are entries");
        let id = TableId(self.places.len() as u32);
        self.places.push(Place { table: Some(table), layout: TableLayout::Bytes, hidden: false });
        id
    }

    fn make(&mut self, change: &TableChange) -> Result<()> {
        match change {
            TableChange::Layout(id, layout) => self.change_layout(*id, layout),
            TableChange::Rename(id, name) => self.rename(*id, name),
            TableChange::Drop(id) => self.drop_table(*id),
            TableChange::Show(id) => self.show(*id),
            TableChange::Ready(id, index) => self.make_ready(*id, index),
            TableChange::DropIndex(id, index) => self.drop_index(*id, index),
            TableChange::Applied(number, name) => {
                self.applied.push((*number, name.clone()));
                Ok(())
            }
            // A new change needs an arm here.
            other => Err(Error::InvalidOption(format!("{other:?}: unknown"))),
        }
    }

    fn change_layout(&mut self, id: TableId, layout: &TableLayout) -> Result<()> {
        let place = self.places.get(id.0 as usize);
        let found = place.and_then(|place| Some((place.table.as_ref()?, &place.layout)));
        // Groups have layouts of their own.
        let found = found.filter(|(table, _)| !table.is_index);
        let unknown = || Error::UnknownTable(format!("number {}", id.0));
        let (table, had) = found.ok_or_else(unknown)?;
        let (mut spec, _) = table.spec_now(had);
        spec.change_layout(layout.clone())?;
        for index in table.secondary().iter().filter(|index| index.is_coming()) {
            let of_index = TableSpec { secondary: vec![index.spec.clone()], ..spec.clone() };
            let mut planned = TableSpec { layout: index.made_for.clone(), ..of_index };
            if planned.layout != *layout && planned.change_layout(layout.clone()).is_err() {
                let (name, table) = (&index.spec.name, table.name());
                let what =
                    format!("table {table}: its index {name} is being added to other columns");
                return Err(Error::InvalidOption(what));
            }
        }
        self.places[id.0 as usize].layout = spec.layout;
        Ok(())
    }

    fn rename(&mut self, id: TableId, name: &str) -> Result<()> {
        let (table, layout) = self.get(id)?;
        let (mut spec, _) = table.spec_now(layout);
        name.clone_into(&mut spec.name);
        spec.validate()?;
        check_names(&self.places, &spec)?;
        for (at, group) in spec.group_tables().enumerate() {
            let place = &mut self.places[id.group(at).0 as usize];
            let Some(table) = &mut place.table else { continue };
            let mut of_group = table.declared().clone();
            of_group.spec.name = group.name;
            *table = table.redeclared(of_group);
        }
        let (table, _) = self.get(id)?;
        let mut declared = table.declared().clone();
        for index in &declared.secondary {
            let place = &mut self.places[index.table.0 as usize];
            let Some(table) = &mut place.table else { continue };
            let mut of_index = table.declared().clone();
            of_index.spec.name = format!("{name}/{}", index.spec.name);
            *table = table.redeclared(of_index);
        }
        declared.spec.name = spec.name;
        self.redeclare(id, declared)
    }

    fn drop_table(&mut self, id: TableId) -> Result<()> {
        for id in self.numbers(id)? {
            let place = &mut self.places[id.0 as usize];
            debug_assert!(place.table.is_some(), "a table goes with its groups and indexes");
            (place.table, place.layout) = (None, TableLayout::Bytes);
        }
        Ok(())
    }

    /// Until [`Draft::settle`] opens it, transactions may still read the one whose place it takes.
    fn show(&mut self, id: TableId) -> Result<()> {
        let (table, layout) = self.get(id)?;
        check_names(&self.places, &table.spec_now(layout).0)?;
        debug_assert!(self.places[id.0 as usize].hidden, "it was built, and is shown once");
        for id in self.numbers(id)? {
            self.places[id.0 as usize].hidden = false;
        }
        self.close(id, true)
    }

    /// Closes a table and its groups to writers, or opens them again.
    pub fn close(&mut self, id: TableId, closed: bool) -> Result<()> {
        let parts = self.get(id)?.0.parts();
        for place in &mut self.places[id.0 as usize..][..parts] {
            if let Some(table) = &mut place.table {
                *table = table.redeclared(Declared { closed, ..table.declared().clone() });
            }
        }
        Ok(())
    }

    /// The numbers of a table, its groups and its indexes.
    fn numbers(&self, id: TableId) -> Result<Vec<TableId>> {
        let (table, _) = self.get(id)?;
        let own = (id.0..).map(TableId).take(table.parts());
        Ok(own.chain(table.secondary().iter().map(|index| index.table)).collect())
    }

    fn make_ready(&mut self, id: TableId, name: &str) -> Result<()> {
        self.turn_index(id, name, State::Filling, State::Ready)
    }

    /// Leaves the index to [`Draft::settle`].
    fn drop_index(&mut self, id: TableId, name: &str) -> Result<()> {
        self.turn_index(id, name, State::Ready, State::Leaving)
    }

    /// Brings an index that is in one state into another one.
    pub fn turn_index(&mut self, id: TableId, name: &str, from: State, to: State) -> Result<()> {
        debug_assert!(from != to, "one state after the other");
        let mut declared = self.get(id)?.0.declared().clone();
        let mut indexes = declared.secondary.iter_mut();
        let index = indexes.find(|index| index.state == from && index.spec.name == name);
        index.ok_or_else(|| Error::UnknownIndex(name.into()))?.state = to;
        self.redeclare(id, declared)
    }

    /// Begins to take back what nobody has brought into force: indexes that are coming, hidden tables.
    pub fn take_back(&mut self) -> Result<()> {
        for id in (0..self.places.len() as u32).map(TableId) {
            let place = &self.places[id.0 as usize];
            let Ok((table, _)) = self.get(id) else { continue };
            if place.hidden {
                self.drop_table(id)?;
            } else if table.secondary().iter().any(Kept::is_coming) {
                let mut declared = table.declared().clone();
                let coming = declared.secondary.iter_mut().filter(|index| index.is_coming());
                coming.for_each(|index| index.state = State::Forgotten);
                self.redeclare(id, declared)?;
            }
        }
        Ok(())
    }

    /// Goes one step on with what has to wait for transactions that go by the version before: indexes that go, tables that
    /// are closed to writers. Returns whether there was anything.
    pub fn settle(&mut self) -> Result<bool> {
        let mut any = false;
        for id in (0..self.places.len() as u32).map(TableId) {
            let Ok((table, _)) = self.get(id) else { continue };
            let goes = |index: &Kept| matches!(index.state, State::Leaving | State::Forgotten);
            if !table.declared().closed && !table.secondary().iter().any(goes) {
                continue;
            }
            any = true;
            let mut declared = table.declared().clone();
            declared.closed = false;
            self.close(id, false)?;
            for gone in declared.secondary.extract_if(.., |it| it.state == State::Forgotten) {
                debug_assert!(self.places[gone.table.0 as usize].table.is_some(), "it goes once");
                self.places[gone.table.0 as usize].table = None;
            }
            let leaving = declared.secondary.iter_mut().filter(|it| it.state == State::Leaving);
            leaving.for_each(|index| index.state = State::Forgotten);
            self.redeclare(id, declared)?;
        }
        Ok(any)
    }
}
