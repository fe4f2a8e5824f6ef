//! The policies under which a transaction waits for a lock, and the waiting itself.

use super::deadlock::{self, Look};
use super::queue::{self, Rules, Verdict};
use super::waiter::{Request, RequestId, Waiter, Waiters};
use super::word::Mode;
use super::{Locking, NO_WAIT, WAIT_DIE, faults};
use crate::contract::{Abort, Context, Why};
use crate::wait::{Ended, Limits, Wait};
use chiliad_api::{Intent, Part, Reason};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::RecordRef;

/// Looks at a request before its worker sleeps: about as long as a short transaction takes.
const LOOKS_MAX: u32 = 128;

/// The lock that a request waits for.
#[derive(Clone, Copy)]
pub(super) struct Pending<M: Machine> {
    pub record: RecordRef<M>,
    pub id: RequestId,
    pub mode: Mode,
}

/// Wait-die (2.1.3): a transaction waits if it is older than all in its way. Waiters stand from young to old, so that
/// they wait for younger ones only, and never in a circle.
pub(super) struct OldWait;

impl<M: Machine> Rules<M> for OldWait {
    fn judge(&mut self, waiters: &Waiters<M>, own: &Request<M>, ahead: &[RequestId]) -> Verdict {
        let born = |request: &Request<M>| request.timestamp.load(Ordering::Relaxed);
        let oldest = ahead.iter().all(|&id| born(own) < born(waiters.request(id)));
        if oldest || M::fault(&faults::YOUNGER_WAITS) { Verdict::Wait } else { Verdict::Abort }
    }

    fn goes_before(&self, own: &Request<M>, waiter: &Request<M>) -> bool {
        own.timestamp.load(Ordering::Relaxed) < waiter.timestamp.load(Ordering::Relaxed)
    }
}

/// Deadlock detection (2.1.1): every transaction waits, first come first served, and publishes its edges.
pub(super) struct Detect<'a, M: Machine> {
    pub waiter: &'a Waiter<M>,
    /// Locks held.
    pub work: u64,
    /// Whether there is time to wait at all.
    pub waits: bool,
}

impl<M: Machine> Rules<M> for Detect<'_, M> {
    fn judge(&mut self, waiters: &Waiters<M>, _own: &Request<M>, ahead: &[RequestId]) -> Verdict {
        if !self.waits {
            return Verdict::Abort;
        }
        deadlock::show(waiters, self.waiter, ahead, self.work);
        Verdict::Wait
    }

    fn goes_before(&self, _own: &Request<M>, _waiter: &Request<M>) -> bool {
        true
    }
}

/// Rules under which nobody waits for a transaction that it runs inside.
pub(super) struct Within<'a, M: Machine, R> {
    pub limits: &'a Limits<M>,
    pub rules: R,
    /// Such a one was in the way.
    pub met_outer: bool,
}

impl<M: Machine, R: Rules<M>> Rules<M> for Within<'_, M, R> {
    fn judge(&mut self, waiters: &Waiters<M>, own: &Request<M>, ahead: &[RequestId]) -> Verdict {
        self.met_outer = ahead.iter().any(|id| self.limits.check_holder(id.slot()).is_err());
        if self.met_outer { Verdict::Abort } else { self.rules.judge(waiters, own, ahead) }
    }

    fn goes_before(&self, own: &Request<M>, waiter: &Request<M>) -> bool {
        self.rules.goes_before(own, waiter)
    }
}

