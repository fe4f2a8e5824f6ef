//! The cores' side of time: accesses, waits, and which core runs next.
//!
//! A core that has to wait books its own event and takes the next one of the wheel, on its own stack: if that is
//! its own again, no switch was needed.

use super::core::{Access, Effect, Stack};
use super::home::{Step, Timed};
use crate::description::PRICE_BITS;
use crate::outcome::Access as Done;
use crate::state::State;
use crate::swarm::Swarm;
use chiliad_machine::{Cost, Machine, Native, Ticks, Woken, WorkerId};
use std::cell::RefCell;
use std::time::Instant;

/// What [`crate::Outcome::core_time`] counts begins now, and all before is forgotten. Without a timed run, nothing happens.
pub fn begin_core_time() {
    let state = State::current();
    if state.timed().is_some() {
        state.books.borrow_mut().begin(state.time.get());
    }
}

/// What [`crate::Outcome::core_time`] counts ends now.
pub fn end_core_time() {
    let state = State::current();
    if state.timed().is_some() {
        state.books.borrow_mut().end(state.time.get());
    }
}

impl State {
    /// The parts that take time, in a timed run.
    #[inline]
    pub(crate) fn timed(&self) -> Option<&RefCell<Timed>> {
        self.timed.get()
    }

    /// Makes the run a timed one, if it shall be; all cores are known.
    pub(crate) fn begin_time(&self) {
        let Some(machine) = &self.config.machine else { return };
        let timed = Timed::new(machine, &self.posts.borrow(), &self.hosts.borrow(), &self.config);
        if let Some(share) = self.timeshare.get() {
            share.borrow_mut().set_times(machine.waiting.slice, machine.waiting.switch);
        }
        self.begun.set(self.now());
        assert!(self.timed.set(RefCell::new(timed)).is_ok(), "a run goes once");
    }

    /// An access in a timed run: returns what `effect` did, when it is the core's turn and the line there.
    #[inline]
    pub(crate) fn timed_access<R>(
        &self,
        timed: &RefCell<Timed>,
        host: usize,
        access: Access,
        mut effect: impl FnMut() -> R,
    ) -> R {
        if let Some(swarm) = self.swarm.get()
            && self.running.get() != 0
        {
            return self.tracked_access((timed, swarm), (host, 1), access, effect);
        }
        let line = self.line_of(host, access);
        if self.running.get() == 0 || self.answers(timed, line, access) {
            return effect();
        }
        Native::prefetch(std::ptr::without_provenance(host), 1);
        let mut result = None;
        self.ask(timed, line, access, &mut || {
            result = Some(effect());
            None
        });
        // A core that unwinds does not wait: nothing has been performed then.
        result.unwrap_or_else(effect)
    }

    /// An access to several lines, one after the other: `effect` does what belongs to one, and returns
    /// where the next one is.
    pub(crate) fn timed_lines(
        &self,
        timed: &RefCell<Timed>,
        host: usize,
        access: Access,
        mut effect: impl FnMut() -> Option<usize>,
    ) {
        if let Some(swarm) = self.swarm.get()
            && self.running.get() != 0
        {
            // What changes within a line is not known here: all of it is logged.
            let mut next = Some(host);
            while let Some(host) = next {
                next = self.tracked_access((timed, swarm), (host, 8), access, &mut effect);
            }
            return;
        }
        Native::prefetch(std::ptr::without_provenance(host), 1);
        let first = Some(self.line_of(host, access));
        self.timed_run(timed, access, first, || effect().map(|host| self.line_of(host, access)));
    }

    /// As [`State::timed_lines`], by simulated lines.
    pub(crate) fn timed_run(
        &self,
        timed: &RefCell<Timed>,
        access: Access,
        first: Option<u64>,
        mut effect: impl FnMut() -> Option<u64>,
    ) {
        let mut line = first;
        while let Some(next) = line {
            let answered = self.running.get() == 0 || self.answers(timed, next, access);
            if answered || std::thread::panicking() {
                line = effect();
            } else {
                self.ask(timed, next, access, &mut effect);
                return;
            }
        }
    }

    /// The line of what lies at a host address, which must be accessible.
    #[inline]
    fn line_of(&self, host: usize, access: Access) -> u64 {
        let offset = self.region.offset(host);
        if !self.region.is_open(offset) {
            let done = if access == Access::Read { Done::Load } else { Done::Store };
            self.stray(offset, done);
        }
        self.region.simulated(offset) / 64
    }

