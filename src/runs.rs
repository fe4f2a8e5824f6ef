//! The runs that one command line asks for: points of a sweep, repetitions, where results go.
//!
//! Every point is parsed and resolved, and every file created, before the first run begins.
//! Repetitions go round the points, so that a drift of the computer meets all of them alike.

use crate::args::{
    self, Arguments, Bench, BenchCommand, BenchWorkload, Command, OutputFlags, RunFlags, Simulate,
    SimulateCommand, SimulateWorkload, TimestampsSimulation, each_workload,
};
use crate::failure::Stop;
use crate::output::{OutputFile, print};
use crate::result::RunResult;
use crate::workloads::WorkloadFlags;
use crate::{bench, index, repeat, settings, simulate, summary, sweep, timestamps};
use serde_json::Value;
use std::path::Path;

/// Files that a single run writes besides its result.
#[derive(Default)]
pub struct Files {
    /// `--history`.
    pub history: Option<OutputFile>,
    /// `--series`.
    pub series: Option<OutputFile>,
}

/// One run, ready to go.
type Point = Box<dyn FnMut(&mut Files) -> Result<RunResult, Stop>>;

/// What the points of a command line share.
struct Common {
    repeat: usize,
    output: OutputFlags,
    files: Files,
}

/// Runs what the words ask for.
pub fn run(words: &[String]) -> Result<(), Stop> {
    let lines = match sweep_of(&args::parse(words)?.command) {
        None => vec![words.to_vec()],
        Some(_) => sweep::expand(words)?,
    };
    let swept = lines.len() > 1;
    let mut points = Vec::new();
    let mut commons = Vec::new();
    for line in &lines {
        let (point, common) = prepare(args::parse(line)?, swept)?;
        points.push(point);
        commons.push(common);
    }
    let Some(common) = commons.pop() else { return Ok(()) };
    go(points, common)
}

fn sweep_of(command: &Command) -> Option<&str> {
    let sweep = match command {
        Command::Bench(BenchCommand::Index(bench)) => &bench.index.sweep,
        Command::Bench(BenchCommand::Timestamps(bench)) => &bench.timestamps.sweep,
        Command::Bench(BenchCommand::Workload(bench)) => {
            each_workload!(bench, BenchWorkload, flags => &flags.run.sweep)
        }
        Command::Simulate(SimulateCommand::Timestamps(simulate)) => &simulate.timestamps.sweep,
        Command::Simulate(SimulateCommand::Workload(simulate)) => {
            each_workload!(simulate, SimulateWorkload, flags => &flags.run.sweep)
        }
        _ => &None,
    };
    sweep.as_deref()
}

fn prepare(arguments: Arguments, swept: bool) -> Result<(Point, Common), Stop> {
    match arguments.command {
        Command::Bench(BenchCommand::Workload(bench)) => {
            each_workload!(bench, BenchWorkload, flags => native(*flags, swept))
        }
        Command::Bench(BenchCommand::Index(flags)) => {
            let (repeat, quiet) = (flags.index.repeat, flags.output.quiet);
            let index = flags.index;
            let point: Point = Box::new(move |_| index::run(&index, quiet));
            Ok((point, Common { repeat, output: flags.output, files: Files::default() }))
        }
        Command::Bench(BenchCommand::Timestamps(flags)) => {
            let (repeat, quiet) = (flags.timestamps.repeat, flags.output.quiet);
            let timestamps = flags.timestamps;
            let point: Point = Box::new(move |_| timestamps::run(&timestamps, quiet));
            Ok((point, Common { repeat, output: flags.output, files: Files::default() }))
        }
        Command::Simulate(SimulateCommand::Timestamps(flags)) => {
            let TimestampsSimulation { timestamps, machine, output } = *flags;
            let repeat = timestamps.repeat;
            let run = timestamps::Simulated::new(&timestamps, &machine)?;
            let point: Point = Box::new(move |_| run.go());
            Ok((point, Common { repeat, output, files: Files::default() }))
        }
        Command::Simulate(SimulateCommand::Workload(simulate)) => {
            each_workload!(simulate, SimulateWorkload, flags => simulated(*flags, swept))
        }
        _ => Err(Stop::Failed("not a run".into())),
    }
}

