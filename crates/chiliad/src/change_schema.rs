//! Changes of a table's schema.

use crate::row::SchemaChange;
use crate::{Database, Error, Result, declare};

impl Database {
    /// Changes the columns of a table: adds, drops, renames, moves and widens them, all at once or not at all. No row is
    /// rewritten, however many there are, and transactions go on meanwhile: a row keeps the version of the schema under
    /// which it was written, and is read as one of the newest.
    ///
    /// Handles that were opened before are of the type before: they write rows of their version still, and are refused
    /// with [`Error::SchemaChanged`] where they read. Open the table again with the type after.
    ///
    /// ```
    /// use chiliad::row::SchemaChange;
    /// use chiliad::{Database, Row, Table, Typed};
    ///
    /// #[derive(Row)]
    /// struct Before {
    ///     name: String,
    ///     age: u8,
    ///     fax: String,
    /// }
    ///
    /// #[derive(Row, Debug, PartialEq)]
    /// struct After {
    ///     full_name: String,
    ///     age: u32,
    ///     mail: Option<String>,
    /// }
    ///
    /// let db = Database::in_memory()?;
    /// let people: Table<u64, Before> = db.create_table("people")?;
    /// let ann = Before { name: "ann".into(), age: 30, fax: "none".into() };
    /// db.run(|tx| tx.insert(&people, &1, &ann))?;
    ///
    /// db.change_schema(
    ///     "people",
    ///     &[
    ///         SchemaChange::Rename { from: "name".into(), to: "full_name".into() },
    ///         SchemaChange::Widen { name: "age".into(), column_type: u32::column_type() },
    ///         SchemaChange::Drop { name: "fax".into() },
    ///         SchemaChange::Add {
    ///             name: "mail".into(),
    ///             column_type: Option::<String>::column_type(),
    ///             default: None,
    ///         },
    ///     ],
    /// )?;
    /// let people: Table<u64, After> = db.table("people")?;
    /// let ann = db.run(|tx| tx.get(&people, &1))?;
    /// assert_eq!(ann, Some(After { full_name: "ann".into(), age: 30, mail: None }));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// In a directory the change is durable when the call returns; after a crash in its midst the table has the schema
    /// before or the one after.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::Schema`] for a change that cannot be made, such as a column that is not there, a
    /// new one without a default, a type that does not hold all values of the one before; [`Error::InvalidOption`] for a
    /// column of an index that goes or gets another type, and for a table whose rows name no versions;
    /// [`Error::LogFailed`], [`Error::OpenedReadOnly`]. Nothing is changed then.
    pub fn change_schema(&self, table: &str, changes: &[SchemaChange]) -> Result<()> {
        let (mut declared, id) = self.declared_table(table)?;
        let unknown = || Error::UnknownTable(table.into());
        let spec = declared.get_mut(&id).ok_or_else(unknown)?;
        let layout = declare::changed(declare::schema_of(spec)?, changes)?;
        self.shared.engine.change_layout(id, layout.clone())?;
        spec.layout = layout;
        self.shared.schemas.keep(id, spec);
        Ok(())
    }
}