    /// Whether the running core's own caches answer; it is the core's turn then.
    #[inline]
    fn answers(&self, timed: &RefCell<Timed>, line: u64, access: Access) -> bool {
        loop {
            if self.time.get() >= self.slice_end.get() {
                self.slice_over(timed);
            }
            let core = self.core.get();
            let mut it = timed.borrow_mut();
            if it.cores[core as usize].free {
                if access != Access::Read {
                    it.written_untold(line, self.time.get());
                }
                return true;
            }
            let (right, cycles, there) = it.look(core, line, access);
            let now = self.time.get().max(there);
            if !access.is_answered_by(right) {
                self.time.set(now + u64::from(cycles));
                return false;
            }
            // A core that idles comes last, however far reads may run ahead.
            let idles = it.cores[core as usize].spin.is_idle();
            let slack = it.machine.slack;
            let ahead = match access {
                _ if idles => 0,
                Access::Read => slack.read,
                Access::Write => slack.write,
                Access::Modify => 0,
            };
            if self.is_turn(&it, now, ahead.into()) || std::thread::panicking() {
                let modify = match access {
                    Access::Modify => it.machine.modify_cycles,
                    Access::Read | Access::Write => 0,
                };
                self.time.set(now + u64::from(cycles + modify));
                it.hit(core, line, right, access, now);
                return true;
            }
            self.time.set(now);
            it.resume_at(now, core);
            drop(it);
            self.go_on();
        }
    }

    /// Whether the running core goes on before all others, whose time may be earlier by less than `ahead`.
    /// Others that have booked the same time come first, unless the core has just been chosen: so the
    /// order does not depend on which other cores have had something to do in between.
    #[inline]
    pub(crate) fn is_turn(&self, timed: &Timed, now: u64, ahead: u64) -> bool {
        let others = timed.wheel.next().min(self.timer_at.get());
        now < others.saturating_add(ahead) || now == timed.wheel.now()
    }

