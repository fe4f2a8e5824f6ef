//! The runs that one command line asks for: points of a sweep, repetitions, where results go.
//!
//! Every point is parsed and resolved, and every file created, before the first run begins.
//! Repetitions go round the points, so that a drift of the computer meets all of them alike. Simulated
//! runs, which no drift meets, run side by side; see [`crate::points`].

use crate::args::{
    self, Arguments, Bench, BenchCommand, BenchWorkload, Command, OutputFlags, RunFlags, Simulate,
    SimulateCommand, SimulateWorkload, TimestampsSimulation, each_workload,
};
use crate::result::RunResult;
use crate::workloads::WorkloadFlags;
use crate::{
    bench, host, index, locks, points, repeat, settings, simulate, summary, sweep, timestamps,
};
use chiliad_host::Listening;
use chiliad_host::Stop;
use chiliad_host::{OutputFile, Sink};
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

/// Runs with what is to be written down.
type Native = dyn FnMut(&mut Files) -> Result<RunResult, Stop>;

/// One run, ready to go.
enum Point {
    /// By itself.
    Native(Box<Native>),
    /// On the simulated machine.
    Simulated(Box<points::Point>),
}

/// What the points of a command line share.
struct Common {
    repeat: usize,
    /// Simulated runs at a time.
    jobs: usize,
    output: OutputFlags,
    files: Files,
}

impl Common {
    fn native(repeat: usize, output: OutputFlags, files: Files) -> Self {
        Self { repeat, jobs: 1, output, files }
    }
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
    let mut labels = Vec::new();
    for line in &lines {
        let (point, common) = prepare(args::parse(line)?, swept)?;
        points.push(point);
        commons.push(common);
        // The flag that is swept comes last.
        labels.push(line.last().filter(|_| swept).cloned());
    }
    let Some(common) = commons.pop() else { return Ok(()) };
    go(points, labels, common)
}

