//! The policies under which a transaction waits for a lock, and the waiting itself.

use super::deadlock::{self, Look};
use super::queue::{Answer, Locked};
use super::row_lock::{self, Claim};
use super::waiter::{self, Waiter};
use super::word::Mode;
use super::{Locking, NO_WAIT, WAIT_DIE, faults};
use crate::contract::{Abort, Context, Why};
use crate::wait::{Ended, Limits, Wait};
use chiliad_api::{Intent, Part, Reason};
use chiliad_machine::{Machine, Ordering, Ticks, Word};
use chiliad_storage::RecordRef;

/// Looks at a lock that is waited for before the worker sleeps: about as long as a short transaction takes.
const LOOKS_MAX: u32 = 128;

/// How often in a row a transaction is refused by readers before it keeps further ones off.
const RETRIES_PATIENT: u32 = 4;

/// Where threads share cores, no wait is begun under `wait-die` that is likely to last longer than this part of a second.
const LONG_WAITS_PER_SECOND: u64 = 5000;

/// Between two looks for a deadlock the time doubles, up to so many times what it is before the first.
const LOOKS_APART_MAX: u64 = 16;

/// The lock that a transaction waits for.
#[derive(Clone, Copy)]
pub(super) struct Pending<M: Machine> {
    pub record: RecordRef<M>,
    pub mode: Mode,
    /// Others waited for it before.
    behind: bool,
}

impl<M: Machine, const POLICY: u8> Locking<M, POLICY> {
    /// The claim of the worker's transaction, which has this timestamp.
    #[inline]
    pub(super) fn claim(cx: &Context<'_, M, Self>, timestamp: u64, mode: Mode) -> Claim {
        Claim { slot: cx.heap.slot_number(), mode, age: cx.shared.queues().age(timestamp) }
    }

    /// Asks for a lock, or for the right to write under one that is held for reading. An error: it is not asked for any more.
    pub(super) fn ask(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
        mode: Mode,
        upgrades: bool,
    ) -> Result<Answer, Why> {
        debug_assert!(self.pending.is_none(), "it waits for one lock at a time");
        let shared = cx.shared;
        let claim = Self::claim(cx, self.timestamp, mode);
        let word = record.further(0);
        let taken = match upgrades {
            true => row_lock::try_upgrade::<M>(word, claim),
            false => row_lock::try_lock::<M>(word, claim),
        };
        let Err(found) = taken else { return Ok(Answer::Granted) };
        let lock = Locked { word, address: record.address() };
        let holds =
            |slot| shared.queues().waiters.find(slot).is_some_and(|it| it.holds(lock.address));
        cx.limits.check_holders(holds).map_err(Why::Ended)?;
        let may_wait = self.may_wait(shared, cx.limits, claim, word, found, upgrades);
        may_wait.map_err(Why::Conflict)?;
        let queues = shared.queues();
        let waiter = queues.waiters.get(claim.slot);
        waiter.timestamp.store(self.timestamp, Ordering::Relaxed);
        let answer =
            if upgrades { queues.upgrade(&lock, claim) } else { queues.lock(&lock, claim) };
        if answer == Answer::Waiting {
            self.pending = Some(Pending { record, mode, behind: row_lock::is_queued(found) });
        }
        Ok(answer)
    }

    /// Whether the policy lets a transaction wait for a lock that it has found like this, and the wait is worth beginning.
    #[inline]
    fn may_wait(
        &mut self,
        shared: &super::Shared<M>,
        limits: &Limits<M>,
        claim: Claim,
        word: &M::Word,
        found: u64,
        upgrades: bool,
    ) -> Result<(), Reason> {
        if POLICY != WAIT_DIE {
            let limit = shared.wait_timeout;
            let may = limit > 0 && self.outlook.allows(row_lock::is_queued(found), limit);
            return may.then_some(()).ok_or(Self::DENIED);
        }
        let waits = match upgrades {
            true => claim.is_the_oldest_of(found),
            false => claim.is_oldest(found),
        };
        if !waits && self.retries >= RETRIES_PATIENT && claim.mode == Mode::Owned {
            row_lock::close::<M>(word, found);
        }
        // A drawn schedule has no time by which a wait would be long.
        if waits && M::shares_cores() && !M::explores() && !limits.is_limited() {
            let limit = M::ticks_per_second() / LONG_WAITS_PER_SECOND;
            let may = self.outlook.allows(row_lock::is_queued(found), limit);
            // Nobody older is in its way.
            return may.then_some(()).ok_or(Reason::LockDenied);
        }
        (waits || M::fault(&faults::YOUNGER_WAITS)).then_some(()).ok_or(Self::DENIED)
    }

