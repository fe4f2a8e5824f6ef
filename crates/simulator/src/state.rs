//! A run's state and what one event does to it.
//!
//! - The host thread's current run is a thread-local pointer, set while the run's own code executes
//!   ([`State::enter_run`]) and null otherwise.
//! - All fields are cells: the state is shared by all cores of the run, which take turns on one host
//!   thread. No `RefCell` is borrowed while cores switch.
//! - An event costs a counter, a compare, a look at the shadow and a step of the digest. Whatever
//!   happens only sometimes happens when the counter reaches `next` ([`State::attend`]).
//! - A core that is unwinding never switches: `panicking()` is true of the whole host thread, and
//!   so it can only be true of the core that runs.
//! - A verdict that forbids going on leaves the running core suspended for good; its stack is
//!   discarded without running its destructors, since they would touch what is broken.

use crate::config::Config;
use crate::fibre::Arrival;
use crate::host::Host;
use crate::outcome::{Access, CorePanic, Counters, Step, TooManySteps, Trace, Verdict};
use crate::random::{Generator, Stream};
use crate::region::{NoMemory, Region};
use crate::round::{Luck, Round};
use crate::schedule::Scheduler;
use crate::store_buffer::StoreBuffers;
use crate::swarm::Swarm;
use crate::timed::{Books, Post, Timed, Timeshare};
use chiliad_machine::{Ticks, Woken, WorkerId};
use corosensei::Yielder;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::resume_unwind;
use std::ptr;
use std::time::Instant;

thread_local! {
    static CURRENT: Cell<*const State> = const { Cell::new(ptr::null()) };
}

/// Events for which a core is left alone after it was found unwinding.
const UNWINDING_STRETCH: u64 = 256;

/// Waits of unwinding cores and outside the schedule after which it is clear that one never ends.
const VAIN_WAITS_MAX: u64 = 1 << 22;

// What enters the digest for what is no access; accesses are numbered below these.
pub(crate) const FENCE_EVENT: u64 = 8;
const WAIT_EVENT: u64 = 9;
const SWITCH: u64 = 10;
const CLOCK_EVENT: u64 = 11;
const COUNTER_EVENT: u64 = 12;
pub(crate) const DEVICE_EVENT: u64 = 12;
pub(crate) const AWAIT_EVENT: u64 = 13;
pub(crate) const HOST_EVENT: u64 = 14;

/// The state of one worker; index 0 is the host's own stack.
pub(crate) struct Worker {
    pub(crate) name: String,
    /// The core that it runs on, and whether others do too.
    pub(crate) core: u32,
    pub(crate) siblings: bool,
    pub(crate) daemon: bool,
    pub(crate) ended: bool,
    pub(crate) permit: bool,
    pub(crate) parked: bool,
    pub(crate) until: Option<Ticks>,
    pub(crate) woken: Woken,
    /// When it last parked or was switched away from.
    pub(crate) since: u64,
    /// It keeps its turn while it waits for memory.
    pub(crate) keeps_turn: bool,
    /// Sections that it is in.
    pub(crate) sections: u32,
    /// Waits of its latest spin at which nobody was in a section.
    pub(crate) vain_stalls: u32,
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) random: Generator,
}

