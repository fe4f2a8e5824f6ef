//! Rows in groups of columns: parts that are read, written and locked apart, under one key.

use crate::raw::{GroupSpec, TableId, TableLayout, Transaction as _};
use crate::{Error, Key, Lookup, Result, Row, Table, Transaction, declare};
use std::sync::Arc;

/// A part of a row for [`Transaction::insert_with`]: [`Table::part`] of a group makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOfRow {
    group: TableId,
    bytes: Vec<u8>,
}

impl<K: Key, V: Row> Table<K, V> {
    /// A group of the columns of `V`, for a table whose keys are `K`. Transactions that use different groups of a row are not in
    /// each other's way, and one that uses several finds them by one descent:
    ///
    /// ```
    /// use chiliad::raw::TableSpec;
    /// use chiliad::{Database, Row, Table};
    ///
    /// #[derive(Row)]
    /// struct Shop {
    ///     name: String,
    /// }
    ///
    /// /// What every sale changes.
    /// #[derive(Row)]
    /// struct Takings {
    ///     earned: i64,
    /// }
    ///
    /// let db = Database::in_memory()?;
    /// let takings = Table::<u32, Takings>::as_group("takings")?;
    /// let shops: Table<u32, Shop> =
    ///     db.create_table_with(TableSpec::hash("shops", 10).with_group(takings))?;
    /// let takings: Table<u32, Takings> = db.table("shops.takings")?;
    /// db.run(|tx| {
    ///     let shop = Shop { name: "corner".into() };
    ///     tx.insert_with(&shops, &1, &shop, &[takings.part(&Takings { earned: 0 })])
    /// })?;
    /// // A transaction that reads the shop's name meanwhile does not conflict with this one.
    /// db.run(|tx| tx.add(&takings, &1, Takings::EARNED, 250))?;
    /// assert_eq!(db.run(|tx| tx.get(&takings, &1))?.map(|it| it.earned), Some(250));
    /// db.run(|tx| tx.remove(&shops, &1))?;
    /// assert!(db.run(|tx| tx.get(&takings, &1))?.is_none());
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where `V` declares indexes or expires, which is the business of the table's own columns;
    /// [`Error::Schema`].
    pub fn as_group(name: &str) -> Result<GroupSpec> {
        let refuse = |what| Err(Error::InvalidOption(format!("group {name}: {what}")));
        if !V::indexes().is_empty() {
            return refuse("an index is of the table's own columns");
        }
        if V::expiry().is_some() {
            return refuse("a row expires by one of the table's own columns");
        }
        let layout = TableLayout::Schema(Arc::new(declare::schema::<K, V>()?));
        Ok(GroupSpec { layout, ..GroupSpec::new(name) })
    }
}

impl<K, V: Row> Table<K, V> {
    /// This group's part of a row, for [`Transaction::insert_with`].
    #[must_use]
    pub fn part(&self, row: &V) -> PartOfRow {
        let mut bytes = Vec::new();
        self.form.write(row, &mut bytes);
        PartOfRow { group: self.id, bytes }
    }
}

impl Transaction<'_> {
    /// Inserts a row of a table with groups of columns: its own columns, and the part of each group, in any order. See
    /// [`Table::as_group`].
    ///
    /// # Errors
    /// As for [`Transaction::insert`]; [`Error::WrongParts`] where a group has no part, or two.
    pub fn insert_with<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        row: &V,
        parts: &[PartOfRow],
    ) -> Result<()> {
        let id = self.reader.table(table)?;
        self.encode(table, key, row);
        let (raw, scratch) = self.reader.parts();
        let mut all = vec![&scratch.value[..]];
        let groups = raw.groups(id)?;
        for group in (0..groups).map(|at| id.group(at)) {
            all.extend(parts.iter().find(|part| part.group == group).map(|part| &part.bytes[..]));
        }
        // One that is none of this table's, or stands twice, is too many.
        all.extend((groups..parts.len()).map(|_| &[][..]));
        raw.insert_parts(id, &scratch.key, &all).map_err(|error| table.tell(error))
    }
}
