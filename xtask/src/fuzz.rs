//! `cargo xtask fuzz`: the targets of the package in `tools/fuzz`, for some time each.
//!
//! Built by the nightly compiler with the instrumentation that libFuzzer reads, and with
//! AddressSanitizer. Each target keeps its corpus in `target/fuzz/TARGET/corpus`, so that a later run
//! goes on where this one ends; an input that fails is left in `target/fuzz/TARGET/failed`.

use crate::nightly::{HOST, clean_cargo, has_sanitizers, skip, target_dir};
use clap::{Args, ValueEnum};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

#[derive(Args)]
pub struct Arguments {
    /// Only these targets
    #[arg(value_enum)]
    targets: Vec<Target>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Processes that run one target together
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Target {
    Manifest,
    Segment,
    Part,
    Directory,
    Rows,
}

impl Target {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// What libFuzzer reads: edges, by counters in the code, and the operands of comparisons.
const FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing --cfg copies_by_word -Zsanitizer=address";

/// Bounds for one input: seconds, memory in all and at once in MiB, its length in bytes.
const LIMITS: [&str; 5] = [
    "-timeout=20",
    "-rss_limit_mb=3072",
    "-malloc_limit_mb=1024",
    "-max_len=4096",
    // Scripts are short already, and not the simpler for being shorter.
    "-len_control=0",
];

/// Runs the targets asked for, one after the other.
///
/// # Errors
/// Inputs that failed; a build that failed.
pub fn run(arguments: &Arguments, root: &Path) -> Result<(), String> {
    if !has_sanitizers() {
        skip("fuzzing", "a nightly toolchain on x86-64 Linux");
        return Ok(());
    }
    let home = PathBuf::from(target_dir(root, "fuzz"));
    build(root, &home)?;
    let mut failed = Vec::new();
    for &target in Target::value_variants() {
        if arguments.targets.is_empty() || arguments.targets.contains(&target) {
            let name = target.name();
            let run = run_target(&name, &home, arguments);
            failed.extend(run.map_err(|error| format!("{name}: {error}"))?);
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("failed:\n  {}", failed.join("\n  "))),
    }
}

fn build(root: &Path, home: &Path) -> Result<(), String> {
    let mut command = clean_cargo();
    command.args(["+nightly", "build", "--release", "--locked", "--target", HOST]);
    command
        .current_dir(root.join("tools/fuzz"))
        .env("RUSTFLAGS", FLAGS)
        .env("CARGO_TARGET_DIR", home);
    let built = command.status().is_ok_and(|status| status.success());
    if built { Ok(()) } else { Err("the targets do not build".into()) }
}

/// Runs one target in as many processes as asked for; returns what failed.
fn run_target(name: &str, home: &Path, arguments: &Arguments) -> std::io::Result<Vec<String>> {
    let own = home.join(name);
    let (corpus, artifacts) = (own.join("corpus"), own.join("failed"));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let log = |job: u32| own.join(format!("log-{job}"));
    let start = |job: u32| -> std::io::Result<Child> {
        let mut command = Command::new(home.join(HOST).join("release").join(name));
        command.args(LIMITS).arg("-print_final_stats=1");
        command.arg(format!("-max_total_time={}", arguments.seconds));
        command.arg(format!("-artifact_prefix={}/", artifacts.display()));
        command.arg(&corpus).stderr(File::create(log(job))?);
        command.spawn()
    };
    let children = (0..arguments.jobs).map(start).collect::<std::io::Result<Vec<_>>>()?;
    let mut failed = Vec::new();
    for (job, mut child) in (0..).zip(children) {
        let succeeded = child.wait()?.success();
        let text = String::from_utf8_lossy(&fs::read(log(job))?).into_owned();
        println!("{name}: {}", summary(&text));
        if !succeeded {
            failed.push(format!("{name}: see {}", log(job).display()));
        }
    }
    // Those of earlier runs too: what failed once has to be looked at.
    for entry in fs::read_dir(&artifacts)? {
        failed.push(format!("{name}: {}", entry?.path().display()));
    }
    Ok(failed)
}

/// Executions and coverage, from what libFuzzer has printed.
fn summary(log: &str) -> String {
    let after = |mark: &str| {
        let found = log.rfind(mark).map(|at| log[at + mark.len()..].split_whitespace().next());
        found.flatten().unwrap_or("?").to_owned()
    };
    format!(
        "{} executions, {} a second, {} edges covered, {} MiB at most",
        after("stat::number_of_executed_units:"),
        after("stat::average_exec_per_sec:"),
        after(" cov: "),
        after("stat::peak_rss_mb:"),
    )
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn the_last_numbers_count() {
        let log = "#2 NEW cov: 10 ft: 3\n#9 DONE   cov: 21 ft: 4\n\
            stat::number_of_executed_units: 900\nstat::average_exec_per_sec:     30\n";
        assert_eq!(summary(log), "900 executions, 30 a second, 21 edges covered, ? MiB at most");
    }
}
