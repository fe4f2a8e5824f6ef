//! Transactions that stay open between calls: for a server whose clients send their statements one by one.

use crate::acks::{Acks, Expected};
use crate::cache::Out;
use crate::raw::{Columns, Left};
use crate::session::Plan;
use crate::until::Until;
use crate::{Database, Error, Pending, Result, RunOptions, Transaction};
use chiliad_api::Savepoint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// A transaction that owns what it needs: it lies idle between calls for as long as its owner likes, and any thread may
/// take it up again.
///
/// Calls of [`OpenTransaction::with`] are its parts. A part may use tables that were made after the transaction began. Between them it pins nothing, but has what its scheme gives it: a
/// scheme that locks keeps the locks, and others may wait for them. So a thread that leaves a transaction and then runs
/// others under such a scheme gives these a [deadline](RunOptions::deadline), or leaves them to other threads. Dropped, it
/// is rolled back.
///
/// ```
/// use chiliad::{Database, Error, RunOptions, Table};
///
/// let db = Database::in_memory()?;
/// let counters: Table<u32, u64> = db.create_table("counters")?;
/// let mut open = db.open_transaction(&RunOptions::default())?;
/// open.with(|tx| tx.put(&counters, &1, &10))?;
///
/// // Another thread goes on with it.
/// let open = std::thread::spawn(move || {
///     open.with(|tx| tx.update(&counters, &1, |count| *count += 1))?;
///     Ok::<_, Error>(open)
/// });
/// open.join().unwrap()?.commit()?;
/// assert_eq!(db.run(|tx| tx.get(&counters, &1))?, Some(11));
/// # Ok::<(), Error>(())
/// ```
pub struct OpenTransaction {
    /// Before the database: it is dropped first.
    session: Out,
    database: Database,
    options: RunOptions,
    snapshot: bool,
    /// The transaction, unless a panic has ended it.
    left: Option<(Left, Option<SystemTime>)>,
    /// Its savepoints that are set, the oldest first.
    savepoints: Vec<(Mark, Savepoint)>,
    retries: u32,
    /// The log's threads count it as open until it commits.
    expected: Option<Expected>,
}

/// A point of an [`OpenTransaction`] to which [`OpenTransaction::roll_back_to`] leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Mark(u64);

/// Numbers the marks of all transactions of the process.
static MARKS: AtomicU64 = AtomicU64::new(0);

impl Database {
    /// Begins a transaction that its owner commits or rolls back. The options' `retries_max` and `in_flight` have no
    /// meaning here, and the [`deadline`](RunOptions::deadline) is that of all its parts, and the
    /// [`wait_limit`](RunOptions::wait_limit) that of their waits, until [`OpenTransaction::limit`] sets others.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`]; [`Error::Conflict`] and others of the scheme.
    pub fn open_transaction(&self, options: &RunOptions) -> Result<OpenTransaction> {
        OpenTransaction::begin(self, options, false)
    }

    /// As [`Database::open_transaction`], of a state in the past: it writes nothing and is never refused, as
    /// [`Database::snapshot`] says. While it is open, old versions are kept for it.
    ///
    /// # Errors
    /// As for [`Database::open_transaction`].
    pub fn open_snapshot(&self, options: &RunOptions) -> Result<OpenTransaction> {
        OpenTransaction::begin(self, options, true)
    }

    /// Waits as [`Database::run`] does after the `refusals`-th refusal of one transaction, counted from one: for owners of
    /// open transactions that begin another in place of one that was refused. The policy is
    /// [`Options::backoff`](crate::Options::backoff).
    ///
    /// ```
    /// use chiliad::{Database, Error, RunOptions, Table};
    /// let db = Database::in_memory()?;
    /// let hits: Table<u64, u64> = db.create_table("hits")?;
    /// let mut refusals = 0;
    /// loop {
    ///     let mut tx = db.open_transaction(&RunOptions::default())?;
    ///     tx.with(|tx| tx.put(&hits, &7, &1))?;
    ///     match tx.commit() {
    ///         Err(Error::Conflict(_)) => {
    ///             refusals += 1;
    ///             db.back_off(refusals);
    ///         }
    ///         over => break over?,
    ///     }
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn back_off(&self, refusals: u32) {
        self.rules().back_off(refusals, &Until::default());
    }
}

