//! The flags of `chiliad figure`.

use chiliad_words::flags;
use clap::Subcommand;
use std::path::PathBuf;

/// `chiliad figure ...`.
#[derive(Subcommand)]
pub enum FigureCommand {
    /// List the figures that can be reproduced, and about how many minutes each takes.
    List,
    /// Run figures: CSV and SVG for each, and one HTML page with the papers' claims and a verdict on each.
    Run(FigureRunFlags),
}

flags! {
    /// `chiliad figure run ID... --out DIR`.
    FigureRunFlags {
        /// Figures by their id; see `chiliad figure list`. `all` is all of them.
        #[arg(value_name = "ID", required = true)]
        pub ids: Vec<String>,
        /// The directory for CSV, SVG and the page: missing, empty, or left by an earlier run, whose files
        /// of the same names are replaced.
        #[arg(long, value_name = "DIR")]
        pub out: PathBuf,
        /// A smaller grid, smaller tables and shorter runs; simulated machines of up to 64 cores.
        quick: switch,
        /// Run figures here that are otherwise run on a simulated machine, on as many cores as there are.
        native: switch,
        /// Simulated runs at once, 1 to 1024 [default: one per core of the host].
        jobs: count(1, 1024),
        /// The log over the network of the runs that append to one, `nats://HOST:PORT,.../NAME`, where it is built in. What is
        /// appended stays in it [default: none: these runs are skipped].
        shared_log: text() [value_name = "LOG"],
        /// No progress bar and no summary.
        quiet: switch,
    }
}
