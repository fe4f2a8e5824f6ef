//! The database, as an application embeds it.

use crate::asynchronous::AsyncThreads;
use crate::cache::{Held, Out, Own, Slots};
use crate::engine::{self, Engine};
use crate::expiry::Sweeper;
use crate::form::Schemas;
use crate::joined_threads::JoinedThreads;
use crate::owners::Owners;
use crate::persistent::Persistent;
use crate::raw::{TableId, TableSpec};
use crate::rules::Rules;
use crate::session::{Plan, Session, Sessions};
use crate::snapshot_ages::SnapshotAges;
use crate::ticker::Ticker;
use crate::{Durability, Error, Options, Pending, Result};
use crate::{RunOptions, Snapshot, Stats, TableMemory, Transaction};
use chiliad_machine::Pace;
use core::fmt;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A database in main memory, alone or with a directory in which it survives.
///
/// A handle: clones lead to the same database, any thread may use one, and the last one dropped
/// closes it (a [`Worker`](crate::Worker) holds one). A thread keeps the epochs going meanwhile. Do not use a
/// database in a process that was forked off: that thread is not in it.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

/// Fields are dropped in order: the ticker has ended by then, the cached workers go, then the threads
/// of the log with all that was committed, then the engine.
pub(crate) struct Shared {
    /// They end first: the transaction in hand may need all the others.
    pub(crate) async_threads: AsyncThreads,
    pub(crate) owners: Owners,
    ticker: Option<Ticker>,
    #[cfg(feature = "metrics")]
    _measurer: crate::watch::Measurer,
    pub(crate) sweeper: Option<Sweeper>,
    slots: Arc<Slots>,
    sessions: Sessions,
    /// The declarations of the tables, by which they are opened again.
    pub(crate) declared: Mutex<HashMap<TableId, TableSpec>>,
    pub(crate) schemas: Schemas,
    /// Held while changes of tables are prepared that take long.
    pub(crate) changing: Mutex<()>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) options: Options,
    /// Its directory, if it has one.
    pub(crate) persistent: Option<Persistent>,
    /// The threads of a server that shares a log with others.
    pub(crate) joined: Option<JoinedThreads>,
    pub(crate) engine: Engine,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.async_threads.end();
        self.owners.end();
        if let Some(persistent) = &mut self.persistent {
            persistent.wind_down();
        }
        drop(self.sweeper.take());
        drop(self.joined.take());
        drop(self.ticker.take());
    }
}

/// Transactions in flight on each thread that runs futures.
const ASYNC_IN_FLIGHT: usize = 8;

