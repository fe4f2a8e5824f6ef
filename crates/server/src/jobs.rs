//! Work that may wait: a thread of its own does it, one piece at a time, and the session's loop is told of its end.

use chiliad_sql::SqlError;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// How a job ended: the tag of its statement, and what the client is told besides.
pub(crate) type JobResult = Result<(String, Vec<Notice>), SqlError>;

/// Something that a client is told and that is no error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Notice {
    pub sqlstate: &'static str,
    pub message: String,
}

/// A piece of work; it returns the number of the session that waits for it.
pub(crate) type Job = Box<dyn FnOnce() -> (u32, JobResult) + Send>;

/// Where sessions leave their jobs.
pub(crate) struct Jobs {
    sender: Mutex<Option<Sender<Job>>>,
}

impl Jobs {
    /// The queue, and its end for the thread that does the work.
    pub fn new() -> (Self, Receiver<Job>) {
        let (sender, receiver) = channel();
        (Self { sender: Mutex::new(Some(sender)) }, receiver)
    }

    /// One more.
    ///
    /// # Errors
    /// With the job, when the server has gone down: nobody does it any more.
    pub fn start(
        &self,
        job: impl FnOnce() -> (u32, JobResult) + Send + 'static,
    ) -> Result<(), Job> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        match &*sender {
            Some(sender) => sender.send(Box::new(job)).map_err(|refused| refused.0),
            None => Err(Box::new(job)),
        }
    }

    /// No more jobs come: the thread ends after those that are there.
    pub fn close(&self) {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
