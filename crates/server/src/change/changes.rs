//! The tables as one transaction sees them that has changed them.

use super::hidden::{Built, Hidden};
use super::order::Order;
use crate::catalog::Catalog;
use chiliad::Sequence;
use chiliad::raw::{TableId, TableSpec};
use chiliad_sql::{CatalogView, SqlError, TableDetails, TableInput};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The changes of tables that a transaction has made, and the tables as it sees them. A savepoint keeps a clone.
#[derive(Clone)]
pub(crate) struct Changes {
    /// The tables of all, when it made the first change.
    base: Arc<CatalogView>,
    view: Arc<CatalogView>,
    /// Tables that it has made, by the names that they are to get.
    own: BTreeMap<String, Own>,
    sequences: BTreeMap<String, OwnSequence>,
    /// Tables and sequences of all that are to go, by their names.
    gone: BTreeMap<String, Gone>,
    /// Indexes that are to go, of tables that stay.
    indexes_gone: Vec<(TableId, String)>,
}

#[derive(Clone)]
struct Own {
    table: Arc<Hidden>,
    details: Option<TableDetails>,
    /// How many savepoints the transaction had ever set when it was made.
    made: u64,
}

#[derive(Clone)]
struct OwnSequence {
    table: Arc<Hidden>,
    sequence: Sequence,
}

/// A table of all, as it was when the transaction chose that it goes.
#[derive(Clone)]
struct Gone {
    id: TableId,
    spec: TableSpec,
}

impl Changes {
    /// None yet.
    pub fn new(view: Arc<CatalogView>) -> Self {
        let (own, sequences, gone) = Default::default();
        let base = Arc::clone(&view);
        Self { base, view, own, sequences, gone, indexes_gone: Vec::new() }
    }

    /// The tables as they are for the transaction.
    pub fn view(&self) -> &Arc<CatalogView> {
        &self.view
    }

    /// The sequence of a name, if it is one that the transaction has made.
    pub fn sequence(&self, name: &str) -> Option<&Sequence> {
        self.sequences.get(name).map(|it| &it.sequence)
    }

    /// How many savepoints had been set when the transaction made this table; `None` for a table of all.
    pub fn made(&self, id: TableId) -> Option<u64> {
        self.own.values().find(|it| it.table.id == id).map(|it| it.made)
    }

    /// A table that was made takes its name, from another one perhaps. `made`: how many savepoints were set before.
    pub fn put(
        &mut self,
        catalog: &Catalog,
        built: Built,
        (spec, details): (TableSpec, Option<TableDetails>),
        made: u64,
    ) {
        let Built { table, positions, .. } = built;
        let name = spec.name.clone();
        self.take_away(&name);
        let input = TableInput { id: table.id, spec, positions, details: details.clone() };
        self.view = Arc::new(self.view.with_table(catalog.own_version(), input));
        self.own.insert(name, Own { table, details, made });
    }

    /// A table goes.
    pub fn drop_table(&mut self, catalog: &Catalog, name: &str) {
        self.take_away(name);
        self.view = Arc::new(self.view.without_table(catalog.own_version(), name));
    }

    fn take_away(&mut self, name: &str) {
        let Some(table) = self.view.table(name) else { return };
        self.indexes_gone.retain(|(id, _)| *id != table.id);
        if self.own.remove(name).is_none() {
            // As it was before the transaction took indexes from it.
            let table = self.base.table(name).unwrap_or(table);
            let gone = Gone { id: table.id, spec: table.spec.clone() };
            self.gone.entry(name.to_owned()).or_insert(gone);
        }
    }

    /// A sequence that was made gets its name.
    ///
    /// # Errors
    /// 42P07 where there is something of this name.
    pub fn put_sequence(
        &mut self,
        catalog: &Catalog,
        name: String,
        built: Built,
    ) -> Result<(), SqlError> {
        let is_taken = self.own.contains_key(&name)
            || self.sequences.contains_key(&name)
            || !self.gone.contains_key(&name) && catalog.database().table_raw(&name).is_ok();
        if is_taken {
            return Err(duplicate(&name));
        }
        let Built { table, sequence: Some(sequence), .. } = built else {
            return Err(SqlError::internal("no sequence was made"));
        };
        self.sequences.insert(name, OwnSequence { table, sequence });
        Ok(())
    }

