//! Rounds of cells: each runs every cell once, with a seed of its own: the simulated ones side by side, then the native
//! ones, each alone.

use super::cell::{Cell, Load};
use super::report::Report;
use super::run::Measured;
use super::setup::{Run, Setup};
use chiliad_driver::On;
use chiliad_driver::Progress;
use chiliad_host::bar::bar;
use chiliad_host::output::complain;
use chiliad_host::{Listening, Stop, interrupt, leftovers, threads};
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether a native cell has ended.
const LOOK: Duration = Duration::from_millis(100);

/// How long the clients of a native cell may take to return when they have been told to, beside the longest time
/// without a commit.
const GRACE: Duration = Duration::from_secs(60);

/// The form of the bar over all cells.
const BAR: &str = "{pos} of {len} [{bar:30}] {per_sec}, {eta} left {msg}";

/// The order of the command.
pub struct Order<'a> {
    /// The cells of a round.
    pub cells: Vec<Cell>,
    /// Settings that they have in common.
    pub load: Load<'a>,
    /// The seed of the first round; each round has the next.
    pub seed: u64,
    /// Rounds, unless a time is said.
    pub rounds: u64,
    /// Rounds begin, and end, until this time is over.
    pub duration: Option<Duration>,
    /// No progress bar.
    pub quiet: bool,
    /// The command line that runs a cell again with a seed.
    pub again: fn(Cell, u64) -> String,
    /// Refuses a native cell that this computer has no room for.
    pub fits: fn(&Setup) -> Result<(), Stop>,
}

/// Runs the rounds. A signal ends them early; what came of them until then is reported.
///
/// # Errors
/// The host has no room for a run.
pub fn run_rounds(order: &Order<'_>) -> Result<Report, Stop> {
    let Order { seed, rounds, duration, .. } = *order;
    let soak = Soak {
        order,
        begun: Instant::now(),
        report: Mutex::new(Report::new(seed, order.again)),
        bar: bar(order.cells.len() as u64 * rounds, BAR, order.quiet || duration.is_some()),
    };
    let _listening = Listening::begin();
    let rounds = if duration.is_some() { u64::MAX } else { rounds };
    let mut seed = seed;
    for _ in 0..rounds {
        if soak.is_over() {
            break;
        }
        soak.round(seed)?;
        seed = seed.wrapping_add(1);
    }
    soak.bar.finish_and_clear();
    Ok(soak.report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Rounds under way.
struct Soak<'a> {
    order: &'a Order<'a>,
    begun: Instant,
    report: Mutex<Report>,
    bar: ProgressBar,
}

impl Soak<'_> {
    fn is_over(&self) -> bool {
        let late = self.order.duration.is_some_and(|duration| self.begun.elapsed() >= duration);
        late || interrupt::asked()
    }

    fn round(&self, seed: u64) -> Result<(), Stop> {
        let (native, simulated): (Vec<Cell>, _) =
            self.order.cells.iter().partition(|cell| cell.on == On::Native);
        self.side_by_side(&simulated, seed)?;
        for cell in native {
            if self.is_over() {
                break;
            }
            // Clients that all sleep do not return when they are told to: then nobody does but the process.
            let (returned, guarded) = channel();
            let measured = thread::scope(|scope| {
                let guards = move || guard(&guarded, cell, seed, self.order);
                threads::start(scope, guards).map_err(threads::refused)?;
                let measured = run_cell(cell, seed, self.order);
                drop(returned);
                measured
            });
            match measured {
                // Before anything was measured: what came of the others is told.
                Err(Stop::Interrupted) => break,
                measured => self.add(cell, seed, &measured?),
            }
        }
        Ok(())
    }

    fn side_by_side(&self, cells: &[Cell], seed: u64) -> Result<(), Stop> {
        let next = AtomicUsize::new(0);
        let trouble = Mutex::new(None);
        let runs = || {
            while let Some(&cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_over() {
                    return;
                }
                match run_cell(cell, seed, self.order) {
                    Ok(measured) => self.add(cell, seed, &measured),
                    Err(stop) => {
                        next.store(cells.len(), Ordering::Relaxed);
                        trouble.lock().unwrap_or_else(PoisonError::into_inner).replace(stop);
                    }
                }
            }
        };
        threads::side_by_side(self.order.load.cores, runs)?;
        trouble.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn add(&self, cell: Cell, seed: u64, measured: &Measured) {
        if let Some((verdict, text)) = &measured.wrong {
            let line = format!("FAILED, {verdict}: {}\n{text}\n", (self.order.again)(cell, seed));
            self.bar.suspend(|| complain(&line));
        }
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.add(cell, seed, measured);
        self.bar.inc(1);
    }
}

/// Runs a cell, unless this computer has no room for it.
fn run_cell(cell: Cell, seed: u64, order: &Order<'_>) -> Result<Measured, Stop> {
    let setup =
        cell.setup(seed, &order.load, None).map_err(|error| Stop::Failed(error.to_string()))?;
    if matches!(setup.run, Run::Native(_)) {
        (order.fits)(&setup)?;
    }
    Ok(setup.measure(&Listens)?)
}

/// A signal ends a cell early.
struct Listens;

impl Progress for Listens {
    fn interrupted(&self) -> bool {
        interrupt::asked()
    }
}

/// Ends the process if a native cell does not end.
fn guard(returned: &Receiver<()>, cell: Cell, seed: u64, order: &Order<'_>) {
    let Load { length, idle_max, .. } = order.load;
    let most = length + idle_max + GRACE;
    // Counted in short waits: a process that was stopped meanwhile has not waited.
    let mut waited = Duration::ZERO;
    while returned.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        waited += LOOK;
        if waited >= most {
            complain(&format!(
                "FAILED, its clients do not return: {}\n",
                (order.again)(cell, seed)
            ));
            leftovers::clear();
            std::process::exit(1);
        }
    }
}
