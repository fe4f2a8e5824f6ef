//! The command `chiliad`: parse, choose, call, print.
//!
//! Exit status: 0 done, 1 a verification, a consistency condition or a run failed, 2 bad input, 128 and a
//! signal's number where one has ended it.

#![forbid(unsafe_code)]

mod args;
mod campaign;
mod check;
mod copy;
mod crash;
mod crash_servers;
mod cycles;
mod damage;
mod figure;
mod inspect;
pub mod jobs;
pub mod lines;
mod log;
mod machines;
mod meld;
mod recover;
mod runs;
mod schemes;
mod serve;
mod settings;
mod soak;
mod soak_servers;

use args::{BenchCommand, Command};
use chiliad_host::{Stop, interrupt};
use chiliad_rig::kill::run_child;
use std::process::ExitCode;

/// Does what the words after the program's name say.
#[must_use]
pub fn main() -> ExitCode {
    match interrupt::install().and_then(|()| words()).and_then(|words| run(&words)) {
        // A signal may have come when all was measured already.
        Ok(()) if interrupt::asked() => Stop::Interrupted.report(),
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.report(),
    }
}

/// The words after the program's name.
fn words() -> Result<Vec<String>, Stop> {
    let word = |word: std::ffi::OsString| {
        word.into_string().map_err(|word| {
            Stop::bad(word.to_string_lossy(), "not UTF-8; accepted: words in UTF-8")
        })
    };
    std::env::args_os().skip(1).map(word).collect()
}

fn run(words: &[String]) -> Result<(), Stop> {
    match args::parse(words)?.command {
        Command::Bench(BenchCommand::Meld(bench)) => meld::run(&bench),
        Command::Bench(BenchCommand::Log(bench)) => log::run(&bench),
        Command::Bench(_) | Command::Simulate(_) => runs::run(words),
        Command::Campaign(flags) => campaign::run(&flags),
        Command::Figure(command) => figure::run(&command),
        Command::Check(flags) => check::run(&flags),
        Command::Schemes(flags) => schemes::run(&flags),
        Command::Machines(flags) => machines::run(&flags),
        Command::Recover(flags) => recover::run(&flags),
        Command::Serve(flags) => serve::run(&flags),
        Command::Inspect(flags) => inspect::run(&flags),
        Command::Backup(flags) | Command::Restore(flags) => copy::run(&flags),
        Command::Crash(flags) => crash::run(&flags),
        Command::Damage(flags) => damage::run(&flags),
        Command::Soak(flags) => soak::run(&flags),
        Command::CrashChild(flags) => run_child(&flags.order),
        Command::CalibrateChild(flags) => machines::child(&flags),
    }
}
