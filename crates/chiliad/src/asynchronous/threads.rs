//! The threads of a database that run transactions for others: those which were asked for as futures, or handed to an
//! owner.

use crate::cache::Slots;
use crate::form::Schemas;
use crate::owned_thread::OwnedThread;
use crate::queue::requests::{Request, Requests};
use crate::rules::Rules;
use crate::session::{Session, Sessions};
use crate::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Requests beyond those in flight; further futures wait for room.
const LENGTH_MAX: usize = 16_384;
/// The wait for a worker where all are taken.
const PAUSE: Duration = Duration::from_millis(1);

/// The threads, which are started when there is the first request, and their requests. They end when it is dropped,
/// which is when no future is left.
pub(crate) struct AsyncThreads {
    name: &'static str,
    count: usize,
    site: Arc<Site>,
    started: Mutex<Vec<OwnedThread>>,
}

/// The parts of a database that the threads use. They hold no handle of it, so it may close while they are idle.
struct Site {
    requests: Requests,
    slots: Arc<Slots>,
    rules: Arc<Rules>,
    sessions: Sessions,
    schemas: Schemas,
    /// Transactions in flight on each thread.
    in_flight: usize,
}

impl AsyncThreads {
    /// `count` threads of this name, with so many transactions in flight on each.
    pub fn new(
        (name, count, in_flight): (&'static str, usize, usize),
        slots: &Arc<Slots>,
        rules: &Arc<Rules>,
        sessions: &Sessions,
        schemas: &Schemas,
    ) -> Self {
        let site = Site {
            requests: Requests::new(LENGTH_MAX),
            slots: Arc::clone(slots),
            rules: Arc::clone(rules),
            sessions: sessions.clone(),
            schemas: schemas.clone(),
            in_flight,
        };
        Self { name, count, site: Arc::new(site), started: Mutex::default() }
    }

    /// The requests, which threads serve from now on: as many as could be started.
    ///
    /// # Errors
    /// [`Error::HostExhausted`] where that is none.
    pub fn started(&self) -> Result<&Requests> {
        let mut threads = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        while threads.len() < self.count {
            let site = Arc::clone(&self.site);
            match OwnedThread::start(self.name, "transactions", move || site.serve()) {
                Ok(thread) => threads.push(thread),
                Err(_) if !threads.is_empty() => break,
                Err(refused) => return Err(refused),
            }
        }
        Ok(&self.site.requests)
    }

    /// Takes a request in, unless there is no room for it: then `waker` is woken when there may be, under a number that is
    /// kept for the next time. Whether it was taken.
    ///
    /// # Errors
    /// As for [`Self::started`].
    pub fn offer(
        &self,
        request: &mut Option<Request>,
        number: &mut Option<u64>,
        waker: &Waker,
    ) -> Result<bool> {
        let requests = self.started()?;
        if number.is_none() && requests.take(request, None).is_some() {
            return Ok(true);
        }
        let number = *number.get_or_insert_with(|| requests.number());
        Ok(requests.take(request, Some((number, waker))).is_some())
    }

    /// Ends the threads, and waits for them.
    pub fn end(&mut self) {
        self.site.requests.close();
        self.started.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A future that waited for room is gone.
    pub fn forget(&self, number: u64) {
        self.site.requests.forget(number);
    }
}

impl Drop for AsyncThreads {
    fn drop(&mut self) {
        self.end();
    }
}

impl Site {
    fn serve(&self) {
        let make = || Session::new(&self.rules.engine, &self.sessions, &self.schemas);
        let hold = || self.slots.hold(self.rules.database, make);
        // Requests wait for a worker, or for room for stacks, as they wait for a thread.
        while let Err(refused) =
            self.requests.serve(self.in_flight, &self.rules.pace, &self.rules, hold)
        {
            debug_assert!(
                matches!(refused, Error::TooManyWorkers { .. } | Error::HostExhausted(_)),
                "{refused}"
            );
            std::thread::sleep(PAUSE);
        }
    }
}
