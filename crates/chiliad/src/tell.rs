//! Writes that tell what was there.

use crate::key::Lookup;
use crate::raw::Transaction as _;
use crate::{Result, Row, Table, Transaction};
use chiliad_engine::Row as Handle;

impl Transaction<'_> {
    /// Writes a row, whether its key had one or not, and returns the row that it had.
    /// [`Transaction::put`] does not look that up, and is faster.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let names: Table<u64, String> = db.create_table("names")?;
    /// db.run(|tx| {
    ///     assert_eq!(tx.replace(&names, &1, &"ann".into())?, None);
    ///     assert_eq!(tx.replace(&names, &1, &"bob".into())?.as_deref(), Some("ann"));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::put`] and [`Reader::get`](crate::Reader::get). Where transactions are not serializable,
    /// [`DuplicateKey`](crate::Error::DuplicateKey) if another one has inserted the key meanwhile.
    pub fn replace<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        row: &V,
    ) -> Result<Option<V>> {
        let there = self.handle(table, key, true)?;
        let before = there.map(|handle| self.value(table, handle)).transpose()?;
        self.write(table, there, row)?;
        Ok(before)
    }

    /// Removes the row under `key` and returns it, if there was one. [`Transaction::remove`] does not decode it.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let names: Table<u64, String> = db.create_table("names")?;
    /// db.run(|tx| {
    ///     tx.put(&names, &1, &"ann".into())?;
    ///     assert_eq!(tx.take(&names, &1)?.as_deref(), Some("ann"));
    ///     assert_eq!(tx.take(&names, &1)?, None);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::remove`] and [`Reader::get`](crate::Reader::get).
    pub fn take<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
    ) -> Result<Option<V>> {
        let Some(there) = self.handle(table, key, true)? else { return Ok(None) };
        let value = self.value(table, there)?;
        self.raw().remove_row(there)?;
        Ok(Some(value))
    }

    /// Inserts a row if its key has none; else returns the row that the key has, which stays. Where that is an error,
    /// use [`Transaction::insert`].
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let names: Table<u64, String> = db.create_table("names")?;
    /// db.run(|tx| {
    ///     assert_eq!(tx.insert_if_absent(&names, &1, &"ann".into())?, None);
    ///     assert_eq!(tx.insert_if_absent(&names, &1, &"bob".into())?.as_deref(), Some("ann"));
    ///     assert_eq!(tx.get(&names, &1)?.as_deref(), Some("ann"));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::replace`].
    pub fn insert_if_absent<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        row: &V,
    ) -> Result<Option<V>> {
        let there = self.handle(table, key, false)?;
        match there {
            Some(there) => self.value(table, there).map(Some),
            None => self.write(table, None, row).map(|()| None),
        }
    }

    /// Writes the row that `make` makes of the one that the key has, if it has one; says whether it had.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let counts: Table<String, u64> = db.create_table("counts")?;
    /// db.run(|tx| {
    ///     for word in ["to", "be", "or", "not", "to", "be"] {
    ///         tx.upsert(&counts, word, |count| count.unwrap_or(0) + 1)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(db.run(|tx| tx.get(&counts, "be"))?, Some(2));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::replace`].
    pub fn upsert<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        make: impl FnOnce(Option<V>) -> V,
    ) -> Result<bool> {
        let there = self.handle(table, key, true)?;
        let before = there.map(|handle| self.value(table, handle)).transpose()?;
        self.write(table, there, &make(before))?;
        Ok(there.is_some())
    }

    /// Writes a row over the one that is there, or under the key that was looked up last.
    pub(crate) fn write<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        there: Option<Handle>,
        row: &V,
    ) -> Result<()> {
        let (raw, scratch) = self.parts();
        table.form.write(row, &mut scratch.value);
        match there {
            Some(there) => raw.update(there, &scratch.value),
            // One past its time may be there.
            None if table.expiring.is_some() => raw.put(table.id(), &scratch.key, &scratch.value),
            None => {
                let inserted = raw.insert(table.id(), &scratch.key, &scratch.value);
                inserted.map_err(|error| table.tell(error))
            }
        }
    }
}
