//! The simulated driver: every client is a thread with a core of its own, or one that it shares where there
//! are fewer cores, or a core with as many workers as it has transactions in flight; one more core turns the
//! epochs, and a run is a function of its plan and the machine's configuration.
//!
//! The database is opened and loaded outside scheduling, and looked at again there when all cores
//! have returned. One loading serves many runs, each in a process of its own. A run that did not complete leaves latches held, so nobody touches its database
//! any more: it is given up with the region that holds it.

use super::client::ClientReport;
use super::signals::{Phase, RunSignals, Signals};
use super::{Deferrals, Failure, Length, Plan, SimulatedReport, Tally, Target, catalog};
use chiliad_machine::{Machine, Ticks};
use chiliad_simulator::{
    Config, Host, Outcome, Run, Sim, Verdict, begin_core_time, end_core_time, stopping,
};
use chiliad_workload::{ClientId, Condition, WorkloadOptions};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A run on the simulated machine.
#[derive(Clone, Debug)]
pub struct SimulatedPlan {
    /// The plan of the clients: threads on its cores, which they share where there are more of them; or, with
    /// several transactions in flight, a core each with a worker for each transaction. Times are simulated ones.
    pub plan: Plan,
    /// The machine.
    pub config: Config,
}

/// The results of the cores, on the host's heap.
struct Yield {
    clients: RefCell<Vec<ClientReport>>,
    failures: RefCell<Vec<Failure>>,
    /// When the measured window began, where that is not when the clients did, and ended.
    begin: Cell<Ticks>,
    end: Cell<Ticks>,
}

/// How often in the length of a run is looked whether somebody has committed after it.
const CHECKS: Ticks = 64;

/// The seed of what a timed run finds: its rows, and where they lie. Runs of all seeds share it, so that one
/// loading serves them; where a run is explored rather than timed, its own seed decides this too.
pub(super) const LOADED_SEED: u64 = 1;

/// A database that is loaded, on a simulated machine whose cores have not begun. Where the process forks,
/// each copy can be run.
pub struct Loaded {
    run: Run,
    target: Option<Rc<dyn Target>>,
    seconds: f64,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let target = self.target.take();
        self.run.outside(|| drop(target));
    }
}

impl Loaded {
    /// Takes a workload whose rows are those that were loaded, and whose requests may be others.
    ///
    /// # Errors
    /// Those of the workload's options. One of another kind is none that was loaded.
    pub fn set_workload(&mut self, workload: &WorkloadOptions) -> Result<(), Failure> {
        let made = catalog::make(workload)?;
        let set =
            |target: &mut Rc<dyn Target>| Rc::get_mut(target)?.set_workload(made).then_some(());
        let set = self.target.as_mut().and_then(set);
        set.ok_or_else(|| Failure::Host("another workload was loaded".into()))
    }

    /// The database.
    ///
    /// # Panics
    /// Never: it goes with the run.
    #[must_use]
    pub fn target(&self) -> &dyn Target {
        &**self.target.as_ref().expect("it goes with the run")
    }
}

/// Opens a database with `open` and loads it, for runs as `plan` has it, or others of the same rows.
///
/// # Errors
/// A failure to open or to load.
pub fn load_simulated(
    plan: &SimulatedPlan,
    open: impl FnOnce() -> Result<Box<dyn Target>, Failure>,
) -> Result<Loaded, Failure> {
    let started = Instant::now();
    let timed = plan.config.machine.is_some();
    let seed_of = |own| if timed { LOADED_SEED } else { own };
    let config = Config { seed: seed_of(plan.config.seed), ..plan.config.clone() };
    let run = Run::try_new(config).map_err(|refused| Failure::Host(refused.to_string()))?;
    let target = run.outside(|| -> Result<_, Failure> {
        let target = open()?;
        load(&*target, seed_of(plan.plan.seed))?;
        Ok(target)
    })?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Loaded { run, target: Some(Rc::from(target)), seconds })
}

/// Opens a database with `open`, loads it and runs its clients on a simulated machine.
///
/// # Errors
/// A failure before the cores started. Later ones are in the report.
pub fn run_simulated(
    plan: &SimulatedPlan,
    open: impl FnOnce() -> Result<Box<dyn Target>, Failure>,
) -> Result<SimulatedReport, Failure> {
    run_loaded(load_simulated(plan, open)?, plan)
}

/// Runs the clients of a loaded database as [`run_loaded`]. Where memory was used after it was freed they run once
/// more, on the same database as `load` makes it, to learn the stack that freed it.
///
/// # Errors
/// A failure before the cores started. Later ones are in the report.
pub fn run_explained(
    loaded: Loaded,
    plan: &SimulatedPlan,
    load: impl FnOnce(&SimulatedPlan) -> Result<Loaded, Failure>,
) -> Result<SimulatedReport, Failure> {
    let report = run_loaded(loaded, plan)?;
    let Some(serial) = freed_by(&report.outcome) else { return Ok(report) };
    let config = Config { trace_free: Some(serial), ..plan.config.clone() };
    let plan = SimulatedPlan { config, ..plan.clone() };
    run_loaded(load(&plan)?, &plan)
}

