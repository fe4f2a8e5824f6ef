//! The flags of `chiliad figure`.

use chiliad_words::value::count;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `chiliad figure ...`.
#[derive(Subcommand)]
pub enum FigureCommand {
    /// List the figures that can be reproduced, and about how many minutes each takes.
    List,
    /// Run figures: CSV and SVG for each, and one HTML page with the papers' claims and a verdict on each.
    Run(FigureRunFlags),
}

/// `chiliad figure run ID... --out DIR`.
#[derive(Args)]
pub struct FigureRunFlags {
    /// Figures by their id; see `chiliad figure list`. `all` is all of them.
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
    /// The directory for CSV, SVG and the page: missing, empty, or left by an earlier run, whose files
    /// of the same names are replaced.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// A smaller grid, smaller tables and shorter runs; simulated machines of up to 64 cores.
    #[arg(long)]
    pub quick: bool,
    /// Run figures here that are otherwise run on a simulated machine, on as many cores as there are.
    #[arg(long)]
    pub native: bool,
    /// Simulated runs at once, 1 to 1024 [default: one per core of the host].
    #[arg(long, value_name = "N", value_parser = count(1, 1024))]
    pub jobs: Option<usize>,
    /// The log over the network of the runs that append to one, `nats://HOST:PORT,.../NAME`, where it is built in. What is
    /// appended stays in it [default: none: these runs are skipped].
    #[arg(long, value_name = "LOG")]
    pub shared_log: Option<String>,
    /// No progress bar and no summary.
    #[arg(long)]
    pub quiet: bool,
}
