//! `chiliad figure`: the papers' figures, and whether what the papers say of them holds.

use crate::args::{FigureCommand, FigureRunFlags};
use crate::jobs;
use chiliad_host::output::{complain, print};
use chiliad_host::{Leftover, Stop, computer};
use chiliad_lab::figure::{Measurement, Order, list, run as run_figures};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// In descriptions, the log that the command names, and one in files of its own.
const NAMED: &str = "{log}";
const FILES: &str = "{files}";

/// Lists or runs figures.
pub fn run(command: &FigureCommand) -> Result<(), Stop> {
    let directory = std::env::temp_dir().join(format!("chiliad-figure-{}", std::process::id()));
    match command {
        FigureCommand::List => print(&list(&|words| Logs::new(None, &directory).measure(words))?),
        FigureCommand::Run(flags) => {
            let _leftover = Leftover::tree(&directory).map_err(|error| {
                let accepted = "accepted: a directory for temporary files that can be written to";
                Stop::bad(directory.display(), format!("{error}; {accepted}"))
            })?;
            run_all(flags, &Logs::new(flags.shared_log.as_deref(), &directory))
        }
    }
}

fn run_all(flags: &FigureRunFlags, logs: &Logs<'_>) -> Result<(), Stop> {
    let order = Order {
        ids: flags.ids.clone(),
        out: flags.out.clone(),
        quick: flags.quick,
        native: flags.native,
        jobs: flags.jobs.unwrap_or_else(computer::cores),
        quiet: flags.quiet,
    };
    let ended = run_figures(&order, &|words| logs.measure(words));
    if logs.missed.get() && !flags.quiet {
        complain(
            "chiliad: skipped: runs on a log over the network, since --shared-log names none\n",
        );
    }
    ended
}

/// The logs that runs append to.
struct Logs<'a> {
    /// The one that the command names.
    named: Option<&'a str>,
    /// Where those in files are.
    directory: &'a Path,
    /// How many of these there are.
    made: Cell<usize>,
    /// A run wanted the named one, and none is named.
    missed: Cell<bool>,
}

impl<'a> Logs<'a> {
    fn new(named: Option<&'a str>, directory: &'a Path) -> Self {
        Self { named, directory, made: Cell::new(0), missed: Cell::new(false) }
    }

    /// What the words of a description measure, once logs have their names in them.
    fn measure(&self, words: &[String]) -> Result<Measurement, Stop> {
        if self.named.is_none() && words.iter().any(|word| word == NAMED) {
            self.missed.set(true);
            return Err(Stop::BadInput("no log over the network was named".into()));
        }
        let name = |word: &String| match word.as_str() {
            NAMED => self.named.unwrap_or_default().to_owned(),
            FILES => self.next().display().to_string(),
            _ => word.clone(),
        };
        jobs::measurement(&words.iter().map(name).collect::<Vec<_>>())
    }

    /// A directory for a log of its own.
    fn next(&self) -> PathBuf {
        let number = self.made.replace(self.made.get() + 1);
        self.directory.join(number.to_string())
    }
}