impl<M: Machine, const POLICY: u8> Locking<M, POLICY> {
    /// Waits until the pending request is granted, or is not to be.
    pub(super) fn wait_for_lock(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Abort<M>> {
        let Some(Pending { record, id, mode }) = self.pending else { return Ok(()) };
        let (waiters, slot) = (cx.shared.waiters(), cx.heap.slot_number());
        let request = waiters.request(id);
        let waited = match POLICY {
            WAIT_DIE => wait_until_granted(cx.limits, request).map_err(Why::Ended),
            _ => self.wait_or_detect(cx.shared, slot, request, cx.limits),
        };
        if let Err(why) = waited {
            self.stop_waiting(cx);
            return Err(Abort { why, record: Some(record) });
        }
        deadlock::hide(waiters.get(slot));
        self.pending = None;
        self.granted(record, mode, id);
        Ok(())
    }

    /// Takes back what the transaction waits for, if it does.
    pub(super) fn stop_waiting(&mut self, cx: &mut Context<'_, M, Self>) {
        let Some(Pending { record, id, mode }) = self.pending.take() else { return };
        M::mark("wait cancelled");
        let waiters = cx.shared.waiters();
        deadlock::hide(waiters.get(cx.heap.slot_number()));
        if !queue::cancel(waiters, record.further(0), id) {
            // It has come in the last moment, and is released with the others.
            self.granted(record, mode, id);
        }
    }

    /// Shows that a transaction begins.
    pub(super) fn announce_begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) {
        debug_assert!(self.pending.is_none(), "the last transaction waits for nothing");
        let slot = cx.heap.slot_number();
        let waiters = cx.shared.waiters();
        if self.transaction == 0 {
            waiters.make(slot);
        }
        let waiter = waiters.get(slot);
        self.transaction = (self.transaction + 1) & deadlock::TRANSACTION_MASK;
        if POLICY == WAIT_DIE && intent.retries == 0 {
            let part = cx.clockwork.switch(Part::Timestamp);
            self.timestamp = self.clock.draw(&cx.shared.timestamps, cx.heap);
            cx.clockwork.switch(part);
        }
        if M::fault(&faults::BELL_OF_BEGIN) {
            waiter.thread.store(u64::from(M::worker().0), Ordering::Relaxed);
        }
        // Release pairs with the acquires in `Node::is_active` and `deadlock::show`: a search that takes it for
        // active reads what it has published before.
        waiter.transaction.store(self.transaction, Ordering::Release);
    }

    /// Shows that it has ended.
    pub(super) fn announce_end(&self, cx: &mut Context<'_, M, Self>) {
        debug_assert!(self.pending.is_none(), "whoever ends waits for nothing");
        if POLICY != NO_WAIT {
            // Release pairs with the acquires in `Node::is_active` and `deadlock::show`.
            cx.shared.waiters().get(cx.heap.slot_number()).transaction.store(0, Ordering::Release);
        }
    }

    /// Waits, and looks for deadlocks from time to time.
    fn wait_or_detect(
        &mut self,
        shared: &super::Shared<M>,
        slot: u32,
        request: &Request<M>,
        limits: &Limits<M>,
    ) -> Result<(), Why> {
        let waiter = shared.waiters().get(slot);
        let begun = M::now();
        let (mut wait, mut looks) = (limits.wait(), 0);
        let mut next_look = begun.saturating_add(shared.deadlock_check);
        let end = begun.saturating_add(shared.wait_timeout);
        while !queue::is_granted(request) {
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
                if self.search.run(shared.waiters(), slot) == Look::Abort {
                    M::mark("deadlock found");
                    return Err(Why::Conflict(Reason::Deadlock));
                }
                next_look = M::now().saturating_add(shared.deadlock_check.max(1));
            }
            let until = next_look.min(end);
            sleep(&mut wait, &mut looks, (until < u64::MAX).then_some(until))
                .map_err(Why::Ended)?;
        }
        Ok(())
    }
}

/// Waits a moment: awake at first, then asleep until it is woken, or until a time.
fn sleep<M: Machine>(
    wait: &mut Wait<'_, M>,
    looks: &mut u32,
    until: Option<u64>,
) -> Result<(), Ended> {
    if *looks < LOOKS_MAX {
        *looks += 1;
        return wait.awake();
    }
    wait.asleep(until)
}

fn wait_until_granted<M: Machine>(limits: &Limits<M>, request: &Request<M>) -> Result<(), Ended> {
    let (mut wait, mut looks) = (limits.wait(), 0);
    while !queue::is_granted(request) {
        sleep(&mut wait, &mut looks, None)?;
    }
    Ok(())
}
