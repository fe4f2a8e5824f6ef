//! Changes of tables by the untyped interface.

use super::TableChanges;
use crate::raw::{SecondarySpec, TableChange, TableSpec};
use crate::{Error, Result};

impl TableChanges<'_> {
    /// Declares a table as `spec` says. Where its name is that of a table which these changes drop, it takes its place.
    ///
    /// ```
    /// # use chiliad::Database;
    /// # use chiliad::raw::TableSpec;
    /// # let db = Database::in_memory()?;
    /// let before = db.create_table_raw(TableSpec::ordered("pages"))?;
    /// db.change_tables(|changes| {
    ///     changes.drop_table("pages")?;
    ///     changes.create_table_raw(TableSpec::ordered("pages"))
    /// })?;
    /// assert_ne!(db.table_raw("pages")?.0, before);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Database::create_table_raw`](crate::Database::create_table_raw).
    pub fn create_table_raw(&mut self, spec: TableSpec) -> Result<()> {
        let id = self.engine.build_table(spec)?;
        self.also(TableChange::Show(id))
    }

    /// Adds an index to a table. Writers and readers meet it as they do one of [`TableChanges::change_indexes`].
    ///
    /// # Errors
    /// As for [`TableChanges::change_indexes`]; the keys in errors are bytes.
    pub fn add_index_raw(&mut self, table: &str, index: SecondarySpec) -> Result<()> {
        let (id, _) = self.find(table)?;
        let name = index.name.clone();
        self.engine.fill_index(&self.made, id, index)?;
        self.also(TableChange::Ready(id, name))
    }

    /// Makes of each key and row of a table, as bytes, those of a table that is declared as `spec` says, and puts that in
    /// its place, as [`TableChanges::rewrite`] does. `spec` has no indexes: add them afterwards.
    ///
    /// # Errors
    /// As for [`TableChanges::rewrite`]; [`Error::InvalidOption`] where `spec` has indexes. The keys in errors are bytes.
    pub fn rewrite_raw(
        &mut self,
        table: &str,
        spec: TableSpec,
        mut rewrite: impl FnMut(&[u8], &[u8]) -> core::result::Result<(Vec<u8>, Vec<u8>), String>,
    ) -> Result<()> {
        if !spec.secondary.is_empty() {
            let message = "indexes in a rewrite: none are accepted, add them afterwards";
            return Err(Error::InvalidOption(message.into()));
        }
        let (id, _) = self.find(table)?;
        let new = self.engine.build_table(spec)?;
        self.engine.rewrite_rows([id, new], &mut rewrite)?;
        self.also(TableChange::Drop(id))?;
        self.also(TableChange::Show(new))
    }
}
