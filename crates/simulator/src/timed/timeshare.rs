//! More threads than cores: who has a core, and for how long. An operating system of the plainest kind.
//!
//! ```text
//!   woken, begun -----> READY: one queue, in order of arrival -----> has a CORE ----> sleeps, ends
//!                         ^---- its slice is over, or it yields -------'
//! ```
//!
//! - A thread is a worker of its own and runs on one core at a time, any of them. Caches, lines that were asked
//!   for ahead, and debts to guests stay with the core; whether what it does takes time goes with the thread.
//! - No core idles while a thread is ready. Who wakes goes to the core that it had, if that idles, else to the
//!   next that does, else to the end of the queue.
//! - A slice ends at the first access, pause or unit of computation behind its time, under a latch or not. Who
//!   finds nobody ready goes on for another. A core that takes over pays a switch; one that idled pays none
//!   besides the wake-up.
//! - Who waits long yields ([`chiliad_machine::Machine::yield_now`], a long stall): the first thread that is
//!   ready takes the core. So whoever sleeps through a spin (`spin`) does so while nobody is ready, and
//!   is roused when somebody is. Who only pauses burns its slice.
//! - The first slices of the cores are parts of one, evenly graded, so that cores do not switch in step.
//!
//! One queue is fair whatever the number of threads, where queues of the cores would have to be balanced. It
//! has no memory of who ran where: a thread finds the caches of its new core cold, which after a slice it would
//! largely find them anyway, and which an idle core's preference spares those that sleep shortly. There are no
//! priorities: who wakes pre-empts nobody.

use super::home::Timed;
use crate::state::State;
use chiliad_machine::Ticks;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

/// The threads that share cores, and these.
pub(crate) struct Timeshare {
    cores: Range<u32>,
    /// By core: when the slice of who runs there ends, and whether the core has given its graded one.
    slices: Vec<(Ticks, bool)>,
    /// The worker of the first thread.
    first: u32,
    threads: Vec<Thread>,
    /// Those without a core, who has waited longest first.
    ready: VecDeque<u32>,
    /// Cycles of a slice, and of a switch.
    slice: u64,
    switch: u64,
}

/// What goes with a thread from core to core.
#[derive(Clone, Copy, Default)]
struct Thread {
    /// Nothing that it does takes time.
    free: bool,
    /// When the word of its waking has come.
    ready_at: Ticks,
}

impl Timeshare {
    /// `count` threads, the workers from `first` on, on these cores.
    pub(crate) fn new(cores: Range<u32>, first: u32, count: usize) -> Self {
        Self {
            slices: vec![(Ticks::MAX, false); cores.len()],
            cores,
            first,
            threads: vec![Thread::default(); count],
            ready: VecDeque::new(),
            slice: 0,
            switch: 0,
        }
    }

    /// As the machine has it.
    pub(crate) fn set_times(&mut self, slice: u32, switch: u32) {
        (self.slice, self.switch) = (slice.into(), switch.into());
    }

    fn thread(&mut self, worker: u32) -> Option<&mut Thread> {
        self.threads.get_mut(worker.checked_sub(self.first)? as usize)
    }

    fn place(&self, core: u32) -> Option<usize> {
        self.cores.contains(&core).then(|| (core - self.cores.start) as usize)
    }

    /// When the slice on a core ends; never on one that takes no part.
    pub(crate) fn end_on(&self, core: u32) -> Ticks {
        self.place(core).map_or(Ticks::MAX, |at| self.slices[at].0)
    }

    /// Somebody waits for a core, and the word of its waking has come by `time`.
    fn is_somebody_ready(&mut self, time: Ticks) -> bool {
        let first = self.ready.front().copied();
        first.and_then(|worker| self.thread(worker)).is_some_and(|it| it.ready_at <= time)
    }

    /// A slice on `core` begins for a thread of which everything takes time, or nothing.
    fn begin(&mut self, core: u32, start: Ticks, free: bool) {
        let Some(at) = self.place(core) else { return };
        if free {
            self.slices[at].0 = Ticks::MAX;
            return;
        }
        let cores = self.slices.len() as u64;
        let (end, graded) = &mut self.slices[at];
        let parts = if *graded { cores } else { at as u64 + 1 };
        *graded = true;
        *end = start + (self.slice * parts / cores).max(1);
    }

    /// The slice on `core` is followed by another of the same thread: its end, after `time`.
    fn extend(&mut self, core: u32, time: Ticks) {
        let Some(at) = self.place(core) else { return };
        let end = &mut self.slices[at].0;
        *end += ((time - *end) / self.slice + 1) * self.slice;
    }
}

impl State {
    /// The threads that share cores, if there are more than cores.
    #[inline]
    fn timeshare(&self) -> Option<&RefCell<Timeshare>> {
        self.timeshare.get()
    }

    /// When the slice of whoever runs on `core` ends.
    #[inline]
    pub(crate) fn slice_end_on(&self, core: u32) -> Ticks {
        self.timeshare().map_or(Ticks::MAX, |it| it.borrow().end_on(core))
    }

    /// The core on which a worker that can run from `time` on does so; `None`: it has to wait for one.
    pub(super) fn core_for(&self, timed: &RefCell<Timed>, worker: u32, time: Ticks) -> Option<u32> {
        let home = self.workers.borrow()[worker as usize].core;
        let Some(share) = self.timeshare() else { return Some(home) };
        let mut share = share.borrow_mut();
        let (cores, waited) = (share.cores.clone(), share.ready.is_empty());
        let Some(thread) = share.thread(worker) else { return Some(home) };
        if waited {
            let idle = |core: &u32| self.idles(*core);
            if let Some(core) = (home..cores.end).chain(cores.start..home).find(idle) {
                self.workers.borrow_mut()[worker as usize].core = core;
                let free = thread.free;
                self.begin_slice(&mut share, core, time, free);
                timed.borrow_mut().cores[core as usize].free = free;
                return Some(core);
            }
            // Who sleeps through a spin would have yielded.
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

    /// The running thread has left its core: who has waited longest takes it over, if somebody waits.
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
        self.crews.borrow_mut()[core as usize].join(next);
        self.begin_slice(&mut share, core, start, free);
        timed.cores[core as usize].free = free;
        timed.resume_at(start, core);
        let mut counters = self.counters.get();
        counters.context_switches += 1;
        self.counters.set(counters);
    }

    /// The running thread gives its core to who has waited longest, and returns when it has one again.
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
        self.pass_core(timed);
        self.go_on();
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

    /// The running thread has computed since `before`, beyond its slice: what is behind its end it does when it
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

    /// What the running thread does takes time from here on, or does not.
    pub(super) fn clock_thread(&self, on: bool) {
        let Some(share) = self.timeshare() else { return };
        let mut share = share.borrow_mut();
        let Some(thread) = share.thread(self.running.get()) else { return };
        thread.free = !on;
        self.begin_slice(&mut share, self.core.get(), self.time.get(), !on);
    }

    /// No worker runs on `core`, or is about to.
    fn idles(&self, core: u32) -> bool {
        self.crews.borrow()[core as usize].is_empty()
    }
}
