//! A worker's client of the lock manager: it requests locks for a transaction and turns the answers into steps of the
//! hooks.

use crate::contract::{Abort, Step, Why};
use crate::record_word;
use crate::wait::{Ended, Limits};
use chiliad_api::{Reason, TableId};
use chiliad_lock::{Answer, Locks, Mode, Name, Refused, Until};
use chiliad_machine::{Cost, Machine, Ordering, Shared as Boxed, Ticks, Word};
use chiliad_storage::RecordRef;
use core::marker::PhantomData;
use std::sync::Arc;

/// The client of one worker.
pub(super) struct LockClient<M: Machine, L: Locks<M>> {
    /// Taken when the worker's first transaction begins.
    locks: Option<L>,
    /// A transaction is in hand.
    active: bool,
    /// The table in which it locked last, and the intention that it has there.
    intended: Option<(TableId, Mode)>,
    /// How it went to lock a fresh record that the index has not taken yet.
    placing: Option<Result<Answer, Refused>>,
    /// Gaps into which it has inserted, and for whose locks it has not asked yet.
    gaps: Vec<Name>,
    machine: PhantomData<fn() -> M>,
}

impl<M: Machine, L: Locks<M>> LockClient<M, L> {
    pub fn new() -> Self {
        Self {
            locks: None,
            active: false,
            intended: None,
            placing: None,
            gaps: Vec::new(),
            machine: PhantomData,
        }
    }

    #[inline]
    fn locks(&mut self) -> &mut L {
        self.locks.as_mut().expect("a transaction has begun")
    }

    /// Why a transaction aborts whose lock, perhaps of a record, was denied.
    #[cold]
    fn abort(&self, refused: Refused, record: Option<RecordRef<M>>) -> Abort<M> {
        let why = match refused {
            Refused::Deadlock | Refused::UpgradeDeadlock => Why::Conflict(Reason::Deadlock),
            Refused::Timeout => Why::Conflict(Reason::LockTimeout),
            Refused::Cancelled => Why::Ended(Ended::Canceled),
            Refused::Exhausted => {
                Why::LocksExhausted { held: self.locks.as_ref().map_or(0, L::count) }
            }
        };
        Abort { why, record }
    }

    /// A transaction begins.
    #[inline]
    pub fn begin(&mut self, manager: &Arc<Boxed<M, L::Manager>>) -> Step<M, ()> {
        debug_assert!(!self.active, "the last transaction has released its locks");
        debug_assert!(self.placing.is_none(), "no insertion is under way");
        debug_assert!(self.gaps.is_empty(), "nor has it a gap to ask for");
        if self.locks.is_none() {
            self.locks = L::session(manager);
        }
        match &mut self.locks {
            Some(locks) => locks.begin(),
            None => return Step::Abort(Abort::out_of_memory()),
        }
        self.active = true;
        Step::Done(())
    }

    /// Asks for a lock of something in the table, and for the intentions before it.
    #[inline]
    fn ask(&mut self, table: TableId, part: Name, mode: Mode) -> Result<Answer, Refused> {
        debug_assert!(self.active, "a transaction is in hand");
        M::work(Cost::Lock, 1);
        let intention = if mode == Mode::S { Mode::Is } else { Mode::Ix };
        if !self.intended.is_some_and(|(last, had)| last == table && had.covers(intention)) {
            for name in [Name::DATABASE, Name::table(table.0)] {
                if self.locks().ask(name, intention)? == Answer::Waits {
                    return Ok(Answer::Waits);
                }
            }
            self.intended = Some((table, intention));
        }
        self.locks().ask(part, mode)
    }

    /// The record will be locked soon.
    #[inline]
    pub fn expect(&self, table: TableId, record: RecordRef<M>) {
        if let Some(locks) = &self.locks {
            locks.expect(Name::record(table.0, record.address()));
        }
    }

    /// Locks the record.
    #[inline]
    pub fn lock(&mut self, table: TableId, record: RecordRef<M>, mode: Mode) -> Step<M, ()> {
        match self.ask(table, Name::record(table.0, record.address()), mode) {
            Ok(Answer::Waits) => Step::Wait,
            Err(refused) => Step::Abort(self.abort(refused, Some(record))),
            // Relaxed: the lock has acquired it.
            Ok(Answer::Granted) => {
                match record.word().load(Ordering::Relaxed) & record_word::DEAD {
                    0 => Step::Done(()),
                    // It has left its index since the caller found it there.
                    _ => Step::Redo,
                }
            }
        }
    }

