//! How a transaction waits, under every scheme: for what it waits for, and not beyond its deadline, nor for longer than
//! one wait may last, nor once it is told from outside to give up, nor for a transaction that cannot end before it.
//!
//! Schemes have no other way to wait for transactions (`tidy` sees to that): a hook answers `Wait`, and
//! [`crate::Scheme::wait`] asks the [`Limits`] of the transaction for a [`Wait`], whose steps say when it is over. Nothing
//! of this is looked at by a transaction that does not wait.
//!
//! A transaction that runs *inside* another one, in its closure, ends before that one can. What the outer one
//! holds it never gets: where the scheme knows who holds it, the inner one is refused at once. Where it does not,
//! or where the circle leads through other threads, [`NESTED_PATIENCE`] ends the wait.
//!
//! The limit of one wait ([`Intent::wait_limit`]) holds for the whole wait for one lock, and begins anew with the next lock.
//! Most schemes have one [`Wait`] for each: two-phase locking and the lock tables stand in a line until the lock is theirs,
//! also where they sleep several times on the way; `partitioned` and `h-store` get their partitions one by one. Under
//! timestamp ordering nobody stands in a line. A transaction waits for the one that has claimed the row, looks again, and
//! may find the row claimed by the next: its wait comes in pieces, of which [`Limits::wait_for_row`] keeps the sum.

mod faults;

pub(crate) use self::faults::FAULTS;
use chiliad_api::{Cancel, Error, Intent, Nested, Outer, Sleeper};
use chiliad_machine::{Machine, Patience, Ticks};
use core::cell::Cell;

/// Waits of one transaction inside another end after this part of a second.
pub const NESTED_PATIENCE: u64 = 10;

/// Why a wait has ended without what it was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The deadline has come.
    Deadline,
    /// It has lasted as long as one wait may.
    Limit,
    /// It was told from outside to give up.
    Canceled,
    /// It could only end after the transaction that waits.
    Outer,
    /// It has lasted for long, inside another transaction.
    HeldUp,
}

impl From<Ended> for Error {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Deadline => Self::DeadlineExceeded,
            Ended::Limit => Self::WaitLimitExceeded,
            Ended::Canceled => Self::Canceled,
            Ended::Outer => Self::Nested(Nested::WaitsForOuter),
            Ended::HeldUp => Self::Nested(Nested::HeldUp),
        }
    }
}

/// The limits of the waits of a worker's transaction, besides what they wait for.
pub struct Limits<M: Machine> {
    deadline: Option<Ticks>,
    /// How long one wait may last.
    wait_limit: Option<Ticks>,
    cancel: Option<Cancel<M>>,
    /// The transactions that it runs inside.
    outer: Vec<Outer>,
    /// See [`Limits::call`].
    name: Cell<u64>,
    /// The last wait that came in pieces.
    pieces: Cell<Option<Pieces>>,
}

/// A wait of one transaction for one row, which comes in pieces.
#[derive(Clone, Copy)]
struct Pieces {
    row: u64,
    transaction: u64,
    /// How long it may go on, after the pieces that are over.
    left: Ticks,
}

impl<M: Machine> Limits<M> {
    pub(crate) fn new() -> Self {
        Self {
            deadline: None,
            wait_limit: None,
            cancel: None,
            outer: Vec::new(),
            name: Cell::new(0),
            pieces: Cell::new(None),
        }
    }

    /// A transaction begins.
    #[inline]
    pub(crate) fn begin(&mut self, intent: &Intent<'_>) {
        self.deadline = intent.deadline;
        self.wait_limit = intent.wait_limit;
        if !(self.outer.is_empty() && intent.outer.is_empty()) {
            self.outer.clear();
            self.outer.extend(intent.outer);
        }
    }

    /// Sets when waits end, and how long each may last; `None`: they do not, and for ever. What a row was waited for under
    /// the limits before does not count.
    #[inline]
    pub(crate) fn set(&mut self, deadline: Option<Ticks>, wait_limit: Option<Ticks>) {
        self.deadline = deadline;
        self.wait_limit = wait_limit;
        self.pieces.set(None);
    }

    /// Sets the handle that cancels transactions, from the next one on; `None`: no handle does.
    #[inline]
    pub(crate) fn cancel_by(&mut self, cancel: Option<&Cancel<M>>) {
        if self.cancel.as_ref() != cancel {
            self.cancel = cancel.cloned();
        }
    }

    fn deadline(&self) -> Ticks {
        if M::fault(&faults::PAST_DEADLINE) {
            Ticks::MAX
        } else {
            self.deadline.unwrap_or(Ticks::MAX)
        }
    }

    fn wait_limit(&self) -> Option<Ticks> {
        self.wait_limit.filter(|_| !M::fault(&faults::PAST_LIMIT))
    }

    fn is_canceled(&self) -> bool {
        let told = self.cancel.as_ref().is_some_and(Cancel::is_canceled);
        told && !M::fault(&faults::PAST_CANCEL)
    }

