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
use crate::state::State;
use chiliad_machine::{Ticks, Woken, WorkerId};
use std::any::Any;

/// Events in which cores that are told to stop must return.
const GRACE_EVENTS: u64 = 100_000;

/// Jumps of the clock without any core but daemons running, after which nobody will wake the rest.
const VAIN_JUMPS_MAX: u64 = 1_000;

impl State {
    /// Sleeps until unparked or, if there is one, until the time has come.
    pub(crate) fn park(&self, until: Option<Ticks>) -> Woken {
        let running = self.running.get();
        // Going to sleep takes an atomic instruction natively.
        self.fence(true, false);
        if running == 0 || std::thread::panicking() {
            return self.park_unscheduled(until);
        }
        let now = self.now();
        {
            let core = &mut self.cores.borrow_mut()[running as usize];
            if std::mem::take(&mut core.permit) {
                return Woken::ByPeer;
            }
            if until.is_some_and(|until| until <= now) {
                return Woken::ByTime;
            }
            if !self.ending.get() {
                core.parked = true;
                core.until = until;
                core.since = self.event.get();
            }
        }
        if self.ending.get() {
            self.pause();
            self.forward_clock(until);
            return Woken::ByTime;
        }
        {
            let mut scheduler = self.scheduler.borrow_mut();
            scheduler.remove(running);
            scheduler.sleep(running);
        }
        if let Some(until) = until {
            self.timers.borrow_mut().insert((until, running));
            self.timer_at.set(self.timer_at.get().min(until));
        }
        let chosen = self.find_runnable();
        self.switch_to(chosen);
        let woken = self.cores.borrow()[running as usize].woken;
        if woken == Woken::ByTime {
            self.forward_clock(until);
        }
        woken
    }

    /// Outside the schedule and while unwinding nobody waits.
    fn park_unscheduled(&self, until: Option<Ticks>) -> Woken {
        let permit = {
            let mut cores = self.cores.borrow_mut();
            std::mem::take(&mut cores[self.running.get() as usize].permit)
        };
        if permit {
            return Woken::ByPeer;
        }
        self.wait_in_vain();
        self.forward_clock(until);
        Woken::ByTime
    }

    fn forward_clock(&self, until: Option<Ticks>) {
        let ahead = until.unwrap_or(0).saturating_sub(self.now());
        self.skew.set(self.skew.get() + ahead);
    }

    /// Wakes a core, or lets its next park return at once.
    pub(crate) fn unpark(&self, worker: WorkerId) {
        // Waking somebody takes an atomic instruction natively.
        self.fence(true, false);
        let parked = {
            let mut cores = self.cores.borrow_mut();
            let Some(core) = cores.get_mut(worker.0 as usize) else { return };
            core.permit = !core.parked;
            core.parked
        };
        if parked {
            self.wake(worker.0, Woken::ByPeer);
            if self.running.get() != 0 && !std::thread::panicking() {
                self.plan();
            }
        }
    }

    fn wake(&self, core: u32, woken: Woken) {
        let until = {
            let sleeper = &mut self.cores.borrow_mut()[core as usize];
            sleeper.parked = false;
            sleeper.woken = woken;
            sleeper.until.take()
        };
        if let Some(until) = until {
            let mut timers = self.timers.borrow_mut();
            timers.remove(&(until, core));
            self.timer_at.set(timers.first().map_or(Ticks::MAX, |first| first.0));
        }
        self.scheduler.borrow_mut().admit(core, self.running.get());
    }

    /// Wakes every core whose time has come.
    pub(crate) fn wake_due(&self) {
        while self.timer_at.get() <= self.now() {
            let first = self.timers.borrow().first().copied();
            let Some((_, core)) = first else { return };
            self.wake(core, Woken::ByTime);
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
            if timer < Ticks::MAX && self.vain_jumps.get() < VAIN_JUMPS_MAX {
                self.vain_jumps.set(self.vain_jumps.get() + 1);
                self.forward_clock(Some(timer));
            } else {
                let waiting = self.waiting();
                self.conclude(Verdict::Deadlock { waiting });
            }
        }
    }

