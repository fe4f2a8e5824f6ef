//! Tables by name, whether they are there or not, and the list of them.

use crate::raw::TableSpec;
use crate::{Database, Error, Key, Result, Row, Table};
use std::time::Duration;

/// The wait for a table of the same name to be gone, or to be declared.
const PAUSE: Duration = Duration::from_millis(1);

impl Database {
    /// Opens a table by name, or creates it as [`Database::create_table`] does if there is none. Of several threads
    /// that call this at the same time one creates it, and all get the same table. While another thread drops a table
    /// of this name it waits for that.
    ///
    /// ```
    /// # use chiliad::{Database, Error, Table};
    /// # let db = Database::in_memory()?;
    /// let ages: Table<String, u8> = db.open_or_create_table("ages")?;
    /// assert_eq!(db.open_or_create_table::<String, u8>("ages")?, ages);
    /// let refused = db.open_or_create_table::<u64, u8>("ages");
    /// assert!(matches!(refused, Err(Error::LayoutDiffers(_))));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Database::table`], but for the unknown table, and for [`Database::create_table`], but for the one that
    /// exists.
    pub fn open_or_create_table<K: Key, V: Row>(&self, name: &str) -> Result<Table<K, V>> {
        loop {
            match self.table(name) {
                Err(Error::UnknownTable(_)) => {}
                opened => return opened,
            }
            match self.create_table(name) {
                Err(Error::TableExists(_)) => std::thread::sleep(PAUSE),
                created => return created,
            }
        }
    }

    /// The declarations of all tables, in the order of their creation.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let ages: Table<String, u8> = db.create_table("ages")?;
    /// let hits: Table<u64, u64> = db.create_table("hits")?;
    /// let tables = db.tables();
    /// let names: Vec<_> = tables.iter().map(|table| &*table.name).collect();
    /// assert_eq!(names, ["ages", "hits"]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    #[must_use]
    pub fn tables(&self) -> Vec<TableSpec> {
        let mut tables: Vec<_> =
            self.declared().iter().map(|(id, spec)| (*id, spec.clone())).collect();
        tables.sort_unstable_by_key(|(id, _)| *id);
        tables.into_iter().map(|(_, spec)| spec).collect()
    }
}
