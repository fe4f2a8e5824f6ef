//! Parking, the clock, and how a run comes to its end.
//!
//! - Time is the number of events plus what the clock jumped while every core slept.
//! - When all cores sleep and none for a time, that is the verdict; so it is when only daemons have
//!   woken for very long.
//! - Ending: cores are told to stop ([`crate::stopping`]); from then on nobody sleeps: parks return,
//!   and the clock jumps to whatever time they wait for. Cores that do not return within
//!   [`GRACE_EVENTS`] are discarded.

use crate::hook;
use crate::outcome::{CorePanic, Verdict, Waiter};
use crate::state::{State, Worker};
use chiliad_machine::{Ticks, Woken, WorkerId};
use std::any::Any;
use std::ops::Range;

/// Events in which cores that are told to stop must return.
const GRACE_EVENTS: u64 = 100_000;

/// Jumps of the clock without any core but daemons running, after which nobody will wake the rest.
const VAIN_JUMPS_MAX: u64 = 20_000;

impl State {
    /// Sleeps until unparked or, if there is one, until the time has come.
    pub(crate) fn park(&self, until: Option<Ticks>) -> Woken {
        self.no_task("to park");
        if let Some(timed) = self.timed()
            && self.is_scheduled()
        {
            return self.timed_park(timed, until);
        }
        let running = self.running.get();
        // Going to sleep takes an atomic instruction natively.
        self.fence(true, false);
        if !self.is_scheduled() {
            return self.park_unscheduled(until);
        }
        if let Some(woken) = self.falls_asleep(until) {
            return woken;
        }
        if self.ending.get() {
            self.give_way(true);
            self.forward_clock(until);
            return Woken::ByTime;
        }
        let siblings = self.leave_round();
        if !siblings {
            self.scheduler.borrow_mut().sleep(self.core.get());
        }
        self.set_timer(until);
        if siblings {
            self.count_hand_over();
            self.switch_to(self.core.get());
        } else {
            let chosen = self.find_runnable();
            self.switch_to(chosen);
        }
        let woken = self.workers.borrow()[running as usize].woken;
        if woken == Woken::ByTime {
            self.forward_clock(until);
        }
        woken
    }

    /// Books that the running worker sleeps, unless it need not: why. Nobody sleeps in a run that ends.
    pub(crate) fn falls_asleep(&self, until: Option<Ticks>) -> Option<Woken> {
        let now = self.now();
        let worker = &mut self.workers.borrow_mut()[self.running.get() as usize];
        if std::mem::take(&mut worker.permit) {
            return Some(Woken::ByPeer);
        }
        if until.is_some_and(|until| until <= now) {
            return Some(Woken::ByTime);
        }
        if !self.ending.get() {
            worker.parked = true;
            worker.until = until;
            worker.since = self.event.get();
        }
        None
    }

    /// The running worker, which sleeps, is woken at a time, if there is one.
    pub(crate) fn set_timer(&self, until: Option<Ticks>) {
        if let Some(until) = until {
            self.timers.borrow_mut().insert((until, self.running.get()));
            self.timer_at.set(self.timer_at.get().min(until));
        }
    }

    /// Outside the schedule and while unwinding nobody waits.
    fn park_unscheduled(&self, until: Option<Ticks>) -> Woken {
        let permit = {
            let mut workers = self.workers.borrow_mut();
            std::mem::take(&mut workers[self.running.get() as usize].permit)
        };
        if permit {
            return Woken::ByPeer;
        }
        self.wait_in_vain();
        self.forward_clock(until);
        Woken::ByTime
    }

    pub(crate) fn forward_clock(&self, until: Option<Ticks>) {
        if self.timed().is_some() {
            self.time.set(self.time.get().max(until.unwrap_or(0)));
            return;
        }
        let ahead = until.unwrap_or(0).saturating_sub(self.now());
        self.skew.set(self.skew.get() + ahead);
    }

    /// Wakes a worker, or lets its next park return at once.
    pub(crate) fn unpark(&self, worker: WorkerId) {
        if let Some(timed) = self.timed() {
            self.timed_unpark(timed, worker);
            return;
        }
        // Waking somebody takes an atomic instruction natively.
        self.fence(true, false);
        let Some(core) = self.permit(worker) else { return };
        if core == self.core.get() {
            self.marks.borrow_mut().insert("sibling woken by a sibling");
        }
        self.wake(worker.0, Woken::ByPeer);
        if self.is_scheduled() {
            self.plan();
        }
    }

    /// The core of a worker that sleeps; one that does not will not when it next wants to.
    pub(crate) fn permit(&self, worker: WorkerId) -> Option<u32> {
        let mut workers = self.workers.borrow_mut();
        let sleeper = workers.get_mut(worker.0 as usize)?;
        sleeper.permit = !sleeper.parked;
        sleeper.parked.then_some(sleeper.core)
    }

    fn wake(&self, worker: u32, woken: Woken) {
        self.rise(worker, woken);
        self.admit(worker);
    }

    /// Books that a worker does not sleep any more.
    pub(crate) fn rise(&self, worker: u32, woken: Woken) {
        let until = {
            let sleeper = &mut self.workers.borrow_mut()[worker as usize];
            sleeper.parked = false;
            sleeper.woken = woken;
            sleeper.until.take()
        };
        if let Some(until) = until {
            let mut timers = self.timers.borrow_mut();
            timers.remove(&(until, worker));
            self.timer_at.set(timers.first().map_or(Ticks::MAX, |first| first.0));
        }
    }

