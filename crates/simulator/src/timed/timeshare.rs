//! More threads than cores: which has one, and for how long. An operating system of the plainest kind.
//!
//! ```text
//!   woken, begun -----> READY: one queue, in order of arrival -----> has a CORE ----> sleeps, ends
//!                         ^---- its slice is over, or it yields -------'
//! ```
//!
//! - A thread is a worker of its own and runs on one core at a time, any of them. Caches, lines that were asked
//!   for ahead, and debts to guests stay with the core; whether what it does takes time goes with the thread.
//! - No core idles while a thread is ready. A thread that wakes goes to the core that it had, if that idles, else to the
//!   next that does, else to the end of the queue.
//! - A slice ends at the first access, pause or unit of computation after its time, under a latch or not. A
//!   thread that finds none ready goes on for another. A core that takes over pays a switch; one that idled pays none
//!   besides the wake-up.
//! - A thread that waits long yields ([`chiliad_machine::Machine::yield_now`], a long stall): the first thread that is
//!   ready takes the core. So it sleeps through a spin (`spin`) while no other is ready, and is roused when one
//!   is. A thread that only pauses burns its slice.
//! - The first slices of the cores are parts of one, evenly graded, so that cores do not switch in step.
//!
//! One queue is fair whatever the number of threads, where queues of the cores would have to be balanced. It
//! has no memory of which ran where: a thread finds the caches of its new core cold, which after a slice it would
//! largely find them anyway, and which an idle core's preference spares those that sleep shortly. There are no
//! priorities: a thread that wakes preempts none.

use chiliad_machine::Ticks;
use std::collections::VecDeque;
use std::ops::Range;

/// The threads that share cores, and these.
pub(crate) struct Timeshare {
    pub(crate) cores: Range<u32>,
    /// By core: when the slice of its thread ends, and whether the core has given its graded one.
    slices: Vec<(Ticks, bool)>,
    /// The worker of the first thread.
    first: u32,
    threads: Vec<Thread>,
    /// Those without a core, in the order in which they came.
    pub(crate) ready: VecDeque<u32>,
    /// Cycles of a slice, and of a switch.
    slice: u64,
    pub(super) switch: u64,
}

/// The state that goes with a thread from core to core.
#[derive(Clone, Copy, Default)]
pub(super) struct Thread {
    /// Nothing that it does takes time.
    pub(super) free: bool,
    /// When the word of its waking has come.
    pub(super) ready_at: Ticks,
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

    pub(super) fn thread(&mut self, worker: u32) -> Option<&mut Thread> {
        self.threads.get_mut(worker.checked_sub(self.first)? as usize)
    }

    pub(super) fn place(&self, core: u32) -> Option<usize> {
        self.cores.contains(&core).then(|| (core - self.cores.start) as usize)
    }

    /// When the slice on a core ends; never on one that takes no part.
    pub(crate) fn end_on(&self, core: u32) -> Ticks {
        self.place(core).map_or(Ticks::MAX, |at| self.slices[at].0)
    }

    /// A thread waits for a core, and the word of its waking has come by `time`.
    pub(super) fn is_somebody_ready(&mut self, time: Ticks) -> bool {
        let first = self.ready.front().copied();
        first.and_then(|worker| self.thread(worker)).is_some_and(|it| it.ready_at <= time)
    }

    /// A slice on `core` begins for a thread of which everything takes time, or nothing.
    pub(super) fn begin(&mut self, core: u32, start: Ticks, free: bool) {
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
    pub(super) fn extend(&mut self, core: u32, time: Ticks) {
        let Some(at) = self.place(core) else { return };
        let end = &mut self.slices[at].0;
        *end += ((time - *end) / self.slice + 1) * self.slice;
    }
}
