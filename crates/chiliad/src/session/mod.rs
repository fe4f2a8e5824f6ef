//! A session on the engine, and the life of a transaction on it: attempts, retries, panics.

mod attempts;

use self::attempts::{Load, Run};
use crate::cancel::Cancel;
use crate::clock::{ticks, ticks_at};
use crate::engine::{Engine, EngineSession};
use crate::form::Schemas;
use crate::held::Held;
use crate::nest::{self, Aborts};
use crate::raw::{Left, TableId, Untyped};
use crate::reader::Scratch;
use crate::rules::Rules;
use crate::until::Until;
use crate::{Clock, Error, Pending, Reader, Reason, Result, RunOptions, Transaction};
use chiliad_api::retry;
use chiliad_engine::{Committed, Intent, Outer, Running};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Times that a transaction is run again because memory has come back to it.
const RELIEFS_MAX: u32 = 4;

/// A session on the engine, with its scratch memory. One transaction at a time.
pub(crate) struct Session {
    engine: EngineSession,
    scratch: Scratch,
    /// After the engine's: another one may begin when that has gone.
    _taken: Taken,
}

/// Counts the sessions of a database.
#[derive(Clone)]
pub(crate) struct Sessions {
    taken: Arc<AtomicUsize>,
    most: usize,
    /// By which rows expire.
    clock: Clock,
}

/// One of them, until it is dropped.
struct Taken(Arc<AtomicUsize>);

impl Sessions {
    pub fn new(most: usize, clock: &Clock) -> Self {
        Self { taken: Arc::default(), most, clock: clock.clone() }
    }

    fn take(&self) -> Result<Taken> {
        // Relaxed, here and in the drop: nothing but the number is meant.
        let more = |taken| (taken < self.most).then_some(taken + 1);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Taken(Arc::clone(&self.taken))),
            Err(_) => Err(Error::TooManyWorkers { workers_max: self.most }),
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why an attempt was refused.
struct Abort {
    reason: Reason,
    /// A transaction inside it had committed writes.
    overtaken: bool,
}

/// How one attempt at a transaction ended.
enum Once<T, E> {
    Over(Held<T, E>),
    Aborted(Abort),
    /// There is no memory left, for all that this worker knows.
    Short(Held<T, E>),
}

/// The kind of transaction that an attempt is.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub options: &'a RunOptions,
    pub snapshot: bool,
    pub deadline: Option<Instant>,
}

impl<'a> Plan<'a> {
    /// A transaction that is called for now.
    pub fn now(options: &'a RunOptions) -> Self {
        Self { options, snapshot: false, deadline: options.deadline_from_now() }
    }

    /// A plan for reading a state of the past.
    pub fn snapshot(options: &'a RunOptions) -> Self {
        Self { snapshot: true, ..Self::now(options) }
    }

    /// The limits of its waits.
    fn limit(&self) -> Until {
        Until { deadline: self.deadline, cancel: self.options.cancel.clone() }
    }
}

impl Session {
    pub fn new(engine: &Engine, sessions: &Sessions, schemas: &Schemas) -> Result<Self> {
        let taken = sessions.take()?;
        let scratch = Scratch::new(schemas, &sessions.clock);
        Ok(Self { engine: engine.native_session()?, scratch, _taken: taken })
    }

    /// Has the idle worker collect up to `budget` items of its garbage and give back its free memory. Returns whether
    /// nothing is left to collect, and how many bytes others have gained.
    pub fn rest(&mut self, budget: usize) -> (bool, u64) {
        self.engine.rest(budget)
    }

    /// Has all workers that are idle, this one among them, give back what they have. Whether that may be worth
    /// another attempt, after so many of them.
    fn relieve(&mut self, rules: &Rules, attempts: u32) -> bool {
        if attempts == RELIEFS_MAX {
            return false;
        }
        let own_bytes = self.rest(usize::MAX).1;
        let bytes =
            rules.workers.upgrade().map_or(0, |workers| workers.relieve()) + rules.engine.tidy();
        // What it had itself it might have had without.
        bytes > 0 || own_bytes > 0 && attempts == 0
    }

    /// Loading begins: rows are put into tables one by one, by [`Session::load`].
    pub fn begin_load(&mut self, rules: &Rules) -> Vec<Outer> {
        // The cancel handle of this worker's last transaction must not cancel the load.
        self.engine.cancel_by(None);
        nest::outer(rules.database)
    }

    /// Puts one row into a table, however often that takes; in the closures of these others, as often as any
    /// transaction there.
    pub fn load(
        &mut self,
        rules: &Rules,
        outer: &[Outer],
        table: TableId,
        row: (&[u8], &[u8]),
    ) -> Result<()> {
        retry(Load {
            session: self,
            rules,
            outer,
            table,
            row,
            reliefs: 0,
            futile: Aborts::default(),
        })
    }

    /// Lets transactions see all rows that were loaded.
    pub fn end_load(&mut self) -> Result<()> {
        self.engine.end_load()
    }

