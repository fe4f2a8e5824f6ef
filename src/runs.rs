//! The runs that one command line asks for: points of a sweep, repetitions, where results go.
//!
//! Every point is parsed and resolved, and every file created, before the first run begins.

use crate::args;
use crate::jobs::{self, Asked};
use chiliad_host::{OutputFile, Stop};
use chiliad_lab::run::{Files, Job, Session, serve};

/// Runs what the words ask for.
pub fn run(words: &[String]) -> Result<(), Stop> {
    let command = args::parse(words)?.command;
    let asked = jobs::asked(&command).ok_or_else(|| Stop::Failed("not a run".into()))?;
    let (mut jobs, labels): (Vec<_>, Vec<_>) = jobs::points(words)?.into_iter().unzip();
    match jobs.as_mut_slice() {
        [Job::Workload(spec)] => {
            if let Some(shared) = spec.shared_log().filter(|shared| shared.server > 0) {
                return serve(spec, shared);
            }
            let another = words.iter().cloned().chain(["--server".into()]);
            spec.set_words(another.collect());
        }
        several => {
            let stays =
                |job: &Job| matches!(job, Job::Workload(spec) if spec.shared_log().is_some());
            if several.iter().any(stays) {
                let problem = "with --shared-log, which has the rows of the first run; accepted: \
                               a run at a time";
                return Err(Stop::bad("--sweep", problem));
            }
        }
    }
    let several = jobs.len() > 1 || jobs.iter().any(|job| job.repeat() > 1);
    let files = create(&asked, several)?;
    let (at_once, quiet) = (asked.at_once, asked.output.quiet);
    let sink = asked.output.sink()?;
    Session { jobs, labels, at_once, quiet, files }.run(sink)
}

/// Creates the files of a single run; several runs have nowhere to put theirs.
fn create(asked: &Asked<'_>, several: bool) -> Result<Files, Stop> {
    let Asked { history, deliveries, series, .. } = *asked;
    for (flag, path) in [("--history", history), ("--deliveries", deliveries), ("--series", series)]
    {
        if path.is_some() && several {
            return Err(Stop::bad(
                flag,
                "one file for several runs; accepted: without --sweep and --repeat",
            ));
        }
    }
    Ok(Files {
        history: OutputFile::create_if("--history", history)?,
        deliveries: OutputFile::create_if("--deliveries", deliveries)?,
        series: OutputFile::create_if("--series", series)?,
    })
}
