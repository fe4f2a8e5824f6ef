//! The native driver: clients are OS threads, which run back to back or at given arrivals.
//!
//! ```text
//! load -> warm-up -> measured window -> stop -> join -> conditions
//!          |-- ticker: one commit epoch after the other --|
//! ```
//!
//! Clients may exceed the cores: `Plan::cores` says how many of the cores they may run on. Where
//! there is a core for each client, each is pinned to one.

use super::series::{SAMPLE_INTERVAL, Series, resident_bytes};
use super::signals::{Phase, Signals};
use super::target::{ClientReport, RunSignals};
use super::{Failure, Length, NativeReport, Plan, Progress, Tally, Target, load};
use crate::ClientSeat;
use chiliad_machine::{Machine, Native, Ticks, allowed_cores, restrict_to_cores};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long the driver sleeps while clients run a given number of transactions.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Loads `target`'s rows and runs its clients natively.
///
/// # Errors
/// What keeps the run from its end: see [`Failure`].
pub fn run_native(
    target: &(dyn Target + Sync),
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<NativeReport, Failure> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let ticker = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(plan.epoch);
                target.tick();
            }
        });
        let _stop = StopTicker { over: &over, ticker: ticker.thread().clone() };
        run_ticking(target, plan, progress)
    })
}

/// Ends the ticker's thread, however its driver ends.
struct StopTicker<'a> {
    over: &'a AtomicBool,
    ticker: thread::Thread,
}

impl Drop for StopTicker<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.ticker.unpark();
    }
}

fn run_ticking(
    target: &(dyn Target + Sync),
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<NativeReport, Failure> {
    let started = Instant::now();
    load::load(target, plan.seed, plan.cores, progress)?;
    target.settle();
    let load_seconds = started.elapsed().as_secs_f64();
    let mut report = run_clients(target, plan, progress)?;
    report.load_seconds = load_seconds;
    if plan.conditions {
        progress.checking();
        report.conditions = Some(target.conditions()?);
    }
    Ok(report)
}

fn run_clients(
    target: &(dyn Target + Sync),
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<NativeReport, Failure> {
    let signals = plan.signals();
    let shared = RunSignals(signals.clone());
    let cores = allowed_cores();
    thread::scope(|scope| {
        let mut clients = Vec::with_capacity(plan.clients);
        for index in 0..plan.clients {
            let (shared, cores) = (&shared, &cores);
            let client = thread::Builder::new().spawn_scoped(scope, move || {
                place(cores, plan.cores, plan.clients, index);
                let seat = ClientSeat { index, of: plan.clients, seed: plan.seed };
                target.run_client(seat, plan, shared)
            });
            match client {
                Ok(client) => clients.push(client),
                Err(error) => {
                    signals.set(Phase::Stop);
                    signals.wake::<Native>();
                    return Err(Failure::Host(format!("thread {index} could not start: {error}")));
                }
            }
        }
        let mut watch = Watch { plan, signals: &signals, progress, clients: &clients };
        let measured = watch.measure();
        let memory_bytes = resident_bytes();
        let mut joined = Joined::new(target.kinds().len());
        clients.into_iter().for_each(|client| joined.add(join(client.join())));
        joined.failure.map_or(Ok(()), Err)?;
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
            conditions: None,
            series: measured.series.into_samples(),
            memory_bytes,
            load_seconds: 0.0,
        })
    })
}

/// Lets the calling thread, client `index`, run on `wanted` of `cores`: on one of its own if there
/// are enough. A system that refuses runs it anywhere.
pub(super) fn place(cores: &[usize], wanted: usize, clients: usize, index: usize) {
    let usable = &cores[..wanted.min(cores.len())];
    if usable.is_empty() {
        return;
    }
    let own = if clients <= usable.len() { &usable[index..=index] } else { usable };
    let _ = restrict_to_cores(own);
}

/// The result of a thread, with its panic as a failure.
pub(super) fn join<T>(
    result: Result<Result<T, Failure>, Box<dyn Any + Send>>,
) -> Result<T, Failure> {
    result.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::Panic(message.unwrap_or("no message").to_owned()))
    })
}

/// What all clients brought back.
struct Joined {
    tally: Tally,
    recorders: Vec<chiliad_checker::Recorder>,
    failure: Option<Failure>,
    ended: Ticks,
}

impl Joined {
    fn new(kinds: usize) -> Self {
        Self { tally: Tally::new(kinds), recorders: Vec::new(), failure: None, ended: 0 }
    }

    fn add(&mut self, client: Result<ClientReport, Failure>) {
        match client {
            Ok(client) => {
                self.tally.add(&client.tally);
                self.recorders.extend(client.recorder);
                self.ended = self.ended.max(client.ended);
            }
            Err(error) => self.failure = self.failure.take().or(Some(error)),
        }
    }
}

type ClientThread<'scope> = thread::ScopedJoinHandle<'scope, Result<ClientReport, Failure>>;

/// The driver's own thread while clients run.
struct Watch<'a, 'scope> {
    plan: &'a Plan,
    signals: &'a Signals,
    progress: &'a dyn Progress,
    clients: &'a [ClientThread<'scope>],
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
    series: Series,
}

impl Watch<'_, '_> {
    /// Warms up, measures, and tells the clients to stop.
    fn measure(&mut self) -> Measured {
        while self.signals.phase() == Phase::Assemble {
            thread::sleep(POLL_INTERVAL);
        }
        self.warm_up();
        let mut series = Series::new(self.signals.committed());
        let mut start = Native::now();
        if self.plan.warmup.is_zero() {
            start = self.signals.begun();
        }
        self.signals.set(Phase::Measure);
        let mut next_sample = SAMPLE_INTERVAL;
        loop {
            let passed = since(start);
            if self.is_over(passed) {
                break;
            }
            if passed >= next_sample {
                let committed = self.signals.committed();
                self.progress.running(passed, committed);
                if self.plan.series {
                    series.add(passed.as_secs_f64(), committed);
                }
                next_sample += SAMPLE_INTERVAL;
            }
            self.sleep(passed, next_sample);
        }
        self.signals.set(Phase::Stop);
        let seconds = since(start).as_secs_f64();
        if self.plan.series {
            series.add(seconds, self.signals.committed());
        }
        Measured { start, seconds, series }
    }

    fn warm_up(&self) {
        let warmup = self.plan.warmup;
        loop {
            let passed = since(self.signals.begun());
            if passed >= warmup || self.all_gone() {
                return;
            }
            self.progress.running(Duration::ZERO, self.signals.committed());
            thread::sleep(SAMPLE_INTERVAL.min(warmup - passed));
        }
    }

    fn is_over(&self, passed: Duration) -> bool {
        let time_is_up = matches!(self.plan.length, Length::Time(length) if passed >= length);
        time_is_up || self.all_gone()
    }

    fn all_gone(&self) -> bool {
        self.signals.phase() == Phase::Stop || self.clients.iter().all(|c| c.is_finished())
    }

    fn sleep(&self, passed: Duration, next_sample: Duration) {
        let until_sample = next_sample.saturating_sub(passed);
        let until_end = match self.plan.length {
            Length::Time(length) => length.saturating_sub(passed),
            Length::Transactions(_) => POLL_INTERVAL,
        };
        thread::sleep(until_sample.min(until_end).min(SAMPLE_INTERVAL));
    }
}