/// The free after which memory was used, if the run ended so.
fn freed_by(outcome: &Outcome) -> Option<u64> {
    match &outcome.verdict {
        Verdict::UseOfFreedMemory(report) => report.freed.as_ref().map(|freed| freed.serial),
        _ => None,
    }
}

/// Runs the clients of a loaded database.
///
/// # Errors
/// A failure before the cores started. Later ones are in the report.
pub fn run_loaded(mut loaded: Loaded, plan: &SimulatedPlan) -> Result<SimulatedReport, Failure> {
    let load_seconds = loaded.seconds;
    let target = loaded.target.take().ok_or_else(|| Failure::Host("nothing was loaded".into()))?;
    let run = &mut loaded.run;
    if plan.config.machine.is_some() {
        run.reconfigure(plan.config.clone());
    }
    run.outside(|| target.open_queues(&plan.plan));
    let signals = plan.plan.signals();
    let left = Rc::new(Yield {
        clients: RefCell::default(),
        failures: RefCell::default(),
        begin: Cell::new(0),
        end: Cell::new(0),
    });
    spawn_clients(run, plan, &target, &signals, &left);
    spawn_stalled(run, plan, &target, &signals, &left);
    spawn_clock(run, plan, &signals, &left);
    spawn_ticker(run, plan, &target, &signals, &left);
    spawn_log_writers(run, &target);
    if let Err(refused) = run.obtain_stacks() {
        run.outside(|| drop(target));
        return Err(Failure::Host(refused.to_string()));
    }
    let started = Instant::now();
    let outcome = run.go();
    let seconds = started.elapsed().as_secs_f64();
    let (conditions, differences) = finish(run, plan, target, &outcome)?;
    let kinds = left.clients.borrow().first().map_or(0, |client| client.tally.kinds.len());
    let mut tally = Tally::new(kinds);
    let (mut recorders, mut deferrals) = (Vec::new(), None);
    for client in left.clients.take() {
        tally.add(&client.tally);
        recorders.extend(client.recorder);
        Deferrals::gather(&mut deferrals, client.deferrals);
    }
    let (begin, end) = (left.begin.get().max(signals.begun()), left.end.get());
    Ok(SimulatedReport {
        outcome,
        ticks: end.saturating_sub(begin),
        tally,
        recorders,
        complete: !signals.ended_early(),
        deferrals,
        conditions,
        differences,
        failures: left.failures.take(),
        load_seconds,
        seconds,
        idle: signals.idle(),
    })
}

fn load(target: &dyn Target, seed: u64) -> Result<(), Failure> {
    let mut parts = 0..target.load_parts();
    target.load(seed, &mut || parts.next())?;
    target.reach_snapshot()
}

fn spawn_clients(
    run: &mut Run,
    plan: &SimulatedPlan,
    target: &Rc<dyn Target>,
    signals: &Arc<Signals>,
    left: &Rc<Yield>,
) {
    let body = |client_id: ClientId| -> Box<dyn FnOnce()> {
        let (target, left) = (target.clone(), left.clone());
        let (shared, plan) = (RunSignals(signals.clone(), Arc::default()), plan.plan.clone());
        Box::new(move || {
            let result = target.run_client(client_id, &plan, &shared);
            if !shared.0.is_over() {
                left.end.set(Sim::now());
            }
            match result {
                Ok(client) => left.clients.borrow_mut().push(client),
                Err(failure) => left.failures.borrow_mut().push(failure),
            }
        })
    };
    let hosts = target.hosts();
    if hosts > 1 {
        for client in 0..plan.plan.clients {
            let host = Host((client % hosts) as u32);
            let fibers =
                (0..plan.plan.interleave).map(|it| body(plan.plan.client_id_apart(client, it)));
            run.spawn_crew_on(host, &format!("client {client}"), fibers.collect());
        }
        return;
    }
    if plan.plan.interleave == 1 {
        let thread =
            |client| (format!("client {client}"), body(plan.plan.client_id_apart(client, 0)));
        run.spawn_threads(plan.plan.cores, (0..plan.plan.clients).map(thread).collect());
        return;
    }
    for client in 0..plan.plan.clients {
        let fibers =
            (0..plan.plan.interleave).map(|fiber| body(plan.plan.client_id_apart(client, fiber)));
        run.spawn_crew(&format!("client {client}"), fibers.collect());
    }
    for _ in plan.plan.clients..plan.plan.cores {
        run.spawn_threads(1, Vec::new());
    }
}

