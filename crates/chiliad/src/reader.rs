//! The reading half of a transaction, shared by transactions that write and by snapshots.

use crate::form::{Form, Schemas};
use crate::key::Lookup;
use crate::raw::{Left, TableId, Transaction as _, Untyped};
use crate::{Clock, Error, Key, Result, Row, Table};
use chiliad_engine::Row as Handle;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{ControlFlow, Deref};
use std::time::SystemTime;

/// Buffers of a worker, reused by its transactions.
pub(crate) struct Scratch {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// For rows of earlier versions.
    schemas: Schemas,
    /// By which rows expire.
    clock: Clock,
}

impl Scratch {
    pub fn new(schemas: &Schemas, clock: &Clock) -> Self {
        let (schemas, clock) = (schemas.clone(), clock.clone());
        Self { key: Vec::new(), value: Vec::new(), schemas, clock }
    }

    /// For rows of earlier versions.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }
}

/// Reads that every transaction offers.
///
/// Both [`Transaction`](crate::Transaction) and [`Snapshot`](crate::Snapshot) give it (by
/// dereferencing), so that a function that takes a `&mut Reader` serves both:
///
/// ```
/// use chiliad::{Database, Reader, Result, Table};
///
/// fn total(reader: &mut Reader<'_>, accounts: Table<u64, i64>) -> Result<i64> {
///     Ok(reader.scan(&accounts, ..).values()?.iter().sum())
/// }
///
/// let db = Database::in_memory()?;
/// let accounts = db.create_table("accounts")?;
/// db.bulk_load(&accounts, (0..10).map(|id| (id, 5)))?;
/// assert_eq!(db.run(|tx| total(tx, accounts))?, 50);
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// Every operation may fail with [`Error::Conflict`]: hand it on with `?`, and the transaction is
/// run again. One that is swallowed is not forgotten: the transaction does not commit.
pub struct Reader<'w> {
    raw: Untyped<'w>,
    pub(crate) scratch: &'w mut Scratch,
    database: u64,
    /// The time by which rows expire, once the clock was read.
    now: Cell<Option<SystemTime>>,
}

/// A row with the handle under which the transaction holds it: change it and give it to
/// [`Transaction::store`](crate::Transaction::store), which does not look it up again, or give it
/// to [`Transaction::delete`](crate::Transaction::delete).
///
/// It is of use in the transaction that has read it and in no other. Where transactions are closures
/// the compiler sees to that: `'w` stands for one of them. This is fine:
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     let row = outer.fetch(&accounts, &1)?.unwrap();
///     db.run(|inner| inner.put(&accounts, &7, &row.value))?;
///     outer.store(&row)
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// and this does not compile:
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     let row = outer.fetch(&accounts, &1)?.unwrap();
///     db.run(|inner| inner.store(&row))?;
///     outer.store(&row)
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// Two transactions begun by [`Worker::begin`](crate::Worker::begin) are alike to the compiler. Between them,
/// and for the handles of the untyped interface, which have no lifetime, each use is checked, and one
/// in another transaction fails with [`Error::ForeignHandle`]:
///
/// ```
/// # use chiliad::{Database, Error, RunOptions, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let (mut one, mut other) = (db.worker()?, db.worker()?);
/// let mut t1 = one.begin(&RunOptions::default())?;
/// let mut t2 = other.begin(&RunOptions::default())?;
/// let row = t1.fetch(&accounts, &1)?.unwrap();
/// t2.get(&accounts, &7)?;
/// assert_eq!(t2.store(&row), Err(Error::ForeignHandle));
/// # Ok::<(), chiliad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fetched<'w, V> {
    pub(crate) handle: Handle,
    /// The form of its table's rows.
    pub(crate) form: Form,
    /// The row's value, to be changed at will.
    pub value: V,
    /// Neither a longer nor a shorter lifetime stands for that of the transaction.
    of: PhantomData<fn(&'w ()) -> &'w ()>,
}

impl<V> Fetched<'_, V> {
    fn new(handle: Handle, form: Form, value: V) -> Self {
        Self { handle, form, value, of: PhantomData }
    }
}

impl<V> Deref for Fetched<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V> core::ops::DerefMut for Fetched<'_, V> {
    fn deref_mut(&mut self) -> &mut V {
        &mut self.value
    }
}

