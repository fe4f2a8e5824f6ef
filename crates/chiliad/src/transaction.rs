//! Transactions that write, and snapshots that do not.

use crate::key::Lookup;
use crate::nest;
use crate::raw::{Left, Transaction as _};
use crate::rules::Rules;
use crate::{
    BadNumber, Error, Fetched, Field, Pending, Reader, Reason, Result, Row, Stored, Table,
};
use chiliad_engine::Committed;
use core::ops::{Deref, DerefMut};
use std::time::SystemTime;

/// A transaction: what [`Database::run`](crate::Database::run) hands to its closure. It reads by
/// the methods of [`Reader`] and writes by its own.
///
/// Its writes are seen by itself at once and by others when it has committed. To roll back, return
/// an error from the closure: [`Error::RolledBack`](crate::Error::RolledBack) or one of your own.
pub struct Transaction<'w> {
    reader: Reader<'w>,
    rules: &'w Rules,
}

impl<'w> Deref for Transaction<'w> {
    type Target = Reader<'w>;

    fn deref(&self) -> &Reader<'w> {
        &self.reader
    }
}

impl<'w> DerefMut for Transaction<'w> {
    fn deref_mut(&mut self) -> &mut Reader<'w> {
        &mut self.reader
    }
}

impl<'w> Transaction<'w> {
    pub(crate) fn new(reader: Reader<'w>, rules: &'w Rules) -> Self {
        Self { reader, rules }
    }

    /// Leaves the transaction in progress on its session.
    pub(crate) fn leave(self) -> (Left, Option<SystemTime>) {
        self.reader.leave()
    }

    /// Why the transaction cannot commit, if it is known that it cannot.
    pub(crate) fn conflict(&mut self) -> Option<Reason> {
        self.reader.raw().conflict()
    }

    /// Whether there was no memory left for it.
    pub(crate) fn is_short(&mut self) -> bool {
        self.reader.raw().is_short()
    }

    /// Makes what the transaction wrote visible to others, all of it or nothing.
    ///
    /// With [`Durability::Sync`](crate::Durability::Sync) it returns when they are durable.
    ///
    /// Only for transactions begun by [`Worker::begin`](crate::Worker::begin); the others commit
    /// when their closure returns `Ok`.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if the scheme refuses it: nothing has happened,
    /// and it may be run again. [`Error::DeadlineExceeded`](crate::Error::DeadlineExceeded).
    /// [`Error::LogFailed`](crate::Error::LogFailed), for a transaction that has written: it may or may not be
    /// durable. [`Error::NotYetDurable`](crate::Error::NotYetDurable).
    pub fn commit(self) -> Result<()> {
        let (rules, limit) = (self.rules, self.reader.untyped().until().clone());
        let committed = self.commit_now()?;
        rules.hold_back_end(committed, &limit)
    }

    /// As [`Transaction::commit`], without waiting: see [`Pending`].
    ///
    /// # Errors
    /// As for [`Transaction::commit`].
    pub fn submit(self) -> Result<Pending<()>> {
        let acks = self.rules.acks.clone();
        let committed = self.commit_now()?;
        Ok(Pending::new((), committed.seen_epoch, committed.wrote, acks))
    }

    pub(crate) fn commit_now(self) -> Result<Committed> {
        let rules = self.rules;
        let committed = self.reader.into_raw().commit()?;
        if committed.wrote {
            nest::has_written(rules.database);
        }
        Ok(committed)
    }

    /// Its closure is about to run.
    pub(crate) fn enter(&mut self) -> nest::Inside {
        nest::enter(self.rules.database, self.reader.raw().as_outer())
    }

    /// Undoes the transaction; dropping it does the same.
    pub fn rollback(self) {
        self.reader.into_raw().rollback();
    }

