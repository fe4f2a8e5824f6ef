//! Timestamps alone (Yu, 2015, figure 4-4): threads or simulated cores draw them and do nothing
//! else.

use super::signals::{Phase, Signals};
use super::simulated::{await_clients, sleep_until, ticks};
use super::window::{Counted, Window};
use super::{Failure, Idle, Progress, SimulatedReport, Tally};
use chiliad_engine::{Clock, Error, Options, TimestampSource};
use chiliad_machine::{Machine, Native, Shared};
use chiliad_simulator::{Config, Run, Sim};
use chiliad_storage::{Heap, LocalHeap};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Timestamps between two looks at what the driver wants.
const BATCH: u64 = 256;

/// The measurement to make.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Where timestamps come from; nothing else of the options matters.
    pub options: Options,
    /// Threads, each on a core of its own where there are enough; or simulated cores.
    pub threads: usize,
    /// The measured window.
    pub duration: Duration,
    /// Time before it.
    pub warmup: Duration,
}

/// The state that drawing threads share.
struct Shelf<M: Machine> {
    source: Shared<M, TimestampSource<M>>,
    heap: Arc<Shared<M, Heap<M>>>,
}

/// Draws timestamps natively.
///
/// # Errors
/// When the machine has no such timestamps, or a thread fails.
pub fn run_drawing(drawing: &Drawing, progress: &dyn Progress) -> Result<Counted, Failure> {
    let shelf = Shelf::<Native>::new(&drawing.options)?;
    let Drawing { threads, duration, warmup, .. } = *drawing;
    let window = Window { threads, warmup, duration };
    window.run(progress, |thread, signals| shelf.draw(thread, signals, BATCH))
}

/// Draws timestamps on simulated cores. Times are simulated ones; what is drawn in the window is counted
/// as committed transactions of one kind.
///
/// # Errors
/// When the machine has no such timestamps. What goes wrong later is in the report.
pub fn simulate_drawing(drawing: &Drawing, config: &Config) -> Result<SimulatedReport, Failure> {
    let started = Instant::now();
    let run = Run::try_new(config.clone());
    let mut run = run.map_err(|refused| Failure::Host(refused.to_string()))?;
    let shelf = Rc::new(run.outside(|| Shelf::<Sim>::new(&drawing.options))?);
    let signals = Arc::new(Signals::new(drawing.threads, Phase::Warmup, u64::MAX));
    let failures = Rc::new(RefCell::new(Vec::new()));
    for core in 0..drawing.threads {
        let (shelf, signals, failures) = (shelf.clone(), signals.clone(), failures.clone());
        run.spawn(format!("core {core}"), move || {
            Sim::clocked(false);
            let drawn = shelf.draw(core, &signals, 1);
            if let Err(failure) = drawn {
                signals.set(Phase::Stop);
                failures.borrow_mut().push(failure);
            }
        });
    }
    let counted = spawn_clock(&mut run, drawing, config, &signals);
    let load_seconds = started.elapsed().as_secs_f64();
    if let Err(error) = run.obtain_stacks() {
        run.outside(|| drop(shelf));
        return Err(Failure::Host(error.to_string()));
    }
    let started = Instant::now();
    let outcome = run.go();
    let seconds = started.elapsed().as_secs_f64();
    if outcome.verdict.is_completed() && outcome.discarded == 0 {
        run.outside(|| drop(shelf));
    } else {
        std::mem::forget(shelf);
    }
    let mut tally = Tally::new(1);
    let (count, ticks) = counted.get();
    tally.kinds[0].committed = count;
    Ok(SimulatedReport {
        outcome,
        ticks,
        tally,
        recorders: Vec::new(),
        complete: true,
        deferrals: None,
        conditions: None,
        differences: Vec::new(),
        failures: failures.take(),
        load_seconds,
        seconds,
        idle: Idle::default(),
    })
}

/// Draws in the window: how many, in how many ticks.
fn spawn_clock(
    run: &mut Run,
    drawing: &Drawing,
    config: &Config,
    signals: &Arc<Signals>,
) -> Rc<Cell<(u64, u64)>> {
    let (warmup, length) = (ticks(drawing.warmup, config), ticks(drawing.duration, config));
    let (signals, counted) = (signals.clone(), Rc::new(Cell::new((0, 0))));
    let left = counted.clone();
    run.spawn_observer("clock", move || {
        await_clients(&signals, 0);
        let begin = signals.begun() + warmup;
        sleep_until(begin);
        let before = signals.committed();
        sleep_until(begin + length);
        left.set((signals.committed() - before, length));
        signals.set(Phase::Stop);
    });
    counted
}

impl<M: Machine> Shelf<M> {
    fn new(options: &Options) -> Result<Self, Failure> {
        let refused = options.timestamps.check::<M>();
        refused.map_err(|error| Failure::Engine { doing: "starting", error })?;
        Ok(Self { source: Shared::new(TimestampSource::new(options)), heap: Heap::new(u64::MAX) })
    }

    /// Draws, `batch` between two looks at what the driver wants. Takes simulated time while all do.
    fn draw(&self, index: usize, signals: &Signals, batch: u64) -> Result<(), Failure> {
        let heap = LocalHeap::new(&self.heap)
            .ok_or(Failure::Engine { doing: "starting", error: Error::NO_SLOT })?;
        let mut clock = Clock::new();
        let mut done = 0;
        if M::SIMULATED {
            signals.assemble::<M>(index);
            M::clocked(true);
        }
        while signals.phase() != Phase::Stop {
            for _ in 0..batch {
                std::hint::black_box(clock.draw(&self.source, &heap));
            }
            done += batch;
            signals.client(index).set(done);
        }
        M::clocked(false);
        Ok(())
    }
}