/// Everything about a run but the coroutines themselves.
pub(crate) struct State {
    pub(crate) event: Cell<u64>,
    /// The event at which something is due.
    pub(crate) next: Cell<u64>,
    /// The event at which code outside of the schedule is given up; see [`crate::Run::outside_within`].
    pub(crate) outside_end: Cell<u64>,
    pub(crate) digest: Cell<u64>,
    /// The worker that runs; 0 is the host's own stack, where nothing is scheduled.
    pub(crate) running: Cell<u32>,
    /// The core that it runs on.
    pub(crate) core: Cell<u32>,
    /// Whether any store buffer holds anything.
    pub(crate) buffered: Cell<bool>,
    pub(crate) region: Region,
    pub(crate) config: Config,
    /// In a timed run, what takes time.
    pub(crate) timed: OnceCell<RefCell<Timed>>,
    /// In a run of tasks, the task units.
    pub(crate) swarm: OnceCell<RefCell<Swarm>>,
    /// In a run of tasks, events take place on the stack of whichever core gave way last: what panics then is not its
    /// task.
    pub(crate) choosing: Cell<bool>,
    /// In a timed run with more threads than cores, which thread has which.
    pub(crate) timeshare: OnceCell<RefCell<Timeshare>>,
    /// There, when the running thread's slice ends.
    pub(crate) slice_end: Cell<Ticks>,
    /// In a timed run, where the time of its workers went.
    pub(crate) books: RefCell<Books>,
    /// The running core's clock in a timed run, in cycles since that began, and 256ths of a cycle besides.
    pub(crate) time: Cell<Ticks>,
    pub(crate) parts: Cell<u64>,
    /// The clock when the timed run began.
    pub(crate) begun: Cell<Ticks>,

    /// How far the clock is ahead of the events.
    pub(crate) skew: Cell<u64>,
    pub(crate) switches: Cell<u64>,
    pub(crate) drain_at: Cell<u64>,
    /// The earliest time that a worker waits for.
    pub(crate) timer_at: Cell<Ticks>,
    pub(crate) timers: RefCell<BTreeSet<(Ticks, u32)>>,
    /// Events after which to give up: first the run, then its orderly end.
    pub(crate) limit: Cell<u64>,
    pub(crate) workers: RefCell<Vec<Worker>>,
    /// By core.
    pub(crate) rounds: RefCell<Vec<Round>>,
    /// By core: what it is for, and whose it is.
    pub(crate) posts: RefCell<Vec<Post>>,
    pub(crate) hosts: RefCell<Vec<Host>>,
    /// Hosts that are stopped, and until when.
    pub(crate) paused: RefCell<BTreeMap<Host, Ticks>>,
    /// Workers without a coroutine as yet; and those that died with their host, whose coroutine is still there.
    pub(crate) arrivals: RefCell<Vec<Arrival>>,
    pub(crate) dead: RefCell<Vec<WorkerId>>,
    /// Workers that died with their hosts.
    pub(crate) crashed: Cell<u32>,
    pub(crate) luck: RefCell<Luck>,
    /// Workers that are in a section.
    pub(crate) in_sections: Cell<u32>,
    pub(crate) scheduler: RefCell<Scheduler>,
    pub(crate) buffers: RefCell<StoreBuffers>,
    /// Workers that have not ended; and of these, those that are no daemons.
    pub(crate) live: Cell<u32>,
    pub(crate) live_workers: Cell<u32>,
    /// Jumps of the clock since a worker that is no daemon ran.
    pub(crate) vain_jumps: Cell<u64>,
    vain_waits: Cell<u64>,
    /// The cores are told to stop.
    pub(crate) ending: Cell<bool>,
    /// No core may run any more.
    pub(crate) halted: Cell<bool>,
    pub(crate) verdict: RefCell<Option<Verdict>>,
    pub(crate) panics: RefCell<Vec<CorePanic>>,
    /// Panics outside the schedule are the caller's result and not shown.
    pub(crate) quiet: Cell<bool>,
    pub(crate) panic_message: RefCell<Option<String>>,
    pub(crate) marks: RefCell<BTreeSet<&'static str>>,
    pub(crate) counters: Cell<Counters>,
    /// When, on the host, a worker last began to take time.
    pub(crate) clocked: Cell<Option<Instant>>,
    /// The counter in the middle of the chip.
    on_chip: Cell<u64>,
    pub(crate) transcript: RefCell<VecDeque<Step>>,
    pub(crate) free_trace: RefCell<Option<Trace>>,
}