    /// Waits until the pending lock is granted, or is not to be.
    pub(super) fn wait_for_lock(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Abort<M>> {
        let Some(Pending { record, mode, behind }) = self.pending else { return Ok(()) };
        let slot = cx.heap.slot_number();
        let waiter = cx.shared.queues().waiters.get(slot);
        let waited = match POLICY {
            WAIT_DIE => {
                // Elsewhere nobody asks how long it was, and a simulated core pays for a look at the clock.
                let begun = M::shares_cores().then(M::now);
                let waited = wait_until_granted(cx.limits, waiter);
                if let Some(begun) = begun {
                    self.outlook.ended(behind, M::now().saturating_sub(begun));
                }
                waited.map_err(Why::Ended)
            }
            _ => self.wait_in_time(cx.shared, slot, waiter, cx.limits, behind),
        };
        if let Err(why) = waited {
            self.stop_waiting(cx);
            return Err(Abort { why, record: Some(record) });
        }
        waiter.state.store(waiter::IDLE, Ordering::Relaxed);
        self.pending = None;
        self.granted(cx.shared, slot, record, mode);
        Ok(())
    }

    /// Takes back what the transaction waits for, if it does.
    pub(super) fn stop_waiting(&mut self, cx: &mut Context<'_, M, Self>) {
        let Some(Pending { record, mode, .. }) = self.pending.take() else { return };
        M::mark("wait cancelled");
        let (queues, slot) = (cx.shared.queues(), cx.heap.slot_number());
        let lock = Locked { word: record.further(0), address: record.address() };
        if !queues.cancel(&lock, slot) {
            // It has come in the last moment, and is released with the others.
            queues.waiters.get(slot).state.store(waiter::IDLE, Ordering::Relaxed);
            self.granted(cx.shared, slot, record, mode);
        }
    }

    /// Shows that a transaction begins.
    pub(super) fn announce_begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) {
        debug_assert!(self.pending.is_none(), "the last transaction waits for nothing");
        let slot = cx.heap.slot_number();
        let waiters = &cx.shared.queues().waiters;
        if self.transaction == 0 {
            waiters.make(slot);
        }
        let waiter = waiters.get(slot);
        self.transaction = (self.transaction + 1) & deadlock::TRANSACTION_MASK;
        self.retries = intent.retries;
        if POLICY == WAIT_DIE && intent.retries == 0 {
            let part = cx.clockwork.switch(Part::Timestamp);
            self.timestamp = self.clock.draw(&cx.shared.timestamps, cx.heap);
            cx.clockwork.switch(part);
        }
        waiter.held_count.store(0, Ordering::Relaxed);
        if M::fault(&faults::BELL_OF_BEGIN) {
            waiter.thread.store(u64::from(M::worker().0), Ordering::Relaxed);
        }
        // Release pairs with the acquires in `Node::of`: a search that takes it for
        // active reads what it has published before.
        waiter.transaction.store(self.transaction, Ordering::Release);
    }

    /// Shows that it has ended.
    pub(super) fn announce_end(&self, cx: &mut Context<'_, M, Self>) {
        debug_assert!(self.pending.is_none(), "whoever ends waits for nothing");
        if POLICY != NO_WAIT {
            // Release pairs with the acquires in `Node::of`.
            let waiter = cx.shared.queues().waiters.get(cx.heap.slot_number());
            waiter.transaction.store(0, Ordering::Release);
        }
    }

    /// Waits for a limited time, `behind` others or not, and notes what came of it.
    fn wait_in_time(
        &mut self,
        shared: &super::Shared<M>,
        slot: u32,
        waiter: &Waiter<M>,
        limits: &Limits<M>,
        behind: bool,
    ) -> Result<(), Why> {
        let begun = M::now();
        let waited = self.wait_or_detect(shared, slot, waiter, limits, begun);
        match waited {
            Err(Why::Conflict(Reason::LockTimeout)) => {
                self.outlook.cut_off(behind, shared.wait_timeout);
            }
            Ok(()) | Err(Why::Conflict(_)) => {
                self.outlook.ended(behind, M::now().saturating_sub(begun));
            }
            Err(_) => {}
        }
        waited
    }

    /// Waits, and looks for deadlocks from time to time.
    fn wait_or_detect(
        &mut self,
        shared: &super::Shared<M>,
        slot: u32,
        waiter: &Waiter<M>,
        limits: &Limits<M>,
        begun: Ticks,
    ) -> Result<(), Why> {
        let (mut wait, mut looks) = (limits.wait(), 0);
        let mut apart = shared.deadlock_check;
        let mut next_look = begun.saturating_add(apart);
        let end = begun.saturating_add(shared.wait_timeout);
        while !waiter::is_granted(waiter) {
            // Acquire pairs with the release in `Search::sacrifice`.
            let victim = waiter.victim.load(Ordering::Acquire);
            if victim != 0 && victim == waiter.transaction.load(Ordering::Relaxed) {
                return Err(Why::Conflict(Reason::Deadlock));
            }
            let now = M::now();
            if now >= end {
                return Err(Why::Conflict(Reason::LockTimeout));
            }
            if now >= next_look {
                if self.search.run(&shared.queues().waiters, slot) == Look::Abort {
                    M::mark("deadlock found");
                    return Err(Why::Conflict(Reason::Deadlock));
                }
                apart = (apart * 2).clamp(1, shared.deadlock_check.saturating_mul(LOOKS_APART_MAX));
                next_look = M::now().saturating_add(apart);
            }
            let until = next_look.min(end);
            sleep(&mut wait, &mut looks, (until < u64::MAX).then_some(until))
                .map_err(Why::Ended)?;
        }
        Ok(())
    }
}

/// Waits a moment: awake at first, unless a sibling can run meanwhile, then asleep until it is woken, or until a time.
fn sleep<M: Machine>(
    wait: &mut Wait<'_, M>,
    looks: &mut u32,
    until: Option<u64>,
) -> Result<(), Ended> {
    if *looks < LOOKS_MAX && !M::sleep_is_cheap() {
        *looks += 1;
        return wait.awake();
    }
    wait.asleep(until)
}

fn wait_until_granted<M: Machine>(limits: &Limits<M>, waiter: &Waiter<M>) -> Result<(), Ended> {
    let (mut wait, mut looks) = (limits.wait(), 0);
    while !waiter::is_granted(waiter) {
        sleep(&mut wait, &mut looks, None)?;
    }
    Ok(())
}
