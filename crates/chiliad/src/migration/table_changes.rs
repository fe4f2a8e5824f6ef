//! TableChanges of tables that come into force together.

use crate::engine::Engine;
use crate::migration::rewrite::{RewriteError, Rewriter};
use crate::raw::{TableChange, TableId, TableSpec};
use crate::row::SchemaChange;
use crate::{Error, Key, Result, Row, Table, declare};

/// TableChanges of tables, which come into force all at once when the closure of [`Database::change_tables`] or of a
/// [`Migration`] has returned, or not at all. Each one sees the tables as those before it leave them.
///
/// | change | rows | transactions meanwhile |
/// | --- | --- | --- |
/// | [`change_schema`](TableChanges::change_schema), [`rename_table`](TableChanges::rename_table), [`drop_table`](TableChanges::drop_table), [`create_table`](TableChanges::create_table) | stay as they are | go on |
/// | [`change_indexes`](TableChanges::change_indexes), [`drop_index`](TableChanges::drop_index) | are read once for a new index | go on, and keep it in line |
/// | [`rewrite`](TableChanges::rewrite) | are written anew, into another table | only read the table; one that writes is refused with [`Error::Migrating`] |
///
/// A new index and a rewrite wait for all transactions that began before: one that never ends holds them up. Other changes
/// of tables wait for the end of these.
///
/// [`Database::change_tables`]: crate::Database::change_tables
/// [`Migration`]: crate::Migration
pub struct TableChanges<'a> {
    pub(super) engine: &'a Engine,
    pub(super) made: Vec<TableChange>,
}

impl<'a> TableChanges<'a> {
    pub(super) fn new(engine: &'a Engine) -> Self {
        Self { engine, made: Vec::new() }
    }

    /// Brings them into force.
    pub(super) fn bring_into_force(&self) -> Result<()> {
        self.engine.change_tables(&self.made)
    }

    /// One more change, if it can be made.
    pub(super) fn also(&mut self, change: TableChange) -> Result<()> {
        self.made.push(change);
        let checked = self.engine.tables_after(&self.made).map(|_| ());
        if checked.is_err() {
            self.made.pop();
        }
        checked
    }

    /// The names of the tables, as they are after the changes so far.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a server that shares a log.
    pub fn tables(&self) -> Result<Vec<TableSpec>> {
        Ok(self.shown()?.into_iter().map(|(_, spec)| spec).collect())
    }

    fn shown(&self) -> Result<Vec<(TableId, TableSpec)>> {
        let mut tables = self.engine.tables_after(&self.made)?;
        tables.retain(|(id, _)| !self.is_hidden(*id));
        Ok(tables)
    }

    /// Whether a table is one of an attempt at a rewrite that failed, and that the closure went on after.
    fn is_hidden(&self, id: TableId) -> bool {
        self.engine.is_hidden(id) && !self.made.contains(&TableChange::Show(id))
    }

    pub(super) fn find(&self, name: &str) -> Result<(TableId, TableSpec)> {
        let mut tables = self.shown()?.into_iter();
        tables.find(|(_, spec)| spec.name == name).ok_or_else(|| Error::UnknownTable(name.into()))
    }

    /// Creates a table, as [`Database::create_table`](crate::Database::create_table) does.
    ///
    /// # Errors
    /// As for that.
    pub fn create_table<K: Key, V: Row>(&mut self, name: &str) -> Result<()> {
        let spec = declare::spec::<K, V>(TableSpec::ordered(name))?;
        let id = self.engine.build_table(spec)?;
        self.also(TableChange::Show(id))
    }

