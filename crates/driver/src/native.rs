//! The native driver: clients are OS threads, which run back to back or at given arrivals.
//!
//! ```text
//! load -> warm-up -> measured window -> stop -> join -> conditions
//!          |-- ticker: one commit epoch after the other --|
//!          |-- log writers, checkpoints, for a run with a log --|
//! ```
//!
//! Clients may exceed the cores: `Plan::cores` says how many of the cores they may run on. Where
//! there is a core for each client, each is pinned to one.

use super::client::ClientReport;
use super::series::{SAMPLE_INTERVAL, Series, resident_bytes};
use super::signals::{Phase, RunSignals, Signals};
use super::slices::Slices;
use super::threads::{join, place, start};
use super::{
    Bell, Deferrals, Failure, Idle, Length, NativeReport, Plan, Progress, Tally, Target, load,
    watch,
};
use chiliad_machine::{Interleaved, Machine, Native, Pace, Ticks, allowed_cores, interleave};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the driver sleeps while clients run a given number of transactions.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How often the log is looked after.
const UPKEEP_INTERVAL: Duration = Duration::from_millis(20);

/// Loads `target`'s rows, unless they are there, and runs its clients natively.
///
/// # Errors
/// The failures that keep the run from its end: see [`Failure`].
pub fn run_native(
    target: &(dyn Target + Sync),
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<NativeReport, Failure> {
    let over = AtomicBool::new(false);
    let bell = Arc::new(Bell::default());
    let checkpoints = AtomicU64::new(0);
    let trouble = Mutex::new(None);
    let upkeep = |task: &dyn Fn() -> Result<(), Failure>| {
        // Acquire pairs with the release in `StopHelpers::drop`.
        while !over.load(Ordering::Acquire) {
            if let Err(failure) = task() {
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            }
            thread::park_timeout(UPKEEP_INTERVAL);
        }
    };
    thread::scope(|scope| {
        let mut stop = StopHelpers { over: &over, target, threads: Vec::new() };
        stop.help(scope, || {
            bell.turns.ticks_here();
            // Acquire pairs with the release in `StopHelpers::drop`.
            while !over.load(Ordering::Acquire) {
                thread::park_timeout(plan.epoch);
                if bell.turns.is_due() {
                    target.tick();
                }
            }
        })?;
        for number in 0..target.log_writers() {
            let (over, bell) = (&over, &bell);
            stop.help(scope, move || {
                // Acquire pairs with the release in `StopHelpers::drop`.
                let over = || over.load(Ordering::Acquire);
                target.run_log(number, &over, &|| bell.ring::<Interleaved>());
            })?;
        }
        if target.log_writers() > 0 {
            stop.help(scope, || upkeep(&|| target.prepare_log()))?;
            stop.help(scope, || {
                upkeep(&|| {
                    let made = u64::from(target.checkpoint()?);
                    checkpoints.fetch_add(made, Ordering::Relaxed);
                    Ok(())
                });
            })?;
        }
        let report = run_ticking(target, plan, progress, &bell, &checkpoints)?;
        let trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        trouble.map_or(Ok(report), Err)
    })
}

/// Loads `target`'s rows: a later run need not.
///
/// # Errors
/// As for [`run_native`].
pub fn load_native(
    target: &(dyn Target + Sync),
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    load::load(target, plan.seed, plan.cores, progress)?;
    target.reach_snapshot()
}

/// Ends the threads beside the clients, however their driver ends.
struct StopHelpers<'a> {
    over: &'a AtomicBool,
    target: &'a dyn Target,
    threads: Vec<thread::Thread>,
}

impl StopHelpers<'_> {
    /// Starts one more.
    fn help<'scope>(
        &mut self,
        scope: &'scope thread::Scope<'scope, '_>,
        task: impl FnOnce() + Send + 'scope,
    ) -> Result<(), Failure> {
        let helper = start(scope, task)?;
        self.threads.push(helper.thread().clone());
        Ok(())
    }
}

impl Drop for StopHelpers<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire of the helpers.
        self.over.store(true, Ordering::Release);
        self.target.cancel_checkpoints();
        self.threads.iter().for_each(thread::Thread::unpark);
    }
}

fn run_ticking(
    target: &(dyn Target + Sync),
    plan: &Plan,
    progress: &dyn Progress,
    bell: &Arc<Bell>,
    checkpoints: &AtomicU64,
) -> Result<NativeReport, Failure> {
    let started = Instant::now();
    if plan.load {
        load_native(target, plan, progress)?;
    }
    let load_seconds = started.elapsed().as_secs_f64();
    target.prepare_memory()?;
    bell.turns.count(plan.epoch_transactions.is_some());
    let ran = run_clients(target, plan, progress, bell, checkpoints);
    bell.turns.count(false);
    let mut report = ran?;
    report.load_seconds = load_seconds;
    if plan.versions {
        report.versions = Some(target.versions()?);
    }
    if plan.conditions {
        progress.checking();
        report.conditions = Some(target.conditions()?);
        report.differences = target.audit()?;
    }
    Ok(report)
}

