//! One worker of the engine, and the life of a transaction on it: attempts, retries, panics.

use crate::acks::Acks;
use crate::backoff::Backoff;
use crate::dispatch::{AnyDatabase, AnyWorker};
use crate::raw::{TableId, Untyped};
use crate::reader::Scratch;
use crate::{Durability, Error, Pending, Reader, Reason, Result, RunOptions, Transaction};
use chiliad_engine::Intent;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What running a transaction needs to know of its database.
pub(crate) struct Rules {
    /// Tells databases apart, for handles and for caches of workers.
    pub database: u64,
    pub backoff: Backoff,
    /// Who tells what is durable, for a database in a directory.
    pub acks: Option<Arc<Acks>>,
    pub durability: Durability,
    /// Stands for "no partitions declared".
    pub all_partitions: Vec<u32>,
}

impl Rules {
    /// Holds a result back until the transaction's epoch is durable, if that is asked for.
    pub fn hold_back(&self, epoch: u64) -> Result<()> {
        match &self.acks {
            Some(acks) if self.durability == Durability::Sync => acks.wait(epoch, true),
            _ => Ok(()),
        }
    }

    /// The same for the error that a transaction ended with: what it has read may not be durable, and
    /// the error may tell of it.
    fn hold_error_back(&self) {
        if let Some(acks) = self.acks.as_ref().filter(|_| self.durability == Durability::Sync) {
            // Where nothing becomes durable any more, the error is still the answer.
            let _ = acks.sync();
        }
    }
}

/// A worker with its scratch memory. One transaction at a time.
pub(crate) struct Seat {
    worker: AnyWorker,
    scratch: Scratch,
    /// After the worker: a seat is free when its worker has gone.
    _taken: Taken,
}

/// Counts the seats of a database that are taken.
#[derive(Clone)]
pub(crate) struct Seats {
    taken: Arc<AtomicUsize>,
    most: usize,
}

/// One of them, until it is dropped.
struct Taken(Arc<AtomicUsize>);

impl Seats {
    pub fn new(most: usize) -> Self {
        Self { taken: Arc::default(), most }
    }

    fn take(&self) -> Result<Taken> {
        // Relaxed, here and in the drop: nothing but the number is meant.
        let more = |taken| (taken < self.most).then_some(taken + 1);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Taken(Arc::clone(&self.taken))),
            Err(_) => Err(Error::TooManyWorkers),
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How an attempt ended.
enum Attempt<T, E> {
    Over(core::result::Result<T, E>),
    Refused(Reason),
}

/// What kind of transaction an attempt is.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub options: &'a RunOptions,
    pub snapshot: bool,
}

impl Seat {
    pub fn new(engine: &AnyDatabase, seats: &Seats) -> Result<Self> {
        let taken = seats.take()?;
        Ok(Self { worker: engine.worker()?, scratch: Scratch::default(), _taken: taken })
    }

    /// Puts one row into a table, however often that takes.
    pub fn load(&mut self, rules: &Rules, table: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let mut refusals = 0;
        loop {
            match self.worker.load(table, key, value) {
                Err(Error::Conflict(_)) => refusals += 1,
                result => return result,
            }
            rules.backoff.wait(refusals, None);
        }
    }

    /// Begins a transaction that has been refused `retries` times.
    pub fn begin<'a>(
        &'a mut self,
        rules: &'a Rules,
        plan: Plan<'_>,
        deadline: Option<Instant>,
        retries: u32,
    ) -> Result<Transaction<'a>> {
        let declared = &plan.options.partitions;
        let intent = Intent {
            read_only: plan.options.read_only || plan.snapshot,
            snapshot: plan.snapshot,
            partitions: if declared.is_empty() { &rules.all_partitions } else { declared },
            retries,
            ..Intent::default()
        };
        let raw = Untyped::new(self.worker.begin(&intent)?, deadline);
        Ok(Transaction::new(Reader::new(raw, &mut self.scratch, rules.database), rules))
    }

    /// Runs `body` as a transaction until it commits, fails for a reason of its own, or may not be
    /// run again. The result comes with its commit epoch, and has not been held back.
    fn run<T, E: From<Error>>(
        &mut self,
        rules: &Rules,
        plan: Plan<'_>,
        mut body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<(T, u64), E> {
        let deadline = plan.options.deadline.and_then(|after| Instant::now().checked_add(after));
        let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let mut refusals = 0;
        loop {
            if late() {
                return Err(Error::DeadlineExceeded.into());
            }
            let reason = match self.attempt(rules, plan, deadline, refusals, &mut body) {
                Attempt::Over(result) => return result,
                Attempt::Refused(reason) => reason,
            };
            if plan.options.retries_max.is_some_and(|most| refusals >= most) {
                return Err(Error::Conflict(reason).into());
            }
            refusals = refusals.saturating_add(1);
            rules.backoff.wait(refusals, deadline);
        }
    }

    /// The same with the result held back as the database is told to.
    pub fn run_held<T, E: From<Error>>(
        &mut self,
        rules: &Rules,
        plan: Plan<'_>,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let (value, epoch) = self.run(rules, plan, body)?;
        rules.hold_back(epoch)?;
        Ok(value)
    }

    /// The same with the result in a handle that holds it back.
    pub fn submit<T>(
        &mut self,
        rules: &Rules,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<Pending<T>> {
        let plan = Plan { options: &RunOptions::default(), snapshot: false };
        let (value, epoch) = self.run(rules, plan, body)?;
        Ok(Pending::new(value, epoch, rules.acks.clone()))
    }

    fn attempt<T, E: From<Error>>(
        &mut self,
        rules: &Rules,
        plan: Plan<'_>,
        deadline: Option<Instant>,
        refusals: u32,
        body: &mut impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> Attempt<(T, u64), E> {
        let mut tx = match self.begin(rules, plan, deadline, refusals) {
            Ok(tx) => tx,
            Err(error) => return Attempt::failed(error),
        };
        // The closure's own state may be left half-changed by a panic; it is the application's, and
        // it either sees the panic resumed or is called again, as it is after a conflict.
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&mut tx)));
        if let Ok(Ok(value)) = outcome {
            return match tx.commit_now() {
                Ok(committed) => Attempt::Over(Ok((value, committed.epoch))),
                Err(error) => Attempt::failed(error),
            };
        }
        // An error or a panic that came of a state that never was is not the application's.
        let conflict = tx.conflict();
        tx.rollback();
        match (conflict, outcome) {
            (Some(reason), _) => Attempt::Refused(reason),
            (None, Ok(Err(error))) => {
                rules.hold_error_back();
                Attempt::Over(Err(error))
            }
            (None, Ok(Ok(_))) => unreachable!("committed above"),
            (None, Err(panic)) => resume_unwind(panic),
        }
    }
}

impl<T, E: From<Error>> Attempt<T, E> {
    fn failed(error: Error) -> Self {
        match error {
            Error::Conflict(reason) => Self::Refused(reason),
            other => Self::Over(Err(other.into())),
        }
    }
}