    /// Wakes every worker whose time has come.
    pub(crate) fn wake_due(&self) {
        while self.timer_at.get() <= self.now() {
            let first = self.timers.borrow().first().copied();
            let Some((_, worker)) = first else { return };
            match Self::paused_by(worker) {
                Some(host) => self.go_on_with(host),
                None => self.wake(worker, Woken::ByTime),
            }
        }
    }

    /// Some core that can run, the clock jumping where all sleep.
    fn find_runnable(&self) -> u32 {
        loop {
            self.wake_due();
            let chosen = self.scheduler.borrow_mut().choose(self.event.get(), None);
            if let Some(chosen) = chosen {
                return chosen;
            }
            let timer = self.timer_at.get();
            if timer < Ticks::MAX && !self.jumps_in_vain() {
                self.forward_clock(Some(timer));
            } else {
                self.find_deadlock();
            }
        }
    }

    /// The clock is about to jump where everybody sleeps: whether it has too often.
    pub(crate) fn jumps_in_vain(&self) -> bool {
        self.vain_jumps.set(self.vain_jumps.get() + 1);
        self.vain_jumps.get() > VAIN_JUMPS_MAX
    }

    /// Nobody will wake those that wait.
    pub(crate) fn find_deadlock(&self) {
        let waiting = self.waiting();
        self.conclude(Verdict::Deadlock { waiting });
    }

    /// The workers that have not ended, without daemons.
    fn waiting(&self) -> Vec<Waiter> {
        let workers = self.workers.borrow();
        let waiter = |(number, worker): (usize, &Worker)| Waiter {
            worker: WorkerId(u32::try_from(number).unwrap_or(u32::MAX)),
            name: worker.name.clone(),
            parked: worker.parked,
            until: worker.until,
            since: worker.since,
        };
        let waits = |worker: &Worker| !worker.ended && !worker.daemon;
        workers.iter().enumerate().skip(1).filter(|(_, it)| waits(it)).map(waiter).collect()
    }

    /// The limit of events is reached: first of the run, then of its orderly end.
    pub(crate) fn exhaust(&self) {
        if self.ending.get() {
            self.halt();
        }
        let running = self.running.get();
        self.workers.borrow_mut()[running as usize].since = self.event.get();
        let waiting = self.waiting();
        self.conclude(Verdict::EventLimit { waiting });
    }

    /// Notes the verdict, unless there is an earlier one.
    pub(crate) fn note(&self, verdict: Verdict) {
        let earlier = self.panics.borrow().first().cloned().map(Verdict::CorePanicked);
        self.verdict.borrow_mut().get_or_insert(earlier.unwrap_or(verdict));
    }

    /// Notes the verdict and tells all cores to stop.
    fn conclude(&self, verdict: Verdict) {
        self.note(verdict);
        self.end();
    }

    pub(crate) fn end(&self) {
        self.ending.set(true);
        self.limit.set(self.event.get() + GRACE_EVENTS);
        self.go_on_with_all();
        for worker in self.numbers() {
            let parked = self.workers.borrow()[worker as usize].parked;
            if parked {
                self.wake(worker, Woken::ByTime);
            }
        }
        self.rouse_all();
    }

    /// All workers but the host's own stack.
    pub(crate) fn numbers(&self) -> Range<u32> {
        1..u32::try_from(self.workers.borrow().len()).unwrap_or(u32::MAX)
    }

    /// Lets all cores run and chooses the first.
    pub(crate) fn start(&self) {
        for worker in self.numbers() {
            self.admit(worker);
        }
        if self.live_workers.get() == 0 {
            self.end();
        }
        let first = self.find_next();
        self.take_over(first);
    }

    /// The running worker's closure has returned or panicked: books that and chooses which goes on. What
    /// it holds back in its store buffer becomes visible later, like any other store.
    pub(crate) fn end_core(&self, result: Result<(), Box<dyn Any + Send>>) {
        let running = self.running.get();
        let returned = result.is_ok();
        if let Err(payload) = result {
            let message = hook::describe(self, &*payload);
            if !self.ending.get() {
                self.panics.borrow_mut().push(CorePanic {
                    worker: WorkerId(running),
                    name: self.workers.borrow()[running as usize].name.clone(),
                    message,
                    event: self.event.get(),
                });
            }
        }
        let daemon = {
            let worker = &mut self.workers.borrow_mut()[running as usize];
            worker.ended = true;
            worker.daemon
        };
        let broken = returned && self.returned_in_section();
        let siblings = self.leave_round();
        match self.timed() {
            Some(timed) if siblings => {
                timed.borrow_mut().resume_at(self.time.get(), self.core.get());
            }
            Some(timed) => self.pass_core(timed),
            None => {}
        }
        self.live.set(self.live.get() - 1);
        if !daemon {
            self.live_workers.set(self.live_workers.get() - 1);
            if self.live_workers.get() == 0 && !self.ending.get() {
                self.end();
            }
        }
        if broken || self.touched_what_it_must_not() {
            self.halted.set(true);
        } else if self.live.get() > 0 {
            let chosen = self.find_next();
            self.take_over(chosen);
        }
    }

    fn touched_what_it_must_not(&self) -> bool {
        let verdict = self.verdict.borrow();
        matches!(*verdict, Some(Verdict::UseOfFreedMemory(_) | Verdict::ForeignMemory(_)))
    }

    /// The core that runs when the running one, if there is one, has ended.
    fn find_next(&self) -> u32 {
        if self.timed().is_some() { self.next_core() } else { self.find_runnable() }
    }

    /// Whether the running core is told to stop.
    pub(crate) fn stopping(&self) -> bool {
        if self.ending.get() {
            return true;
        }
        self.config.stop_after.is_some_and(|stop| self.event.get() >= stop)
            && !self.workers.borrow()[self.running.get() as usize].daemon
    }
}
