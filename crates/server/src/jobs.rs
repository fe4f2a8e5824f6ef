//! Work that may wait: a thread of its own does it, one piece at a time, and the session's loop is told of its end.

use chiliad_sql::SqlError;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a job ended.
pub(crate) type JobResult = Result<(), SqlError>;

/// A job's number, and how it ended. Not the session's number: all threads are told of a job, one after the other, and by
/// the time that the last one is, the session may have gone on, to that very thread, and wait for another job.
pub(crate) type Done = (u64, JobResult);

/// A piece of work.
pub(crate) type Job = Box<dyn FnOnce() -> Done + Send>;

/// Where sessions leave their jobs.
pub(crate) struct Jobs {
    queue: Mutex<Queue>,
}

struct Queue {
    /// `None`: no more are taken.
    sender: Option<Sender<Job>>,
    /// Jobs, not done yet, that wait for transactions that are open.
    waiting: usize,
    /// The number of the last one.
    last: u64,
}

impl Queue {
    fn send(&mut self, job: impl FnOnce() -> JobResult + Send + 'static) -> Result<u64, NoJob> {
        let sender = self.sender.as_ref().ok_or(NoJob::Closed)?;
        self.last += 1;
        let number = self.last;
        sender.send(Box::new(move || (number, job()))).map_err(|_| NoJob::Closed)?;
        Ok(number)
    }
}

/// Why a job is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoJob {
    /// The server goes down.
    Closed,
    /// One before it waits for the transaction to which it belongs.
    Deadlock,
}

impl Jobs {
    /// The queue, and its end for the thread that does the work.
    pub fn new() -> (Self, Receiver<Job>) {
        let (sender, receiver) = channel();
        let queue = Queue { sender: Some(sender), waiting: 0, last: 0 };
        (Self { queue: Mutex::new(queue) }, receiver)
    }

    /// One more. `of_open`: it belongs to a transaction that is open. Returns its number.
    ///
    /// # Errors
    /// [`NoJob`].
    pub fn start(
        &self,
        of_open: bool,
        job: impl FnOnce() -> JobResult + Send + 'static,
    ) -> Result<u64, NoJob> {
        let mut queue = self.lock();
        if of_open && queue.waiting > 0 {
            return Err(NoJob::Deadlock);
        }
        queue.send(job)
    }

    /// One more, which waits for transactions that are open. It calls [`Jobs::has_waited`]. Returns its number.
    ///
    /// # Errors
    /// [`NoJob::Closed`].
    pub fn start_waiting(
        &self,
        job: impl FnOnce() -> JobResult + Send + 'static,
    ) -> Result<u64, NoJob> {
        let mut queue = self.lock();
        let number = queue.send(job)?;
        queue.waiting += 1;
        Ok(number)
    }

    /// A job that waits for transactions is done.
    pub fn has_waited(&self) {
        let mut queue = self.lock();
        debug_assert!(queue.waiting > 0, "it was counted when it was started");
        queue.waiting -= 1;
    }

    /// No more jobs come: the thread ends after those that are there.
    pub fn close(&self) {
        self.lock().sender = None;
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
