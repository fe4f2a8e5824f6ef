//! Requests under their lock, and the threads that serve them.

use super::refused::Refused;
use super::request_queue::{Offered, RequestQueue};
use crate::cache::Held;
use crate::held;
use crate::rules::Rules;
use crate::session::{Plan, Session};
use crate::sleeper::Sleeper;
use crate::ticket::{self, Ticket};
use crate::until::Until;
use crate::{Error, Result, RunOptions, Transaction};
use chiliad_machine::{Interleaved, Machine, Pace};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A transaction that is run by whichever session has time.
pub(crate) type Request = Box<dyn FnOnce(&mut Session, &Rules) + Send>;

/// Requests, at most so many. Wakers are called outside of the lock: they are code of others.
pub(crate) struct Requests(Mutex<RequestQueue<Request>>);

/// A transaction that is run by [`Session::run`], and the ticket for its result. The deadline counts from now.
pub(crate) fn run<T, E>(
    rules: &Rules,
    options: &RunOptions,
    snapshot: bool,
    body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E> + Send + 'static,
) -> (Request, Ticket<T, E>)
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let deadline = options.deadline_from_now();
    let options = options.clone();
    let limit = Until { deadline, cancel: options.cancel.clone() };
    let run = move |session: &mut Session, rules: &Rules| {
        let held = session.run(rules, Plan { options: &options, snapshot, deadline }, body);
        if let Some(acks) = rules.holding() {
            acks.hurry(held.epoch);
        }
        held
    };
    answered(ticket::pair(rules.holding().cloned(), limit), run)
}

/// Makes a request that calls `run`, and the ticket for its outcome. Only the ticket gets a panic of `run`.
pub(crate) fn answered<T, E>(
    (promise, ticket): (ticket::Promise<T, E>, Ticket<T, E>),
    run: impl FnOnce(&mut Session, &Rules) -> held::Held<T, E> + Send + 'static,
) -> (Request, Ticket<T, E>)
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let request = move |session: &mut Session, rules: &Rules| {
        if promise.begin() {
            let answer = catch_unwind(AssertUnwindSafe(|| run(session, rules)));
            promise.keep(answer);
        }
    };
    (Box::new(request), ticket)
}

impl Requests {
    pub fn new(length_max: usize) -> Self {
        Self(Mutex::new(RequestQueue::new(length_max)))
    }

    /// Takes a request in, unless there is no room for it; then `waiting`, with its number, is woken when there may be.
    pub fn take(
        &self,
        request: &mut Option<Request>,
        waiting: Option<(u64, &Waker)>,
    ) -> Option<core::result::Result<(), Refused>> {
        let offered = self.lock().offer(request, waiting);
        match offered {
            Offered::Taken(sleeper) => {
                sleeper.into_iter().for_each(Waker::wake);
                Some(Ok(()))
            }
            Offered::Full => None,
            Offered::Closed => Some(Err(Refused::Closed)),
        }
    }

    /// A number for a submitter that waits for room.
    pub fn number(&self) -> u64 {
        self.lock().number()
    }

    /// A submitter waits no longer.
    pub fn forget(&self, number: u64) {
        let next = self.lock().forget(number);
        next.into_iter().for_each(Waker::wake);
    }

    /// Runs requests on the calling thread, with as many in flight as pay, up to `in_flight`, each on a session that
    /// `hold` gives, until the queue is closed and empty.
    pub fn serve(
        &self,
        in_flight: usize,
        pace: &Pace,
        rules: &Rules,
        hold: impl Fn() -> Result<Held>,
    ) -> Result<()> {
        let server = Serving { requests: self, number: self.lock().enter() };
        let ended = pace.interleave(in_flight, |_| {
            let held = hold()?;
            self.lock().join(server.number);
            let sleeper = Sleeper::here();
            while let Some(request) = sleeper.until(|waker| self.next(server.number, waker)) {
                held.with(|session| request(session, rules));
                Interleaved::between();
            }
            Ok(())
        })?;
        let began =
            ended.into_iter().map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)));
        // One was enough.
        began.reduce(Result::or).unwrap_or(Ok(()))
    }

    /// Takes nothing more. What was taken is run, and the servers return.
    pub fn close(&self) {
        let wakers = self.lock().close();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The next request, or `waker`, a fiber of a server, is woken when there may be one. `Some(None)`:
    /// there will be none.
    fn next(&self, server: u64, waker: &Waker) -> Option<Option<Request>> {
        let next = self.lock().next(server, waker)?;
        Some(next.map(|(request, waiting)| {
            waiting.into_iter().for_each(Waker::wake);
            request
        }))
    }

    fn lock(&self) -> MutexGuard<'_, RequestQueue<Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that serves, until it is dropped.
struct Serving<'a> {
    requests: &'a Requests,
    number: u64,
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.requests.lock().leave(self.number);
    }
}
