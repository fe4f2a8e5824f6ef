//! `chiliad figure`: the papers' figures, and whether what the papers say of them holds.

use crate::args::{FigureCommand, FigureRunFlags};
use crate::jobs;
use chiliad_host::output::{complain, print};
use chiliad_host::{Leftover, Stop, computer};
use chiliad_lab::figure::{Logs, Order, list, run as run_figures};

/// Lists or runs figures.
pub fn run(command: &FigureCommand) -> Result<(), Stop> {
    let directory = std::env::temp_dir().join(format!("chiliad-figure-{}", std::process::id()));
    let logs = |named| Logs::new(named, &directory, &jobs::measurement);
    match command {
        FigureCommand::List => print(&list(&|words| logs(None).measure(words))?),
        FigureCommand::Run(flags) => {
            let _leftover = Leftover::tree(&directory).map_err(|error| {
                let accepted = "accepted: a directory for temporary files that can be written to";
                Stop::bad(directory.display(), format!("{error}; {accepted}"))
            })?;
            run_all(flags, &logs(flags.shared_log.as_deref()))
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
    if logs.missed() && !flags.quiet {
        complain(
            "chiliad: skipped: runs on a log over the network, since --shared-log names none\n",
        );
    }
    ended
}