/// Makes a state the host thread's current one for as long as it lives.
pub(crate) struct Current {
    before: *const State,
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

impl State {
    pub(crate) fn new(config: Config) -> Result<Self, NoMemory> {
        let state = Self {
            event: Cell::new(0),
            next: Cell::new(u64::MAX),
            outside_end: Cell::new(u64::MAX),
            digest: Cell::new(config.seed),
            running: Cell::new(0),
            core: Cell::new(0),
            buffered: Cell::new(false),
            region: Region::new(config.region_bytes, config.seed, config.checked)?,
            timed: OnceCell::new(),
            swarm: OnceCell::new(),
            choosing: Cell::new(false),
            timeshare: OnceCell::new(),
            slice_end: Cell::new(Ticks::MAX),
            books: RefCell::default(),
            time: Cell::new(0),
            parts: Cell::new(0),
            begun: Cell::new(0),
            skew: Cell::new(0),
            switches: Cell::new(0),
            drain_at: Cell::new(u64::MAX),
            timer_at: Cell::new(Ticks::MAX),
            timers: RefCell::default(),
            limit: Cell::new(config.events_max.max(1)),
            workers: RefCell::default(),
            rounds: RefCell::default(),
            posts: RefCell::default(),
            hosts: RefCell::default(),
            paused: RefCell::default(),
            arrivals: RefCell::default(),
            dead: RefCell::default(),
            crashed: Cell::new(0),
            luck: RefCell::new(Luck::new(config.seed)),
            in_sections: Cell::new(0),
            scheduler: RefCell::new(Scheduler::new(config.seed, config.schedule)),
            buffers: RefCell::new(StoreBuffers::new(config.seed)),
            live: Cell::new(0),
            live_workers: Cell::new(0),
            vain_jumps: Cell::new(0),
            vain_waits: Cell::new(0),
            ending: Cell::new(false),
            halted: Cell::new(false),
            verdict: RefCell::default(),
            panics: RefCell::default(),
            quiet: Cell::new(false),
            panic_message: RefCell::default(),
            marks: RefCell::default(),
            counters: Cell::default(),
            clocked: Cell::new(None),
            on_chip: Cell::new(0),
            transcript: RefCell::default(),
            free_trace: RefCell::default(),
            config,
        };
        state.add_core(Host(0), vec!["outside".to_owned()], Post::Outside, false);
        Ok(state)
    }

    /// Puts the run under another configuration; see [`crate::Run::reconfigure`].
    pub(crate) fn reconfigure(&mut self, config: Config) {
        self.digest(config.seed);
        self.limit.set(config.events_max.max(1));
        self.region.reseed(config.seed);
        self.luck = RefCell::new(Luck::new(config.seed));
        self.scheduler = RefCell::new(Scheduler::new(config.seed, config.schedule));
        self.buffers = RefCell::new(StoreBuffers::new(config.seed));
        self.workers.get_mut().clear();
        self.rounds.get_mut().clear();
        self.posts.get_mut().clear();
        self.hosts.get_mut().clear();
        self.config = config;
        self.add_core(Host(0), vec!["outside".to_owned()], Post::Outside, false);
    }

    /// Adds a core of a host with a worker of each name.
    pub(crate) fn add_core(
        &self,
        host: Host,
        names: Vec<String>,
        post: Post,
        daemon: bool,
    ) -> Vec<WorkerId> {
        assert!(host.0 < Host::COUNT_MAX, "{host}: a run has {} hosts at most", Host::COUNT_MAX);
        let core = u32::try_from(self.rounds.borrow().len()).expect("fewer cores than u32 counts");
        self.rounds.borrow_mut().push(Round::default());
        self.posts.borrow_mut().push(post);
        self.hosts.borrow_mut().push(host);
        self.scheduler.borrow_mut().add_core();
        self.buffers.borrow_mut().add_core();
        self.add_workers(core, names, daemon)
    }

