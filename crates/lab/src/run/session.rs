//! The jobs that one command asks for, and their repetitions.
//!
//! Repetitions go round the jobs, so that a drift of the computer meets all of them alike. Simulated
//! runs, which no drift meets, run side by side.

use super::book::Book;
use super::files::Files;
use super::job::Job;
use super::points::{self, Answer, run_points};
use super::{native, timestamps};
use crate::result::RunResult;
use chiliad_host::{Listening, Sink, Stop};

/// Jobs of one kind, all native or all simulated, that each run equally often.
pub struct Session {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Their labels, where there are several.
    pub labels: Vec<Option<String>>,
    /// Simulated runs at a time.
    pub at_once: usize,
    /// No progress bar.
    pub quiet: bool,
    /// The files that a single run writes besides.
    pub files: Files,
}

impl Session {
    /// Runs all jobs.
    ///
    /// # Errors
    /// Why it ended early, or what is wrong with a run.
    pub fn run(self, sink: Sink) -> Result<(), Stop> {
        let Self { mut jobs, labels, at_once, quiet, mut files } = self;
        let repeat = jobs.first().map_or(1, Job::repeat);
        // What has come of the first of several runs is not lost with the later ones.
        let listening = (jobs.len() > 1 || repeat > 1).then(Listening::begin);
        let mut book = Book::new(labels, repeat, sink);
        let ended = match jobs.as_mut_slice() {
            [job] if job.is_simulated() && repeat == 1 => {
                run(job, quiet, &mut files).and_then(|it| enter(&mut book, 0, &it))
            }
            [first, ..] if first.is_simulated() => {
                let all: Vec<&Job> = (0..repeat).flat_map(|_| &jobs).collect();
                let go_on = || listening.as_ref().map_or(Ok(()), Listening::check);
                run_points(&all, at_once, go_on, |number, answer| {
                    let Answer { result, problem } = answer?;
                    book.enter(number % jobs.len(), result, problem)
                })
            }
            natively => go_round(natively, repeat, quiet, &mut files, &mut book),
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
}

fn go_round(
    jobs: &mut [Job],
    repeat: usize,
    quiet: bool,
    files: &mut Files,
    book: &mut Book,
) -> Result<(), Stop> {
    for _ in 0..repeat {
        for (number, job) in jobs.iter_mut().enumerate() {
            let result = run(job, quiet, files)?;
            enter(book, number, &result)?;
            if result.interrupted {
                return Err(Stop::Interrupted);
            }
        }
    }
    Ok(())
}

fn enter(book: &mut Book, number: usize, result: &RunResult) -> Result<(), Stop> {
    book.enter(number, result.to_value(), result.problem())
}

/// One run, in this process.
pub fn run(job: &mut Job, quiet: bool, files: &mut Files) -> Result<RunResult, Stop> {
    if job.is_simulated() {
        let loaded = points::load(job)?;
        return points::run(job, loaded, files);
    }
    match job {
        Job::Workload(spec) => native::run(spec, quiet, files),
        Job::Timestamps(spec) => timestamps::draw(spec, quiet),
        Job::Lookups(spec) => spec.run(quiet),
        Job::Locks(spec) => spec.run(quiet),
    }
}
