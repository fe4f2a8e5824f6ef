//! `chiliad soak`: loads on few rows under every scheme, watched for commits. A cell fails where nobody gets on.
//!
//! A round runs every cell once, with a seed of its own: the simulated ones side by side, then the native ones, each
//! alone.

pub mod line;
#[cfg(test)]
mod line_tests;
mod report;

use crate::args::SoakFlags;
use crate::campaign::bar;
use crate::{host, leftovers, settings, threads};
use chiliad_driver::{Progress, schemes};
use chiliad_host::Sink;
use chiliad_host::Stop;
use chiliad_host::interrupt::{self, Listening};
use chiliad_host::output::complain;
use chiliad_lab::{machines, spec};
use chiliad_rig::soak::{Cell, Load, Measured, On, Run, WORKLOADS};
use indicatif::ProgressBar;
use report::Report;
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

/// Runs the rounds.
pub fn run(flags: &SoakFlags) -> Result<(), Stop> {
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let cells = cells(flags)?;
    let cores = flags.threads.unwrap_or_else(host::cores);
    let machine = machines::timed()?;
    let load = Load { cores, length: flags.cell, idle_max: flags.idle_max, machine: &machine };
    let soak = Soak {
        load,
        begun: Instant::now(),
        duration: flags.duration,
        report: Mutex::new(Report::new(flags.seed)),
        bar: bar(cells.len() as u64 * flags.rounds, flags.quiet || flags.duration.is_some()),
    };
    let listening = Listening::begin();
    let rounds = if flags.duration.is_some() { u64::MAX } else { flags.rounds };
    let mut seed = flags.seed;
    for _ in 0..rounds {
        if soak.is_over() {
            break;
        }
        soak.round(&cells, seed)?;
        seed = seed.wrapping_add(1);
    }
    soak.bar.finish_and_clear();
    let report = soak.report.into_inner().unwrap_or_else(PoisonError::into_inner);
    sink.say(&report.text())?;
    sink.json(&report.json())?;
    sink.finish()?;
    match report.problem() {
        None => listening.check(),
        Some(problem) => {
            complain(&format!("{problem}\n"));
            Err(Stop::FailedAndSaid)
        }
    }
}

/// All cells of a round.
fn cells(flags: &SoakFlags) -> Result<Vec<Cell>, Stop> {
    let schemes: Vec<&'static str> = match flags.scheme.as_str() {
        "all" => {
            let promises = |info: &&_| spec::promises_transactions(info);
            schemes().iter().filter(promises).map(|info| info.name).collect()
        }
        name => vec![settings::scheme(name)?.name],
    };
    let workloads: Vec<&'static str> = match flags.workload.as_str() {
        "all" => WORKLOADS.to_vec(),
        name => {
            let known = WORKLOADS.into_iter().find(|&known| known == name);
            vec![known.ok_or_else(|| {
                let names = WORKLOADS.join(", ");
                Stop::bad("--workload", format!("`{name}` is unknown; accepted: all, {names}"))
            })?]
        }
    };
    let machines: &[On] = match (flags.native, flags.simulated) {
        (true, _) => &[On::Native],
        (_, true) => &[On::Timed, On::Explored],
        _ => &[On::Timed, On::Explored, On::Native],
    };
    let mut interleave = flags.interleave.clone();
    interleave.sort_unstable();
    interleave.dedup();
    let mut cells = Vec::new();
    for &on in machines {
        for &workload in &workloads {
            for &scheme in &schemes {
                let numbers = interleave.iter();
                cells.extend(numbers.map(|&interleave| Cell { on, scheme, workload, interleave }));
            }
        }
    }
    Ok(cells)
}

/// Rounds under way.
struct Soak<'a> {
    load: Load<'a>,
    begun: Instant,
    duration: Option<Duration>,
    report: Mutex<Report>,
    bar: ProgressBar,
}

impl Soak<'_> {
    fn is_over(&self) -> bool {
        let late = self.duration.is_some_and(|duration| self.begun.elapsed() >= duration);
        late || interrupt::asked()
    }

    fn round(&self, cells: &[Cell], seed: u64) -> Result<(), Stop> {
        let (native, simulated): (Vec<Cell>, _) =
            cells.iter().partition(|cell| cell.on == On::Native);
        self.side_by_side(&simulated, seed)?;
        for cell in native {
            if self.is_over() {
                break;
            }
            // Clients that all sleep do not return when they are told to: then nobody does but the process.
            let (returned, guarded) = channel();
            let measured = thread::scope(|scope| {
                let guards = move || guard(&guarded, cell, seed, &self.load);
                thread::Builder::new().spawn_scoped(scope, guards).map_err(threads::refused)?;
                let measured = run_cell(cell, seed, &self.load);
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
                match run_cell(cell, seed, &self.load) {
                    Ok(measured) => self.add(cell, seed, &measured),
                    Err(stop) => {
                        next.store(cells.len(), Ordering::Relaxed);
                        trouble.lock().unwrap_or_else(PoisonError::into_inner).replace(stop);
                    }
                }
            }
        };
        thread::scope(|scope| {
            let begun = threads::side_by_side(scope, self.load.cores, runs);
            if begun.is_err() {
                next.store(cells.len(), Ordering::Relaxed);
            }
            begun
        })?;
        trouble.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn add(&self, cell: Cell, seed: u64, measured: &Measured) {
        if let Some((verdict, text)) = &measured.wrong {
            let line = format!("FAILED, {verdict}: {}\n{text}\n", line::again(cell, seed));
            self.bar.suspend(|| complain(&line));
        }
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.add(cell, seed, measured);
        self.bar.inc(1);
    }
}

/// Runs a cell, unless this computer has no room for it.
fn run_cell(cell: Cell, seed: u64, load: &Load<'_>) -> Result<Measured, Stop> {
    let setup = cell.setup(seed, load, None).map_err(|error| Stop::Failed(error.to_string()))?;
    if let Run::Native(plan) = &setup.run {
        spec::RunSpec::check_native_fit(&setup.workload, &setup.engine, plan)?;
    }
    cell.run(seed, load, None, &Listens).map_err(chiliad_lab::run::stop)
}

/// A signal ends a cell early.
struct Listens;

impl Progress for Listens {
    fn interrupted(&self) -> bool {
        interrupt::asked()
    }
}

/// Ends the process if a native cell does not end.
fn guard(returned: &Receiver<()>, cell: Cell, seed: u64, load: &Load<'_>) {
    let most = load.length + load.idle_max + GRACE;
    // Counted in short waits: a process that was stopped meanwhile has not waited.
    let mut waited = Duration::ZERO;
    while returned.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        waited += LOOK;
        if waited >= most {
            complain(&format!("FAILED, its clients do not return: {}\n", line::again(cell, seed)));
            leftovers::clear();
            std::process::exit(1);
        }
    }
}