/// Runs the fibers of client `index`: as many at once as pay, or all. Ends the run where there is no room for
/// their stacks.
fn run_crew(
    target: &(dyn Target + Sync),
    plan: &Plan,
    pace: &Pace,
    shared: &RunSignals,
    index: usize,
) -> Vec<Member> {
    let run = |fiber| target.run_client(plan.client_id(index, fiber), plan, shared);
    let ran = match plan.adaptive {
        true => pace.interleave(plan.interleave, run),
        false => interleave(plan.interleave, run),
    };
    ran.unwrap_or_else(|refused| {
        shared.0.stop::<Interleaved>();
        vec![Ok(Err(Failure::doing("starting a client")(refused.into())))]
    })
}

fn run_clients(
    target: &(dyn Target + Sync),
    plan: &Plan,
    progress: &dyn Progress,
    bell: &Arc<Bell>,
    checkpoints: &AtomicU64,
) -> Result<NativeReport, Failure> {
    let signals = plan.signals();
    let shared = RunSignals(signals.clone(), Arc::clone(bell));
    let logged = || (target.log_bytes(), checkpoints.load(Ordering::Relaxed));
    let cores = allowed_cores();
    let pace = Pace::new();
    target.open_queues(plan);
    thread::scope(|scope| {
        let mut clients = Vec::with_capacity(plan.clients);
        for index in 0..plan.clients {
            let (shared, cores, pace) = (&shared, &cores, &pace);
            let client = start(scope, move || {
                place(cores, plan.cores, plan.clients, index);
                run_crew(target, plan, pace, shared, index)
            });
            match client {
                Ok(client) => clients.push(client),
                Err(failure) => {
                    signals.stop::<Interleaved>();
                    return Err(failure);
                }
            }
        }
        let looks = spawn_watch(scope, plan, &signals)?;
        let stalled = spawn_stalled(scope, target, plan, &shared, &cores)?;
        let mut watch = Watch {
            plan,
            signals: &signals,
            progress,
            clients: &clients,
            logged: &logged,
            at_the_end: None,
        };
        let measured = watch.measure();
        let memory_bytes = resident_bytes();
        let joined = Joined::all(clients, target.kinds().len());
        let idle = looks.and_then(|looks| looks.join().ok()).unwrap_or_default();
        let stalled = stalled.map_or(Ok(()), |stalled| join(stalled.join()));
        joined.failure.map_or(stalled, Err)?;
        if measured.interrupted && measured.seconds == 0.0 {
            return Err(Failure::Interrupted);
        }
        let seconds = match plan.length {
            Length::Time(_) => measured.seconds,
            // The last client's end, which the driver sees only a moment later.
            Length::Transactions(_) => joined.ended.saturating_sub(measured.start) as f64 / 1e9,
        };
        Ok(NativeReport {
            seconds,
            tally: joined.tally,
            recorders: joined.recorders,
            complete: !signals.ended_early(),
            deferrals: joined.deferrals,
            interrupted: measured.interrupted,
            conditions: None,
            differences: Vec::new(),
            versions: None,
            series: measured.series.into_samples(),
            memory_bytes,
            load_seconds: 0.0,
            log_bytes: measured.log_bytes,
            checkpoints: measured.checkpoints,
            following_cost: measured.slices.cost(),
            idle,
        })
    })
}

/// A thread that looks whether anybody gets on, if there is to be one.
fn spawn_watch<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    plan: &Plan,
    signals: &'scope Signals,
) -> Result<Option<thread::ScopedJoinHandle<'scope, Idle>>, Failure> {
    let Some(limit) = plan.idle_max else { return Ok(None) };
    let watch = move || watch::watch(signals, limit);
    let watch = start(scope, watch);
    watch.map(Some).inspect_err(|_| {
        signals.stop::<Interleaved>();
    })
}

/// A thread for the transaction that stalls, if there is to be one.
fn spawn_stalled<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    target: &'scope (dyn Target + Sync),
    plan: &'scope Plan,
    shared: &'scope RunSignals,
    cores: &'scope [usize],
) -> Result<Option<thread::ScopedJoinHandle<'scope, Result<(), Failure>>>, Failure> {
    if plan.stalled_at.is_none() {
        return Ok(None);
    }
    let stalled = start(scope, move || {
        place(cores, plan.cores, usize::MAX, 0);
        target.run_stalled(plan, shared)
    });
    stalled.map(Some).inspect_err(|_| {
        shared.0.stop::<Interleaved>();
    })
}

/// The reports of all clients.
struct Joined {
    tally: Tally,
    recorders: Vec<chiliad_checker::Recorder>,
    deferrals: Option<Deferrals>,
    failure: Option<Failure>,
    ended: Ticks,
}

impl Joined {
    fn new(kinds: usize) -> Self {
        Self {
            tally: Tally::new(kinds),
            recorders: Vec::new(),
            deferrals: None,
            failure: None,
            ended: 0,
        }
    }