/// Numbers databases within the process.
static OPENED: AtomicU64 = AtomicU64::new(0);

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl Database {
    /// Opens an empty database in memory, with default options. Nothing of it outlives it.
    ///
    /// # Errors
    /// As for [`Database::in_memory_with`].
    pub fn in_memory() -> Result<Self> {
        Self::in_memory_with(Options::default())
    }

    /// Opens an empty database in memory.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    pub fn in_memory_with(options: Options) -> Result<Self> {
        options.check()?;
        let engine = engine::open(&options)?;
        Self::assemble(Options { durability: Durability::None, ..options }, engine, None, None)
    }

    pub(crate) fn assemble(
        options: Options,
        engine: Engine,
        persistent: Option<Persistent>,
        joined: Option<JoinedThreads>,
    ) -> Result<Self> {
        let slots = Arc::<Slots>::default();
        // Relaxed: only that each gets another number matters.
        let database = OPENED.fetch_add(1, Ordering::Relaxed);
        #[cfg(feature = "metrics")]
        let publisher = crate::watch::Publisher::new(database);
        let ages = Arc::new(SnapshotAges::new(engine.epoch()));
        let ticker = Ticker::start(
            engine.clone(),
            Arc::clone(&slots),
            options.epoch,
            Arc::clone(&ages),
            #[cfg(feature = "metrics")]
            publisher.clone(),
        )?;
        #[cfg(feature = "metrics")]
        let measurer = crate::watch::Measurer::start(engine.clone(), publisher.clone())?;
        let rules = Arc::new(Rules {
            workers: Arc::<Slots>::downgrade(&slots),
            engine: engine.clone(),
            ages,
            #[cfg(feature = "metrics")]
            publisher,
            database,
            backoff: options.backoff.policy(),
            acks: persistent.as_ref().and_then(|persistent| persistent.acks.clone()),
            durability: options.durability,
            all_partitions: (0..options.partitions).collect(),
            pace: Pace::new(),
        });
        let sessions = Sessions::new(options.workers_max, &options.clock);
        let schemas = Schemas::default();
        let (clock, partitions) = (options.clock.clone(), options.partitions);
        let sweeper = (!options.read_only)
            .then(|| Sweeper::new(engine.clone(), schemas.clone(), clock, partitions));
        let (threads, owners) = (options.async_threads, options.owner_threads);
        let threads = ("chiliad-async", threads, ASYNC_IN_FLIGHT);
        let shared = Shared {
            async_threads: AsyncThreads::new(threads, &slots, &rules, &sessions, &schemas),
            owners: Owners::new(owners, &slots, &rules, &sessions, &schemas),
            sweeper,
            ticker: Some(ticker),
            #[cfg(feature = "metrics")]
            _measurer: measurer,
            slots,
            sessions,
            declared: Mutex::new(engine.tables().into_iter().collect()),
            schemas,
            changing: Mutex::new(()),
            rules,
            options,
            persistent,
            joined,
            engine,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.shared.options
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
    /// A call inside another transaction's closure is a transaction of its own, which sees nothing of what
    /// the outer one has written. Where the two stand in each other's way, [`Error::Nested`] says how:
    /// at once, or within a tenth of a second.
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
    /// Those of the closure; [`Error::TooManyWorkers`].
    pub fn run<T>(&self, body: impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        self.run_with(&RunOptions::default(), body)
    }

    /// As [`Database::run`], with errors of the application's own, to which the database's are converted. Where the
    /// transaction had been refused, its error is not returned, whatever type it has been converted to: it is run
    /// again.
    ///
    /// The compiler does not guess the type of the error: say it once, in the closure's return type or in its last
    /// expression. (`run` takes [`Error`] alone, and needs no such word.)
    ///
    /// ```
    /// use chiliad::{Database, Error, Table};
    ///
    /// #[derive(Debug, PartialEq)]
    /// enum Refusal {
    ///     NoSuchAccount(u64),
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
    /// let balance = db.try_run(|tx| -> Result<i64, Refusal> {
    ///     tx.get(&accounts, &7)?.ok_or(Refusal::NoSuchAccount(7))
    /// });
    /// assert_eq!(balance, Err(Refusal::NoSuchAccount(7)));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the closure; [`Error::TooManyWorkers`].
    pub fn try_run<T, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        self.run_with(&RunOptions::default(), body)
    }

    /// As [`Database::try_run`], with options.
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
    /// Those of the closure; [`Error::DeadlineExceeded`]; [`Error::Conflict`] once
    /// [`RunOptions::retries_max`] is used up; [`Error::TooManyWorkers`].
    pub fn run_with<T, E: From<Error>>(
        &self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let plan = Plan::now(options);
        self.with_session(|session| session.run_held(&self.shared.rules, plan, body))
            .unwrap_or_else(|error| Err(E::from(error)))
    }

    /// As [`Database::run`], without waiting for the disk: the result is held back by the [`Pending`]
    /// that is returned, until it is durable. One thread can have any number of them.
    ///
    /// In memory the result is there at once.
    ///
    /// # Errors
    /// Those of the closure; [`Error::TooManyWorkers`]; [`Error::LogFailed`].
    pub fn submit<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<Pending<T>> {
        self.with_session(|session| session.submit(&self.shared.rules, body))?
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
    /// let db = Database::in_memory_with(Options::default().epoch(Duration::from_millis(1)))?;
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
    /// Those of the closure; [`Error::TooManyWorkers`].
    pub fn snapshot<T>(&self, body: impl FnMut(&mut Snapshot<'_, '_>) -> Result<T>) -> Result<T> {
        self.snapshot_with(&RunOptions::default(), body)
    }

    /// As [`Database::snapshot`], with a deadline and a handle, and with errors of the application's own.
    ///
    /// # Errors
    /// Those of the closure; [`Error::DeadlineExceeded`]; [`Error::Canceled`];
    /// [`Error::TooManyWorkers`].
    pub fn snapshot_with<T, E: From<Error>>(
        &self,
        options: &RunOptions,
        mut body: impl FnMut(&mut Snapshot<'_, '_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let plan = Plan::snapshot(options);
        self.with_session(|session| {
            session.run_held(&self.shared.rules, plan, |tx| body(&mut Snapshot::new(tx)))
        })
        .unwrap_or_else(|error| Err(E::from(error)))
    }

    /// Commits, aborts and memory of the database, and the workers that hold it back.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = self.shared.engine.stats();
        stats.snapshot_age = self.shared.rules.ages.oldest_snapshot(&stats);
        stats
    }

    /// The memory of each table: of its records, their older versions, its keys and its indexes, in bytes of the slots that
    /// hold them. Memory that is free for others, and what dropped tables still hold, are in none of them.
    ///
    /// It is counted by a walk over all tables, in the calling thread, which takes about as long as reading every row;
    /// transactions pay nothing for it, then or otherwise, but for the caches and the memory bandwidth that the walk uses.
    /// While nobody writes the counts are exact; of what is written meanwhile they are of different moments. A joined
    /// database counts one state, which it keeps for as long, and no older ones.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let names: Table<u64, String> = db.create_table("names")?;
    /// db.run(|tx| tx.insert(&names, &1, &"Ada".into()))?;
    /// let memory = db.table_memory()?;
    /// assert_eq!((memory[0].table.as_str(), memory[0].rows.records), ("names", 1));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn table_memory(&self) -> Result<Vec<TableMemory>> {
        self.shared.engine.measure_tables(&|| false)
    }

    /// A text that is the same for all servers of a log that have read as far and have the same: a digest of all verdicts,
    /// joins of servers among them, and one of all rows, which are read for it. `None` for a database that shares no log.
    /// It is of use only while nobody writes to any server.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn fingerprint(&self) -> Result<Option<String>> {
        self.shared.engine.fingerprint()
    }

    pub(crate) fn session(&self) -> Result<Session> {
        Session::new(&self.shared.engine, &self.shared.sessions, &self.shared.schemas)
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.shared.rules
    }

    /// A session of this thread that nobody else has, for several calls.
    pub(crate) fn hold_session(&self) -> Result<Held> {
        self.shared.slots.hold(self.shared.rules.database, || self.session())
    }

    /// A session that may move to another thread.
    pub(crate) fn own(&self) -> Result<Own> {
        self.shared.slots.own(|| self.session())
    }

    /// A session for a transaction that lasts longer than a call.
    pub(crate) fn session_out(&self) -> Result<Out> {
        self.shared.slots.out(self.shared.rules.database, || self.session())
    }

    /// Calls `body` with a session of this thread that nobody else has.
    pub(crate) fn with_session<T>(&self, body: impl FnOnce(&mut Session) -> T) -> Result<T> {
        self.shared.slots.with(self.shared.rules.database, || self.session(), body)
    }
}

#[cfg(test)]
mod tests {
    use super::Database;

    fn shared<T: Send + Sync>() {}

    #[test]
    fn threads_may_share_a_database() {
        shared::<Database>();
    }
}