/// The core of a transaction that stalls, if there is to be one: beside those of the clients, which have
/// the tiles that they have without it.
fn spawn_stalled(
    run: &mut Run,
    plan: &SimulatedPlan,
    target: &Rc<dyn Target>,
    signals: &Arc<Signals>,
    left: &Rc<Yield>,
) {
    if plan.plan.stalled_at.is_none() {
        return;
    }
    let (target, left, plan) = (target.clone(), left.clone(), plan.plan.clone());
    let shared = RunSignals(signals.clone(), Arc::default());
    run.spawn_guest("stalled", move || {
        if let Err(failure) = target.run_stalled(&plan, &shared) {
            left.failures.borrow_mut().push(failure);
        }
    });
}

/// The core that ends the warm-up and, for a run of a given time, the window.
fn spawn_clock(run: &mut Run, plan: &SimulatedPlan, signals: &Arc<Signals>, left: &Rc<Yield>) {
    let ticks = |time| ticks(time, &plan.config);
    let (warmup, length) = (ticks(plan.plan.warmup), plan.plan.length);
    let idle_max = plan.plan.idle_max;
    let length = match length {
        Length::Time(time) => Some(ticks(time)),
        Length::Transactions(_) => None,
    };
    let (signals, left) = (signals.clone(), left.clone());
    if warmup == 0 && length.is_none() {
        return;
    }
    run.spawn_observer("clock", move || {
        await_clients(&signals, 0);
        let begin = signals.begun() + warmup;
        sleep_until(begin);
        left.begin.set(begin);
        begin_core_time();
        signals.set(Phase::Measure);
        if let Some(length) = length {
            sleep_until(begin + length);
            if idle_max.is_some() {
                let committed = signals.committed();
                while signals.committed() == committed && !signals.is_over() && !stopping() {
                    sleep_until(Sim::now() + length / CHECKS);
                }
            }
            // Early, if the clients have been told to end for another reason.
            let end = if idle_max.is_some() { Ticks::MAX } else { begin + length };
            if idle_max.is_none() || !signals.is_over() {
                left.end.set(Sim::now().min(end));
            }
            end_core_time();
            signals.set(Phase::Stop);
        }
    });
}

fn spawn_ticker(
    run: &mut Run,
    plan: &SimulatedPlan,
    target: &Rc<dyn Target>,
    signals: &Arc<Signals>,
    left: &Rc<Yield>,
) {
    let (target, signals, left) = (target.clone(), signals.clone(), left.clone());
    let epoch = ticks(plan.plan.epoch, &plan.config).max(1);
    let idle_max = plan.plan.idle_max.map(|limit| ticks(limit, &plan.config));
    for host in 1..target.hosts() {
        let target = target.clone();
        run.spawn_daemon_on(Host(host as u32), format!("epochs {host}"), move || {
            while !stopping() {
                Sim::park_until(Sim::now() + epoch);
                target.tick();
            }
        });
    }
    run.spawn_daemon("epochs", move || {
        await_clients(&signals, 1);
        while !stopping() {
            Sim::park_until(Sim::now() + epoch);
            target.tick();
            if idle_max.is_some_and(|limit| signals.end_if_idle(Sim::now(), limit)) {
                left.end.set(Sim::now());
            }
        }
    });
}

/// The cores of threads that the database wants for its log.
fn spawn_log_writers(run: &mut Run, target: &Rc<dyn Target>) {
    let writers = target.log_writers();
    for number in 0..writers {
        let (host, target) = (Host((number * target.hosts() / writers) as u32), target.clone());
        run.spawn_daemon_on(host, format!("log {number}"), move || {
            target.run_log(number, &stopping, &|| {});
        });
    }
}

/// Waits until the run's clients are ready, or are told to stop; the core is one of two that do.
pub(super) fn await_clients(signals: &Signals, core: usize) {
    signals.await_clients::<Sim>(signals.clients() + core, stopping);
}

/// Sleeps until `time` or until all clients have returned.
pub(super) fn sleep_until(time: Ticks) {
    while Sim::now() < time && !stopping() {
        Sim::park_until(time);
    }
}

/// Looks at the conditions, compares copies and closes the database, unless the run left it in pieces.
fn finish(
    run: &Run,
    plan: &SimulatedPlan,
    target: Rc<dyn Target>,
    outcome: &Outcome,
) -> Result<(Option<Vec<Condition>>, Vec<String>), Failure> {
    if !outcome.verdict.is_completed() || outcome.discarded > 0 {
        std::mem::forget(target);
        return Ok((None, Vec::new()));
    }
    run.outside(|| {
        let look = || Ok((Some(target.conditions()?), target.audit()?));
        let found = if plan.plan.conditions { look() } else { Ok((None, Vec::new())) };
        drop(target);
        found
    })
}

/// A time in ticks of the simulated machine.
pub(super) fn ticks(time: Duration, config: &Config) -> Ticks {
    let ticks = time.as_nanos() * u128::from(config.ticks_per_second()) / 1_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}