impl OpenTransaction {
    fn begin(database: &Database, options: &RunOptions, snapshot: bool) -> Result<Self> {
        let mut session = database.session_out()?;
        let plan = Plan { snapshot, ..Plan::now(options) };
        let left = Some(session.session().open(database.rules(), plan, 0)?);
        let (database, options) = (database.clone(), options.clone());
        let expected = database.rules().acks.as_ref().map(Acks::expect);
        let (savepoints, retries) = (Vec::new(), 0);
        Ok(Self { session, database, options, snapshot, left, savepoints, retries, expected })
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs a part of the transaction. An error of `part` takes nothing back: see [`OpenTransaction::set_savepoint`].
    ///
    /// # Errors
    /// Those of `part`. [`Error::TransactionOver`] after a panic in an earlier part. After a conflict every operation
    /// fails with that, and [`OpenTransaction::restart`] begins again.
    ///
    /// # Panics
    /// With the panic of `part`; the transaction is rolled back then.
    pub fn with<T, E: From<Error>>(
        &mut self,
        part: impl FnOnce(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let left = self.left.take().ok_or(Error::TransactionOver)?;
        let mut tx = self.session.session().resume(self.database.rules(), left);
        let inside = tx.enter();
        let done = part(&mut tx);
        drop(inside);
        self.left = Some(tx.leave());
        done
    }

    /// Sets the limits of the waits of the parts to come, by the options' `deadline`, counted from now, `wait_limit` and
    /// `cancel`: nothing else of them counts.
    pub fn limit(&mut self, options: &RunOptions) {
        let until = Until::now(options);
        self.session.session().limit(&until, options.wait_limit);
        if let Some((left, _)) = &mut self.left {
            left.until = until;
        }
    }

    /// Whether what the transaction has read so far is one state of the database. Ask before something of it leaves
    /// the program: what was read of a state that never was is refused at the commit, but seen by then.
    ///
    /// # Errors
    /// [`Error::Conflict`]: the transaction cannot commit. What has ended it; [`Error::DeadlineExceeded`],
    /// [`Error::WaitLimitExceeded`], [`Error::Canceled`].
    pub fn validate(&mut self) -> Result<()> {
        self.with(|tx| tx.raw().validate())
    }

    /// As [`OpenTransaction::validate`], and tells when all that was read so far is durable: what somebody hears before
    /// that, a crash may take back. Under the schemes whose rows tell when they were committed (`silo`, two-phase
    /// locking, the lock tables) that is often so at once; under the others it is when everything is durable that is
    /// committed by now.
    ///
    /// ```
    /// use chiliad::{Database, Durability, Options, RunOptions, Table};
    /// # let path = std::env::temp_dir().join(format!("chiliad-doc-seen-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    /// let db = Database::open_with(&path, Options::default().durability(Durability::Epoch))?;
    /// let stock: Table<u64, u64> = db.create_table("stock")?;
    /// db.run(|tx| tx.put(&stock, &1, &10))?; // not on disk yet
    /// let mut open = db.open_transaction(&RunOptions::default())?;
    /// let left = open.with(|tx| tx.get(&stock, &1))?;
    /// open.seen()?.wait()?;
    /// println!("{left:?} are left, whatever happens now");
    /// open.commit()?;
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`OpenTransaction::validate`].
    pub fn seen(&mut self) -> Result<Pending<()>> {
        self.seen_columns(Columns::ALL)
    }

    /// As [`OpenTransaction::seen`], where only these columns are shown of the rows that were read: who shows an account's
    /// owner need not wait for what was booked there a moment ago. `silo` knows which columns
    /// [`Transaction::update_columns`](crate::raw::Transaction::update_columns) has changed; everything else counts as a
    /// change of the whole row. Where the transaction shows again what it has computed from its reads and written, the
    /// columns are [`Columns::ALL`].
    ///
    /// # Errors
    /// As for [`OpenTransaction::validate`].
    pub fn seen_columns(&mut self, columns: Columns) -> Result<Pending<()>> {
        let acks = self.database.rules().acks.clone();
        self.with(|tx| {
            tx.raw().validate()?;
            let newest = acks
                .as_ref()
                .map_or(0, |acks| acks.epoch().min(tx.raw().seen_epoch(columns, acks.durable())));
            Ok(Pending::new((), newest, false, acks))
        })
    }

    /// Sets a savepoint.
    ///
    /// # Errors
    /// [`Error::TransactionOver`].
    pub fn set_savepoint(&mut self) -> Result<Mark> {
        let savepoint = self.with(|tx| Ok::<_, Error>(tx.raw().set_savepoint()))?;
        // Relaxed: nothing but the number is meant.
        let mark = Mark(MARKS.fetch_add(1, Ordering::Relaxed));
        self.savepoints.push((mark, savepoint));
        Ok(mark)
    }

    /// Takes back what was written since the savepoint, and ends those that were set after it. It stays set itself.
    ///
    /// # Errors
    /// [`Error::UnknownSavepoint`]. A conflict or lack of memory that comes up while writes are taken back: the
    /// transaction can only be rolled back then. [`Error::TransactionOver`].
    pub fn roll_back_to(&mut self, mark: Mark) -> Result<()> {
        let savepoint = self.end_after(mark)?;
        let again = self.with(|tx| {
            tx.raw().roll_back_to(savepoint)?;
            Ok::<_, Error>(tx.raw().set_savepoint())
        })?;
        self.savepoints.push((mark, again));
        Ok(())
    }

    /// Ends the savepoint and those that were set after it: what was written since belongs to what is around it.
    ///
    /// # Errors
    /// [`Error::UnknownSavepoint`]; [`Error::TransactionOver`].
    pub fn release(&mut self, mark: Mark) -> Result<()> {
        let savepoint = self.end_after(mark)?;
        self.end(savepoint)
    }

    fn end(&mut self, savepoint: Savepoint) -> Result<()> {
        self.with(|tx| {
            tx.raw().release(savepoint);
            Ok(())
        })
    }

    /// Takes a savepoint out, and ends those that were set after it.
    fn end_after(&mut self, mark: Mark) -> Result<Savepoint> {
        let place = self.savepoints.iter().position(|(it, _)| *it == mark);
        let kept = place.ok_or(Error::UnknownSavepoint)? + 1;
        for (_, inner) in self.savepoints.split_off(kept).into_iter().rev() {
            self.end(inner)?;
        }
        let (_, savepoint) = self.savepoints.pop().ok_or(Error::UnknownSavepoint)?;
        Ok(savepoint)
    }

    /// Rolls back and begins again, as one that was refused: a scheme that prefers the older transaction counts the age
    /// from the first begin. The limits are those of [`Database::open_transaction`], the deadline from now.
    ///
    /// # Errors
    /// As for [`Database::open_transaction`]; the transaction is over then.
    pub fn restart(&mut self) -> Result<()> {
        self.take_back();
        self.retries = self.retries.saturating_add(1);
        let plan = Plan { snapshot: self.snapshot, ..Plan::now(&self.options) };
        let session = self.session.session();
        self.left = Some(session.open(self.database.rules(), plan, self.retries)?);
        Ok(())
    }

    /// As [`Transaction::commit`].
    ///
    /// # Errors
    /// As for [`Transaction::commit`]; [`Error::TransactionOver`] after a panic in an earlier part.
    pub fn commit(mut self) -> Result<()> {
        self.expected = None;
        self.take()?.commit()
    }

    /// As [`Transaction::submit`].
    ///
    /// # Errors
    /// As for [`OpenTransaction::commit`].
    pub fn submit(mut self) -> Result<Pending<()>> {
        self.take()?.submit()
    }

    /// Undoes the transaction; dropping it does the same.
    pub fn rollback(self) {}

    fn take(&mut self) -> Result<Transaction<'_>> {
        let left = self.left.take().ok_or(Error::TransactionOver)?;
        Ok(self.session.session().resume(self.database.rules(), left))
    }

    fn take_back(&mut self) {
        self.savepoints.clear();
        if let Ok(tx) = self.take() {
            tx.rollback();
        }
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        self.take_back();
    }
}

impl core::fmt::Debug for OpenTransaction {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let is_over = self.left.is_none();
        f.debug_struct("OpenTransaction").field("is_over", &is_over).finish_non_exhaustive()
    }
}
