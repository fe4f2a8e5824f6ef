//! Hosts: groups of cores that crash alone, are stopped for a while, and start again while the run goes on.
//!
//! - A crash discards the workers of a host where they stand, as the end of a run does. Of what its cores
//!   hold back in their store buffers, the oldest part becomes visible, how many stores the seed says. Wake-ups
//!   for the dead go nowhere, no count knows them any more, and what they had obtained stays theirs.
//! - A host that starts again has new workers, on the cores of those that have ended.
//! - A host that is stopped loses all its cores at once. Its sleepers may be woken meanwhile, and run afterwards.
//! - Memory belongs to the host whose core obtained it, and no core of another may touch it (`region`):
//!   hosts have nothing in common but what is on the heap of the program that simulates them, such as
//!   a disk.

use crate::fibre::{Arrival, Body, obtain_stack};
use crate::host::Host;
use crate::state::{HOST_EVENT, State};
use crate::timed::Post;
use chiliad_machine::{Ticks, Woken, WorkerId};

/// Timers from this number on are those of hosts that are stopped, not of workers.
const PAUSES: u32 = u32::MAX - Host::COUNT_MAX;

/// An operation on a host, for the run's digest.
#[derive(Clone, Copy)]
enum Change {
    Crash = 1,
    Pause,
    Spawn,
}

/// The host of the running core.
#[must_use]
pub fn host() -> Host {
    State::current().host()
}

/// Executes `f` between runs as [`crate::Run::outside_on`] does, within a call of [`crate::Run::outside`]: memory that it
/// obtains is the host's.
///
/// # Panics
/// On a core.
pub fn outside_on<R>(host: Host, f: impl FnOnce() -> R) -> R {
    let state = State::current();
    assert!(state.running.get() == 0, "cores have the hosts that they have");
    state.region.enter_host(host);
    let outcome = f();
    state.region.enter_host(state.host());
    outcome
}

/// All workers of a host die where they stand: no destructor of theirs runs, and none of them runs again. Others
/// may run first. A host without workers stays as it is.
///
/// The run ends when only daemons are left: the core that starts the host again is none.
///
/// # Panics
/// Outside the schedule, and when the running core is one of the host's.
pub fn crash(host: Host) {
    State::current().crash(host);
}

/// All cores of a host stop for so many ticks, as by SIGSTOP and SIGCONT. Others may run first. A host that is
/// stopped for longer already stays so, and its new cores are stopped too. A run that ends stops nobody.
///
/// # Panics
/// Outside the schedule, and when the running core is one of the host's.
pub fn pause(host: Host, ticks: Ticks) {
    State::current().pause_host(host, ticks);
}

/// Adds a core to the run that is going on, as [`crate::Run::spawn_on`] does before: it may run from now on.
///
/// # Panics
/// Outside the schedule, and when there is no room for a stack.
pub fn spawn_during(
    host: Host,
    name: impl Into<String>,
    body: impl FnOnce() + 'static,
) -> WorkerId {
    let bodies: Vec<Body> = vec![Box::new(body)];
    State::current().spawn(host, vec![name.into()], Post::Tile, false, bodies)[0]
}

/// As [`spawn_during`], for a core with several workers: see [`crate::Run::spawn_crew`].
///
/// # Panics
/// As [`spawn_during`], and without any bodies.
pub fn spawn_crew_during(host: Host, name: &str, bodies: Vec<Box<dyn FnOnce()>>) -> Vec<WorkerId> {
    let names = names_of_crew(name, bodies.len());
    State::current().spawn(host, names, Post::Tile, false, bodies)
}

/// As [`spawn_during`], for background work: see [`crate::Run::spawn_daemon`].
///
/// # Panics
/// As [`spawn_during`].
pub fn spawn_daemon_during(
    host: Host,
    name: impl Into<String>,
    body: impl FnOnce() + 'static,
) -> WorkerId {
    let bodies: Vec<Body> = vec![Box::new(body)];
    State::current().spawn(host, vec![name.into()], Post::Background, true, bodies)[0]
}

