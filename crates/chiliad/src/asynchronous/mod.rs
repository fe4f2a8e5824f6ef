//! Transactions as futures, of no particular runtime.
//!
//! The threads that run them are the database's (`threads`). The runtime's threads never wait: where the queue is full,
//! or a result is not durable yet, a future is pending and its waker is kept.

mod threads;

pub(crate) use self::threads::AsyncThreads;

use crate::queue::requests::{self, Request};
use crate::{Database, Error, Pending, Result, RunOptions, Snapshot, Ticket, Transaction};
use crate::{held::Held, ticket};
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A transaction that threads of the database run: from [`Database::run_async`] and its kin. It is a future of no
/// particular runtime, and never blocks the thread that polls it.
///
/// Nothing happens until it is polled for the first time. Dropped before a thread has begun to run the
/// transaction, it takes the transaction back: nothing has happened. Dropped later it takes nothing back.
#[must_use = "a future does nothing until it is polled"]
pub struct RunAsync<T, E = Error> {
    database: Database,
    /// Waits for room in the queue.
    request: Option<Request>,
    /// The number under which it waits.
    number: Option<u64>,
    ticket: Ticket<T, E>,
    /// The owner that is to run it; `None`: any thread.
    owner: Option<usize>,
}

impl<T, E> fmt::Debug for RunAsync<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = self.request.is_some();
        f.debug_struct("RunAsync").field("waits_for_room", &waits).finish_non_exhaustive()
    }
}

impl Database {
    /// As [`Database::run`], as a future: the closure runs on a thread of the database's own
    /// ([`Options::async_threads`](crate::Options::async_threads)), with others in flight, and the caller's thread is free
    /// meanwhile.
    ///
    /// ```
    /// use chiliad::{Database, Table};
    ///
    /// async fn count(db: &Database, hits: Table<u64, u64>, page: u64) -> chiliad::Result<u64> {
    ///     db.run_async(move |tx| tx.upsert(&hits, &page, |count| count.unwrap_or(0) + 1)).await?;
    ///     Ok(db.run_async(move |tx| tx.get(&hits, &page)).await?.unwrap_or(0))
    /// }
    /// ```
    ///
    /// The closure owns what it uses, since it may outlive the caller. What is said of closures that take turns on a
    /// thread at [`Database::run_each`] holds here, too: one that waits for something else than the database holds up
    /// others.
    ///
    /// # Errors
    /// As for [`Database::run`]; [`Error::HostExhausted`] where no thread can be started.
    ///
    /// # Panics
    /// The future with the closure's panic, if it has panicked.
    pub fn run_async<T: Send + 'static>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> RunAsync<T> {
        self.run_async_with(&RunOptions::default(), body)
    }

    /// As [`Database::run_with`], as a future: see [`Database::run_async`]. The deadline counts from this call.
    ///
    /// # Errors
    /// As for [`Database::run_with`].
    ///
    /// # Panics
    /// As for [`Database::run_async`].
    pub fn run_async_with<T, E>(
        &self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E> + Send + 'static,
    ) -> RunAsync<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        RunAsync::new(self, requests::run(self.rules(), options, false, body))
    }

    /// As [`Database::snapshot`], as a future: see [`Database::run_async`].
    ///
    /// # Errors
    /// As for [`Database::snapshot`].
    ///
    /// # Panics
    /// As for [`Database::run_async`].
    pub fn snapshot_async<T: Send + 'static>(
        &self,
        mut body: impl FnMut(&mut Snapshot<'_, '_>) -> Result<T> + Send + 'static,
    ) -> RunAsync<T> {
        let body = move |tx: &mut Transaction<'_>| body(&mut Snapshot::new(tx));
        RunAsync::new(self, requests::run(self.rules(), &RunOptions::default(), true, body))
    }

    /// As [`Database::submit`], as a future: it is ready when the transaction has committed, with a [`Pending`] that is
    /// ready when the result is durable.
    ///
    /// # Errors
    /// As for [`Database::submit`].
    ///
    /// # Panics
    /// As for [`Database::run_async`].
    pub fn submit_async<T: Send + 'static>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> RunAsync<Pending<T>> {
        let submit = move |session: &mut crate::session::Session, rules: &crate::rules::Rules| {
            let submitted = session.submit(rules, body);
            Held { result: submitted, ..Held::harmless(Error::TransactionOver) }
        };
        RunAsync::new(self, requests::answered(ticket::pair(None, Default::default()), submit))
    }
}

impl<T, E> RunAsync<T, E> {
    pub(crate) fn new(database: &Database, (request, ticket): (Request, Ticket<T, E>)) -> Self {
        let database = database.clone();
        Self { database, request: Some(request), number: None, ticket, owner: None }
    }

    /// This, to be run by an owner.
    pub(crate) fn by(self, owner: usize) -> Self {
        // Not by `..self`: it has a drop.
        let mut this = self;
        this.owner = Some(owner);
        this
    }

    /// The threads that run it.
    fn threads(&self) -> &AsyncThreads {
        let shared = &self.database.shared;
        self.owner.map_or(&shared.async_threads, |owner| shared.owners.threads(owner))
    }
}

impl<T, E: From<Error>> RunAsync<T, E> {
    /// Gives the request to the threads, unless it has to wait for room.
    fn hand_over(&mut self, context: &Context<'_>) -> Result<bool> {
        let mut request = self.request.take();
        let mut number = self.number;
        let taken = self.threads().offer(&mut request, &mut number, context.waker());
        (self.request, self.number) = (request, number);
        taken
    }
}

/// The result is never pinned in place: it moves out when it is given out.
impl<T, E> Unpin for RunAsync<T, E> {}

impl<T, E: From<Error>> Future for RunAsync<T, E> {
    type Output = core::result::Result<T, E>;

    /// # Panics
    /// With the closure's panic, if it has panicked.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.request.is_some() && !self.hand_over(context)? {
            return Poll::Pending;
        }
        self.number = None;
        Pin::new(&mut self.ticket).poll(context)
    }
}

impl<T, E> Drop for RunAsync<T, E> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.threads().forget(number);
        }
        self.ticket.give_up();
    }
}
