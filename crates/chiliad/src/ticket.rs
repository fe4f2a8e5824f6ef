//! The result of a transaction that another thread runs.

use crate::acks::Acks;
use crate::held::Held;
use crate::sleeper::Sleeper;
use crate::until::Until;
use crate::{Error, Result, RunOptions};
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How the transaction ended, or the panic of its closure.
type Answer<T, E> = thread::Result<Held<T, E>>;

/// The result of a transaction that was given to a [`Queue`](crate::Queue), or handed to an owner by
/// [`Database::submit_to`](crate::Database::submit_to). Wait for it with
/// [`wait`](Ticket::wait), look with [`is_ready`](Ticket::is_ready), or await it: it is a future of no
/// particular runtime.
///
/// It is given out when [`Database::run`](crate::Database::run) would return it: with
/// [`Durability::Sync`](crate::Durability::Sync), when it is durable. To drop a ticket takes nothing
/// back: the transaction is run all the same.
///
/// [`Error::Canceled`]: the queue was dropped before the transaction was run.
#[must_use = "the transaction may fail"]
pub struct Ticket<T, E = Error> {
    desk: Arc<Desk<T, E>>,
    /// Taken from the desk, not durable when it was looked at last.
    answer: Option<Answer<T, E>>,
    /// `None`: results are not held back.
    acks: Option<Arc<Acks>>,
    limit: Until,
    /// The result was given out.
    given: bool,
}

/// Where the answer is handed over.
struct Desk<T, E> {
    state: Mutex<State<T, E>>,
}

struct State<T, E> {
    answer: Option<Answer<T, E>>,
    waiting: Option<Waker>,
    stage: Stage,
}

/// How far the transaction is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waits,
    Runs,
    /// The wait for the ticket reached its deadline or was cancelled: the transaction must not be run.
    GivenUp,
}

/// The other end. Dropped without an answer, it leaves [`Error::Canceled`].
pub(crate) struct Promise<T, E: From<Error>> {
    desk: Option<Arc<Desk<T, E>>>,
}

/// A ticket and its promise.
pub(crate) fn pair<T, E: From<Error>>(
    acks: Option<Arc<Acks>>,
    limit: Until,
) -> (Promise<T, E>, Ticket<T, E>) {
    let state = Mutex::new(State { answer: None, waiting: None, stage: Stage::Waits });
    let desk = Arc::new(Desk { state });
    (
        Promise { desk: Some(Arc::clone(&desk)) },
        Ticket { desk, answer: None, acks, limit, given: false },
    )
}

