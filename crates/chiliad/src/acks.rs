//! Waiters for epochs to become durable.
//!
//! One count, the newest durable epoch, answers everybody: the log's threads publish it, and wake the
//! waiters for epochs up to it. A waiter leaves a waker, be it a future or a thread.

use crate::engine::Engine;
use crate::sleeper::Sleeper;
use crate::until::Until;
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A transaction that the log's threads count as open.
pub(crate) struct Expected(Arc<Acks>);

impl Drop for Expected {
    fn drop(&mut self) {
        self.0.engine.transaction_closed();
    }
}

/// State shared by waiters and the log's threads.
pub(crate) struct Acks {
    engine: Engine,
    /// Every transaction of this epoch and before is durable.
    durable: AtomicU64,
    /// Nothing more will be.
    failed: AtomicBool,
    waiting: Mutex<Vec<(u64, Waker)>>,
}

impl Acks {
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            durable: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            waiting: Mutex::default(),
        }
    }

    /// Whether an epoch is durable; an error if it never will be.
    pub fn look(&self, epoch: u64) -> Option<Result<()>> {
        if self.durable() >= epoch {
            return Some(Ok(()));
        }
        // Acquire pairs with the release in `publish`.
        self.failed.load(Ordering::Acquire).then(|| Err(self.failure()))
    }

    /// The newest epoch that is durable, with all before it.
    pub fn durable(&self) -> u64 {
        // Acquire pairs with the release in `publish`.
        self.durable.load(Ordering::Acquire)
    }

    fn failure(&self) -> Error {
        // It has failed, so there is a reason; should it be gone, the transaction is over all the same.
        self.engine.log_failure().unwrap_or(Error::TransactionOver)
    }

    /// Waits until an epoch is durable, but not beyond `limit`. `urgent`: the epoch shall end now.
    pub fn wait(&self, epoch: u64, urgent: bool, limit: &Until) -> Result<()> {
        if let Some(over) = self.look(epoch) {
            return over;
        }
        if urgent {
            self.hurry(epoch);
        }
        let sleeper = Sleeper::here();
        let durable = sleeper.until_or(limit, |waker| self.poll(epoch, waker));
        durable.unwrap_or_else(|| {
            self.forget(sleeper.waker());
            Err(Error::NotYetDurable { epoch })
        })
    }

    /// Its owner waits no longer.
    pub fn forget(&self, waker: &Waker) {
        self.lock().retain(|(_, waiting)| !waiting.will_wake(waker));
    }

    /// Asks that an epoch end now rather than in its time.
    pub fn hurry(&self, epoch: u64) {
        self.engine.hurry(epoch);
    }

    /// The log's threads count a transaction as open until the caller drops what this returns.
    pub fn expect(self: &Arc<Self>) -> Expected {
        self.engine.transaction_opened();
        Expected(Arc::clone(self))
    }

    /// As [`Acks::look`], and `waker` is woken when the answer changes.
    pub fn poll(&self, epoch: u64, waker: &Waker) -> Option<Result<()>> {
        let mut waiting = self.lock();
        let over = self.look(epoch);
        if over.is_none() {
            waiting.push((epoch, waker.clone()));
        }
        over
    }

    /// Waits until everything committed so far is durable.
    pub fn sync(&self, limit: &Until) -> Result<()> {
        self.wait(self.epoch(), true, limit)
    }

    /// Everything that is committed by now is of this epoch or before.
    pub fn epoch(&self) -> u64 {
        self.engine.epoch()
    }

    /// Tells everybody what the log has reached.
    pub fn publish(&self) {
        let waiting = self.lock();
        // Release, both: pair with the acquires in `durable` and `look`.
        let durable = self.engine.durable_epoch();
        self.durable.fetch_max(durable, Ordering::Release);
        if self.engine.log_failure().is_some() {
            self.failed.store(true, Ordering::Release);
        }
        self.wake(waiting);
    }

    fn wake(&self, mut waiting: MutexGuard<'_, Vec<(u64, Waker)>>) {
        let durable = self.durable.load(Ordering::Relaxed);
        let all = self.failed.load(Ordering::Relaxed);
        let mut over = Vec::new();
        waiting.retain_mut(|(epoch, waker)| {
            let is_over = all || *epoch <= durable;
            if is_over {
                over.push(waker.clone());
            }
            !is_over
        });
        drop(waiting);
        // Outside the lock: a waker may poll at once.
        over.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Waker)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
