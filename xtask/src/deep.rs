//! `cargo xtask deep`: what needs more than stable Rust, or more than a few minutes.
//!
//! - **Miri** on the tests that run on the one-core machine: undefined behaviour, provenance, leaks;
//! - **AddressSanitizer** and **ThreadSanitizer** on the stress tests on real threads;
//! - **loom** models with more preemptions than `cargo test` gives them.
//!
//! A part that the installed toolchains cannot run is skipped with a printed line and does not fail.

use crate::nightly::{
    HOST, clean_cargo, has_library_source, has_sanitizers, skip, succeeds, target_dir,
};
use clap::{Args, ValueEnum};
use std::path::Path;
use std::time::Instant;

#[derive(Args)]
pub struct Arguments {
    /// Only these parts
    #[arg(value_enum)]
    parts: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Miri,
    Address,
    Thread,
    Loom,
}

/// Tests for Miri: package, target, names. It interprets some thousand times more slowly than the
/// machine runs, so those that fill large tables or many threads are left out.
const MIRI: &[&[&str]] = &[
    &["-p", "chiliad-machine", "--lib", "--", "plain", "bytes", "link"],
    &["-p", "chiliad-storage", "--lib", "--", "slice"],
    &["-p", "chiliad-row", "--test", "rows", "--", "key::"],
    &[
        "-p",
        "chiliad-storage",
        "--test",
        "storage",
        "--",
        "heap::",
        "ordered::",
        "hash::random",
        "hash::neighbouring",
        "hash::a_division",
    ],
    &["-p", "chiliad-engine", "--lib", "--", "--skip", "models"],
    &["-p", "chiliad-engine", "--test", "engine", "--", "one_core::"],
    &["-p", "chiliad-log", "--lib", "--", "codec", "manifest", "names"],
    &["-p", "chiliad-machine", "--test", "tasks"],
    &["-p", "chiliad-swarm", "--lib", "--test", "model"],
];

/// Tests on real threads, for both sanitizers.
const STRESS: &[&[&str]] = &[
    &[
        "-p",
        "chiliad-storage",
        "--test",
        "storage",
        "--",
        "heap::",
        "hash_threads::",
        "ordered_threads::",
    ],
    &["-p", "chiliad-engine", "--test", "engine", "--", "threads::"],
    &["-p", "chiliad-lock", "--test", "refusals"],
    &["-p", "chiliad", "--test", "facade", "--", "durable::"],
];

/// The crates with loom models.
const LOOM: &[&[&str]] = &[
    &["-p", "chiliad-loom", "--test", "mutexes"],
    &["-p", "chiliad-storage", "--lib", "models"],
    // What has to fail does so with few preemptions, and with many not within the time.
    &["-p", "chiliad-storage", "--test", "loom", "--", "--skip", "is_caught"],
    &["-p", "chiliad-engine", "--lib", "models"],
    &["-p", "chiliad-lock", "--lib", "models"],
    &["-p", "chiliad-log", "--lib", "models"],
];
/// Preemptions that `cargo test` leaves to this, and the seconds after which a model that has even
/// more executions may end.
const LOOM_PREEMPTIONS: &str = "5";
const LOOM_SECONDS: &str = "120";

/// Runs the parts asked for.
///
/// # Errors
/// The commands that failed.
pub fn run(arguments: &Arguments, root: &Path) -> Result<(), String> {
    let wanted = |part| arguments.parts.is_empty() || arguments.parts.contains(&part);
    let mut deep = Deep { root, failed: Vec::new() };
    if wanted(Part::Miri) {
        deep.miri();
    }
    if wanted(Part::Address) {
        deep.sanitizer("address");
    }
    if wanted(Part::Thread) {
        deep.sanitizer("thread");
    }
    if wanted(Part::Loom) {
        deep.loom();
    }
    match deep.failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("failed:\n  {}", failed.join("\n  "))),
    }
}

struct Deep<'a> {
    root: &'a Path,
    failed: Vec<String>,
}

impl Deep<'_> {
    fn miri(&mut self) {
        if !succeeds(&["+nightly", "miri", "--version"]) {
            return skip("Miri", "rustup component add --toolchain nightly miri rust-src");
        }
        // Isolation off: tests print the time. Leaks are errors, as they should be.
        let flags = [("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-strict-provenance".to_owned())];
        for test in MIRI {
            self.cargo(&[&["+nightly", "miri", "test"], *test].concat(), &flags);
        }
    }

    /// The standard library is built along, or the sanitizer would not see into it.
    fn sanitizer(&mut self, name: &str) {
        if !has_sanitizers() {
            return skip(name, "a nightly toolchain on x86-64 Linux");
        }
        if !has_library_source() {
            return skip(name, "rustup component add --toolchain nightly rust-src");
        }
        let sees_all = "--cfg copies_by_word -Cunsafe-allow-abi-mismatch=sanitizer";
        let flags = [
            ("RUSTFLAGS", format!("-Zsanitizer={name} {sees_all}")),
            ("TSAN_OPTIONS", "halt_on_error=1".to_owned()),
            ("CARGO_TARGET_DIR", target_dir(self.root, name)),
        ];
        for test in STRESS {
            let command = ["+nightly", "test", "--release", "-Zbuild-std", "--target", HOST];
            self.cargo(&[&command, *test].concat(), &flags);
        }
    }

    fn loom(&mut self) {
        let flags = [
            ("LOOM_MAX_PREEMPTIONS", LOOM_PREEMPTIONS.to_owned()),
            ("LOOM_MAX_DURATION", LOOM_SECONDS.to_owned()),
        ];
        for test in LOOM {
            self.cargo(&[&["test", "--release"], *test].concat(), &flags);
        }
    }

    /// Runs cargo through rustup, which picks the toolchain; remembers a failure.
    fn cargo(&mut self, arguments: &[&str], variables: &[(&str, String)]) {
        let line = format!("cargo {}", arguments.join(" "));
        println!("\n== {line}");
        let start = Instant::now();
        let mut command = clean_cargo();
        command.args(arguments).current_dir(self.root);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let succeeded = command.status().is_ok_and(|status| status.success());
        println!(
            "== {}: {:.0} s",
            if succeeded { "ok" } else { "FAILED" },
            start.elapsed().as_secs_f64()
        );
        if !succeeded {
            self.failed.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of tests that has moved would be an error of the part that names it, and nobody runs these often.
    #[test]
    fn every_program_of_tests_is_there() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for line in [MIRI, STRESS, LOOM].concat() {
            let after = |flag: &str| {
                let at = line.iter().position(|word| *word == flag)?;
                line.get(at + 1).copied()
            };
            let package = after("-p").expect("a package");
            let tests = crates.join(package.trim_start_matches("chiliad-")).join("tests");
            if let Some(name) = after("--test") {
                let file = tests.join(format!("{name}.rs"));
                let is_there = file.is_file() || tests.join(name).join("main.rs").is_file();
                assert!(is_there, "{package} has no tests called {name}");
                let modules = line.iter().filter_map(|word| word.split_once("::"));
                for (module, _) in modules {
                    let file = tests.join(name).join(format!("{module}.rs"));
                    assert!(file.is_file(), "{} is not there", file.display());
                }
            }
        }
    }
}
