//! Workers that an application holds.

use crate::cache::Own;
use crate::session::Plan;
use crate::{Database, Error, Pending, Result, RunOptions, Snapshot, Transaction};

/// Runs transactions, one at a time, without the look-up that [`Database::run`] makes.
///
/// A worker may move to another thread. It keeps its database open. While it has nothing to do it gives its memory
/// back to others, but not between a transaction begun by [`Worker::begin`] and the next call.
///
/// ```
/// use chiliad::{Database, RunOptions, Table};
///
/// let db = Database::in_memory()?;
/// let counters: Table<u32, u64> = db.create_table("counters")?;
/// let mut worker = db.worker()?;
/// worker.run(|tx| tx.put(&counters, &1, &10))?;
///
/// // Without a closure: the caller decides when to commit, and runs it again if that fails.
/// let mut tx = worker.begin(&RunOptions::default())?;
/// tx.update(&counters, &1, |count| *count += 1)?;
/// tx.commit()?;
/// assert_eq!(worker.run(|tx| tx.get(&counters, &1))?, Some(11));
/// # Ok::<(), chiliad::Error>(())
/// ```
pub struct Worker {
    /// Before the database: it is dropped first.
    own: Own,
    database: Database,
}

impl Database {
    /// A worker of the caller's own.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn worker(&self) -> Result<Worker> {
        Worker::new(self.clone())
    }
}

impl Worker {
    pub(crate) fn new(database: Database) -> Result<Self> {
        Ok(Self { own: database.own()?, database })
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// As [`Database::run`].
    ///
    /// # Errors
    /// As for [`Database::run`].
    pub fn run<T>(&mut self, body: impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        self.run_with(&RunOptions::default(), body)
    }

    /// As [`Database::try_run`].
    ///
    /// # Errors
    /// As for [`Database::try_run`].
    pub fn try_run<T, E: From<Error>>(
        &mut self,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        self.run_with(&RunOptions::default(), body)
    }

    /// As [`Database::run_with`].
    ///
    /// # Errors
    /// As for [`Database::run_with`].
    pub fn run_with<T, E: From<Error>>(
        &mut self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let plan = Plan::now(options);
        let rules = self.database.rules();
        self.own.with(|session| session.run_held(rules, plan, body))
    }

    /// As [`Database::submit`].
    ///
    /// # Errors
    /// As for [`Database::submit`].
    pub fn submit<T>(
        &mut self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<Pending<T>> {
        let rules = self.database.rules();
        self.own.with(|session| session.submit(rules, body))
    }

    /// As [`Database::snapshot`].
    ///
    /// # Errors
    /// As for [`Database::snapshot`].
    pub fn snapshot<T>(
        &mut self,
        body: impl FnMut(&mut Snapshot<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        self.snapshot_with(&RunOptions::default(), body)
    }

    /// As [`Database::snapshot_with`].
    ///
    /// # Errors
    /// As for [`Database::snapshot_with`].
    pub fn snapshot_with<T, E: From<Error>>(
        &mut self,
        options: &RunOptions,
        mut body: impl FnMut(&mut Snapshot<'_, '_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let plan = Plan::snapshot(options);
        let rules = self.database.rules();
        self.own.with(|session| session.run_held(rules, plan, |tx| body(&mut Snapshot::new(tx))))
    }

    /// Begins a transaction that the caller commits or rolls back; conflicts come out as
    /// [`Error::Conflict`] and are the caller's to run again. The options' `retries_max` has no
    /// meaning here.
    ///
    /// # Errors
    /// [`Error::Conflict`] and others of the scheme.
    pub fn begin(&mut self, options: &RunOptions) -> Result<Transaction<'_>> {
        self.own.session().begin(self.database.rules(), Plan::now(options))
    }
}

#[cfg(test)]
mod tests {
    use super::Worker;

    fn moved<T: Send>() {}

    #[test]
    fn threads_may_pass_a_worker_on() {
        moved::<Worker>();
    }
}
