//! `cargo xtask test`: the tests of `cargo test --workspace`, with two programs of tests at once.
//!
//! `cargo test` runs one program after the other. Many of them wait for clocks, disks and sockets, and each has an end where
//! one long test runs alone; meanwhile another program's tests have the core. The programs are the same, built by the same
//! command, and each runs where `cargo test` runs it; all of them run, whichever fail. The tests of documents count as one,
//! the first: cargo and rustdoc take a while for each crate.

use serde_json::Value;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Programs that run at once. With more of them, tests that wait for a time wait longer than they expect.
const AT_ONCE: usize = 2;

/// A program of tests.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Program {
    name: String,
    path: PathBuf,
    /// The folder of its package, where it runs.
    folder: PathBuf,
}

impl Program {
    /// Its name, and how it is run.
    fn command(self, libraries: &str) -> (String, Command) {
        let mut command = Command::new(self.path);
        command.env("CARGO_MANIFEST_DIR", &self.folder).current_dir(self.folder);
        command.env("LD_LIBRARY_PATH", libraries);
        (self.name, command)
    }
}

/// Builds and runs all tests of the workspace.
///
/// # Errors
/// Programs that failed; a build that failed.
pub fn run(root: &Path) -> Result<(), String> {
    let libraries = library_path()?;
    let programs = build(root)?;
    if programs.is_empty() {
        return Err("there are no tests".into());
    }
    let mut documents = Command::new("cargo");
    documents.args(["test", "--workspace", "--doc"]).current_dir(root);
    let mut jobs = VecDeque::from([("documents".to_owned(), documents)]);
    jobs.extend(programs.into_iter().map(|program| program.command(&libraries)));
    let queue = Mutex::new(jobs);
    let failed = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some((name, command)) = next() {
                    if let Err(why) = finish(&name, command) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(why);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("failed:\n  {}", failed.join("\n  "))),
    }
}

/// Builds the programs as `cargo test` does.
fn build(root: &Path) -> Result<Vec<Program>, String> {
    let mut command = Command::new("cargo");
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    let built = command.current_dir(root).stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| format!("cargo: {error}"))?;
    if !built.status.success() {
        return Err("the tests do not build".into());
    }
    Ok(programs(&String::from_utf8_lossy(&built.stdout)))
}

/// The programs of tests among cargo's messages, one on a line.
fn programs(messages: &str) -> Vec<Program> {
    let program = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message["profile"]["test"].as_bool()?;
        let path = PathBuf::from(message["executable"].as_str()?);
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?.to_owned();
        let name = format!("{} of {}", message["target"]["name"].as_str()?, folder.display());
        is_test.then_some(Program { name, path, folder })
    };
    messages.lines().filter_map(program).collect()
}

/// Runs a command to its end, and prints what it has said.
fn finish(name: &str, mut command: Command) -> Result<(), String> {
    let start = Instant::now();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("     {name}: {:.1} s\n{said}{errors}", start.elapsed().as_secs_f64());
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{name}: {}", output.status))
}

/// Where the compiler's libraries lie, which the tests of derive macros are linked to, before what is set already.
fn library_path() -> Result<String, String> {
    let own = compilers_libraries()?;
    let set = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    Ok(if set.is_empty() { own } else { format!("{own}:{set}") })
}

/// Where the compiler's libraries lie.
///
/// # Errors
/// When there is no compiler.
pub fn compilers_libraries() -> Result<String, String> {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = Command::new(&compiler).args(["--print", "target-libdir"]).output();
    let output = output.map_err(|error| format!("{compiler}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Program, programs};

    #[test]
    fn programs_are_what_was_built_for_tests() {
        let line = |name: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/crates/a/Cargo.toml","target":{{"name":"{name}"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let messages = [
            line("a", false, "null"),
            line("a", true, r#""/t/a-1""#),
            line("command", false, r#""/t/command""#),
            "a line of something else".to_owned(),
            line("threads", true, r#""/t/threads-2""#),
        ];
        let program = |name: &str, path: &str| Program {
            name: format!("{name} of /r/crates/a"),
            path: path.into(),
            folder: "/r/crates/a".into(),
        };
        let expected = [program("a", "/t/a-1"), program("threads", "/t/threads-2")];
        assert_eq!(programs(&messages.join("\n")), expected);
    }
}