    /// Joins all clients; all return.
    fn all(clients: Vec<ClientThread<'_>>, kinds: usize) -> Self {
        let mut joined = Self::new(kinds);
        for client in clients {
            match client.join() {
                Ok(fibers) => fibers.into_iter().for_each(|fiber| joined.add(join(fiber))),
                Err(panic) => joined.add(join(Err(panic))),
            }
        }
        joined
    }

    fn add(&mut self, client: Result<ClientReport, Failure>) {
        match client {
            Ok(client) => {
                self.tally.add(&client.tally);
                self.recorders.extend(client.recorder);
                Deferrals::gather(&mut self.deferrals, client.deferrals);
                self.ended = self.ended.max(client.ended);
            }
            Err(error) => self.failure = self.failure.take().or(Some(error)),
        }
    }
}

type Member = thread::Result<Result<ClientReport, Failure>>;
type ClientThread<'scope> = thread::ScopedJoinHandle<'scope, Vec<Member>>;

/// The driver's own thread while clients run.
struct Watch<'a, 'scope> {
    plan: &'a Plan,
    signals: &'a Signals,
    progress: &'a dyn Progress,
    clients: &'a [ClientThread<'scope>],
    /// Bytes of log and checkpoints so far.
    logged: &'a dyn Fn() -> (u64, u64),
    /// Transactions committed when the time was up, of a run that goes on until there is another.
    at_the_end: Option<u64>,
}

/// The time since a moment of the machine's clock.
fn since(moment: Ticks) -> Duration {
    Duration::from_nanos(Native::now().saturating_sub(moment))
}

/// The measured window.
struct Measured {
    /// Its begin by the machine's clock.
    start: Ticks,
    seconds: f64,
    /// It ended before its time.
    interrupted: bool,
    series: Series,
    slices: Slices,
    log_bytes: u64,
    checkpoints: u64,
}

impl Watch<'_, '_> {
    /// Warms up, measures, and tells the clients to stop.
    fn measure(&mut self) -> Measured {
        while self.signals.phase() == Phase::Assemble {
            thread::sleep(POLL_INTERVAL);
        }
        self.warm_up();
        // Nothing but the warm-up was to be seen.
        let in_vain = !self.plan.warmup.is_zero() && self.progress.interrupted();
        let mut series = Series::new(self.signals.committed());
        let mut slices = Slices::new(self.signals.committed());
        let mut start = Native::now();
        if self.plan.warmup.is_zero() {
            start = self.signals.begun();
        }
        let before = (self.logged)();
        self.progress.measuring();
        self.signals.set(Phase::Measure);
        let mut next_sample = SAMPLE_INTERVAL;
        let mut interrupted = false;
        loop {
            let passed = since(start);
            if self.is_over(passed) {
                break;
            }
            if self.progress.interrupted() {
                interrupted = true;
                break;
            }
            if passed >= next_sample {
                let committed = self.signals.committed();
                self.progress.running(passed, committed);
                if self.plan.series {
                    series.add(passed.as_secs_f64(), committed);
                }
                if self.plan.following_cost {
                    self.signals.follow(slices.end(passed.as_secs_f64(), committed));
                }
                next_sample += SAMPLE_INTERVAL;
            }
            self.sleep(passed, next_sample);
        }
        // Before the clients hear of the end: what commits after it is not of the window.
        let committed = self.signals.committed();
        self.signals.set(Phase::Stop);
        let seconds = if in_vain { 0.0 } else { since(start).as_secs_f64() };
        if self.plan.series {
            series.add(seconds, committed);
        }
        let after = (self.logged)();
        let (log_bytes, checkpoints) = (after.0 - before.0, after.1 - before.1);
        Measured { start, seconds, interrupted, series, slices, log_bytes, checkpoints }
    }

    fn warm_up(&self) {
        let warmup = self.plan.warmup;
        loop {
            let passed = since(self.signals.begun());
            if passed >= warmup || self.all_gone() || self.progress.interrupted() {
                return;
            }
            self.progress.running(Duration::ZERO, self.signals.committed());
            thread::sleep(SAMPLE_INTERVAL.min(warmup - passed));
        }
    }

    fn is_over(&mut self, passed: Duration) -> bool {
        let Length::Time(length) = self.plan.length else { return self.all_gone() };
        if passed < length || self.plan.idle_max.is_none() {
            return passed >= length || self.all_gone();
        }
        let committed = self.signals.committed();
        *self.at_the_end.get_or_insert(committed) < committed || self.all_gone()
    }

    fn all_gone(&self) -> bool {
        self.signals.phase() == Phase::Stop || self.clients.iter().all(|c| c.is_finished())
    }

    fn sleep(&self, passed: Duration, next_sample: Duration) {
        let until_sample = next_sample.saturating_sub(passed);
        let until_end = match self.plan.length {
            Length::Time(length) => length.saturating_sub(passed).max(POLL_INTERVAL),
            Length::Transactions(_) => POLL_INTERVAL,
        };
        thread::sleep(until_sample.min(until_end).min(SAMPLE_INTERVAL));
    }
}