    /// Adds workers that begin on a core.
    pub(crate) fn add_workers(&self, core: u32, names: Vec<String>, daemon: bool) -> Vec<WorkerId> {
        let mut workers = self.workers.borrow_mut();
        let siblings = names.len() > 1;
        let mut added = Vec::with_capacity(names.len());
        for name in names {
            let worker = u32::try_from(workers.len()).expect("fewer workers than u32 counts");
            added.push(WorkerId(worker));
            workers.push(Worker {
                name,
                core,
                siblings,
                daemon,
                ended: false,
                permit: false,
                parked: false,
                until: None,
                woken: Woken::ByPeer,
                since: 0,
                keeps_turn: false,
                sections: 0,
                vain_stalls: 0,
                yielder: ptr::null(),
                random: Generator::new(self.config.seed, Stream::Worker(worker)),
            });
        }
        added
    }

    /// Makes this the current run until the guard is dropped.
    pub(crate) fn enter_run(&self) -> Current {
        Current { before: CURRENT.replace(self) }
    }

    /// The current run, if there is one.
    #[inline]
    pub(crate) fn try_current<'a>() -> Option<&'a Self> {
        // SAFETY: the pointer is set only between `enter_run` and the drop of its guard, during which
        // the run is borrowed and its state, which is boxed, stays where it is. What runs in between
        // can keep the reference no longer: callers use it within one operation of the machine.
        unsafe { CURRENT.get().as_ref() }
    }

    /// The current run.
    #[inline]
    pub(crate) fn current<'a>() -> &'a Self {
        match Self::try_current() {
            Some(state) => state,
            None => no_run(),
        }
    }