    /// The cores that have not ended, without daemons.
    fn waiting(&self) -> Vec<Waiter> {
        let cores = self.cores.borrow();
        let waiter = |(worker, core): (usize, &crate::state::Core)| Waiter {
            worker: WorkerId(u32::try_from(worker).unwrap_or(u32::MAX)),
            name: core.name.clone(),
            parked: core.parked,
            until: core.until,
            since: core.since,
        };
        let waits = |core: &crate::state::Core| !core.ended && !core.daemon;
        cores.iter().enumerate().skip(1).filter(|(_, core)| waits(core)).map(waiter).collect()
    }

    /// The limit of events is reached: first of the run, then of its orderly end.
    pub(crate) fn exhaust(&self) {
        if self.ending.get() {
            self.halt();
        }
        let running = self.running.get();
        self.cores.borrow_mut()[running as usize].since = self.event.get();
        let waiting = self.waiting();
        self.conclude(Verdict::EventLimit { waiting });
    }

    /// Notes the verdict, unless there is an earlier one, and tells all cores to stop.
    fn conclude(&self, verdict: Verdict) {
        let earlier = self.panics.borrow().first().cloned().map(Verdict::CorePanicked);
        self.verdict.borrow_mut().get_or_insert(earlier.unwrap_or(verdict));
        self.end();
    }

    fn end(&self) {
        self.ending.set(true);
        self.limit.set(self.event.get() + GRACE_EVENTS);
        let cores = u32::try_from(self.cores.borrow().len()).unwrap_or(u32::MAX);
        for core in 1..cores {
            let parked = self.cores.borrow()[core as usize].parked;
            if parked {
                self.wake(core, Woken::ByTime);
            }
        }
    }

    /// Lets all cores run and chooses the first.
    pub(crate) fn start(&self) {
        let cores = u32::try_from(self.cores.borrow().len()).unwrap_or(u32::MAX);
        for core in 1..cores {
            self.scheduler.borrow_mut().admit(core, 0);
        }
        if self.live_workers.get() == 0 {
            self.end();
        }
        let first = self.find_runnable();
        self.take_over(first);
    }

    /// The running core's closure has returned or panicked: books that and chooses who goes on. What
    /// it holds back in its store buffer becomes visible later, like any other store.
    pub(crate) fn end_core(&self, result: Result<(), Box<dyn Any + Send>>) {
        let running = self.running.get();
        if let Err(payload) = result {
            let message = hook::describe(self, &*payload);
            if !self.ending.get() {
                self.panics.borrow_mut().push(CorePanic {
                    worker: WorkerId(running),
                    name: self.cores.borrow()[running as usize].name.clone(),
                    message,
                    event: self.event.get(),
                });
            }
        }
        let daemon = {
            let core = &mut self.cores.borrow_mut()[running as usize];
            core.ended = true;
            core.daemon
        };
        self.scheduler.borrow_mut().remove(running);
        self.live.set(self.live.get() - 1);
        if !daemon {
            self.live_workers.set(self.live_workers.get() - 1);
            if self.live_workers.get() == 0 && !self.ending.get() {
                self.end();
            }
        }
        if matches!(*self.verdict.borrow(), Some(Verdict::UseOfFreedMemory(_))) {
            self.halted.set(true);
        } else if self.live.get() > 0 {
            let chosen = self.find_runnable();
            self.take_over(chosen);
        }
    }

    /// Whether the running core is told to stop.
    pub(crate) fn stopping(&self) -> bool {
        if self.ending.get() {
            return true;
        }
        self.config.stop_after.is_some_and(|stop| self.event.get() >= stop)
            && !self.cores.borrow()[self.running.get() as usize].daemon
    }
}