    /// Whether anything limits the transaction's waits: somebody counts on them then.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.deadline.is_some() || self.wait_limit.is_some() || self.cancel.is_some()
    }

    /// Whether the transaction runs inside another one.
    pub fn is_nested(&self) -> bool {
        !self.outer.is_empty()
    }

    /// The scheme knows the transaction in hand by this name, and not by its worker's slot: for those that run
    /// inside it.
    #[inline]
    pub fn call(&self, name: u64) {
        debug_assert!(name != 0, "zero is nobody's name");
        self.name.set(name);
    }

    /// The name of the transaction in hand, or zero.
    #[inline]
    pub fn name(&self) -> u64 {
        self.name.get()
    }

    /// Refuses to wait for the worker in `slot` where that waits for this one.
    pub fn check_holder(&self, slot: u32) -> Result<(), Ended> {
        self.check_outer(|outer| outer.slot() == slot)
    }

    /// As `check_holder`, for all workers whose slots `holds` accepts.
    pub fn check_holders(&self, holds: impl Fn(u32) -> bool) -> Result<(), Ended> {
        self.check_outer(|outer| holds(outer.slot()))
    }

    /// As `check_holder`, for the transaction that the scheme calls by this name.
    pub fn check_named(&self, name: u64) -> Result<(), Ended> {
        self.check_outer(|outer| outer.name() == name)
    }

    fn check_outer(&self, is: impl Fn(&Outer) -> bool) -> Result<(), Ended> {
        match self.outer.iter().any(is) && !M::fault(&faults::FOR_OUTER) {
            true => Err(Ended::Outer),
            false => Ok(()),
        }
    }

    /// The wait for one lock begins: one `Wait` until it is granted. The caller has nothing latched or pinned.
    pub fn wait(&self) -> Wait<'_, M> {
        self.wait_at_most(self.wait_limit())
    }

    /// A piece begins of the wait of this transaction (any number that is its own) for the row at this address, until the
    /// holder has ended that stands in the way now. It goes on where the last piece has ended, if that was one of the
    /// same wait. The caller calls [`Wait::end_piece`], and looks at the row again. It has nothing latched or pinned.
    pub fn wait_for_row(&self, row: u64, transaction: u64) -> Wait<'_, M> {
        debug_assert!(transaction != 0, "zero is nobody's number");
        let left = self.wait_limit().map(|limit| {
            let is_same = |it: &Pieces| it.row == row && it.transaction == transaction;
            let last = self.pieces.get().filter(is_same).filter(|_| !M::fault(&faults::BEGUN_ANEW));
            let left = last.map_or(limit, |it| it.left);
            self.pieces.set(Some(Pieces { row, transaction, left }));
            left
        });
        self.wait_at_most(left)
    }

    fn wait_at_most(&self, left: Option<Ticks>) -> Wait<'_, M> {
        // The clock is looked at only where there is a limit.
        let limit = left.map_or(Ticks::MAX, |left| M::now().saturating_add(left));
        let held_up = match self.is_nested() && !M::fault(&faults::FOR_OUTER) {
            true => M::now().saturating_add(M::ticks_per_second() / NESTED_PATIENCE),
            false => Ticks::MAX,
        };
        Wait { limit, held_up, ..self.wait_for_time() }
    }

    /// A wait begins for what comes with time, whatever transactions do: the one that this one runs inside
    /// cannot hold it up, and it is no wait for a lock, which alone has a limit of its own.
    pub fn wait_for_time(&self) -> Wait<'_, M> {
        let (limit, held_up) = (Ticks::MAX, Ticks::MAX);
        Wait { limits: self, limit, held_up, patience: Patience::new(), sleeper: None }
    }
}

/// One wait.
pub struct Wait<'a, M: Machine> {
    limits: &'a Limits<M>,
    /// When it has lasted as long as one wait may.
    limit: Ticks,
    /// When it has lasted for too long inside another transaction.
    held_up: Ticks,
    patience: Patience<M>,
    sleeper: Option<Sleeper<'a, M>>,
}

impl<M: Machine> Wait<'_, M> {
    /// When it is over at the latest, if there is an end.
    pub fn end(&self) -> Option<Ticks> {
        let (end, _) = self.first_end();
        (end < Ticks::MAX).then_some(end)
    }

    /// What ends it first, and when.
    fn first_end(&self) -> (Ticks, Ended) {
        let deadline = (self.limits.deadline(), Ended::Deadline);
        let others = [(self.limit, Ended::Limit), (self.held_up, Ended::HeldUp)];
        others.into_iter().fold(deadline, |first, other| match other.0 < first.0 {
            true => other,
            false => first,
        })
    }

    /// The holder has ended that stood in the way: see [`Limits::wait_for_row`].
    pub fn end_piece(self) {
        if let Some(pieces) = self.limits.pieces.get().filter(|_| self.limit < Ticks::MAX) {
            let left = self.limit.saturating_sub(M::now());
            self.limits.pieces.set(Some(Pieces { left, ..pieces }));
        }
    }

    /// Whether it may go on.
    #[inline]
    pub fn check(&self) -> Result<(), Ended> {
        if self.is_canceled() {
            return Err(Ended::Canceled);
        }
        match self.first_end() {
            (Ticks::MAX, _) => Ok(()),
            (end, ended) if M::now() >= end => Err(ended),
            _ => Ok(()),
        }
    }

    /// From here on the caller is woken when the transaction is told to give up.
    pub fn wakes_for_cancel(&mut self) {
        if let (Some(cancel), None) = (&self.limits.cancel, &self.sleeper) {
            self.sleeper = Some(cancel.wakes_caller());
        }
    }

    /// Whether the transaction was told to give up.
    pub fn is_canceled(&self) -> bool {
        self.limits.is_canceled()
    }

    /// Waits a moment, awake: siblings may run.
    #[inline]
    pub fn awake(&mut self) -> Result<(), Ended> {
        self.check()?;
        self.patience.wait();
        Ok(())
    }

    /// Sleeps until it is woken, `until` a time if there is one, or until it is over. May wake without reason.
    pub fn asleep(&mut self, until: Option<Ticks>) -> Result<(), Ended> {
        // Shown before it is asked for the last time.
        self.wakes_for_cancel();
        debug_assert!(self.sleeper.is_some() == self.limits.cancel.is_some(), "a cancel wakes it");
        self.check()?;
        match [until, self.end()].into_iter().flatten().min() {
            Some(time) => _ = M::park_until(time),
            None => M::park(),
        }
        Ok(())
    }
}
