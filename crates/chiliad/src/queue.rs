//! Transactions from any thread, run by threads that serve.
//!
//! Invariants, all under the one lock: a member that sleeps is in its server's list of idle ones, and one
//! that looks for work is in none; so a request that comes wakes somebody who will look. The same for
//! those who wait for room. Wakers are called outside the lock: they are others' code.

use crate::run_options::check_in_flight;
use crate::seat::{Plan, Rules, Seat};
use crate::sleeper::Sleeper;
use crate::{Database, Error, Result, RunOptions, Ticket, Transaction, ticket};
use chiliad_machine::interleave;
use core::fmt;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Transactions that any thread submits, and that the threads run which the application lends to it by
/// [`Queue::serve`], each with several in flight: for servers that hold many requests at once.
///
/// While one request's transaction waits for main memory, a lock or a sibling, the thread runs another
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
    length_max: usize,
    state: Mutex<State>,
}

type Request = Box<dyn FnOnce(&mut Seat, &Rules) + Send>;

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    closed: bool,
    /// Those who wait for room.
    waiting: VecDeque<Waker>,
    servers: Vec<Server>,
    /// Servers so far.
    numbers: u64,
}

/// A thread that serves.
struct Server {
    number: u64,
    members: usize,
    /// Its members that sleep.
    idle: Vec<Waker>,
}

impl Server {
    /// Members that run a transaction, or were woken and will look for one.
    fn in_flight(&self) -> usize {
        self.members - self.idle.len()
    }
}

impl State {
    /// One that serves now.
    fn server(&mut self, number: u64) -> &mut Server {
        let server = self.servers.iter_mut().find(|server| server.number == number);
        server.expect("it serves until its members have ended")
    }
}

/// Why a transaction was not taken into a [`Queue`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It has its greatest length.
    Full,
    /// [`Queue::close`] was called.
    Closed,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the queue is full: try again when requests have ended"),
            Self::Closed => write!(f, "the queue is closed"),
        }
    }
}

impl std::error::Error for Refused {}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("length_max", &self.length_max).finish_non_exhaustive()
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
        Ok(Queue { database: self.clone(), length_max, state: Mutex::default() })
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
    /// [`Refused::Closed`].
    pub fn submit<T, E>(
        &self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E> + Send + 'static,
    ) -> core::result::Result<Ticket<T, E>, Refused>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (request, ticket) = self.request(options, body);
        let mut request = Some(request);
        let taken = match self.take(&mut request, None) {
            None => Sleeper::here().until(|waker| self.take(&mut request, Some(waker))),
            Some(taken) => taken,
        };
        taken.map(|()| ticket)
    }

    /// As [`Queue::submit`], but never waits: for those who had better turn a request away, or who run
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
        let (request, ticket) = self.request(options, body);
        self.take(&mut Some(request), None).unwrap_or(Err(Refused::Full)).map(|()| ticket)
    }

    /// Runs transactions of the queue on the calling thread, up to `in_flight` at once, until the queue is
    /// closed and empty. Any number of threads may serve; the thread that has the fewest in flight is
    /// given the next one. A panic of one transaction's closure goes to its ticket alone.
    ///
    /// `in_flight` is 1 to [`IN_FLIGHT_MAX`](crate::IN_FLIGHT_MAX); 8 is a good number. Each takes a worker
    /// of [`Options::workers_max`](crate::Options::workers_max) while the thread serves; with fewer left there
    /// are fewer in flight.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for `in_flight`; [`Error::TooManyWorkers`] when there is none left.
    pub fn serve(&self, in_flight: usize) -> Result<()> {
        check_in_flight(in_flight)?;
        let server = self.enter();
        let ended = interleave(in_flight, |_| {
            self.database.with_seat(|seat| {
                self.lock().server(server.number).members += 1;
                let sleeper = Sleeper::here();
                while let Some(request) = sleeper.until(|waker| self.next(server.number, waker)) {
                    request(seat, self.database.rules());
                }
            })
        });
        let seated =
            ended.into_iter().map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)));
        // One was enough.
        seated.reduce(Result::or).unwrap_or(Ok(()))
    }

    /// Accepts nothing more. What was accepted is run, by the threads that serve or are yet to; then they
    /// return.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let idle = state.servers.iter_mut().flat_map(|server| server.idle.drain(..));
        let mut wakers: Vec<Waker> = idle.collect();
        wakers.extend(state.waiting.drain(..));
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn request<T, E>(
        &self,
        options: &RunOptions,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E> + Send + 'static,
    ) -> (Request, Ticket<T, E>)
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let deadline = options.deadline_from_now();
        let options = options.clone();
        let (promise, ticket) = ticket::pair(self.database.rules().holding().cloned());
        let request = move |seat: &mut Seat, rules: &Rules| {
            let plan = Plan { deadline, ..Plan::now(&options) };
            let answer = catch_unwind(AssertUnwindSafe(|| seat.run(rules, plan, body)));
            if let (Some(acks), Ok(held)) = (rules.holding(), &answer) {
                acks.hurry(held.epoch);
            }
            promise.keep(answer);
        };
        (Box::new(request), ticket)
    }

    /// Takes a request in, unless there is no room for it; then `waiting` is woken when there may be.
    fn take(
        &self,
        request: &mut Option<Request>,
        waiting: Option<&Waker>,
    ) -> Option<core::result::Result<(), Refused>> {
        let mut state = self.lock();
        if let Some(waker) = waiting {
            state.waiting.retain(|other| !other.will_wake(waker));
        }
        if state.closed {
            return Some(Err(Refused::Closed));
        }
        if state.requests.len() >= self.length_max {
            state.waiting.extend(waiting.cloned());
            return None;
        }
        state.requests.extend(request.take());
        // One that blocks its thread shall not be what others wait behind while another thread sleeps.
        let sleepers = state.servers.iter_mut().filter(|server| !server.idle.is_empty());
        let server = sleepers.min_by_key(|server| server.in_flight());
        let sleeper = server.and_then(|server| server.idle.pop());
        drop(state);
        if let Some(waker) = sleeper {
            waker.wake();
        }
        Some(Ok(()))
    }

    /// The next request, or `waker`, a member of a server, is woken when there may be one. `Some(None)`:
    /// there will be none.
    fn next(&self, server: u64, waker: &Waker) -> Option<Option<Request>> {
        let mut state = self.lock();
        state.server(server).idle.retain(|other| !other.will_wake(waker));
        let Some(request) = state.requests.pop_front() else {
            if state.closed {
                return Some(None);
            }
            state.server(server).idle.push(waker.clone());
            return None;
        };
        let waiting = state.waiting.pop_front();
        drop(state);
        if let Some(waker) = waiting {
            waker.wake();
        }
        Some(Some(request))
    }

    fn enter(&self) -> Serving<'_> {
        let mut state = self.lock();
        state.numbers += 1;
        let number = state.numbers;
        state.servers.push(Server { number, members: 0, idle: Vec::new() });
        Serving { queue: self, number }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that serves, until it is dropped.
struct Serving<'a> {
    queue: &'a Queue,
    number: u64,
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.queue.lock().servers.retain(|server| server.number != self.number);
    }
}
