//! `cargo xtask`: what a maintainer runs beside `cargo test`.
//!
//! - `test`: the tests of the workspace, two programs of them at once;
//! - `tidy`: the rules of the architecture, as a check;
//! - `deep`: what needs more than stable Rust, skipped with a printed line where it is missing;
//! - `fuzz`: damaged files and directories, guided by coverage;
//! - `compare`: our command and a peer's, in turn;
//! - `postgres`: our server and PostgreSQL, in turn, by pgbench;
//! - `instructions`: instructions per transaction, before and after a change;
//! - `package`: the crates that an application gets with the library, packed as a registry takes them;
//! - `platforms`: the library by the oldest compiler and for the other platform that are promised;
//! - `profiled`: the command, compiled by what runs of it have shown;
//! - `interleaving`: whether the default number of transactions in flight costs anything.

mod compare;
mod deep;
mod fuzz;
mod instructions;
mod interleaving;
mod nightly;
mod postgres;
mod profiled;
mod programs;
mod publish;
mod tidy;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Checks and measurements of this repository")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the tests of `cargo test --workspace`, two programs of them at once
    Test,
    /// Check the rules of the architecture; fails when one is broken
    Tidy,
    /// Run Miri, sanitizers and long loom models, as far as the toolchain has them
    Deep(deep::Arguments),
    /// Feed damaged files and directories to whatever reads them, guided by coverage
    Fuzz(fuzz::Arguments),
    /// Run our benchmark and a peer's in turn and print the ratio
    Compare(compare::Arguments),
    /// Run pgbench on our server and on PostgreSQL in turn and print rates, ratios and processor time
    Postgres(postgres::Arguments),
    /// Count the instructions of a transaction, beside those of another build if told
    Instructions(instructions::Arguments),
    /// Pack the crates that an application gets with the library, as a registry takes them
    Package(publish::Arguments),
    /// Compile the library by the oldest compiler and for the other platform that are promised, where they are installed
    Platforms,
    /// Build the command by what runs of it show, which takes two release builds and some minutes; prints where it lies
    Profiled,
    /// Run loads with 1 and 8 transactions in flight and by default; fails where the default is behind
    Interleaving(interleaving::Arguments),
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the root").to_owned()
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test => programs::run(&root()),
        Task::Tidy => tidy::run(&root()),
        Task::Deep(arguments) => deep::run(&arguments, &root()),
        Task::Fuzz(arguments) => fuzz::run(&arguments, &root()),
        Task::Compare(arguments) => compare::run(&arguments, &root()),
        Task::Postgres(arguments) => postgres::run(&arguments, &root()),
        Task::Instructions(arguments) => instructions::run(&arguments, &root()),
        Task::Package(arguments) => publish::package(&arguments, &root()),
        Task::Platforms => publish::platforms(&root()),
        Task::Profiled => profiled::run(&root()),
        Task::Interleaving(arguments) => interleaving::run(&arguments, &root()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
#[path = "../../tests/common/fences.rs"]
mod fences;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `cargo xtask` line of the documents is one.
    #[test]
    fn command_lines_in_documents_are_accepted() {
        let mut tried = 0;
        for document in fences::documents(&root()) {
            for command in document.commands() {
                let Some(words) = command.of_xtask() else { continue };
                tried += 1;
                let line = std::iter::once("cargo xtask").chain(words.iter().map(String::as_str));
                if let Err(error) = Arguments::try_parse_from(line) {
                    use clap::error::ErrorKind as Kind;
                    let missing = [
                        Kind::MissingRequiredArgument,
                        Kind::DisplayHelpOnMissingArgumentOrSubcommand,
                    ];
                    let cut = command.inline && missing.contains(&error.kind());
                    assert!(cut, "{}: {error}", command.place);
                }
            }
        }
        assert!(tried > 10, "{tried}");
    }
}