fn native<W: WorkloadFlags + clap::Args>(
    flags: Bench<W>,
    swept: bool,
) -> Result<(Point, Common), Stop> {
    let mut settings = settings::native(&flags)?;
    let series = flags.native.series.as_deref();
    let files = files(&flags.run, series, swept)?;
    let quiet = flags.output.quiet;
    let point: Point = Box::new(move |files| bench::run(&mut settings, quiet, files));
    Ok((point, Common { repeat: flags.run.repeat, output: flags.output, files }))
}

fn simulated<W: WorkloadFlags + clap::Args>(
    flags: Simulate<W>,
    swept: bool,
) -> Result<(Point, Common), Stop> {
    let (settings, plan) = settings::simulated(&flags)?;
    let files = files(&flags.run, None, swept)?;
    let point: Point = Box::new(move |files| simulate::run(&settings, &plan, files));
    Ok((point, Common { repeat: flags.run.repeat, output: flags.output, files }))
}

/// Creates the files of a single run; several runs have nowhere to put theirs.
fn files(run: &RunFlags, series: Option<&Path>, swept: bool) -> Result<Files, Stop> {
    let history = run.history.as_deref();
    for (flag, path) in [("--history", history), ("--series", series)] {
        if path.is_some() && (swept || run.repeat > 1) {
            return Err(Stop::bad(
                flag,
                "one file for several runs; accepted: without --sweep and --repeat",
            ));
        }
    }
    Ok(Files {
        history: OutputFile::create_if("--history", history)?,
        series: OutputFile::create_if("--series", series)?,
    })
}

fn go(mut points: Vec<Point>, common: Common) -> Result<(), Stop> {
    let Common { repeat, output, mut files } = common;
    let mut sink = Sink::open(&output)?;
    let mut problems = Vec::new();
    let mut rounds: Vec<Vec<Value>> = points.iter().map(|_| Vec::new()).collect();
    for _ in 0..repeat {
        for (point, results) in points.iter_mut().zip(&mut rounds) {
            let result = point(&mut files)?;
            problems.extend(result.problem());
            results.push(result.to_value());
            if repeat == 1 {
                results.drain(..).try_for_each(|result| sink.put(&result))?;
            }
        }
    }
    if repeat > 1 {
        rounds.into_iter().try_for_each(|results| sink.put(&repeat::merge(results)))?;
    }
    sink.finish()?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Stop::Failed(problems.join("; "))),
    }
}

/// Where results go: for people, and as JSON.
pub struct Sink {
    quiet: bool,
    to_stdout: bool,
    file: Option<OutputFile>,
    lines: String,
}

impl Sink {
    fn open(output: &OutputFlags) -> Result<Self, Stop> {
        Self::new(output.json.as_deref(), output.quiet)
    }

    /// A sink for `--json` and `--quiet`.
    pub fn new(json: Option<&Path>, quiet: bool) -> Result<Self, Stop> {
        let to_stdout = json == Some(Path::new("-"));
        let file = json.filter(|_| !to_stdout);
        let file = OutputFile::create_if("--json", file)?;
        Ok(Self { quiet: quiet || to_stdout, to_stdout, file, lines: String::new() })
    }

    /// Puts out one run's result.
    fn put(&mut self, result: &Value) -> Result<(), Stop> {
        self.say(&summary::text(result))?;
        self.json(result)
    }

    /// Tells people something, unless they want quiet.
    pub fn say(&self, text: &str) -> Result<(), Stop> {
        if self.quiet { Ok(()) } else { print(text) }
    }

    /// Writes a line of JSON.
    pub fn json(&mut self, value: &Value) -> Result<(), Stop> {
        let line = format!("{value}\n");
        if self.to_stdout {
            print(&line)?;
        } else if self.file.is_some() {
            self.lines.push_str(&line);
        }
        Ok(())
    }

    /// Puts the JSON file in its place.
    pub fn finish(self) -> Result<(), Stop> {
        match self.file {
            None => Ok(()),
            Some(file) => file.finish(|file| file.write_all(self.lines.as_bytes())),
        }
    }
}
