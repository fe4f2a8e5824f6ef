//! What other threads tell a thread that serves connections.

use super::connection::Connection;
use super::stream::Stream;
use crate::jobs::Done;
use crate::session::Origin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Something that a thread is told.
pub(crate) enum Mail {
    /// A new connection is its own from now on.
    Connection(Stream, Origin),
    /// One that another thread has had.
    Moved(Box<Connection>),
    /// A job is done, for which one of its sessions may wait.
    JobDone(Done),
    /// The server goes down.
    Drain,
}

/// Where a thread finds its mail.
pub(crate) struct Mailbox {
    /// `None` when the thread has gone.
    mail: Mutex<Option<Vec<Mail>>>,
    /// Wakes it from the poll of its sockets.
    waker: mio::Waker,
    /// Connections that it has, or that are on their way to it.
    connections: AtomicUsize,
}

impl Mailbox {
    pub fn new(waker: mio::Waker) -> Arc<Self> {
        let mail = Mutex::new(Some(Vec::new()));
        Arc::new(Self { mail, waker, connections: AtomicUsize::new(0) })
    }

    /// Leaves mail.
    ///
    /// # Errors
    /// The mail, if the thread has gone.
    pub fn send(self: &Arc<Self>, mail: Mail) -> Result<(), Mail> {
        match &mut *self.lock() {
            Some(all) => all.push(mail),
            None => return Err(mail),
        }
        self.wake_by_ref();
        Ok(())
    }

    /// Takes all mail.
    pub fn take(&self) -> Vec<Mail> {
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The thread goes, unless it has mail: whether it does.
    pub fn close(&self) -> bool {
        let mut mail = self.lock();
        if mail.as_ref().is_some_and(Vec::is_empty) {
            *mail = None;
        }
        mail.is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Mail>>> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What wakes the thread.
    pub fn as_waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// One connection more. Relaxed, in all three: nothing but the number is meant.
    pub fn add_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// One less.
    pub fn remove_connection(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Wake for Mailbox {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // It fails where the system has no room for one more wake-up: then there are many that have not been seen yet.
        _ = self.waker.wake();
    }
}
