//! One run: cores are spawned, run, and taken apart.
//!
//! - A core's stack is used again by later cores of the host thread (`fibre`).
//! - A core that was suspended when the run ended is discarded where it stood: its destructors do not
//!   run, since the coroutine's own way to run them ends the process when one of them panics. What it
//!   owned on the host's heap leaks; what lived in the region goes with it. So it is with a core whose host
//!   crashes, at the next switch.
//! - A run that never went drops its closures like any value.

use crate::config::Config;
use crate::fibre::{Arrival, Body, Fibre, obtain_stack, take_apart};
use crate::hook;
use crate::host::Host;
use crate::hosts::names_of_crew;
use crate::outcome::{Outcome, TooManySteps, UseOfFreedMemory, Verdict};
use crate::region::NoMemory;
use crate::state::State;
use crate::timed::{Post, Timeshare};
use chiliad_machine::{NoRoom, WorkerId};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

/// A program on the simulated machine. See the crate's head for an example.
pub struct Run {
    /// Boxed: the current run is found by a pointer to it. Dropped last, for closures may hold what
    /// lives in the region.
    bodies: Vec<(WorkerId, Body)>,
    /// For their cores.
    stacks: Vec<DefaultStack>,
    gone: bool,
    pub(crate) state: Box<State>,
}

impl Run {
    /// A run without cores.
    ///
    /// # Panics
    /// When the host refuses the address space: see [`Run::try_new`].
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::try_new(config).unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// As [`Run::new`], where the caller can do without.
    ///
    /// # Errors
    /// When the host refuses the address space.
    pub fn try_new(config: Config) -> Result<Self, NoMemory> {
        hook::install();
        let state = Box::new(State::new(config)?);
        Ok(Self { bodies: Vec::new(), stacks: Vec::new(), gone: false, state })
    }

    /// Obtains the stacks of all cores that have been added, which [`Run::go`] would do otherwise.
    ///
    /// # Errors
    /// When there is no room for one.
    pub fn obtain_stacks(&mut self) -> Result<(), NoRoom> {
        let bytes = self.state.config.stack_bytes;
        while self.stacks.len() < self.bodies.len() {
            self.stacks.push(obtain_stack(bytes, self.stacks.len())?);
        }
        Ok(())
    }

    /// Puts what is to come under another configuration: a program's data are made once, outside, and the
    /// cores that work on them run under any seed, on any machine. The run is then a function of both
    /// configurations. The region stays as large as it is.
    ///
    /// # Panics
    /// When there are cores already.
    pub fn reconfigure(&mut self, config: Config) {
        assert!(
            self.bodies.is_empty() && !self.gone,
            "a run has its configuration before its cores"
        );
        let region_bytes = self.state.config.region_bytes;
        self.state.reconfigure(Config { region_bytes, ..config });
    }

    /// Executes `f` on the host's stack, as worker 0: its accesses are performed but not scheduled,
    /// and count as no events, but time passes. For loading before the cores start and for checks after
    /// they ended.
    ///
    /// # Panics
    /// With its report, when `f` uses freed memory.
    pub fn outside<R>(&self, f: impl FnOnce() -> R) -> R {
        self.outside_on(Host(0), f)
    }

