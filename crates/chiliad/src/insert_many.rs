//! Insertions of many rows at once.

use crate::key::Lookup;
use crate::raw::Transaction as _;
use crate::{Result, Row, Table, Transaction};
use chiliad_api::EncodedRows;

/// Rows that go to the engine together.
const GROUP: usize = 32;

impl Transaction<'_> {
    /// Inserts rows under keys that have none, as [`Transaction::insert`] does one after another: the rows before one that is
    /// refused are inserted. Rows whose keys follow each other, such as the lines of an order, cost less together than each
    /// alone.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let lines: Table<(u64, u8), String> = db.create_table("lines")?;
    /// let items = ["bread", "salt"];
    /// db.run(|tx| {
    ///     let rows = items.iter().zip(1..).map(|(item, line)| ((7, line), item.to_string()));
    ///     tx.insert_many(&lines, rows)
    /// })?;
    /// assert_eq!(db.run(|tx| tx.get(&lines, &(7, 2)))?.as_deref(), Some("salt"));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::insert`], of the first row that is refused.
    pub fn insert_many<K, V: Row, Q: Lookup<K>>(
        &mut self,
        table: &Table<K, V>,
        rows: impl IntoIterator<Item = (Q, V)>,
    ) -> Result<()> {
        let id = self.reader.table(table)?;
        let mut rows = rows.into_iter();
        if table.expiring.is_some() {
            // A row whose time is over makes room for another.
            return rows.try_for_each(|(key, row)| self.insert(table, &key, &row));
        }
        let mut group = EncodedRows::default();
        loop {
            group.clear();
            for (key, row) in rows.by_ref().take(GROUP) {
                self.encode(table, &key, &row);
                let (_, scratch) = self.reader.parts();
                group.push(&scratch.key, &scratch.value);
            }
            if group.is_empty() {
                return Ok(());
            }
            let (raw, _) = self.reader.parts();
            raw.insert_many(id, &group.rows()).map_err(|error| table.tell(error))?;
        }
    }
}
