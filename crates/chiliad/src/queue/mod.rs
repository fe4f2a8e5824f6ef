//! Transactions from any thread, run by threads that serve.
//!
//! Requests and waiters are in `request_queue`; `requests` has the lock around them, and serves.

mod refused;
mod request_queue;
pub(crate) mod requests;

pub use self::refused::Refused;

use self::requests::Requests;
use crate::run_options::check_in_flight;
use crate::sleeper::Sleeper;
use crate::{Database, Error, Result, RunOptions, Ticket, Transaction};
use core::fmt;
use std::task::Waker;

/// Transactions that any thread submits, and that the threads run which the application lends to it by
/// [`Queue::serve`], each with several in flight: for servers that hold many requests at once.
///
/// While one request's transaction waits for main memory, a lock or a peer, the thread runs another
/// one. When that pays, and what to know of closures that take turns on a thread, is said at
/// [`Database::run_each`]. Threads with nothing to do sleep.
///
/// It has a greatest length, beyond which [`submit`](Queue::submit) waits and
/// [`try_submit`](Queue::try_submit) refuses. It keeps its database open. To end, [`close`](Queue::close)
/// it: what was accepted is run, and the servers return. What is still in it when it is dropped is not
/// run, and its tickets end with [`Error::Canceled`].
///
/// ```
/// use chiliad::{Database, Error, RunOptions, Table};
///
/// let db = Database::in_memory()?;
/// let hits: Table<u64, u64> = db.create_table("hits")?;
/// db.bulk_load(&hits, (0..10).map(|page| (page, 0)))?;
///
/// let queue = db.queue(1_000)?;
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| queue.serve(8));
///     }
///     let options = RunOptions::default();
///     let tickets: Vec<_> = (0..100)
///         .map(|request| {
///             queue.submit(&options, move |tx| {
///                 tx.update(&hits, &(request % 10), |count| *count += 1)
///             })
///         })
///         .collect::<Result<_, _>>()
///         .expect("it is not closed");
///     for ticket in tickets {
///         ticket.wait()?; // or `.await`
///     }
///     queue.close();
///     Ok::<_, Error>(())
/// })?;
/// assert_eq!(db.run(|tx| tx.get(&hits, &7))?, Some(10));
/// # Ok::<(), Error>(())
/// ```
pub struct Queue {
    database: Database,
    requests: Requests,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("database", &self.database).finish_non_exhaustive()
    }
}

impl Database {
    /// A queue of transactions for this database, at most `length_max` of them besides those that are in
    /// flight; threads that serve it are the caller's.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a length of 0.
    pub fn queue(&self, length_max: usize) -> Result<Queue> {
        if length_max == 0 {
            return Err(Error::InvalidOption("length_max 0: 1 or more is accepted".into()));
        }
        Ok(Queue { database: self.clone(), requests: Requests::new(length_max) })
    }
}

impl Queue {
    /// Gives a transaction to the threads that serve; waits while the queue is full. It is run as by
    /// [`Database::run_with`], with the deadline counted from this call: also what a transaction waits
    /// in the queue counts.
    ///
    /// A transaction of this queue had better not wait for another one of it, for room or for a ticket:
    /// when all that are in flight do so, nobody is left to run what they wait for.
    ///
    /// # Errors
    /// [`Refused::Closed`]; [`Refused::Full`] where it is full until the deadline, or until the transaction is told to
    /// give up.
    pub fn submit<T, E>(
        &self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E> + Send + 'static,
    ) -> core::result::Result<Ticket<T, E>, Refused>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (request, ticket) = requests::run(self.database.rules(), options, false, body);
        let mut request = Some(request);
        let taken = match self.requests.take(&mut request, None) {
            None => {
                let (limit, number) = (ticket.limit(), self.requests.number());
                let taken = |waker: &Waker| self.requests.take(&mut request, Some((number, waker)));
                let taken = Sleeper::here().until_or(limit, taken);
                taken.unwrap_or_else(|| {
                    self.requests.forget(number);
                    Err(Refused::Full)
                })
            }
            Some(taken) => taken,
        };
        taken.map(|()| ticket)
    }

    /// As [`Queue::submit`], but never waits: for callers that had better turn a request away, or that run
    /// on a thread that must not block.
    ///
    /// # Errors
    /// [`Refused::Full`], [`Refused::Closed`].
    pub fn try_submit<T, E>(
        &self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E> + Send + 'static,
    ) -> core::result::Result<Ticket<T, E>, Refused>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (request, ticket) = requests::run(self.database.rules(), options, false, body);
        self.requests.take(&mut Some(request), None).unwrap_or(Err(Refused::Full)).map(|()| ticket)
    }

    /// Runs transactions of the queue on the calling thread, up to `in_flight` at once, as many as pay, until the
    /// queue is closed and empty. Any number of threads may serve; the thread that has the fewest in flight is
    /// given the next one. A panic of one transaction's closure goes to its ticket alone.
    ///
    /// `in_flight` is 1 to [`IN_FLIGHT_MAX`](crate::IN_FLIGHT_MAX); 8 is a good number. Each takes a worker
    /// of [`Options::workers_max`](crate::Options::workers_max) while the thread serves; with fewer left there
    /// are fewer in flight.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for `in_flight`; [`Error::TooManyWorkers`] when there is none left;
    /// [`Error::HostExhausted`] when there is no room for their stacks.
    pub fn serve(&self, in_flight: usize) -> Result<()> {
        check_in_flight(in_flight)?;
        let rules = self.database.rules();
        self.requests.serve(in_flight, &rules.pace, rules, || self.database.hold_session())
    }

    /// Accepts nothing more. What was accepted is run, by the threads that serve or are yet to; then they
    /// return.
    pub fn close(&self) {
        self.requests.close();
    }
}