/// The names of a core's workers.
///
/// # Panics
/// When there is none.
pub(crate) fn names_of_crew(name: &str, members: usize) -> Vec<String> {
    assert!(members > 0, "a core has a worker");
    match members {
        1 => vec![name.to_owned()],
        _ => (0..members).map(|member| format!("{name}.{member}")).collect(),
    }
}

impl State {
    /// The host of the running core.
    pub(crate) fn host(&self) -> Host {
        self.host_of(self.core.get())
    }

    fn host_of(&self, core: u32) -> Host {
        self.hosts.borrow()[core as usize]
    }

    fn cores_of(&self, host: Host) -> Vec<u32> {
        let hosts = self.hosts.borrow();
        // Core 0 is the caller of the run.
        (1..hosts.len()).filter(|&core| hosts[core] == host).map(|core| core as u32).collect()
    }

    /// Others may run; then something is done to a host.
    fn change_host(&self, change: Change, host: Host) {
        assert!(self.running.get() != 0, "hosts change while a run goes on, by a core of it");
        self.other_event((u64::from(host.0) << 8) | ((change as u64) << 4) | HOST_EVENT);
        if let Some(timed) = self.timed()
            && self.is_scheduled()
        {
            self.let_others(timed);
        }
    }

    fn change_other(&self, change: Change, host: Host) {
        assert!(host != self.host(), "{host} cannot do that to itself: a core of another does");
        self.change_host(change, host);
    }

    fn crash(&self, host: Host) {
        self.change_other(Change::Crash, host);
        self.marks.borrow_mut().insert("host crashed");
        self.end_pause(host);
        let cores = self.cores_of(host);
        for worker in self.numbers() {
            let there = {
                let it = &self.workers.borrow()[worker as usize];
                !it.ended && cores.binary_search(&it.core).is_ok()
            };
            if there {
                self.die(worker);
            }
        }
        for core in cores {
            self.stop_core(core);
        }
        if self.live_workers.get() == 0 && !self.ending.get() {
            self.end();
        }
        self.plan();
    }

    /// A worker dies; its core is seen to.
    fn die(&self, worker: u32) {
        self.rise(worker, Woken::ByPeer);
        if let Some(share) = self.timeshare.get() {
            share.borrow_mut().ready.retain(|&ready| ready != worker);
        }
        let (daemon, in_section) = {
            let it = &mut self.workers.borrow_mut()[worker as usize];
            it.ended = true;
            it.permit = false;
            (it.daemon, std::mem::take(&mut it.sections) > 0)
        };
        self.in_sections.set(self.in_sections.get() - u32::from(in_section));
        self.live.set(self.live.get() - 1);
        self.live_workers.set(self.live_workers.get() - u32::from(!daemon));
        self.crashed.set(self.crashed.get() + 1);
        self.dead.borrow_mut().push(WorkerId(worker));
    }

    /// The workers of a core have died.
    fn stop_core(&self, core: u32) {
        let ready = {
            let round = &mut self.rounds.borrow_mut()[core as usize];
            let ready = !round.is_empty();
            round.clear();
            ready
        };
        self.scheduler.borrow_mut().withdraw(core);
        let lost = {
            let mut buffers = self.buffers.borrow_mut();
            let lost = buffers.lose(core);
            self.buffered.set(!buffers.is_empty());
            lost
        };
        if lost > 0 {
            self.marks.borrow_mut().insert("stores lost in a crash");
        }
        if let Some(timed) = self.timed() {
            timed.borrow_mut().stop_for_good(core, ready);
        }
    }

    fn pause_host(&self, host: Host, ticks: Ticks) {
        self.change_other(Change::Pause, host);
        let until = self.now() + ticks;
        if self.ending.get() || self.paused.borrow().get(&host).is_some_and(|it| *it >= until) {
            return;
        }
        self.marks.borrow_mut().insert("host paused");
        self.end_pause(host);
        self.paused.borrow_mut().insert(host, until);
        let cores = self.cores_of(host);
        if let Some(timed) = self.timed() {
            // Its cores see to the time themselves.
            let mut timed = timed.borrow_mut();
            cores.into_iter().for_each(|core| timed.stop_until(core, until));
            return;
        }
        cores.into_iter().for_each(|core| self.scheduler.borrow_mut().withdraw(core));
        self.timers.borrow_mut().insert((until, PAUSES + host.0));
        self.timer_at.set(self.timer_at.get().min(until));
        self.plan();
    }

