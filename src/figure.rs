//! `chiliad figure`: the papers' figures, and whether what the papers say of them holds.

use crate::args::FigureCommand;
use crate::jobs;
use chiliad_host::output::print;
use chiliad_host::{Stop, computer};
use chiliad_lab::figure::{Order, list, run as run_figures};

/// Lists or runs figures.
pub fn run(command: &FigureCommand) -> Result<(), Stop> {
    match command {
        FigureCommand::List => print(&list(&jobs::parse)?),
        FigureCommand::Run(flags) => {
            let order = Order {
                ids: flags.ids.clone(),
                out: flags.out.clone(),
                quick: flags.quick,
                native: flags.native,
                jobs: flags.jobs.unwrap_or_else(computer::cores),
                quiet: flags.quiet,
            };
            run_figures(&order, &jobs::parse)
        }
    }
}
