//! The database, as an application embeds it.

use crate::cache::Slots;
use crate::dispatch::AnyDatabase;
use crate::error::wrong_table_type;
use crate::raw::{TableId, TableSpec};
use crate::seat::{Plan, Rules, Seat, Seats};
use crate::ticker::Ticker;
use crate::{
    Error, Key, Options, Result, Row, RunOptions, Snapshot, Stats, Table, Transaction, Worker,
};
use core::fmt;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A database in main memory.
///
/// A handle: clones lead to the same database, any thread may use one, and the last one dropped
/// closes it (a [`Worker`] holds one). A thread keeps the epochs going meanwhile. Do not use a
/// database in a process that was forked off: that thread is not in it.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

/// Fields are dropped in order: the ticker ends first, then the cached workers go, then the engine.
struct Shared {
    _ticker: Ticker,
    slots: Slots,
    seats: Seats,
    /// The declarations of the tables, for those who open them again.
    declared: Mutex<HashMap<TableId, TableSpec>>,
    rules: Rules,
    options: Options,
    engine: AnyDatabase,
}

/// Numbers databases within the process.
static OPENED: AtomicU64 = AtomicU64::new(0);

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl Database {
    /// Opens an empty database.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    pub fn open(options: Options) -> Result<Self> {
        options.check()?;
        let engine = AnyDatabase::open(&options)?;
        let rules = Rules {
            // Relaxed: only that each gets another number matters.
            database: OPENED.fetch_add(1, Ordering::Relaxed),
            backoff: options.backoff,
            all_partitions: (0..options.partitions).collect(),
        };
        let shared = Shared {
            _ticker: Ticker::start(engine.clone(), options.epoch)?,
            slots: Slots::default(),
            seats: Seats::new(options.workers_max),
            declared: Mutex::default(),
            rules,
            options,
            engine,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens an empty database with default options.
    ///
    /// # Errors
    /// As for [`Database::open`].
    pub fn in_memory() -> Result<Self> {
        Self::open(Options::default())
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Creates an ordered table, with the secondary indexes that its row type declares.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::InvalidOption`] for a name that is empty or contains `/`,
    /// [`Error::OutOfMemory`].
    pub fn create_table<K: Key, V: Row>(&self, name: &str) -> Result<Table<K, V>> {
        self.create_table_with(TableSpec::ordered(name))
    }

    /// Creates a table as `spec` says, with the secondary indexes that its row type declares in place
    /// of those in the specification.
    ///
    /// ```
    /// use chiliad::raw::TableSpec;
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// // Rows found by hash: faster for single keys, and without scans. The number is a hint.
    /// let sessions: Table<u64, String> = db.create_table_with(TableSpec::hash("sessions", 1_000))?;
    /// // Never read by snapshots: what is removed leaves at once, as suits a queue.
    /// let queue: Table<u64, String> =
    ///     db.create_table_with(TableSpec::ordered("queue").present_only())?;
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Database::create_table`].
    pub fn create_table_with<K: Key, V: Row>(&self, spec: TableSpec) -> Result<Table<K, V>> {
        let id = self.create_table_raw(TableSpec { secondary: V::indexes(), ..spec })?;
        Ok(Table::new(id, self.shared.rules.database))
    }

    /// Creates a table for the untyped interface; see [`raw`](crate::raw).
    ///
    /// # Errors
    /// As for [`Database::create_table`].
    pub fn create_table_raw(&self, spec: TableSpec) -> Result<TableId> {
        // Held throughout, so that nobody finds the table before its declaration.
        let mut declared = self.declared();
        let id = self.shared.engine.create_table(spec.clone())?;
        declared.insert(id, spec);
        Ok(id)
    }

    /// Opens a table by name. Its keys and rows must be of the types that it was created with;
    /// what can be checked, the secondary indexes, is.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::InvalidOption`] when `V` declares other indexes.
    pub fn table<K: Key, V: Row>(&self, name: &str) -> Result<Table<K, V>> {
        let declared = self.declared();
        let (id, spec) = by_name(&declared, name)?;
        if spec.secondary != V::indexes() {
            return Err(wrong_table_type(name, "its secondary indexes are not those of the row"));
        }
        Ok(Table::new(id, self.shared.rules.database))
    }

    /// The number and the declaration of a table, for the untyped interface.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn table_raw(&self, name: &str) -> Result<(TableId, TableSpec)> {
        by_name(&self.declared(), name).map(|(id, spec)| (id, spec.clone()))
    }

    /// Drops a table and its secondary indexes. Handles of it are no longer good, even if a table of
    /// the same name is created later. Transactions that have begun may finish with it.
    ///
    /// ```
    /// # use chiliad::{Database, Error, Table};
    /// # let db = Database::in_memory()?;
    /// let old: Table<u64, u64> = db.create_table("numbers")?;
    /// db.drop_table("numbers")?;
    /// let new: Table<u64, u64> = db.create_table("numbers")?;
    /// assert!(matches!(db.run(|tx| tx.get(&old, &1)), Err(Error::UnknownTable(_))));
    /// assert_eq!(db.run(|tx| tx.get(&new, &1))?, None);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut declared = self.declared();
        let (id, _) = by_name(&declared, name)?;
        self.shared.engine.drop_table(name)?;
        declared.remove(&id);
        Ok(())
    }

    /// Runs `body` as a transaction and commits it.
    ///
    /// **The closure may run more than once**: when the transaction is refused because of others, it
    /// is run again from the start, after a short random wait, until it commits. What it does
    /// beside its use of `tx` (printing, counting, sending) then happens again. Let it return what
    /// is to be done, and do that after the commit.
    ///
    /// - `Ok` commits. If the commit is refused, or an operation was refused and the closure went on
    ///   regardless, the transaction is run again.
    /// - `Err` rolls back and comes out, unless the transaction had been refused or had read a state
    ///   that never was: then the error may be a consequence, and the transaction is run again.
    /// - A panic rolls back and goes on, with the same exception.
    ///
    /// Until it commits, a transaction that is bound to be refused may see a state that never was;
    /// [`Options::opacity`] keeps that short.
    ///
    /// A call inside another transaction's closure is a transaction of its own, which knows nothing
    /// of the outer one.
    ///
    /// ```
    /// use chiliad::{Database, Table};
    ///
    /// let db = Database::in_memory()?;
    /// let accounts: Table<u64, i64> = db.create_table("accounts")?;
    /// db.run(|tx| {
    ///     tx.insert(&accounts, &1, &100)?;
    ///     tx.insert(&accounts, &2, &0)
    /// })?;
    /// let moved = db.run(|tx| {
    ///     let balance = tx.get(&accounts, &1)?.unwrap_or(0);
    ///     let moved = balance.min(30);
    ///     tx.update(&accounts, &1, |balance| *balance -= moved)?;
    ///     tx.update(&accounts, &2, |balance| *balance += moved)?;
    ///     Ok(moved)
    /// })?;
    /// assert_eq!(moved, 30);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the closure returns; [`Error::TooManyWorkers`].
    pub fn run<T>(&self, body: impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        self.run_with(&RunOptions::default(), body)
    }

    /// As [`Database::run`], with options, and with errors of the application's own.
    ///
    /// ```
    /// use chiliad::{Database, Error, RunOptions, Table};
    /// use std::time::Duration;
    ///
    /// #[derive(Debug, PartialEq)]
    /// enum Refusal {
    ///     NoSuchAccount,
    ///     TooPoor { missing: i64 },
    ///     Database(Error),
    /// }
    /// impl From<Error> for Refusal {
    ///     fn from(error: Error) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// let db = Database::in_memory()?;
    /// let accounts: Table<u64, i64> = db.create_table("accounts")?;
    /// db.bulk_load(&accounts, [(1, 20)])?;
    /// let options = RunOptions::default().deadline(Duration::from_secs(1));
    /// let withdrawn = db.run_with(&options, |tx| {
    ///     let mut balance = tx.fetch(&accounts, &1)?.ok_or(Refusal::NoSuchAccount)?;
    ///     if *balance < 50 {
    ///         return Err(Refusal::TooPoor { missing: 50 - *balance });
    ///     }
    ///     *balance -= 50;
    ///     tx.store(&balance)?;
    ///     Ok(50)
    /// });
    /// assert_eq!(withdrawn, Err(Refusal::TooPoor { missing: 30 }));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the closure returns; [`Error::DeadlineExceeded`]; [`Error::Conflict`] once
    /// [`RunOptions::retries_max`] is used up; [`Error::TooManyWorkers`].
    pub fn run_with<T, E: From<Error>>(
        &self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let plan = Plan { options, snapshot: false };
        self.with_seat(|seat| seat.run(&self.shared.rules, plan, body))
            .unwrap_or_else(|error| Err(E::from(error)))
    }

    /// Runs `body` as a read-only transaction on a state of the past: it is never refused, disturbs
    /// nobody and keeps no record of what it read, which suits long reports.
    ///
    /// The state is one that was, between all transactions: it has the effects of all that had
    /// committed before some moment and of no others. That moment is up to two snapshot epochs (of
    /// 25 commit epochs each, together two seconds by default) ago: a transaction that this thread
    /// has just committed may not be seen yet. With
    /// [`Snapshots::OnDemand`](crate::Snapshots::OnDemand) the first snapshot after a while waits
    /// for the next boundary, up to a second by default. Where there are no snapshots
    /// ([`Snapshots::Off`](crate::Snapshots::Off), schemes without them) it is a read-only
    /// transaction of the present, and the closure may run more than once.
    ///
    /// ```
    /// use chiliad::{Database, Options, Table};
    /// use std::time::Duration;
    ///
    /// let db = Database::open(Options::default().epoch(Duration::from_millis(1)))?;
    /// let accounts: Table<u64, i64> = db.create_table("accounts")?;
    /// db.run(|tx| tx.insert(&accounts, &1, &100))?;
    /// let total = db.snapshot(|snapshot| {
    ///     Ok(snapshot.scan(&accounts, ..).values()?.iter().sum::<i64>())
    /// })?;
    /// assert!(total == 0 || total == 100); // before or after the insertion
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the closure returns; [`Error::TooManyWorkers`].
    pub fn snapshot<T>(
        &self,
        mut body: impl FnMut(&mut Snapshot<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let plan = Plan { options: &RunOptions::default(), snapshot: true };
        self.with_seat(|seat| {
            seat.run(&self.shared.rules, plan, |tx| body(&mut Snapshot::new(tx)))
        })?
    }

    /// Puts many rows into a table, faster than transactions do, and says how many. Ascending keys
    /// are fastest.
    ///
    /// It is no transaction: others see rows as they come, and after an error those before it are
    /// there. Use it while nobody else uses the table. Snapshots begun later see all of the rows.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let squares: Table<u64, u64> = db.create_table("squares")?;
    /// assert_eq!(db.bulk_load(&squares, (0..1_000).map(|n| (n, n * n)))?, 1_000);
    /// assert_eq!(db.run(|tx| tx.get(&squares, &30))?, Some(900));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::insert`], [`Error::DuplicateKey`] among them.
    pub fn bulk_load<K: Key, V: Row>(
        &self,
        table: &Table<K, V>,
        rows: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64> {
        if table.database != self.shared.rules.database {
            return Err(Error::UnknownTable(format!("number {} of another", table.id.0)));
        }
        let mut seat = self.seat()?;
        let rules = self.rules();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut loaded = 0;
        for (k, v) in rows {
            key.clear();
            value.clear();
            k.encode(&mut key);
            v.encode(&mut value);
            seat.load(rules, table.id, &key, &value)?;
            loaded += 1;
        }
        self.shared.engine.settle();
        Ok(loaded)
    }

    /// A worker of the caller's own.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn worker(&self) -> Result<Worker> {
        Worker::new(self.clone())
    }

    /// What the database has done, what it holds and who holds it back.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.engine.stats()
    }

    pub(crate) fn seat(&self) -> Result<Seat> {
        Seat::new(&self.shared.engine, &self.shared.seats)
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.shared.rules
    }

    fn with_seat<T>(&self, body: impl FnOnce(&mut Seat) -> T) -> Result<T> {
        self.shared.slots.with(self.shared.rules.database, || self.seat(), body)
    }

    fn declared(&self) -> std::sync::MutexGuard<'_, HashMap<TableId, TableSpec>> {
        self.shared.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn by_name<'a>(
    declared: &'a HashMap<TableId, TableSpec>,
    name: &str,
) -> Result<(TableId, &'a TableSpec)> {
    let mut tables = declared.iter();
    let found = tables.find(|(_, spec)| spec.name == name);
    found.map(|(&id, spec)| (id, spec)).ok_or_else(|| Error::UnknownTable(name.into()))
}

#[cfg(test)]
mod tests {
    use super::Database;
    use crate::Worker;

    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}

    #[test]
    fn threads_may_share_a_database_and_pass_a_worker_on() {
        shared::<Database>();
        moved::<Worker>();
    }
}