    /// Ends the host's pause; cores that can run there are not booked yet.
    fn end_pause(&self, host: Host) {
        let Some(until) = self.paused.borrow_mut().remove(&host) else { return };
        let mut timers = self.timers.borrow_mut();
        timers.remove(&(until, PAUSES + host.0));
        self.timer_at.set(timers.first().map_or(Ticks::MAX, |first| first.0));
    }

    /// The host that goes on at a timer with this number, if it is not a worker's.
    pub(crate) fn paused_by(timer: u32) -> Option<Host> {
        timer.checked_sub(PAUSES).map(Host)
    }

    /// The host goes on.
    pub(crate) fn go_on_with(&self, host: Host) {
        self.end_pause(host);
        for core in self.cores_of(host) {
            if !self.rounds.borrow()[core as usize].is_empty() {
                self.scheduler.borrow_mut().admit(core, self.core.get());
            }
        }
    }

    /// All hosts go on: the run ends.
    pub(crate) fn go_on_with_all(&self) {
        if let Some(timed) = self.timed() {
            timed.borrow_mut().stop_nobody();
            return;
        }
        let paused: Vec<Host> = self.paused.borrow().keys().copied().collect();
        paused.into_iter().for_each(|host| self.go_on_with(host));
    }

    /// Whether the host of `core` is stopped.
    pub(crate) fn is_paused(&self, core: u32) -> bool {
        let paused = self.paused.borrow();
        !paused.is_empty() && paused.contains_key(&self.host_of(core))
    }

    fn spawn(
        &self,
        host: Host,
        names: Vec<String>,
        post: Post,
        daemon: bool,
        bodies: Vec<Body>,
    ) -> Vec<WorkerId> {
        self.change_host(Change::Spawn, host);
        let (bytes, live) = (self.config.stack_bytes, self.live.get() as usize);
        let count = u32::try_from(bodies.len()).expect("fewer workers than u32 counts");
        let stacks: Result<Vec<_>, _> =
            (live..).take(bodies.len()).map(|used| obtain_stack(bytes, used)).collect();
        let stacks = stacks.unwrap_or_else(|refused| panic!("{refused}"));
        let workers = match self.vacant_core(host, post) {
            Some(core) => self.add_workers(core, names, daemon),
            None => self.add_core(host, names, post, daemon),
        };
        for ((&worker, body), stack) in workers.iter().zip(bodies).zip(stacks) {
            self.arrivals.borrow_mut().push(Arrival { worker, body, stack });
        }
        self.live.set(self.live.get() + count);
        self.live_workers.set(self.live_workers.get() + if daemon { 0 } else { count });
        let core = self.workers.borrow()[workers[0].0 as usize].core;
        if let Some(timed) = self.timed() {
            timed.borrow_mut().start(core, post, host, self.time.get());
            if let Some(&until) = self.paused.borrow().get(&host) {
                timed.borrow_mut().stop_until(core, until);
            }
        }
        workers.iter().for_each(|worker| self.admit(worker.0));
        self.plan();
        workers
    }

    /// A core of the host, for this purpose, whose workers have all ended.
    fn vacant_core(&self, host: Host, post: Post) -> Option<u32> {
        let (workers, posts) = (self.workers.borrow(), self.posts.borrow());
        let shared = self.timeshare.get().map(|share| share.borrow().cores.clone());
        self.cores_of(host).into_iter().find(|&core| {
            posts[core as usize] == post
                && workers.iter().all(|worker| worker.ended || worker.core != core)
                && shared.as_ref().is_none_or(|cores| !cores.contains(&core))
                && self.timed().is_none_or(|timed| timed.borrow().is_at_rest(core))
        })
    }
}