    /// Locks the gap of this number.
    #[inline]
    pub fn lock_gap(&mut self, table: TableId, gap: u64, mode: Mode) -> Step<M, ()> {
        match self.ask(table, Name::gap(table.0, gap), mode) {
            Ok(Answer::Waits) => Step::Wait,
            Err(refused) => Step::Abort(self.abort(refused, None)),
            Ok(Answer::Granted) => Step::Done(()),
        }
    }

    /// Whether it could share the gap of this number at once. It stands in line for nothing afterwards, unless it
    /// did before.
    pub fn try_gap(&mut self, table: TableId, gap: u64) -> bool {
        debug_assert!(self.active, "a transaction is in hand");
        let stands = matches!(self.placing, Some(Ok(Answer::Waits)));
        !stands && self.locks().try_lock(Name::gap(table.0, gap), Mode::S)
    }

    /// Waits for what it stands in line for, and then for one gap after the other into which it inserts: for each for
    /// `timeout` ticks at most.
    pub fn wait(&mut self, timeout: u64, limits: &Limits<M>) -> Result<(), Abort<M>> {
        debug_assert!(self.active, "a transaction is in hand");
        self.wait_for_one(timeout, limits)?;
        while self.enter_gaps()? == Answer::Waits {
            self.wait_for_one(timeout, limits)?;
        }
        Ok(())
    }

    /// Waits for the one lock that it stands in line for, until it has it.
    fn wait_for_one(&mut self, timeout: u64, limits: &Limits<M>) -> Result<(), Abort<M>> {
        let mut wait = limits.wait();
        wait.wakes_for_cancel();
        let end = M::now().saturating_add(timeout);
        let end = wait.end().map_or(end, |limit| limit.min(end));
        let until = Until {
            deadline: (end < Ticks::MAX).then_some(end),
            is_cancelled: &|| wait.is_canceled(),
        };
        let Err(refused) = self.locks().wait(until) else { return Ok(()) };
        wait.check()?;
        Err(match timeout {
            0 => Abort::new(Reason::LockDenied),
            _ => self.abort(refused, None),
        })
    }

    /// Locks a fresh record, which no index has taken yet: it may stand in line, and is not waited for.
    pub fn place(&mut self, table: TableId, record: RecordRef<M>) {
        debug_assert!(self.placing.is_none(), "one insertion at a time");
        self.placing = Some(self.ask(table, Name::record(table.0, record.address()), Mode::X));
    }

    /// The index has not taken it.
    pub fn cancel_insert(&mut self) {
        self.placing = None;
        self.locks().stop_waiting();
    }

    /// Evaluates the request for the lock of the record that an insertion has placed, if it has, into these gaps.
    pub fn placed(
        &mut self,
        table: TableId,
        record: Option<RecordRef<M>>,
        gaps: impl Iterator<Item = u64>,
    ) -> Step<M, ()> {
        debug_assert!(self.active, "a transaction is in hand");
        self.gaps.clear();
        self.gaps.extend(gaps.map(|gap| Name::gap(table.0, gap)));
        match (record, self.placing.take()) {
            (Some(_), Some(Ok(Answer::Waits))) => return Step::Wait,
            (Some(record), Some(Err(refused))) => {
                return Step::Abort(self.abort(refused, Some(record)));
            }
            _ => {}
        }
        match self.enter_gaps() {
            Ok(Answer::Granted) => Step::Done(()),
            Ok(Answer::Waits) => Step::Wait,
            Err(abort) => Step::Abort(abort),
        }
    }

    /// Asks for the locks of the gaps that are left, until it has to wait for one.
    fn enter_gaps(&mut self) -> Result<Answer, Abort<M>> {
        while let Some(gap) = self.gaps.pop() {
            let asked = self.locks().ask(gap, Mode::Ix);
            if asked.map_err(|refused| self.abort(refused, None))? == Answer::Waits {
                return Ok(Answer::Waits);
            }
        }
        Ok(Answer::Granted)
    }

    /// Whether it can lock a record of the garbage without waiting, perhaps in a section. The lock is released with
    /// the others.
    pub fn can_lock(&mut self, table: u32, record: RecordRef<M>) -> bool {
        let Some(locks) = &mut self.locks else { return false };
        locks.try_lock(Name::record(table, record.address()), Mode::X)
    }

    /// The transaction has committed.
    #[inline]
    pub fn committed(&mut self) {
        self.locks().renew();
    }

    /// The transaction has ended.
    #[inline]
    pub fn unlock_all(&mut self) {
        self.active = false;
        self.intended = None;
        self.gaps.clear();
        if let Some(locks) = &mut self.locks {
            M::work(Cost::Unlock, locks.count() as u32);
            locks.release_all();
        }
    }

    /// The records of the garbage that were locked by `can_lock` have been handled.
    pub fn unlock_collected(&mut self) {
        if !self.active {
            self.unlock_all();
        }
    }
}