    /// As [`Run::outside`], where memory that `f` obtains is the host's, whose cores alone may access it.
    /// Code outside of the run may access all memory.
    ///
    /// # Panics
    /// With its report, when `f` uses freed memory.
    pub fn outside_on<R>(&self, host: Host, f: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a State, u64, u64, (u32, u32));
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                let passed = self.0.event.replace(self.1) - self.1;
                self.0.skew.set(self.0.skew.get() + passed);
                self.0.next.set(self.2);
                self.0.running.set(self.3.0);
                self.0.core.set(self.3.1);
                self.0.region.enter_host(self.0.host());
            }
        }
        let state = &*self.state;
        let _current = state.enter_run();
        let place = (state.running.get(), state.core.get());
        let _restore = Restore(state, state.event.get(), state.next.get(), place);
        state.running.set(0);
        state.core.set(0);
        state.next.set(u64::MAX);
        state.region.enter_host(host);
        f()
    }

    /// As [`Run::outside`], for no more than so many accesses: then `f` is unwound, as by a panic that shows nothing.
    /// For looking at memory that a bug may have tied into a loop.
    ///
    /// # Errors
    /// [`TooManySteps`]: `f` has not ended.
    ///
    /// # Panics
    /// As [`Run::outside`]; other panics of `f` are passed on.
    pub fn outside_within<R>(
        &self,
        accesses: u64,
        f: impl FnOnce() -> R,
    ) -> Result<R, TooManySteps> {
        let state = &*self.state;
        let result = catch_unwind(AssertUnwindSafe(|| {
            self.outside(|| {
                let end = state.event.get().saturating_add(accesses);
                state.outside_end.set(end);
                state.next.set(end);
                f()
            })
        }));
        state.outside_end.set(u64::MAX);
        match result {
            Ok(value) => Ok(value),
            Err(payload) => match payload.downcast::<TooManySteps>() {
                Ok(steps) => Err(*steps),
                Err(payload) => resume_unwind(payload),
            },
        }
    }

    /// As [`Run::outside`], with a use of freed memory returned instead of a panic. Other panics of
    /// `f` are passed on, without having been shown.
    ///
    /// # Errors
    /// The report of the use of freed memory.
    pub fn try_outside<R>(&self, f: impl FnOnce() -> R) -> Result<R, Box<UseOfFreedMemory>> {
        let before = self.state.verdict.take();
        self.state.quiet.set(true);
        let result = catch_unwind(AssertUnwindSafe(|| self.outside(f)));
        self.state.quiet.set(false);
        let found = std::mem::replace(&mut *self.state.verdict.borrow_mut(), before);
        match (result, found) {
            (_, Some(Verdict::UseOfFreedMemory(report))) => Err(report),
            (Ok(value), _) => Ok(value),
            (Err(payload), _) => resume_unwind(payload),
        }
    }

    /// Adds a core that runs `body`. The run lasts until all such cores have returned. Cores are
    /// workers 1, 2, ... in the order in which they are added; worker 0 is the host's own stack.
    pub fn spawn(&mut self, name: impl Into<String>, body: impl FnOnce() + 'static) -> WorkerId {
        self.spawn_on(Host(0), name, body)
    }

    /// As [`Run::spawn`], for a core of this host.
    pub fn spawn_on(
        &mut self,
        host: Host,
        name: impl Into<String>,
        body: impl FnOnce() + 'static,
    ) -> WorkerId {
        self.add(host, vec![name.into()], Post::Tile, false, vec![Box::new(body)])[0]
    }

    /// Adds one core with several workers, in turns on it, a fiber group. A worker's turn ends where it
    /// waits for memory, for a moment, or asleep (see [`chiliad_machine::Machine::await_line`]), and the
    /// next that can run takes over. They are numbered in order, and named by `name` and their place.
    ///
    /// # Panics
    /// Without any bodies: a core has a worker.
    pub fn spawn_crew(&mut self, name: &str, bodies: Vec<Box<dyn FnOnce()>>) -> Vec<WorkerId> {
        self.spawn_crew_on(Host(0), name, bodies)
    }

    /// As [`Run::spawn_crew`], for a core of this host.
    ///
    /// # Panics
    /// Without any bodies: a core has a worker.
    pub fn spawn_crew_on(
        &mut self,
        host: Host,
        name: &str,
        bodies: Vec<Box<dyn FnOnce()>>,
    ) -> Vec<WorkerId> {
        self.add(host, names_of_crew(name, bodies.len()), Post::Tile, false, bodies)
    }

    /// Adds `cores` cores of host 0 and a thread of the operating system for each body, by its name. Where there are more
    /// threads than cores they share these by slices of time, in a timed run (`timed/timeshare.rs`); where
    /// there are fewer, the last cores idle.
    ///
    /// # Panics
    /// When there are more threads than cores in a run that is not timed, or a second time; without cores.
    pub fn spawn_threads(
        &mut self,
        cores: usize,
        bodies: Vec<(String, Box<dyn FnOnce()>)>,
    ) -> Vec<WorkerId> {
        assert!(!self.gone, "a run goes once: cores are added before that");
        assert!(cores > 0, "threads need a core");
        let state = &self.state;
        let (names, bodies): (Vec<String>, Vec<Body>) = bodies.into_iter().unzip();
        let (first_core, first) = (state.rounds.borrow().len(), state.workers.borrow().len());
        let (mut names, count) = (names.into_iter(), bodies.len());
        let mut workers = Vec::with_capacity(count);
        for _ in 0..cores {
            let first = names.by_ref().take(1).collect();
            workers.extend(state.add_core(Host(0), first, Post::Tile, false));
        }
        if count > cores {
            assert!(state.config.machine.is_some(), "threads share cores where time passes");
            for (core, name) in (first_core..first_core + cores).cycle().zip(names) {
                workers.extend(state.add_workers(core as u32, vec![name], false));
            }
            let cores = first_core as u32..(first_core + cores) as u32;
            let share = Timeshare::new(cores, first as u32, count);
            assert!(state.timeshare.set(RefCell::new(share)).is_ok(), "threads are added once");
        }
        self.bodies.extend(workers.iter().copied().zip(bodies));
        workers
    }

    /// As [`Run::spawn`], for a core that shall change nothing about where the others are: it has the place
    /// of a daemon.
    pub fn spawn_guest(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce() + 'static,
    ) -> WorkerId {
        self.add(Host(0), vec![name.into()], Post::Background, false, vec![Box::new(body)])[0]
    }

    /// Adds a core for background work, such as a ticker: when all cores that are no daemons have
    /// returned it is told to stop ([`crate::stopping`]), and it shall then return.
    pub fn spawn_daemon(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce() + 'static,
    ) -> WorkerId {
        self.spawn_daemon_on(Host(0), name, body)
    }

    /// As [`Run::spawn_daemon`], for a core of this host.
    pub fn spawn_daemon_on(
        &mut self,
        host: Host,
        name: impl Into<String>,
        body: impl FnOnce() + 'static,
    ) -> WorkerId {
        self.add(host, vec![name.into()], Post::Background, true, vec![Box::new(body)])[0]
    }

    /// As [`Run::spawn_daemon`], for an observer: nothing that it does takes time.
    pub fn spawn_observer(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce() + 'static,
    ) -> WorkerId {
        self.add(Host(0), vec![name.into()], Post::Outside, true, vec![Box::new(body)])[0]
    }

    fn add(
        &mut self,
        host: Host,
        names: Vec<String>,
        post: Post,
        daemon: bool,
        bodies: Vec<Body>,
    ) -> Vec<WorkerId> {
        assert!(!self.gone, "a run goes once: cores are added before that");
        let workers = self.state.add_core(host, names, post, daemon);
        self.bodies.extend(workers.iter().copied().zip(bodies));
        workers
    }

    /// Runs all cores to their end.
    ///
    /// # Panics
    /// When called twice; when there is no room for a stack: see [`Run::obtain_stacks`].
    pub fn go(&mut self) -> Outcome {
        assert!(!self.gone, "a run goes once");
        self.obtain_stacks().unwrap_or_else(|refused| panic!("{refused}"));
        self.gone = true;
        let state = &*self.state;
        let _current = state.enter_run();
        let began = Instant::now();
        let count = u32::try_from(self.bodies.len()).unwrap_or(u32::MAX);
        let daemons = state.workers.borrow().iter().filter(|worker| worker.daemon).count();
        state.live.set(count);
        state.live_workers.set(count - u32::try_from(daemons).unwrap_or(0));
        let bodies = self.bodies.drain(..).zip(self.stacks.drain(..));
        let arrivals =
            bodies.map(|((worker, body), stack)| Arrival { worker, body, stack }).collect();
        state.arrivals.replace(arrivals);
        state.begin_time();
        if count > 0 {
            state.start();
        }
        let mut fibres = Vec::new();
        bring_up_to_date(&mut fibres, state);
        while state.live.get() > 0 && !state.halted.get() {
            let running = fibres[state.running.get() as usize - 1].as_mut();
            match running.expect("no worker runs that has died").resume(()) {
                CoroutineResult::Yield(()) | CoroutineResult::Return(()) => {}
            }
            bring_up_to_date(&mut fibres, state);
        }
        state.running.set(0);
        state.core.set(0);
        state.next.set(u64::MAX);
        state.drain_all();
        let bytes = state.config.stack_bytes;
        let discarded = fibres.into_iter().flatten().map(|it| u32::from(take_apart(it, bytes)));
        let discarded = discarded.sum();
        self.outcome(discarded, began)
    }

    /// The run, which goes now.
    pub(crate) fn begin_once(&mut self) -> &State {
        assert!(!self.gone && self.bodies.is_empty(), "a run goes once, with tasks or with cores");
        self.gone = true;
        &self.state
    }

    pub(crate) fn outcome(&self, discarded: u32, began: Instant) -> Outcome {
        let state = &*self.state;
        let panics = state.panics.take();
        let verdict = state.verdict.take().unwrap_or_else(|| {
            panics.first().cloned().map_or(Verdict::Completed, Verdict::CorePanicked)
        });
        Outcome {
            verdict,
            events: state.event.get(),
            switches: state.switches.get(),
            panics,
            discarded,
            crashed: state.crashed.get(),
            marks: state.marks.take(),
            trace_hash: state.digest.get() ^ state.timed().map_or(0, |it| it.borrow().digest),
            timings: state.timed().map(|it| it.borrow().timings),
            tasks: state.swarm.get().map(|it| it.borrow().counts()),
            passed: state.swarm.get().map(|it| it.borrow_mut().take_passed()).unwrap_or_default(),
            begun: state.swarm.get().map(|it| it.borrow_mut().take_begun()).unwrap_or_default(),
            core_time: state
                .swarm
                .get()
                .map(|it| it.borrow().counts().core_time)
                .or_else(|| state.timed().map(|it| state.books.borrow().total(it.borrow().last()))),
            transcript: state.transcript.take().into(),
            memory_bytes: state.region.used_bytes(),
            counters: state.counters.get(),
            untimed_seconds: state
                .clocked
                .get()
                .map_or(0.0, |at| at.saturating_duration_since(began).as_secs_f64()),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let bodies = std::mem::take(&mut self.bodies);
        if !bodies.is_empty() {
            self.outside(|| drop(bodies));
        }
    }
}