fn sweep_of(command: &Command) -> Option<&str> {
    let sweep = match command {
        Command::Bench(BenchCommand::Index(bench)) => &bench.index.sweep,
        Command::Bench(BenchCommand::Timestamps(bench)) => &bench.timestamps.sweep,
        Command::Bench(BenchCommand::Workload(bench)) => {
            each_workload!(bench, BenchWorkload, flags => &flags.run.sweep)
        }
        Command::Bench(BenchCommand::Locks(bench)) => &bench.locks.sweep,
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
            let point = Point::Native(Box::new(move |_| index::run(&index, quiet)));
            Ok((point, Common::native(repeat, flags.output, Files::default())))
        }
        Command::Bench(BenchCommand::Timestamps(flags)) => {
            let (repeat, quiet) = (flags.timestamps.repeat, flags.output.quiet);
            let timestamps = flags.timestamps;
            let point = Point::Native(Box::new(move |_| timestamps::run(&timestamps, quiet)));
            Ok((point, Common::native(repeat, flags.output, Files::default())))
        }
        Command::Bench(BenchCommand::Locks(flags)) => {
            let (repeat, quiet) = (flags.locks.repeat, flags.output.quiet);
            let locks = flags.locks;
            let point = Point::Native(Box::new(move |_| locks::run(&locks, quiet)));
            Ok((point, Common::native(repeat, flags.output, Files::default())))
        }
        Command::Simulate(SimulateCommand::Timestamps(flags)) => {
            let TimestampsSimulation { timestamps, machine, output } = *flags;
            let repeat = timestamps.repeat;
            let run = timestamps::Simulated::new(&timestamps, &machine)?;
            let jobs = machine.jobs.unwrap_or_else(host::cores);
            let point = Point::Simulated(Box::new(points::Point::Timestamps(Box::new(run))));
            Ok((point, Common { repeat, jobs, output, files: Files::default() }))
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
    let point = Point::Native(Box::new(move |files| bench::run(&mut settings, quiet, files)));
    Ok((point, Common::native(flags.run.repeat, flags.output, files)))
}

fn simulated<W: WorkloadFlags + clap::Args>(
    flags: Simulate<W>,
    swept: bool,
) -> Result<(Point, Common), Stop> {
    let (settings, plan) = settings::simulated(&flags)?;
    let files = files(&flags.run, None, swept)?;
    let jobs = flags.machine.jobs.unwrap_or_else(host::cores);
    let point =
        Point::Simulated(Box::new(points::Point::Workload(Box::new(settings), Box::new(plan))));
    Ok((point, Common { repeat: flags.run.repeat, jobs, output: flags.output, files }))
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

fn go(points: Vec<Point>, labels: Vec<Option<String>>, common: Common) -> Result<(), Stop> {
    let Common { repeat, jobs, output, files } = common;
    // What has come of the first of several runs is not lost with the later ones.
    let listening = (points.len() > 1 || repeat > 1).then(Listening::begin);
    let mut book = Book::new(labels, repeat, Sink::new(output.json.as_deref(), output.quiet)?);
    let (mut native, mut simulated) = (Vec::new(), Vec::new());
    for point in points {
        match point {
            Point::Native(point) => native.push(point),
            Point::Simulated(point) => simulated.push(*point),
        }
    }
    let ended = match simulated.as_slice() {
        [] => go_natively(native, repeat, files, &mut book),
        [point] if repeat == 1 => go_alone(point, files, &mut book),
        _ => {
            let all: Vec<&points::Point> = (0..repeat).flat_map(|_| &simulated).collect();
            let go_on = || listening.as_ref().map_or(Ok(()), Listening::check);
            points::run(&all, jobs, go_on, |number, answer| {
                let points::Answer { result, problem } = answer?;
                book.enter(number % simulated.len(), result, problem)
            })
        }
    };
    match ended {
        Ok(()) => book.finish(),
        Err(Stop::Interrupted) => {
            book.close_early()?;
            Err(Stop::Interrupted)
        }
        Err(stop) => Err(stop),
    }
}

/// Repetitions go round the points.
fn go_natively(
    mut points: Vec<Box<Native>>,
    repeat: usize,
    mut files: Files,
    book: &mut Book,
) -> Result<(), Stop> {
    for _ in 0..repeat {
        for (number, point) in points.iter_mut().enumerate() {
            let result = point(&mut files)?;
            book.enter(number, result.to_value(), result.problem())?;
            if result.interrupted {
                return Err(Stop::Interrupted);
            }
        }
    }
    Ok(())
}

/// One simulated run, in this process.
fn go_alone(point: &points::Point, mut files: Files, book: &mut Book) -> Result<(), Stop> {
    let result = match point {
        points::Point::Workload(settings, plan) => simulate::run(settings, plan, &mut files)?,
        points::Point::Timestamps(run) => run.go()?,
    };
    book.enter(0, result.to_value(), result.problem())
}

/// The results of all points, put out in their order as soon as all before them are there.
struct Book {
    repeat: usize,
    /// What tells the points of a sweep apart.
    labels: Vec<Option<String>>,
    results: Vec<Vec<Value>>,
    /// Points that have been put out.
    out: usize,
    problems: Vec<String>,
    sink: Sink,
}

impl Book {
    fn new(labels: Vec<Option<String>>, repeat: usize, sink: Sink) -> Self {
        let results = labels.iter().map(|_| Vec::new()).collect();
        Self { repeat, labels, results, out: 0, problems: Vec::new(), sink }
    }

    fn enter(&mut self, number: usize, result: Value, problem: Option<String>) -> Result<(), Stop> {
        self.results[number].push(result);
        self.problems.extend(problem);
        while self.results.get(self.out).is_some_and(|results| results.len() == self.repeat) {
            self.put_out()?;
        }
        Ok(())
    }

    /// Puts out what there is of the next point.
    fn put_out(&mut self) -> Result<(), Stop> {
        let mut results = std::mem::take(&mut self.results[self.out]);
        let merged = if results.len() > 1 { repeat::merge(results) } else { results.remove(0) };
        self.sink.say(&summary::text(&merged, self.labels[self.out].as_deref()))?;
        self.sink.json(&merged)?;
        self.out += 1;
        Ok(())
    }

    /// Puts out what there is of all points, the last of which were cut short.
    fn close_early(mut self) -> Result<(), Stop> {
        while self.out < self.results.len() {
            match self.results[self.out].is_empty() {
                true => self.out += 1,
                false => self.put_out()?,
            }
        }
        self.finish()
    }

    fn finish(self) -> Result<(), Stop> {
        self.sink.finish()?;
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(Stop::Failed(self.problems.join("; "))),
        }
    }
}