    #[inline]
    fn digest(&self, what: u64) {
        let mixed = (self.digest.get() ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.digest.set(mixed ^ (mixed >> 32));
    }

    /// Adds something to the digest that is no event, such as a block handed out.
    pub(crate) fn digest_address(&self, access: Access, address: u64) {
        if self.config.transcript_last > 0 {
            self.list(access, address);
        }
        self.digest((address << 4) | access as u64);
    }

    /// Adds an access to the transcript.
    #[cold]
    fn list(&self, access: Access, address: u64) {
        let worker = WorkerId(self.running.get());
        let mut transcript = self.transcript.borrow_mut();
        if transcript.len() == self.config.transcript_last {
            transcript.pop_front();
        }
        transcript.push_back(Step { event: self.event.get(), worker, access, address });
    }

    /// An event at a word: others may run first, then the word must be accessible.
    #[inline]
    pub(crate) fn access(&self, host: usize, access: Access) {
        self.count();
        let offset = self.region.offset(host);
        if self.config.transcript_last > 0 {
            self.list(access, offset as u64);
        }
        if !self.region.is_open(offset) {
            self.stray(offset, access);
        }
        self.digest(((offset as u64) << 4) | access as u64);
    }

    #[inline]
    fn count(&self) {
        let event = self.event.get() + 1;
        self.event.set(event);
        if event >= self.next.get() {
            self.attend();
        }
    }

    /// An event that is no access.
    pub(crate) fn other_event(&self, what: u64) {
        self.count();
        self.digest(what);
    }

    /// A look at the clock: an event, so that a wait for a time lets others run. Outside the
    /// schedule it takes a microsecond, so that rows which are loaded one by one have times of their own.
    pub(crate) fn look_at_clock(&self) -> Ticks {
        self.no_task("a look at the clock");
        if let Some(timed) = self.timed() {
            // A spin that ends at a time is one that changes by itself.
            timed.borrow_mut().acts(self.core.get());
            self.time.set(self.time.get() + 1);
            return self.time.get();
        }
        self.other_event(CLOCK_EVENT);
        if self.running.get() == 0 {
            let microsecond = self.config.ticks_per_second().div_ceil(1_000_000);
            self.skew.set(self.skew.get() + microsecond - 1);
        }
        self.now()
    }

    /// Adds one to the counter in the middle of the chip: an event.
    pub(crate) fn count_on_chip(&self) -> u64 {
        if let Some(timed) = self.timed() {
            return self.timed_count(timed);
        }
        self.other_event(COUNTER_EVENT);
        self.on_chip.set(self.on_chip.get() + 1);
        self.on_chip.get()
    }

    /// The time.
    pub(crate) fn now(&self) -> Ticks {
        if self.timed().is_some() {
            return self.time.get();
        }
        self.event.get() + self.skew.get()
    }

    /// Does what is due: gives up, wakes cores, drains a store, lets another core run.
    #[cold]
    #[inline(never)]
    fn attend(&self) {
        let running = self.running.get();
        let event = self.event.get();
        if running == 0 {
            let end = self.outside_end.get();
            if event >= end && !std::thread::panicking() {
                self.outside_end.set(u64::MAX);
                self.next.set(u64::MAX);
                resume_unwind(Box::new(TooManySteps));
            }
            self.next.set(if event < end { end } else { u64::MAX });
            return;
        }
        if std::thread::panicking() {
            self.next.set(event + UNWINDING_STRETCH);
            self.wait_in_vain();
            return;
        }
        if event >= self.limit.get() {
            self.exhaust();
        }
        self.wake_due();
        self.drain_due();
        let chosen = self.scheduler.borrow_mut().preempt(event, self.core.get());
        self.switch_to(chosen);
    }

    /// Finds out when something is due next.
    pub(crate) fn plan(&self) {
        if self.timed().is_some() {
            self.next.set(u64::MAX);
            return;
        }
        let mut next = self.limit.get().min(self.scheduler.borrow().switch_at());
        next = next.min(self.timer_at.get().saturating_sub(self.skew.get()));
        if self.buffered.get() {
            next = next.min(self.drain_at.get());
        }
        self.next.set(next);
    }

    /// Lets core `chosen` run, which may be the running one, and returns when the caller runs again.
    pub(crate) fn switch_to(&self, chosen: u32) {
        let running = self.running.get();
        if self.turn_on(chosen) == running {
            self.plan();
            return;
        }
        self.workers.borrow_mut()[running as usize].since = self.event.get();
        self.take_over(chosen);
        self.suspend(running);
    }

    /// Books core `chosen` as running, with the worker whose turn it is there.
    pub(crate) fn take_over(&self, chosen: u32) {
        let worker = self.turn_on(chosen);
        if self.core.replace(chosen) != chosen {
            self.switches.set(self.switches.get() + 1);
            self.region.enter_host(self.hosts.borrow()[chosen as usize]);
        }
        self.running.set(worker);
        self.slice_end.set(self.slice_end_on(chosen));
        if !self.workers.borrow()[worker as usize].daemon {
            self.vain_jumps.set(0);
        }
        self.digest((u64::from(worker) << 4) | SWITCH);
        self.plan();
    }

    pub(crate) fn suspend(&self, running: u32) {
        let yielder = self.workers.borrow()[running as usize].yielder;
        // SAFETY: the yielder lives at the root of this very coroutine's stack, which executes.
        unsafe { (*yielder).suspend(()) };
    }

    /// Ends the run here and now: no core runs again.
    pub(crate) fn halt(&self) -> ! {
        self.halted.set(true);
        loop {
            self.suspend(self.running.get());
        }
    }

    /// The running worker waits: an event.
    pub(crate) fn wait_event(&self) {
        self.other_event(WAIT_EVENT);
    }

    /// Waiting where nobody else runs is a mistake of the program; it must not hang the host.
    #[cold]
    pub(crate) fn wait_in_vain(&self) {
        let waits = self.vain_waits.get() + 1;
        self.vain_waits.set(waits);
        if waits < VAIN_WAITS_MAX {
            return;
        }
        let seed = self.config.seed;
        if self.running.get() == 0 {
            panic!("a wait outside the schedule can never end (seed {seed})");
        }
        // Neither a panic nor a switch is possible while the core unwinds.
        let said = self.panic_message.take().unwrap_or_default();
        eprintln!("a simulated core waits for another while it unwinds (seed {seed}): {said}");
        std::process::abort();
    }
}

#[cold]
#[inline(never)]
fn no_run() -> ! {
    panic!(
        "no simulated run is current on this thread: use Run::outside, and drop what lives in a \
         run's memory inside it"
    );
}