/// Look-ups that go to the engine together.
const GROUP: usize = 16;

impl<'w> Reader<'w> {
    pub(crate) fn new(raw: Untyped<'w>, scratch: &'w mut Scratch, database: u64) -> Self {
        Self { raw, scratch, database, now: Cell::new(None) }
    }

    /// Leaves the transaction in progress on its session, with the time by which rows expire.
    pub(crate) fn leave(self) -> (Left, Option<SystemTime>) {
        (self.raw.leave(), self.now.get())
    }

    /// This reader, by whose `now` rows expire.
    pub(crate) fn at(self, now: Option<SystemTime>) -> Self {
        self.now.set(now);
        self
    }

    /// The untyped transaction beneath. In a snapshot its writing operations fail with
    /// [`Error::ReadOnly`].
    pub fn raw(&mut self) -> &mut Untyped<'w> {
        &mut self.raw
    }

    pub(crate) fn into_raw(self) -> Untyped<'w> {
        self.raw
    }

    /// The number of a table, if it is one of this database.
    pub(crate) fn table<K, V>(&self, table: &Table<K, V>) -> Result<TableId> {
        if table.database == self.database {
            Ok(table.id)
        } else {
            Err(Error::UnknownTable(format!("number {} of another database", table.id.0)))
        }
    }

    /// The row under `key`, or `None`.
    ///
    /// # Errors
    /// Conflicts; [`Error::KeyTooLong`]; [`Error::UnknownTable`] once the table is dropped; others
    /// when the stored bytes are no row of type `V`.
    pub fn get<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
    ) -> Result<Option<V>> {
        match self.handle(table, key, false)? {
            Some(row) => self.value(table, row).map(Some),
            None => Ok(None),
        }
    }

    /// Whether there is a row under `key`.
    ///
    /// # Errors
    /// As for [`Reader::get`].
    pub fn contains<K, V>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
    ) -> Result<bool> {
        self.handle(table, key, false).map(|row| row.is_some())
    }

    /// The row under `key`, held so that it can be stored or deleted without a second look-up.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
    /// # db.bulk_load(&accounts, [(7, 100)])?;
    /// db.run(|tx| {
    ///     if let Some(mut balance) = tx.fetch(&accounts, &7)? {
    ///         *balance += 20;
    ///         tx.store(&balance)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(db.run(|tx| tx.get(&accounts, &7))?, Some(120));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Reader::get`].
    pub fn fetch<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
    ) -> Result<Option<Fetched<'w, V>>> {
        match self.handle(table, key, false)? {
            Some(row) => self.fetched(table, row).map(Some),
            None => Ok(None),
        }
    }

    /// The rows under many keys, in the order of the keys: their cache misses overlap, which makes
    /// it several times faster than one [`Reader::get`] after the other. The transaction keeps none of them in its own memory.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let prices: Table<u32, u64> = db.create_table("prices")?;
    /// db.bulk_load(&prices, [(1, 10), (2, 20), (3, 30)])?;
    /// assert_eq!(db.run(|tx| tx.get_many(&prices, &[3, 9, 1]))?, [Some(30), None, Some(10)]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Reader::get`].
    pub fn get_many<K, V: Row>(
        &mut self,
        table: &Table<K, V>,
        keys: &[impl Lookup<K>],
    ) -> Result<Vec<Option<V>>> {
        let id = self.table(table)?;
        let mut values: Vec<Option<V>> = Vec::new();
        values.resize_with(keys.len(), || None);
        let Self { raw, scratch: Scratch { key: bytes, schemas, clock, .. }, now, .. } = self;
        for (group, values) in keys.chunks(GROUP).zip(values.chunks_mut(GROUP)) {
            let mut ends = [0; GROUP];
            bytes.clear();
            for (key, end) in group.iter().zip(&mut ends) {
                key.encode(bytes);
                *end = bytes.len();
            }
            let mut start = 0;
            let keys = ends.map(|end| {
                let key = &bytes[start..end.max(start)];
                start = end.max(start);
                key
            });
            let mut read: Result<()> = Ok(());
            let mut keep = |at: usize, row: &[u8]| {
                if !is_over(table, row, schemas, clock, now)? {
                    values[at] = Some(table.form.read(id, schemas, row)?);
                }
                Ok(())
            };
            let mut show = |at: usize, row: &[u8]| flow(keep(at, row), &mut read);
            raw.visit_many(id, &keys[..group.len()], &mut show)?;
            read?;
        }
        Ok(values)
    }

    /// The number of a table, if it is one of this database, and in the scratch the bytes of `key`.
    pub(crate) fn encode<K, V>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
    ) -> Result<TableId> {
        let id = self.table(table)?;
        self.scratch.key.clear();
        key.encode(&mut self.scratch.key);
        Ok(id)
    }

    /// Where the transaction holds the row under `key`, which it means to write, or not.
    pub(crate) fn handle<K, V>(
        &mut self,
        table: &Table<K, V>,
        key: &(impl Lookup<K> + ?Sized),
        for_update: bool,
    ) -> Result<Option<Handle>> {
        let id = self.encode(table, key)?;
        let row = match for_update {
            true => self.raw.get_for_update(id, &self.scratch.key)?,
            false => self.raw.get(id, &self.scratch.key)?,
        };
        self.unless_over(table, row)
    }

    /// A row that was read, unless it is past its time.
    #[inline]
    fn unless_over<K, V>(
        &self,
        table: &Table<K, V>,
        row: Option<Handle>,
    ) -> Result<Option<Handle>> {
        match row {
            Some(row) if self.is_over(table, row)? => Ok(None),
            row => Ok(row),
        }
    }

    /// Whether a row that was read is past its time.
    #[inline]
    pub(crate) fn is_over<K, V>(&self, table: &Table<K, V>, row: Handle) -> Result<bool> {
        if table.expiring.is_none() {
            return Ok(false);
        }
        let Scratch { schemas, clock, .. } = &*self.scratch;
        is_over(table, self.raw.bytes(row)?, schemas, clock, &self.now)
    }

    /// The value of a row of `table`.
    #[inline]
    pub(crate) fn value<K, V: Row>(&self, table: &Table<K, V>, row: Handle) -> Result<V> {
        table.form.read(table.id, &self.scratch.schemas, self.raw.bytes(row)?)
    }

    pub(crate) fn fetched<K, V: Row>(
        &self,
        table: &Table<K, V>,
        row: Handle,
    ) -> Result<Fetched<'w, V>> {
        self.value(table, row).map(|value| Fetched::new(row, table.form, value))
    }

    /// The primary key of a row that was read.
    pub(crate) fn key<K: Key>(&self, row: Handle) -> Result<K> {
        K::decode(self.raw.row_key(row)?)
    }

    /// The number by which the table knows an index of its row type.
    pub(crate) fn position<K, V>(&self, table: &Table<K, V>, of_type: usize) -> usize {
        self.scratch.schemas.positions().of_table(table.numbering, of_type)
    }

    /// Both.
    pub(crate) fn row<K: Key, V: Row>(&self, table: &Table<K, V>, row: Handle) -> Result<(K, V)> {
        Ok((self.key(row)?, self.value(table, row)?))
    }

    /// The untyped transaction, with the scratch memory beside it.
    pub(crate) fn parts(&mut self) -> (&mut Untyped<'w>, &mut Scratch) {
        (&mut self.raw, self.scratch)
    }

    pub(crate) fn untyped(&self) -> &Untyped<'w> {
        &self.raw
    }
}

/// Whether a row of `table` is past its time; `now` is that time, once the clock was read.
#[inline]
fn is_over<K, V>(
    table: &Table<K, V>,
    row: &[u8],
    schemas: &Schemas,
    clock: &Clock,
    now: &Cell<Option<SystemTime>>,
) -> Result<bool> {
    let Some(expiring) = table.expiring else { return Ok(false) };
    let instant = now.get().unwrap_or_else(|| clock.now());
    now.set(Some(instant));
    expiring.is_over(table.id, schemas, row, instant)
}

/// Whether a visit goes on after `done`; an error goes to `ended`.
pub(crate) fn flow(done: Result<()>, ended: &mut Result<()>) -> ControlFlow<()> {
    match done {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *ended = Err(error);
            ControlFlow::Break(())
        }
    }
}
