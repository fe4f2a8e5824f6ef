//! From a command to the run that it asks for.

use crate::args::{self, BenchCommand, Command, LOCK_TABLES, OutputFlags, SimulateCommand};
use crate::{log, meld, settings};
use chiliad_driver::{Drawing, Locking, Lookup};
use chiliad_engine::Options;
use chiliad_host::{Stop, computer};
use chiliad_lab::figure::Measurement;
use chiliad_lab::run::{Job, LocksSpec, LookupSpec};
use chiliad_lab::spec::DrawSpec;
use chiliad_words::expand_sweep;
use chiliad_words::value::typed;
use std::path::Path;

/// A command that runs something, and what it says of the runs together.
pub(crate) struct Asked<'a> {
    /// `--sweep`.
    pub sweep: Option<&'a str>,
    /// Simulated runs at a time.
    pub at_once: usize,
    /// Where results go.
    pub output: &'a OutputFlags,
    /// `--history`.
    pub history: Option<&'a Path>,
    /// `--deliveries`.
    pub deliveries: Option<&'a Path>,
    /// `--series`.
    pub series: Option<&'a Path>,
}

/// What `words`, after the program's name, ask to run.
pub fn parse(words: &[String]) -> Result<Job, Stop> {
    job(&args::parse(words)?.command)
}

/// What `words` ask to measure, for a point of a figure.
pub fn measurement(words: &[String]) -> Result<Measurement, Stop> {
    Ok(match &args::parse(words)?.command {
        Command::Bench(BenchCommand::Meld(bench)) => {
            Measurement::Meld(Box::new(meld::spec(&bench.flags)))
        }
        Command::Bench(BenchCommand::Log(bench)) => {
            Measurement::Appends(Box::new(log::spec(&bench.flags)))
        }
        command => Measurement::Run(job(command)?),
    })
}

/// The same as [`parse`] of each point of their sweep, with the flag that tells it from the others; none of a command that runs
/// nothing.
pub fn points(words: &[String]) -> Result<Vec<(Job, Option<String>)>, Stop> {
    let command = args::parse(words)?.command;
    let lines = match asked(&command) {
        None => return Ok(Vec::new()),
        Some(Asked { sweep: None, .. }) => vec![words.to_vec()],
        Some(_) => expand_sweep(words)?,
    };
    // The flag that is swept comes last.
    let label = |line: &[String]| line.last().filter(|_| lines.len() > 1).cloned();
    lines.iter().map(|line| Ok((parse(line)?, label(line)))).collect()
}

fn job(command: &Command) -> Result<Job, Stop> {
    Ok(match command {
        Command::Bench(BenchCommand::Workload(workload)) => {
            let parts = workload.parts();
            let spec = settings::native(parts.workload, parts.run, parts.on)?;
            Job::Workload(Box::new(spec))
        }
        Command::Simulate(SimulateCommand::Workload(workload)) => {
            let parts = workload.parts();
            let spec = settings::simulated(parts.workload, parts.run, parts.on)?;
            Job::Workload(Box::new(spec))
        }
        Command::Bench(BenchCommand::Timestamps(bench)) => {
            let flags = &bench.flags;
            let timestamps = flags.timestamps;
            let drawing = Drawing {
                options: Options { timestamps, ..flags.drawn.options() },
                threads: flags.threads.unwrap_or_else(computer::cores),
                duration: flags.window.duration,
                warmup: flags.window.warmup,
            };
            let spec = DrawSpec { drawing, machine: None, seed: 0, repeat: flags.repeat };
            Job::Timestamps(Box::new(spec))
        }
        Command::Simulate(SimulateCommand::Timestamps(simulate)) => {
            let (flags, on) = (&simulate.flags, &simulate.flags.machine);
            let timestamps = flags.timestamps;
            let (duration, warmup) = DrawSpec::simulated_times(timestamps);
            let drawing = Drawing {
                options: Options { timestamps, ..flags.drawn.options() },
                threads: on.cores,
                duration: flags.duration.unwrap_or(duration),
                warmup: flags.warmup.unwrap_or(warmup),
            };
            let machine = Some(settings::machine(on)?);
            let spec = DrawSpec { drawing, machine, seed: flags.seed, repeat: flags.repeat };
            Job::Timestamps(Box::new(spec))
        }
        Command::Bench(BenchCommand::Index(bench)) => {
            let flags = &bench.flags;
            let lookup = Lookup {
                records: flags.records,
                record_bytes: flags.record_bytes,
                group: flags.group,
                index: flags.index,
                threads: flags.threads,
                duration: flags.window.duration,
                warmup: flags.window.warmup,
                seed: flags.seed,
            };
            Job::Lookups(Box::new(LookupSpec { lookup, repeat: flags.repeat }))
        }
        Command::Bench(BenchCommand::Locks(bench)) => {
            let flags = &bench.flags;
            let locking = Locking {
                table: flags.scheme,
                mutex: flags.latch,
                mode: flags.mode,
                hot: flags.hot,
                threads: flags.threads.unwrap_or_else(computer::cores),
                duration: flags.window.duration,
                warmup: flags.window.warmup,
                pairs: flags.transactions.map(|it| it as u64),
            };
            let scheme = typed(LOCK_TABLES, &flags.scheme).into();
            Job::Locks(Box::new(LocksSpec { locking, scheme, repeat: flags.repeat }))
        }
        _ => return Err(Stop::Failed("not a run".into())),
    })
}

/// What the command says of its runs together; `None` if it runs nothing.
pub(crate) fn asked(command: &Command) -> Option<Asked<'_>> {
    Some(match command {
        Command::Bench(BenchCommand::Index(bench)) => alone(&bench.flags.sweep, &bench.output),
        Command::Bench(BenchCommand::Timestamps(bench)) => alone(&bench.flags.sweep, &bench.output),
        Command::Bench(BenchCommand::Locks(bench)) => alone(&bench.flags.sweep, &bench.output),
        Command::Bench(BenchCommand::Workload(workload)) => {
            let parts = workload.parts();
            let (history, series) = (parts.run.history.as_deref(), parts.on.series.as_deref());
            let deliveries = parts.workload.deliveries();
            Asked { history, deliveries, series, ..alone(&parts.run.sweep, parts.output) }
        }
        Command::Simulate(SimulateCommand::Timestamps(simulate)) => {
            let at_once = simulate.flags.machine.jobs.unwrap_or_else(computer::cores);
            Asked { at_once, ..alone(&simulate.flags.sweep, &simulate.output) }
        }
        Command::Simulate(SimulateCommand::Workload(workload)) => {
            let parts = workload.parts();
            let at_once = parts.on.machine.jobs.unwrap_or_else(computer::cores);
            let history = parts.run.history.as_deref();
            let deliveries = parts.workload.deliveries();
            Asked { at_once, history, deliveries, ..alone(&parts.run.sweep, parts.output) }
        }
        _ => return None,
    })
}

fn alone<'a>(sweep: &'a Option<String>, output: &'a OutputFlags) -> Asked<'a> {
    let sweep = sweep.as_deref();
    Asked { sweep, at_once: 1, output, history: None, deliveries: None, series: None }
}