    /// Inserts a row under a key that has none.
    ///
    /// ```
    /// # use chiliad::{Database, Error, Table};
    /// # let db = Database::in_memory()?;
    /// # let names: Table<u64, String> = db.create_table("names")?;
    /// db.run(|tx| {
    ///     tx.insert(&names, &1, &"ann".into())?;
    ///     // The transaction may go on after a duplicate.
    ///     let taken = tx.insert(&names, &1, &"bob".into()).unwrap_err();
    ///     assert!(matches!(taken, Error::DuplicateKey(_)));
    ///     assert_eq!(taken.to_string(), "the table names has the key 1 already");
    ///     Ok(())
    /// })?;
    /// assert_eq!(db.run(|tx| tx.get(&names, &1))?.as_deref(), Some("ann"));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DuplicateKey`](crate::Error::DuplicateKey), after which the transaction may go on;
    /// [`UniqueViolation`](crate::Error::UniqueViolation), [`KeyTooLong`](crate::Error::KeyTooLong),
    /// [`ValueSize`](crate::Error::ValueSize), [`ReadOnly`](crate::Error::ReadOnly),
    /// [`UnknownTable`](crate::Error::UnknownTable); [`OutOfMemory`](crate::Error::OutOfMemory) and
    /// conflicts, after which it can only be rolled back.
    pub fn insert<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        row: &V,
    ) -> Result<()> {
        let id = self.reader.table(table)?;
        if table.expiring.is_some() && self.reader.handle(table, key, true)?.is_none() {
            return self.write(table, None, row);
        }
        self.encode(table, key, row);
        let (raw, scratch) = self.reader.parts();
        raw.insert(id, &scratch.key, &scratch.value).map_err(|error| table.tell(error))
    }

    /// Writes a row, whether its key had one or not.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], but for the duplicate. After a
    /// [`UniqueViolation`](crate::Error::UniqueViolation) the transaction can only be rolled back.
    pub fn put<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        row: &V,
    ) -> Result<()> {
        let id = self.reader.table(table)?;
        self.encode(table, key, row);
        let (raw, scratch) = self.reader.parts();
        raw.put(id, &scratch.key, &scratch.value)
    }

    /// Changes the row under `key` by `change`, if there is one, and returns what `change` does; `None` if there is
    /// none.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
    /// # db.bulk_load(&accounts, [(7, 100)])?;
    /// db.run(|tx| {
    ///     tx.update(&accounts, &7, |balance| *balance += 10)?;
    ///     let before = tx.update(&accounts, &7, |balance| std::mem::replace(balance, 120))?;
    ///     assert_eq!(before, Some(110));
    ///     assert!(tx.update(&accounts, &8, |balance| *balance += 20)?.is_none());
    ///     Ok(())
    /// })?;
    /// assert_eq!(db.run(|tx| tx.get(&accounts, &7))?, Some(120));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::put`] and [`Reader::get`].
    pub fn update<K, V: Row, T>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        change: impl FnOnce(&mut V) -> T,
    ) -> Result<Option<T>> {
        let Some(mut row) = self.fetch_for_update(table, key)? else { return Ok(None) };
        let made = change(&mut row.value);
        self.store(&row)?;
        Ok(Some(made))
    }

    /// Adds `n` to an integer of the row under `key`, if there is one, and says whether there is.
    ///
    /// The transaction does not learn the sum, and so does not depend on what the number was: under `silo`, `global-tid`,
    /// `key-value`, `occ` and `occ-serial` transactions that add to one row at the same time do not conflict, where those that
    /// [`update`](Transaction::update) it do. It is for totals, counters and stocks that many change and few read. What
    /// the transaction reads of the row later has the sum in it; from then on it is an ordinary update, and so it is in a
    /// table with indexes and under other schemes. A column is a constant that the derive macro of [`Row`] generates, or
    /// [`Field::whole`] where the row is one number.
    ///
    /// ```
    /// # use chiliad::{Database, Row, Table};
    /// #[derive(Row)]
    /// struct Page {
    ///     title: String,
    ///     views: u64,
    /// }
    ///
    /// # let db = Database::in_memory()?;
    /// let pages: Table<u64, Page> = db.create_table("pages")?;
    /// db.run(|tx| tx.insert(&pages, &7, &Page { title: "home".into(), views: 0 }))?;
    ///
    /// assert!(db.run(|tx| tx.add(&pages, &7, Page::VIEWS, 1))?);
    /// assert!(!db.run(|tx| tx.add(&pages, &8, Page::VIEWS, 1))?);
    /// assert_eq!(db.run(|tx| tx.get(&pages, &7))?.unwrap().views, 1);
    ///
    /// // A sum must be a number of the column.
    /// let refused = db.run(|tx| tx.add(&pages, &7, Page::VIEWS, -2)).unwrap_err();
    /// assert_eq!(refused.to_string(), "nothing was added: the sum with -2 is out of the range of u64");
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BadNumber`](crate::Error::BadNumber): the column is no integer that always has a value, and nothing has happened; or the
    /// sum is out of its range. The transaction can only be rolled back then, and it may be its commit that says so.
    /// Otherwise as for [`Transaction::update`].
    pub fn add<K, V: Row, T: Stored>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        column: Field<V, T>,
        n: i64,
    ) -> Result<bool> {
        let number = column.number(table.form.version())?;
        let id = self.reader.table(table)?;
        if table.expiring.is_some() && self.reader.handle(table, key, true)?.is_none() {
            return Ok(false);
        }
        let (raw, scratch) = self.reader.parts();
        scratch.key.clear();
        key.encode(&mut scratch.key);
        match raw.add(id, &scratch.key, number, n) {
            Err(Error::BadNumber(bad)) if matches!(*bad, BadNumber::OtherVersion { .. }) => {
                // Written under an earlier version of the schema: the row gets this one first.
                let Some(row) = self.fetch_for_update(table, key)? else { return Ok(false) };
                self.store(&row)?;
                let (raw, scratch) = self.reader.parts();
                raw.add(id, &scratch.key, number, n)
            }
            added => added,
        }
    }

    /// Removes the row under `key`, and says whether there was one.
    ///
    /// # Errors
    /// As for [`Reader::get`]; [`ReadOnly`](crate::Error::ReadOnly).
    pub fn remove<K, V>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
    ) -> Result<bool> {
        let id = self.reader.table(table)?;
        if table.expiring.is_some() && self.reader.handle(table, key, true)?.is_none() {
            return Ok(false);
        }
        let (raw, scratch) = self.reader.parts();
        scratch.key.clear();
        key.encode(&mut scratch.key);
        raw.remove(id, &scratch.key)
    }

    /// Fetches a row that will be stored or deleted, as [`Reader::fetch`] does. Schemes that lock do so
    /// for writing at once, and two transactions that both do this do not both read first and then
    /// stand in each other's way.
    ///
    /// # Errors
    /// As for [`Reader::get`]; [`ReadOnly`](crate::Error::ReadOnly).
    pub fn fetch_for_update<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
    ) -> Result<Option<Fetched<'w, V>>> {
        match self.reader.handle(table, key, true)? {
            Some(row) => self.reader.fetched(table, row).map(Some),
            None => Ok(None),
        }
    }

    /// Writes back a row that was fetched and changed.
    ///
    /// # Errors
    /// As for [`Transaction::put`]; [`ForeignHandle`](crate::Error::ForeignHandle) for a row that another
    /// transaction has fetched.
    pub fn store<V: Row>(&mut self, row: &Fetched<'w, V>) -> Result<()> {
        let (raw, scratch) = self.reader.parts();
        row.form.write(&row.value, &mut scratch.value);
        raw.update(row.handle, &scratch.value)
    }

    /// Removes a row that was fetched.
    ///
    /// # Errors
    /// As for [`Transaction::remove`]; [`ForeignHandle`](crate::Error::ForeignHandle) for a row that another
    /// transaction has fetched.
    pub fn delete<V>(&mut self, row: Fetched<'w, V>) -> Result<()> {
        self.reader.raw().remove_row(row.handle)
    }

    fn encode<K, V: Row>(&mut self, table: &Table<K, V>, key: &(impl Lookup<K> + ?Sized), row: &V) {
        let scratch = &mut *self.reader.scratch;
        scratch.key.clear();
        key.encode(&mut scratch.key);
        table.form.write(row, &mut scratch.value);
    }
}

/// A read-only transaction in the past: what [`Database::snapshot`](crate::Database::snapshot) hands
/// to its closure. It reads by the methods of [`Reader`] and has none that write:
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory().unwrap();
/// # let accounts: Table<u64, i64> = db.create_table("accounts").unwrap();
/// db.snapshot(|snapshot| snapshot.put(&accounts, &7, &0)).unwrap();
/// ```
pub struct Snapshot<'t, 'w> {
    reader: &'t mut Reader<'w>,
}

impl<'t, 'w> Snapshot<'t, 'w> {
    pub(crate) fn new(tx: &'t mut Transaction<'w>) -> Self {
        Self { reader: &mut tx.reader }
    }
}

impl<'w> Deref for Snapshot<'_, 'w> {
    type Target = Reader<'w>;

    fn deref(&self) -> &Reader<'w> {
        self.reader
    }
}

impl<'w> DerefMut for Snapshot<'_, 'w> {
    fn deref_mut(&mut self) -> &mut Reader<'w> {
        self.reader
    }
}