    /// Begins a transaction.
    pub fn begin<'a>(&'a mut self, rules: &'a Rules, plan: Plan<'_>) -> Result<Transaction<'a>> {
        self.begin_again(rules, plan, 0, &nest::outer(rules.database))
    }

    /// Begins a transaction that has been refused `retries` times, in the closures of these others.
    fn begin_again<'a>(
        &'a mut self,
        rules: &'a Rules,
        plan: Plan<'_>,
        retries: u32,
        outer: &[Outer],
    ) -> Result<Transaction<'a>> {
        let declared = &plan.options.partitions;
        let intent = Intent {
            read_only: plan.options.read_only || plan.snapshot,
            snapshot: plan.snapshot,
            newest: plan.options.linearizable,
            partitions: if declared.is_empty() { &rules.all_partitions } else { declared },
            retries,
            deadline: plan.deadline.map(ticks_at),
            wait_limit: plan.options.wait_limit.map(ticks),
            outer,
            ..Intent::default()
        };
        self.engine.cancel_by(plan.options.cancel.as_ref().map(Cancel::engine));
        let raw = Untyped::new(Running::begin(&mut *self.engine, &intent)?, plan.limit());
        Ok(Transaction::new(Reader::new(raw, &mut self.scratch, rules.database), rules))
    }

    /// Begins a transaction that has been refused `retries` times, and leaves it in progress.
    pub fn open(
        &mut self,
        rules: &Rules,
        plan: Plan<'_>,
        retries: u32,
    ) -> Result<(Left, Option<SystemTime>)> {
        let outer = nest::outer(rules.database);
        self.begin_again(rules, plan, retries, &outer).map(Transaction::leave)
    }

    /// Takes up the transaction that was left in progress.
    pub fn resume<'a>(
        &'a mut self,
        rules: &'a Rules,
        (left, now): (Left, Option<SystemTime>),
    ) -> Transaction<'a> {
        let raw = Untyped::resume(&mut *self.engine, left);
        Transaction::new(Reader::new(raw, &mut self.scratch, rules.database).at(now), rules)
    }

    /// Gives the waits of the transaction in progress other limits.
    pub fn limit(&mut self, until: &Until, wait_limit: Option<Duration>) {
        self.engine.set_limits(until.deadline.map(ticks_at), wait_limit.map(ticks));
        self.engine.cancel_by(until.cancel.as_ref().map(Cancel::engine));
    }

    /// Runs `body` as a transaction until it commits, fails for a reason of its own, or may not be
    /// run again. The result is the caller's to hold back.
    pub fn run<T, E: From<Error>>(
        &mut self,
        rules: &Rules,
        plan: Plan<'_>,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> Held<T, E> {
        let (limit, outer) = (plan.limit(), nest::outer(rules.database));
        let futile = Aborts::default();
        #[cfg(feature = "metrics")]
        let latency = crate::watch::LatencyOf::begin();
        let held =
            retry(Run { session: self, rules, plan, limit, outer, reliefs: 0, futile, body });
        #[cfg(feature = "metrics")]
        if held.result.is_ok() {
            latency.committed(&rules.publisher);
        }
        held
    }

    /// Runs a transaction, with the result held back as the database is told to.
    pub fn run_held<T, E: From<Error>>(
        &mut self,
        rules: &Rules,
        plan: Plan<'_>,
        body: impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        self.run(rules, plan, body).wait(rules)
    }

    /// Runs a transaction, with the result in a handle that holds it back.
    pub fn submit<T>(
        &mut self,
        rules: &Rules,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<Pending<T>> {
        let Held { result, epoch, wrote, limit } =
            self.run(rules, Plan::now(&RunOptions::default()), body);
        match result {
            Ok(value) => Ok(Pending::new(value, epoch, wrote, rules.acks.clone())),
            Err(error) => Held { result: Err(error), epoch, wrote, limit }.wait(rules),
        }
    }

    /// Runs `body` as a transaction once.
    fn run_once<T, E: From<Error>>(
        &mut self,
        rules: &Rules,
        plan: Plan<'_>,
        aborts: u32,
        outer: &[Outer],
        body: &mut impl FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
    ) -> Once<T, E> {
        let mut tx = match self.begin_again(rules, plan, aborts, outer) {
            Ok(tx) => tx,
            Err(error) => return Once::failed(error),
        };
        // The closure's own state may be left half-changed by a panic; it is the application's, and
        // it either sees the panic resumed or is called again, as it is after a conflict.
        let inside = tx.enter();
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&mut tx)));
        let overtaken = inside.leave();
        if let Ok(Ok(value)) = outcome {
            return match tx.commit_now() {
                Ok(Committed { seen_epoch: epoch, wrote, .. }) => {
                    Once::Over(Held { result: Ok(value), epoch, wrote, limit: plan.limit() })
                }
                Err(Error::Conflict(reason)) => Once::Aborted(Abort { reason, overtaken }),
                Err(error) => Once::failed(error),
            };
        }
        // An error or a panic that came of a state that never was is not the application's.
        let conflict = tx.conflict();
        let short = tx.is_short();
        tx.rollback();
        match (conflict, outcome) {
            (Some(reason), _) => Once::Aborted(Abort { reason, overtaken }),
            (None, Ok(Err(error))) => {
                let epoch = rules.error_epoch();
                let limit = plan.limit();
                let held = Held { result: Err(error), epoch, wrote: false, limit };
                if short { Once::Short(held) } else { Once::Over(held) }
            }
            (None, Ok(Ok(_))) => unreachable!("committed above"),
            (None, Err(panic)) => resume_unwind(panic),
        }
    }
}

impl<T, E: From<Error>> Once<T, E> {
    fn failed(error: Error) -> Self {
        match error {
            Error::Conflict(reason) => Self::Aborted(Abort { reason, overtaken: false }),
            Error::OutOfMemory { .. } => Self::Short(Held::harmless(error)),
            other => Self::Over(Held::harmless(other)),
        }
    }
}