/// A suspended core.
fn fibre(state: &State, worker: WorkerId, body: Body, stack: DefaultStack) -> Fibre {
    let state: *const State = state;
    Coroutine::with_stack(stack, move |yielder, ()| {
        // SAFETY: the state outlives the coroutine, which `go` takes apart before it returns.
        let state = unsafe { &*state };
        state.workers.borrow_mut()[worker.0 as usize].yielder = yielder;
        let result = catch_unwind(AssertUnwindSafe(body));
        state.end_core(result);
    })
}

/// Makes the coroutines of workers that have come, by number, and takes those apart that have died.
fn bring_up_to_date(fibres: &mut Vec<Option<Fibre>>, state: &State) {
    for it in state.arrivals.borrow_mut().drain(..) {
        fibres.push(Some(fibre(state, it.worker, it.body, it.stack)));
    }
    for worker in state.dead.borrow_mut().drain(..) {
        if let Some(fibre) = fibres[worker.0 as usize - 1].take() {
            take_apart(fibre, state.config.stack_bytes);
        }
    }
}

/// Runs `program` and, if it used freed memory, once more with the stack of the free recorded.
pub fn trace_freeing(config: &Config, mut program: impl FnMut(Config) -> Outcome) -> Outcome {
    let outcome = program(config.clone());
    let Verdict::UseOfFreedMemory(report) = &outcome.verdict else { return outcome };
    let Some(freed) = &report.freed else { return outcome };
    program(Config { trace_free: Some(freed.serial), ..config.clone() })
}
