//! The runs that one command line asks for: points of a sweep, repetitions, where results go.
//!
//! Every point is parsed and resolved, and every file created, before the first run begins.

use crate::jobs::{self, Asked};
use crate::{args, sweep};
use chiliad_host::{OutputFile, Sink, Stop};
use chiliad_lab::run::{Files, Session};

/// Runs what the words ask for.
pub fn run(words: &[String]) -> Result<(), Stop> {
    let arguments = args::parse(words)?;
    let none = || Stop::Failed("not a run".into());
    let asked = jobs::asked(&arguments.command).ok_or_else(none)?;
    let lines = match asked.sweep {
        None => vec![words.to_vec()],
        Some(_) => sweep::expand(words)?,
    };
    let swept = lines.len() > 1;
    let (mut all, mut labels, mut files) = (Vec::new(), Vec::new(), Files::default());
    for line in &lines {
        let job = jobs::parse(line)?;
        files = create(&asked, swept || job.repeat() > 1)?;
        all.push(job);
        // The flag that is swept comes last.
        labels.push(line.last().filter(|_| swept).cloned());
    }
    let (at_once, quiet) = (asked.at_once, asked.output.quiet);
    let sink = Sink::new(asked.output.json.as_deref(), quiet)?;
    Session { jobs: all, labels, at_once, quiet, files }.run(sink)
}

/// Creates the files of a single run; several runs have nowhere to put theirs.
fn create(asked: &Asked<'_>, several: bool) -> Result<Files, Stop> {
    for (flag, path) in [("--history", asked.history), ("--series", asked.series)] {
        if path.is_some() && several {
            return Err(Stop::bad(
                flag,
                "one file for several runs; accepted: without --sweep and --repeat",
            ));
        }
    }
    Ok(Files {
        history: OutputFile::create_if("--history", asked.history)?,
        series: OutputFile::create_if("--series", asked.series)?,
    })
}