    /// Asks a line's home, and returns when the answer is there: `effect` has been performed, unless the
    /// core unwinds.
    fn ask(
        &self,
        timed: &RefCell<Timed>,
        line: u64,
        access: Access,
        effect: &mut dyn FnMut() -> Option<u64>,
    ) {
        if std::thread::panicking() {
            return;
        }
        let effect: *mut (dyn FnMut() -> Option<u64> + '_) = effect;
        // SAFETY: only the lifetime changes. The home performs the effect before it lets this core
        // resume, and a core that is discarded meanwhile is served no more.
        let effect: Effect = unsafe { std::mem::transmute(effect) };
        timed.borrow_mut().send(self.core.get(), line, access, self.time.get(), Some(effect));
        self.go_on();
    }

    /// The running core has booked when it goes on, or waits for somebody: returns when it runs again.
    pub(crate) fn go_on(&self) {
        let (running, execution) = (self.running.get(), self.execution());
        let chosen = self.next_core();
        // A task whose core has been given to another execution does not go on.
        if self.turn_on(chosen) == running && self.execution() == execution {
            if chosen != self.core.get() {
                self.take_over(chosen);
            }
            return;
        }
        self.leaves(running);
        self.take_over(chosen);
        self.suspend(running);
    }

    /// A worker gives way: what its core goes on with is noted.
    fn leaves(&self, running: u32) {
        let worker = &mut self.workers.borrow_mut()[running as usize];
        worker.since = self.event.get();
        if let Some(timed) = self.timed() {
            let (end, root) = (std::ptr::from_ref(&running).cast(), worker.yielder.cast());
            timed.borrow_mut().cores[self.core.get() as usize].stack = Stack { end, root };
        }
    }

    /// Lets everything happen that comes before a core goes on: which one that is. Its time is set.
    pub(crate) fn next_core(&self) -> u32 {
        let Some(timed) = self.timed() else { unreachable!("only called in timed runs") };
        timed.borrow_mut().stops(self.core.get(), self.time.get());
        self.choosing.set(true);
        loop {
            self.event.set(self.event.get() + 1);
            self.look_at_tasks();
            if self.event.get() >= self.limit.get() {
                self.exhaust();
            }
            let (next, timer) = (timed.borrow().wheel.next(), self.timer_at.get());
            if timer <= next && timer < Ticks::MAX {
                self.wake_first(next == u64::MAX);
                continue;
            }
            let step = timed.borrow_mut().step();
            match step {
                Some(Step::Served) => {}
                Some(Step::Message(time, number)) => {
                    self.with_tasks(|tasks, timed| tasks.comes(timed, time, number))
                }
                Some(Step::Tracked(time, core, turn)) => self.serve_task(time, core, turn),
                Some(Step::Rested(time, core)) => {
                    self.with_tasks(|tasks, timed| tasks.core_rested(timed, time, core))
                }
                Some(Step::Resume(time, core)) => {
                    self.time.set(timed.borrow_mut().goes_on(core, time));
                    self.choosing.set(false);
                    return core;
                }
                None if self.ending.get() => self.halt(),
                None => self.find_deadlock(),
            }
        }
    }

    /// Has the task units do something, where there are any.
    fn with_tasks(&self, f: impl FnOnce(&mut Swarm, &mut Timed)) {
        if let (Some(swarm), Some(timed)) = (self.swarm.get(), self.timed()) {
            f(&mut swarm.borrow_mut(), &mut timed.borrow_mut());
        }
    }

    /// Wakes the worker whose time comes first. `alone`: nobody else has anything to do.
    fn wake_first(&self, alone: bool) {
        let first = self.timers.borrow().first().copied();
        let Some((time, worker)) = first else { return };
        if alone && self.jumps_in_vain() && !self.ending.get() {
            self.find_deadlock();
            return;
        }
        self.rise(worker, Woken::ByTime);
        self.admit_at(worker, time);
    }

    /// Books that a worker can run from `time` on.
    pub(crate) fn admit_at(&self, worker: u32, time: Ticks) {
        let Some(timed) = self.timed() else { return };
        let Some(core) = self.core_for(timed, worker, time) else { return };
        let alone = self.rounds.borrow_mut()[core as usize].join(worker);
        if alone {
            timed.borrow_mut().resume_at(time, core);
        } else {
            // A sibling that sleeps through a spin lets it run.
            timed.borrow_mut().rouse(core, time);
        }
    }

    /// The run is told to end: nobody sleeps through a spin.
    pub(crate) fn rouse_all(&self) {
        if let Some(timed) = self.timed() {
            let mut timed = timed.borrow_mut();
            for core in 0..timed.cores.len() {
                timed.rouse(core as u32, self.time.get());
            }
        }
    }

    /// The running core has other workers' doings before its own time happen.
    pub(crate) fn let_others(&self, timed: &RefCell<Timed>) {
        let mut it = timed.borrow_mut();
        if !self.is_turn(&it, self.time.get(), 0) {
            it.resume_at(self.time.get(), self.core.get());
            drop(it);
            self.go_on();
        }
    }

    /// The running worker's core goes on with the worker whose turn it is.
    pub(crate) fn turn_passed(&self, timed: &RefCell<Timed>) {
        timed.borrow_mut().resume_at(self.time.get(), self.core.get());
        self.go_on();
    }

    /// The running worker waits by `wait`, which is booked.
    #[inline]
    pub(super) fn booked<R>(&self, wait: impl FnOnce() -> R) -> R {
        let (worker, from) = (self.running.get(), self.time.get());
        self.books.borrow_mut().waits(worker);
        let result = wait();
        self.books.borrow_mut().waited(worker, from, self.time.get());
        result
    }

    /// A moment's delay; for ever while nothing changes, if `steady`.
    pub(crate) fn timed_pause(&self, timed: &RefCell<Timed>, siblings: bool, steady: bool) {
        self.booked(|| self.pause_in_time(timed, siblings, steady));
    }

    fn pause_in_time(&self, timed: &RefCell<Timed>, siblings: bool, steady: bool) {
        if !self.is_scheduled() {
            self.wait_in_vain();
            return;
        }
        // Counted here: nobody else may have anything to do.
        self.event.set(self.event.get() + 1);
        if self.event.get() >= self.limit.get() {
            self.exhaust();
        }
        let pause = timed.borrow().machine.waiting.pause;
        self.time.set(self.time.get() + u64::from(pause.max(1)));
        if self.time.get() >= self.slice_end.get() {
            self.slice_over(timed);
        }
        let core = self.core.get();
        if siblings && self.has_company() {
            // The round is not this worker's alone.
            timed.borrow_mut().acts(core);
            self.pass_turn();
            self.turn_passed(timed);
            return;
        }
        if (steady || self.ending.get()) && self.yields(timed) {
            return;
        }
        let sleeps = timed.borrow_mut().pauses(core, self.time.get(), steady && !self.ending.get());
        if sleeps { self.go_on() } else { self.let_others(timed) }
    }

    /// Sleeps in a timed run; see [`State::park`].
    pub(crate) fn timed_park(&self, timed: &RefCell<Timed>, until: Option<Ticks>) -> Woken {
        self.booked(|| self.sleep_in_time(timed, until))
    }

    fn sleep_in_time(&self, timed: &RefCell<Timed>, until: Option<Ticks>) -> Woken {
        self.let_others(timed);
        let running = self.running.get();
        if let Some(woken) = self.falls_asleep(until) {
            return woken;
        }
        if self.ending.get() {
            self.forward_clock(until);
            self.pause_in_time(timed, true, false);
            return Woken::ByTime;
        }
        self.set_timer(until);
        timed.borrow_mut().acts(self.core.get());
        if self.leave_round() {
            self.count_hand_over();
            self.turn_passed(timed);
        } else {
            self.pass_core(timed);
            self.go_on();
        }
        self.workers.borrow()[running as usize].woken
    }

    /// Wakes a worker, when the word of it has come to its core.
    pub(crate) fn timed_unpark(&self, timed: &RefCell<Timed>, worker: WorkerId) {
        if self.is_scheduled() {
            self.let_others(timed);
        }
        let Some(core) = self.permit(worker) else { return };
        self.rise(worker.0, Woken::ByPeer);
        let time = timed.borrow_mut().wakes(self.core.get(), core, self.time.get());
        self.admit_at(worker.0, time);
    }

    /// The next number of the counter in the middle of the chip.
    pub(crate) fn timed_count(&self, timed: &RefCell<Timed>) -> u64 {
        if !self.is_scheduled() {
            return timed.borrow_mut().count_now(self.core.get());
        }
        let core = self.core.get();
        timed.borrow_mut().send_count(core, self.time.get());
        self.go_on();
        timed.borrow().cores[core as usize].counted
    }

    /// The running core computes.
    #[inline]
    pub(crate) fn timed_work(&self, timed: &RefCell<Timed>, site: Cost, n: u32) {
        let it = timed.borrow();
        if it.cores[self.core.get() as usize].free {
            return;
        }
        let (before, parts) = (self.time.get(), self.parts.get() + it.machine.price(site, n));
        self.time.set(before + (parts >> PRICE_BITS));
        self.parts.set(parts & ((1 << PRICE_BITS) - 1));
        if self.time.get() > self.slice_end.get() {
            drop(it);
            self.compute_in_slices(timed, before);
        }
    }

    /// Switches whether the running core's operations take time from here on.
    pub(crate) fn set_clocked(&self, timed: &RefCell<Timed>, on: bool) {
        timed.borrow_mut().clock(self.core.get(), self.time.get(), on);
        self.clock_thread(on);
        if on {
            self.books.borrow_mut().open(self.running.get(), self.time.get());
            self.clocked.set(Some(Instant::now()));
        }
    }

    /// The running core calls the system.
    pub(crate) fn timed_call(&self) {
        if let Some(timed) = self.timed()
            && self.running.get() != 0
        {
            let it = timed.borrow();
            if it.cores[self.core.get() as usize].free {
                return;
            }
            let cycles = it.machine.waiting.system_call;
            self.time.set(self.time.get() + u64::from(cycles));
        }
    }

    /// The running core asks for lines ahead of use, from the one of a host address on.
    pub(crate) fn timed_prefetch(&self, timed: &RefCell<Timed>, host: usize, lines: u64) {
        let offset = self.region.offset(host);
        if self.region.contains(offset) {
            self.timed_ahead(timed, self.region.simulated(offset) / 64, lines);
        }
    }

    /// As [`State::timed_prefetch`], from a simulated line on.
    pub(crate) fn timed_ahead(&self, timed: &RefCell<Timed>, first: u64, lines: u64) {
        let mut it = timed.borrow_mut();
        let core = self.core.get();
        // What a task has not accessed is not checked.
        if self.swarm.get().is_some() {
            return;
        }
        if it.machine.prefetches == 0 || self.running.get() == 0 || it.cores[core as usize].free {
            return;
        }
        for line in first..first + lines {
            it.ask_ahead(core, line, self.time.get());
        }
    }
}
