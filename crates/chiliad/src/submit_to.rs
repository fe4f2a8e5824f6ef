//! Transactions handed to the thread that owns what they are about.

use crate::queue::requests;
use crate::sleeper::Sleeper;
use crate::until::Until;
use crate::{Database, Error, Result, RunAsync, RunOptions, Ticket, Transaction};
use std::task::Waker;

impl Database {
    /// Hands a transaction to the thread that owns a partition: transactions of one partition run one after another on
    /// one thread, in the order in which they were handed over, so they do not conflict with each other and find the
    /// partition's rows in that thread's caches. Use it for work of which few transactions at a time can succeed anyway: orders
    /// of one account, deliveries of one warehouse, one counter that all want.
    ///
    /// A partition is any number that the application likes: of a customer, a shard, a hash of a name. Each has an owner,
    /// whatever its number: they are spread over [`Options::owner_threads`](crate::Options::owner_threads) threads,
    /// always in the same way, so there is none that nobody owns and nothing to declare. Several share a thread, and wait for
    /// each other there. Nothing is locked: other threads may run transactions about the same rows at any time, and all are
    /// serializable.
    ///
    /// ```
    /// use chiliad::{Database, Table};
    ///
    /// let db = Database::in_memory()?;
    /// let sold: Table<u64, u64> = db.create_table("sold")?;
    /// let sell = |event, seats| {
    ///     db.submit_to(event, move |tx| {
    ///         tx.upsert(&sold, &event, |count| count.unwrap_or(0) + seats)
    ///     })
    /// };
    /// let tickets = [sell(7, 2)?, sell(7, 1)?, sell(8, 4)?];
    /// for ticket in tickets {
    ///     ticket.wait()?;
    /// }
    /// assert_eq!(db.run(|tx| tx.get(&sold, &7))?, Some(3));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// It is run as by [`Database::run`], and its result is in the [`Ticket`]: to wait for, or to await. To drop
    /// the ticket takes nothing back. When the database is closed, all that was handed over is run first. 16,384 transactions wait
    /// for each thread; beyond those this call waits for room. So a closure that an owner runs must not wait for one that
    /// it hands to its own partition, or to one that may share its thread.
    ///
    /// # Errors
    /// [`Error::HostExhausted`] where the owner's thread cannot be started, which the first transaction of its partitions does.
    /// Those of [`Database::run`] come from the ticket.
    ///
    /// # Panics
    /// The ticket, when it is waited for, with the closure's panic, if it has panicked. The owner goes on.
    pub fn submit_to<T: Send + 'static>(
        &self,
        partition: u64,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Ticket<T>> {
        self.submit_to_with(partition, &RunOptions::default(), body)
    }

    /// As [`Database::submit_to`], run as by [`Database::run_with`]. The deadline counts from this call: also what a
    /// transaction waits for its turn counts.
    ///
    /// # Errors
    /// As for [`Database::submit_to`]; [`Error::DeadlineExceeded`] and [`Error::Canceled`] where there was no room until
    /// then: the transaction was not handed over.
    pub fn submit_to_with<T, E>(
        &self,
        partition: u64,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E> + Send + 'static,
    ) -> Result<Ticket<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let owners = &self.shared.owners;
        let threads = owners.threads(owners.of(partition));
        let (request, ticket) = requests::run(self.rules(), options, false, body);
        let (mut request, mut number) = (Some(request), None);
        let limit: &Until = ticket.limit();
        let offer = |waker: &Waker| match threads.offer(&mut request, &mut number, waker) {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(refused) => Some(Err(refused)),
        };
        let taken = Sleeper::here().until_or(limit, offer);
        taken.unwrap_or_else(|| {
            number.into_iter().for_each(|number| threads.forget(number));
            Err(limit.check().err().unwrap_or(Error::DeadlineExceeded))
        })?;
        Ok(ticket)
    }

    /// As [`Database::submit_to`], as a future: it is handed over when it is polled for the first time, or when
    /// there is room, and never blocks the thread that polls it. Dropped before the owner has begun to run it, it takes the
    /// transaction back.
    ///
    /// # Errors
    /// As for [`Database::run_async`].
    ///
    /// # Panics
    /// As for [`Database::run_async`].
    pub fn submit_to_async<T: Send + 'static>(
        &self,
        partition: u64,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> RunAsync<T> {
        let run = requests::run(self.rules(), &RunOptions::default(), false, body);
        RunAsync::new(self, run).by(self.shared.owners.of(partition))
    }
}
