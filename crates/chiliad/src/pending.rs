//! Results that are held back until they are durable.

use crate::acks::Acks;
use crate::rules::unless_it_only_read;
use crate::until::Until;
use crate::{Error, Result, RunOptions};
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

/// The result of a transaction that has committed and may not be durable yet: what
/// [`Database::submit`](crate::Database::submit) returns.
///
/// The value is given out when everything that the transaction wrote *and read* is on disk. Wait for
/// it with [`wait`](Pending::wait), or [for a time](Pending::wait_with), look with [`is_durable`](Pending::is_durable), or await it: it is a
/// future of no particular runtime. Many of them are answered together, once an epoch. To drop one
/// takes nothing back: the transaction has committed.
///
/// ```
/// use chiliad::{Database, Options, Durability, Table};
/// # let path = std::env::temp_dir().join(format!("chiliad-doc-pending-{}", std::process::id()));
/// # let _ = std::fs::remove_dir_all(&path);
/// let db = Database::open_with(&path, Options::default().durability(Durability::Epoch))?;
/// let hits: Table<u64, u64> = db.create_table("hits")?;
/// let mut pending = Vec::new();
/// for page in 0..100 {
///     pending.push(db.submit(|tx| tx.put(&hits, &page, &1))?);
/// }
/// for one in pending {
///     one.wait()?; // on disk
/// }
/// # drop(db);
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), chiliad::Error>(())
/// ```
#[must_use = "the result is not durable yet"]
pub struct Pending<T> {
    value: Option<T>,
    epoch: u64,
    /// Whether the transaction has changed anything.
    wrote: bool,
    /// `None`: there is nothing to wait for.
    acks: Option<Arc<Acks>>,
}

impl<T> Pending<T> {
    pub(crate) fn new(value: T, epoch: u64, wrote: bool, acks: Option<Arc<Acks>>) -> Self {
        Self { value: Some(value), epoch, wrote, acks }
    }

    /// The epoch with which all that the transaction has written *and read* is durable: its commit epoch where it wrote.
    /// What only read waits for the newest row that it saw, which may be long durable.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether the result may be had without waiting.
    ///
    /// # Errors
    /// [`Error::LogFailed`](crate::Error::LogFailed): it never will be. (What a transaction has only read may be
    /// had by [`wait`](Pending::wait) all the same.)
    pub fn is_durable(&self) -> Result<bool> {
        self.ask(|acks| acks.look(self.epoch))
    }

    /// Asks that the transaction's epoch end now rather than in its time, and returns at once. Transactions of the same
    /// epoch become durable with it.
    ///
    /// ```
    /// use chiliad::{Database, Durability, Options, Table};
    /// use std::time::{Duration, Instant};
    /// # let path = std::env::temp_dir().join(format!("chiliad-doc-hurry-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    /// let options = Options::default().durability(Durability::Epoch).epoch(Duration::from_secs(10));
    /// let db = Database::open_with(&path, options)?;
    /// let hits: Table<u64, u64> = db.create_table("hits")?;
    /// let start = Instant::now();
    /// let pending = db.submit(|tx| tx.put(&hits, &7, &1))?;
    /// pending.hurry();
    /// pending.wait()?;
    /// assert!(start.elapsed() < Duration::from_secs(10));
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn hurry(&self) {
        if let Some(acks) = &self.acks {
            acks.hurry(self.epoch);
        }
    }

    /// As [`Pending::is_durable`], and `waker` is woken when the answer may be another one: for a loop that holds many of
    /// them. Transactions of one epoch become durable together, so one call for each epoch is enough.
    ///
    /// # Errors
    /// As for [`Pending::is_durable`].
    pub fn wake_when_durable(&self, waker: &Waker) -> Result<bool> {
        self.ask(|acks| acks.poll(self.epoch, waker))
    }

    /// Whether the epoch is durable, by this question to the acknowledgements.
    fn ask(&self, question: impl FnOnce(&Arc<Acks>) -> Option<Result<()>>) -> Result<bool> {
        match self.acks.as_ref().map(question) {
            None => Ok(true),
            Some(None) => Ok(false),
            Some(Some(over)) => over.map(|()| true),
        }
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// [`Error::LogFailed`](crate::Error::LogFailed), for a transaction that has written: whether it is on the
    /// disk will be known when the database is opened again.
    pub fn wait(mut self) -> Result<T> {
        self.wait_until(&Until::default())
    }

    /// Waits for the result until the [`deadline`](RunOptions::deadline), counted from this call, or until
    /// [`cancel`](RunOptions::cancel) is told; nothing else of the options counts. Then nothing is lost: the
    /// transaction has committed, becomes durable in its turn, and its result may be waited for again.
    ///
    /// ```
    /// use chiliad::{Database, Durability, Error, Options, RunOptions, Table};
    /// use std::time::Duration;
    /// # let path = std::env::temp_dir().join(format!("chiliad-doc-wait-with-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    /// let db = Database::open_with(&path, Options::default().durability(Durability::Epoch))?;
    /// let hits: Table<u64, u64> = db.create_table("hits")?;
    /// let mut pending = db.submit(|tx| tx.put(&hits, &7, &1))?;
    /// let moment = RunOptions::default().deadline(Duration::from_millis(1));
    /// while let Err(Error::NotYetDurable { .. }) = pending.wait_with(&moment) {
    ///     // ... other work ...
    /// }
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYetDurable`] at the deadline, or when told; [`Error::LogFailed`] as for [`Pending::wait`];
    /// [`Error::TransactionOver`] when the result was given out before.
    pub fn wait_with(&mut self, options: &RunOptions) -> Result<T> {
        self.wait_until(&Until::now(options))
    }

    fn wait_until(&mut self, limit: &Until) -> Result<T> {
        if let Some(acks) = &self.acks {
            unless_it_only_read(self.wrote, acks.wait(self.epoch, false, limit))?;
        }
        self.take()
    }

    fn take(&mut self) -> Result<T> {
        self.value.take().ok_or(Error::TransactionOver)
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// The value is never pinned in place: it moves out when it is given out.
impl<T> Unpin for Pending<T> {}

impl<T> Future for Pending<T> {
    type Output = Result<T>;

    /// [`Error::TransactionOver`] when polled after the result was given out.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let epoch = self.epoch;
        let durable = match self.acks.as_ref().map(|acks| acks.poll(epoch, context.waker())) {
            Some(None) => return Poll::Pending,
            Some(Some(durable)) => unless_it_only_read(self.wrote, durable),
            None => Ok(()),
        };
        Poll::Ready(durable.and_then(|()| self.take()))
    }
}