impl<T, E> Desk<T, E> {
    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, answer: Answer<T, E>) {
        let mut state = self.lock();
        state.answer = Some(answer);
        let waiting = state.waiting.take();
        drop(state);
        // Outside the lock: a waker may poll at once.
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl<T, E: From<Error>> Promise<T, E> {
    /// The transaction is about to be run; whether it still is to be.
    pub fn begin(&self) -> bool {
        let Some(desk) = &self.desk else { return false };
        let mut state = desk.lock();
        let runs = state.stage != Stage::GivenUp;
        if runs {
            state.stage = Stage::Runs;
        }
        runs
    }

    pub fn keep(mut self, answer: Answer<T, E>) {
        if let Some(desk) = self.desk.take() {
            desk.put(answer);
        }
    }
}

impl<T, E: From<Error>> Drop for Promise<T, E> {
    fn drop(&mut self) {
        if let Some(desk) = self.desk.take() {
            desk.put(Ok(Held::harmless(Error::Canceled)));
        }
    }
}

impl<T, E: From<Error>> Ticket<T, E> {
    /// Waits for the result, until the transaction's deadline or until it is told to give up: one that nobody
    /// has begun to run by then never is. (An awaited ticket waits on; the transaction has its deadline all the
    /// same.)
    ///
    /// # Errors
    /// Those of the closure, and those of [`Database::run_with`](crate::Database::run_with); [`Error::Canceled`].
    ///
    /// # Panics
    /// With the closure's panic, if it has panicked.
    pub fn wait(mut self) -> core::result::Result<T, E> {
        let limit = self.limit.clone();
        let sleeper = Sleeper::here();
        if let Some(result) = sleeper.until_or(&limit, |waker| self.look(waker)) {
            return result;
        }
        let over = limit.check().err().unwrap_or(Error::DeadlineExceeded);
        let told = self.stop_waiting(over, &sleeper, &Until::default());
        told.unwrap_or_else(|| Err(Error::TransactionOver.into()))
    }

    /// Waits for the result until the [`deadline`](RunOptions::deadline), counted from this call, or until
    /// [`cancel`](RunOptions::cancel) is told; nothing else of the options counts. They end this wait and take
    /// nothing back: the transaction is run all the same, and its result may be waited for again. (To take a
    /// transaction back it is submitted with a deadline, or with a [`Cancel`](crate::Cancel), of its own; where those
    /// come first, its result is what [`Ticket::wait`] would return.)
    ///
    /// ```
    /// use chiliad::{Database, Error, RunOptions, Table};
    /// use std::time::Duration;
    ///
    /// let db = Database::in_memory()?;
    /// let hits: Table<u64, u64> = db.create_table("hits")?;
    /// let queue = db.queue(100)?;
    /// let put = queue.submit(&RunOptions::default(), move |tx| tx.put(&hits, &7, &1));
    /// let mut ticket = put.expect("there is room");
    /// let moment = RunOptions::default().deadline(Duration::from_millis(1));
    /// assert_eq!(ticket.wait_with(&moment), Err(Error::DeadlineExceeded)); // nobody serves
    /// queue.close();
    /// queue.serve(1)?;
    /// assert_eq!(ticket.wait_with(&moment), Ok(Ok(())));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DeadlineExceeded`], [`Error::Canceled`]: the wait has ended, and the transaction not, for all that is
    /// known here. [`Error::NotYetDurable`]: the wait has ended, and the transaction has committed.
    /// [`Error::TransactionOver`]: its result was given out before. How the transaction itself ended is the inner result.
    ///
    /// # Panics
    /// With the closure's panic, if it has panicked.
    pub fn wait_with(&mut self, options: &RunOptions) -> Result<core::result::Result<T, E>> {
        if self.given {
            return Err(Error::TransactionOver);
        }
        let (own, wait) = (self.limit.clone(), Until::now(options));
        let sleeper = Sleeper::here();
        let ended = sleeper.until_either([&own, &wait], |waker| self.look(waker));
        let ended = match own.check() {
            Err(over) if ended.is_none() => self.stop_waiting(over, &sleeper, &wait),
            _ => ended,
        };
        ended.ok_or_else(|| {
            self.forget(sleeper.waker());
            self.not_yet(wait.check().err().unwrap_or(Error::DeadlineExceeded))
        })
    }

    /// Why there is no result, after a wait that was `over` too early.
    fn not_yet(&self, over: Error) -> Error {
        match &self.answer {
            Some(Ok(Held { result: Ok(_), epoch, .. })) => Error::NotYetDurable { epoch: *epoch },
            _ => over,
        }
    }

    /// Removes the waker of a wait that has ended.
    fn forget(&self, waker: &Waker) {
        if let Some(acks) = &self.acks {
            acks.forget(waker);
        }
        let mut state = self.desk.lock();
        if state.waiting.as_ref().is_some_and(|waiting| waiting.will_wake(waker)) {
            state.waiting = None;
        }
    }

    /// The result when the transaction itself may last no longer, which is `over`; `None` if none comes in the time
    /// that there is to `wait`.
    fn stop_waiting(
        &mut self,
        over: Error,
        sleeper: &Sleeper,
        wait: &Until,
    ) -> Option<core::result::Result<T, E>> {
        let mut state = self.desk.lock();
        if self.answer.is_none() && state.answer.is_none() && state.stage == Stage::Waits {
            state.stage = Stage::GivenUp;
            drop(state);
            self.given = true;
            return Some(Err(over.into()));
        }
        drop(state);
        // It runs, and ends when its own waits have; what it then has to say is told as far as it is known.
        let answer = sleeper.until_or(wait, |waker| {
            let mut state = self.desk.lock();
            state.waiting = Some(waker.clone());
            self.answer.take().or_else(|| state.answer.take())
        })?;
        self.given = true;
        let held = answer.unwrap_or_else(|panic| resume_unwind(panic));
        let durable = self.durable(|acks| acks.look(held.epoch));
        let epoch = held.epoch;
        Some(held.tell(durable.unwrap_or(Err(Error::NotYetDurable { epoch }))))
    }

    /// How long it may be waited for.
    pub(crate) fn limit(&self) -> &Until {
        &self.limit
    }

    /// Whether the result may be had without waiting.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let at_desk = self.desk.lock();
        match self.answer.as_ref().or(at_desk.answer.as_ref()) {
            Some(Ok(held)) => self.durable(|acks| acks.look(held.epoch)).is_some(),
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// The result, or `waker` is woken when there may be one.
    fn look(&mut self, waker: &Waker) -> Option<core::result::Result<T, E>> {
        if self.given {
            return Some(Err(Error::TransactionOver.into()));
        }
        if self.answer.is_none() {
            let mut state = self.desk.lock();
            self.answer = state.answer.take();
            if self.answer.is_none() {
                state.waiting = Some(waker.clone());
            }
        }
        let held = match self.answer.take()? {
            Ok(held) => held,
            Err(panic) => {
                self.given = true;
                resume_unwind(panic)
            }
        };
        match self.durable(|acks| acks.poll(held.epoch, waker)) {
            Some(durable) => {
                self.given = true;
                Some(held.tell(durable))
            }
            None => {
                self.answer = Some(Ok(held));
                None
            }
        }
    }
}

impl<T, E> Ticket<T, E> {
    /// Nobody waits for the result any more: a transaction that nobody has begun to run is not to be run.
    pub(crate) fn give_up(&self) {
        let mut state = self.desk.lock();
        if state.stage == Stage::Waits {
            state.stage = Stage::GivenUp;
        }
    }

    fn durable(&self, ask: impl FnOnce(&Acks) -> Option<Result<()>>) -> Option<Result<()>> {
        self.acks.as_ref().map_or(Some(Ok(())), |acks| ask(acks))
    }
}

impl<T, E> fmt::Debug for Ticket<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

/// The value is never pinned in place: it moves out when it is given out.
impl<T, E> Unpin for Ticket<T, E> {}

impl<T, E: From<Error>> Future for Ticket<T, E> {
    type Output = core::result::Result<T, E>;

    /// # Panics
    /// With the closure's panic, if it has panicked.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.look(context.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}
