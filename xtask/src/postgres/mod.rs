//! `cargo xtask postgres`: our server beside PostgreSQL on this machine, by pgbench.
//!
//! Both have the same data on the same file system and are asked in turn, over Unix sockets where nothing else is said, since a
//! shared machine drifts by more than the differences of interest; what counts is the median of the rounds. A third server, the *floor*, answers every
//! statement with a constant: what pgbench and sockets leave to be had. Where PostgreSQL is not installed the command says
//! so and is done.

mod cases;
mod gotpc;
mod idle;
mod pgbench;
mod report;
pub mod servers;
mod timed;

use crate::compare;
use cases::{Case, Side};
use clap::Args;
use pgbench::Sample;
use servers::{Kind, Place, Servers};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args)]
pub struct Arguments {
    /// Only cases in whose name this word is: select, simple, TCP, update, sync, tpcb, call, init, count, idle, go-tpc
    #[arg(long, value_name = "WORD", default_value = "")]
    only: String,
    /// How often each server runs each case
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// One round of one second
    #[arg(long)]
    quick: bool,
    /// The scale of pgbench: each unit is 100,000 accounts
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    scale: u32,
    /// Our schemes that run the tpcb cases, besides the default one: all of them, or some, with commas
    #[arg(long, value_name = "NAMES", default_value = "")]
    schemes: String,
    /// Our command, already built; by default the release build of this tree
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// The directory of the server's examples, already built; by default they are built
    #[arg(long, value_name = "DIR")]
    examples: Option<PathBuf>,
    /// The program of go-tpc, for TPC-C of two warehouses by sixteen terminals; by default the one on the path
    #[arg(long, value_name = "PATH", default_value = "go-tpc")]
    go_tpc: PathBuf,
}

impl Arguments {
    fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    fn seconds(&self) -> u32 {
        if self.quick { 1 } else { self.seconds }
    }

    fn is_meant(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

/// Runs the cases and prints a table of each.
///
/// # Errors
/// When a server does not start or a client fails.
pub fn run(arguments: &Arguments, root: &Path) -> Result<(), String> {
    let Some(installed) = servers::find_postgres() else {
        println!("skipped: PostgreSQL (initdb, postgres, pgbench) is not installed");
        return Ok(());
    };
    let binary = compare::binary(arguments.binary.as_deref(), root)?;
    let examples = match &arguments.examples {
        Some(examples) => examples.clone(),
        None => build_examples(root, &binary)?,
    };
    let schemes = match &*arguments.schemes {
        "all" => compare::schemes(&binary)?,
        names => names.split(',').filter(|it| !it.is_empty()).map(String::from).collect(),
    };
    let place = Place::new(installed, binary, examples, arguments.scale)?;
    let mut servers = Servers::new(&place);
    for case in cases::all(&schemes).iter().filter(|case| arguments.is_meant(case.name)) {
        run_case(case, arguments, &mut servers)?;
    }
    if arguments.is_meant("init") {
        timed::init(&mut servers, arguments.rounds())?;
    }
    if arguments.is_meant("count") {
        timed::count(&mut servers, arguments.rounds())?;
    }
    if arguments.is_meant("idle") {
        idle::run(&mut servers, arguments.rounds(), arguments.seconds())?;
    }
    for (name, tcp) in [("go-tpc", false), ("go-tpc TCP", true)] {
        if arguments.is_meant(name) {
            let length = (arguments.rounds(), arguments.seconds());
            gotpc::run(&mut servers, &arguments.go_tpc, tcp, length)?;
        }
    }
    Ok(())
}

fn run_case(case: &Case, arguments: &Arguments, servers: &mut Servers<'_>) -> Result<(), String> {
    let mut sides: Vec<(&Side, Vec<Sample>)> = Vec::new();
    for side in &case.sides {
        match servers.get(&side.kind) {
            Ok(_) => sides.push((side, Vec::new())),
            Err(why) if side.is_optional => println!("\nskipped: {}: {why}", side.label),
            Err(why) => return Err(why),
        }
    }
    for _ in 0..arguments.rounds() {
        for (side, samples) in &mut sides {
            let server = servers.get(&side.kind)?;
            samples.push(pgbench::run(server, case, side, arguments.seconds())?);
        }
    }
    report::case(case, &sides);
    // Those of one scheme are asked once.
    servers.stop_unless(|kind| matches!(kind, Kind::Postgres | Kind::Floor) || kind.is_default());
    Ok(())
}

/// Builds the examples beside the command, and says where they lie.
fn build_examples(root: &Path, binary: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--package", "chiliad-server", "--examples"]);
    let built = cargo.current_dir(root).status();
    if !built.map_err(|error| format!("cargo build: {error}"))?.success() {
        return Err("the release build of the server's examples failed".into());
    }
    Ok(binary.with_file_name("examples"))
}