    /// A sequence goes.
    ///
    /// # Errors
    /// 42P01 where there is none of this name.
    pub fn drop_sequence(&mut self, catalog: &Catalog, name: &str) -> Result<(), SqlError> {
        if self.sequences.remove(name).is_none() {
            let (id, spec) = catalog.database().table_raw(name)?;
            self.gone.entry(name.to_owned()).or_insert(Gone { id, spec });
        }
        Ok(())
    }

    /// An index of a table goes.
    ///
    /// # Errors
    /// Those of the database, which has the table.
    pub fn drop_index(
        &mut self,
        catalog: &Catalog,
        table: &str,
        index: String,
    ) -> Result<(), SqlError> {
        let missing = || SqlError::internal("a table that is gone");
        let table = self.view.table(table).ok_or_else(missing)?;
        let (id, details) = (table.id, table.details.clone());
        let mut spec = table.spec.clone();
        spec.secondary.retain(|it| it.name != index);
        let names = spec.secondary.iter().map(|it| &it.name);
        let position = |name: &String| catalog.database().index_position_raw(id, name);
        let positions = names.map(position).collect::<Result<Vec<_>, _>>()?;
        let input = TableInput { id, spec, positions, details };
        self.view = Arc::new(self.view.with_table(catalog.own_version(), input));
        self.indexes_gone.push((id, index));
        Ok(())
    }

    /// Whether tables of all go or lose an index: no transaction that is open may go on with them.
    pub fn replaces(&self) -> bool {
        !self.gone.is_empty() || self.indexes_gone.iter().any(|(id, _)| self.made(*id).is_none())
    }

    /// The orders for tables that its commit gives.
    pub fn orders(&self) -> Vec<Order> {
        let indexes = self.indexes_gone.iter();
        let indexes = indexes.map(|(id, index)| Order::DropIndex(*id, index.clone()));
        let gone = self.gone.values().map(|it| Order::Drop(it.id));
        let own = self.own.iter().map(|(name, it)| Order::Show(it.table.id, name.clone()));
        let sequences = self.sequences.iter();
        let sequences = sequences.map(|(name, it)| Order::Show(it.table.id, name.clone()));
        indexes.chain(gone).chain(own).chain(sequences).chain(self.says()).collect()
    }

    /// What SQL says of tables afterwards.
    fn says(&self) -> impl Iterator<Item = Order> {
        let gone = self.gone.keys().filter(|name| !self.own.contains_key(*name));
        let gone = gone.map(|name| Order::Say(name.clone(), None));
        let of = |it: &Own| it.details.as_ref().map(TableDetails::to_text);
        gone.chain(self.own.iter().map(move |(name, it)| Order::Say(name.clone(), of(it))))
    }

    /// Refuses changes of tables that others have changed since.
    ///
    /// # Errors
    /// 40001 for a table that is another one now; 42P07 for a name that is taken.
    pub fn check(&self, catalog: &Catalog) -> Result<(), SqlError> {
        for (name, gone) in &self.gone {
            let is_same = |(id, spec): (TableId, TableSpec)| (id, &spec) == (gone.id, &gone.spec);
            if !catalog.database().table_raw(name).is_ok_and(is_same) {
                return Err(SqlError::serialization_failure(format!(
                    "could not serialize access: \"{name}\" was changed meanwhile"
                )));
            }
        }
        for name in self.own.keys().chain(self.sequences.keys()) {
            if !self.gone.contains_key(name) && catalog.database().table_raw(name).is_ok() {
                return Err(duplicate(name));
            }
        }
        Ok(())
    }

    /// The commit has come into force: what was hidden is shown.
    pub fn show(&self, catalog: &Catalog) {
        self.own.values().for_each(|it| it.table.show());
        self.sequences.values().for_each(|it| it.table.show());
        let names = self.gone.keys().chain(self.sequences.keys());
        names.for_each(|name| catalog.forget_sequence(name));
    }
}

fn duplicate(name: &str) -> SqlError {
    SqlError::duplicate_table(format!("relation \"{name}\" already exists"))
}