    /// Drops a table, with its rows and indexes.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let (id, _) = self.find(name)?;
        self.also(TableChange::Drop(id))
    }

    /// Gives a table another name. Handles stay good.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::TableExists`], [`Error::InvalidOption`] for a name that no table can have.
    pub fn rename_table(&mut self, from: &str, to: &str) -> Result<()> {
        let (id, _) = self.find(from)?;
        self.also(TableChange::Rename(id, to.to_owned()))
    }

    /// TableChanges the columns of a table, as [`Database::change_schema`](crate::Database::change_schema) does.
    ///
    /// # Errors
    /// As for that.
    pub fn change_schema(&mut self, table: &str, changes: &[SchemaChange]) -> Result<()> {
        let (id, spec) = self.find(table)?;
        let layout = declare::changed(declare::schema_of(&spec)?, changes)?;
        self.also(TableChange::Layout(id, layout))
    }

    /// Gives a table the indexes that `V` declares: adds those that it lacks, drops those that `V` does not have. Handles
    /// that were opened before stay good, but for look-ups in an index that is gone ([`Error::UnknownIndex`]).
    ///
    /// Writers keep a new index in line from its declaration on, and nobody reads it before it has all rows. While a
    /// unique one is added, writers that would give two rows one key are refused already.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::LayoutDiffers`] for keys and rows of other columns than the table has;
    /// [`Error::NotUnique`] with the primary keys of two rows that a new unique index cannot have;
    /// [`Error::InvalidOption`] for an index of a column without an order; [`Error::ReadOnlyTable`] for a table that is
    /// declared read-only; [`Error::OutOfMemory`].
    pub fn change_indexes<K: Key, V: Row>(&mut self, table: &str) -> Result<()> {
        let (id, spec) = self.find(table)?;
        check_columns::<K, V>(&spec)?;
        let wanted = declare::indexes::<V>(&spec, &Table::<K, V>::layout());
        for index in spec.secondary.iter().filter(|index| !wanted.contains(index)) {
            self.also(TableChange::DropIndex(id, index.name.clone()))?;
        }
        for index in wanted.into_iter().filter(|index| !spec.secondary.contains(index)) {
            let name = index.name.clone();
            let filled = self.engine.fill_index(&self.made, id, index);
            filled.map_err(|error| error_of_key::<K>(error))?;
            self.also(TableChange::Ready(id, name))?;
        }
        Ok(())
    }

    /// Drops an index.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::UnknownIndex`].
    pub fn drop_index(&mut self, table: &str, index: &str) -> Result<()> {
        let (id, _) = self.find(table)?;
        self.also(TableChange::DropIndex(id, index.to_owned()))
    }

    /// Makes of each row of a table, by a function of its key and itself, a row of the type after, with the indexes that
    /// this declares. The function may change keys, too, and may be called more than once for a row.
    ///
    /// The rows are written to a new table, which takes the place of the old one when the changes come into force:
    /// memory holds both until then. Handles of the old one are no longer good then.
    /// A follower of [`Database::changes`](crate::Database::changes) has to scan the new table: changes to it from before it
    /// took the place may be missing from the feed.
    ///
    /// # Errors
    /// [`Error::Migration`], with the key of the row at which it has failed: the function's error, or a key that two rows
    /// would share; [`Error::UnknownTable`]; [`Error::LayoutDiffers`] for keys and rows of other columns than the table
    /// has; [`Error::OutOfMemory`]; [`Error::LogFailed`].
    pub fn rewrite<K: Key, V: Row, L: Key, W: Row>(
        &mut self,
        table: &str,
        rewrite: impl FnMut(K, V) -> core::result::Result<(L, W), RewriteError>,
    ) -> Result<()> {
        let (id, had) = self.find(table)?;
        check_columns::<K, V>(&had)?;
        let spec = declare::spec::<L, W>(TableSpec { secondary: Vec::new(), ..had.clone() })?;
        let mut rewriter = Rewriter::new(id, &had, &spec, rewrite)?;
        let new = self.engine.build_table(spec)?;
        let written =
            self.engine.rewrite_rows([id, new], &mut |key, row| rewriter.rewrite(key, row));
        written.map_err(|error| error_of_key::<K>(error))?;
        self.also(TableChange::Drop(id))?;
        self.also(TableChange::Show(new))
    }
}

impl Drop for TableChanges<'_> {
    fn drop(&mut self) {
        // Takes back all changes that did not come into force, or the rest of one that failed. A failure of the log is
        // what every later call reports.
        let _ = self.engine.take_back_changes();
    }
}

/// Refuses types of other columns than a table has. Its indexes may differ.
fn check_columns<K: Key, V: Row>(spec: &TableSpec) -> Result<()> {
    match spec.differs(&Table::<K, V>::layout(), &spec.secondary) {
        Some(differs) => Err(Error::LayoutDiffers(Box::new(differs))),
        None => Ok(()),
    }
}

/// An error about a row, with its key as the table has it.
fn error_of_key<K: Key>(error: Error) -> Error {
    match error {
        Error::NotUnique(rows) => Error::NotUnique(Box::new(rows.of_columns(K::columns))),
        Error::Migration(failed) => Error::Migration(Box::new(failed.of_columns(K::columns))),
        other => other,
    }
}
