//! Which thread has which core, where threads share cores (`timeshare`), and what it does in its slices.

use super::home::Timed;
use super::timeshare::{Thread, Timeshare};
use crate::state::State;
use chiliad_machine::Ticks;
use std::cell::RefCell;

impl State {
    /// The threads that share cores, if there are more than cores.
    #[inline]
    fn timeshare(&self) -> Option<&RefCell<Timeshare>> {
        self.timeshare.get()
    }

    /// When the slice of the thread that runs on `core` ends.
    #[inline]
    pub(crate) fn slice_end_on(&self, core: u32) -> Ticks {
        self.timeshare().map_or(Ticks::MAX, |it| it.borrow().end_on(core))
    }

    /// The core on which a worker that can run from `time` on does so; `None`: it has to wait for one.
    pub(super) fn core_for(&self, timed: &RefCell<Timed>, worker: u32, time: Ticks) -> Option<u32> {
        let had = self.workers.borrow()[worker as usize].core;
        let Some(share) = self.timeshare() else { return Some(had) };
        let mut share = share.borrow_mut();
        let (cores, waited) = (share.cores.clone(), share.ready.is_empty());
        let Some(thread) = share.thread(worker) else { return Some(had) };
        if waited {
            let idle = |core: &u32| self.idles(*core);
            if let Some(core) = (had..cores.end).chain(cores.start..had).find(idle) {
                self.workers.borrow_mut()[worker as usize].core = core;
                let free = thread.free;
                self.begin_slice(&mut share, core, time, free);
                timed.borrow_mut().cores[core as usize].free = free;
                return Some(core);
            }
            // A thread that sleeps through a spin would have yielded.
            cores.for_each(|core| timed.borrow_mut().rouse(core, time));
        }
        thread.ready_at = time;
        share.ready.push_back(worker);
        None
    }

    fn begin_slice(&self, share: &mut Timeshare, core: u32, start: Ticks, free: bool) {
        share.begin(core, start, free);
        if core == self.core.get() {
            self.slice_end.set(share.end_on(core));
        }
    }

    /// The running thread has left its core: the thread that has waited longest takes it over, if any waits.
    pub(crate) fn pass_core(&self, timed: &RefCell<Timed>) {
        let Some(share) = self.timeshare() else { return };
        let (mut share, core) = (share.borrow_mut(), self.core.get());
        if share.place(core).is_none() {
            return;
        }
        let mut timed = timed.borrow_mut();
        // The round of a spin does not go over from one thread to another.
        timed.acts(core);
        let Some(next) = share.ready.pop_front() else { return };
        let Some(&mut Thread { free, ready_at }) = share.thread(next) else { return };
        let switch = if timed.cores[core as usize].free { 0 } else { share.switch };
        let start = (self.time.get() + switch).max(ready_at);
        self.workers.borrow_mut()[next as usize].core = core;
        self.rounds.borrow_mut()[core as usize].join(next);
        self.begin_slice(&mut share, core, start, free);
        timed.cores[core as usize].free = free;
        timed.resume_at(start, core);
        let mut counters = self.counters.get();
        counters.context_switches += 1;
        self.counters.set(counters);
    }

    /// The running thread gives its core to the one that has waited longest, and returns when it has one again.
    /// `false`: nobody is ready.
    fn give_core(&self, timed: &RefCell<Timed>) -> bool {
        let Some(share) = self.timeshare() else { return false };
        let (running, time) = (self.running.get(), self.time.get());
        {
            let mut share = share.borrow_mut();
            if share.place(self.core.get()).is_none() || !share.is_somebody_ready(time) {
                return false;
            }
            let Some(thread) = share.thread(running) else { return false };
            thread.ready_at = time;
            share.ready.push_back(running);
        }
        self.leave_round();
        self.booked(|| {
            self.pass_core(timed);
            self.go_on();
        });
        true
    }

    /// The running thread can wait: whether another has had its core meanwhile.
    pub(super) fn yields(&self, timed: &RefCell<Timed>) -> bool {
        let Some(share) = self.timeshare() else { return false };
        if !share.borrow_mut().is_somebody_ready(self.time.get()) {
            return false;
        }
        self.let_others(timed);
        self.give_core(timed)
    }

    /// The running thread's slice is over: another thread has the core, or the same for another slice.
    #[cold]
    #[inline(never)]
    pub(super) fn slice_over(&self, timed: &RefCell<Timed>) {
        let Some(share) = self.timeshare().filter(|_| self.is_scheduled()) else { return };
        // What others do before that comes first, and may make somebody ready.
        self.let_others(timed);
        if self.give_core(timed) {
            let mut counters = self.counters.get();
            counters.preemptions += 1;
            self.counters.set(counters);
            return;
        }
        let (mut share, core) = (share.borrow_mut(), self.core.get());
        share.extend(core, self.time.get());
        self.slice_end.set(share.end_on(core));
    }

    /// The running thread has computed since `before`, beyond its slice: what is left at the slice's end it does when it
    /// has a core again.
    #[cold]
    #[inline(never)]
    pub(super) fn compute_in_slices(&self, timed: &RefCell<Timed>, mut before: Ticks) {
        while self.time.get() > self.slice_end.get() && self.is_scheduled() {
            let done = before.max(self.slice_end.get());
            let rest = self.time.get() - done;
            self.time.set(done);
            self.slice_over(timed);
            before = self.time.get();
            self.time.set(before + rest);
        }
    }

    /// Switches whether the running thread's operations take time from here on.
    pub(super) fn clock_thread(&self, on: bool) {
        let Some(share) = self.timeshare() else { return };
        let mut share = share.borrow_mut();
        let Some(thread) = share.thread(self.running.get()) else { return };
        thread.free = !on;
        self.begin_slice(&mut share, self.core.get(), self.time.get(), !on);
    }

    /// No worker runs on `core`, or is about to.
    fn idles(&self, core: u32) -> bool {
        self.rounds.borrow()[core as usize].is_empty()
    }
}
