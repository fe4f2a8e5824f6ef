//! The instructions of runs of this program, counted by a tool that runs it.

use chiliad_host::Stop;
use chiliad_host::leftovers::{self, Leftover};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tool that counts instructions where the processor's own counters are out of reach, as they are in
/// most virtual machines.
const TOOL: &str = "valgrind";

/// Tells the folders of this process apart.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// Refuses what cannot be counted with, in the name of `who`.
pub fn check(who: &str) -> Result<(), Stop> {
    if cfg!(debug_assertions) {
        let problem = "this build is not optimised; accepted: a build with `--release`";
        return Err(Stop::bad(who, problem));
    }
    let there = Command::new(TOOL).arg("--version").output().is_ok_and(|out| out.status.success());
    if there {
        return Ok(());
    }
    let problem = "`valgrind` counts the instructions and is not installed; accepted: a computer \
                   where `valgrind --version` runs";
    Err(Stop::bad(who, problem))
}

/// Runs this program with these words and counts its instructions: what the tool has written, by file, function and line.
pub fn counted(who: &str, words: &[String]) -> Result<String, Stop> {
    // Relaxed: nothing but the number is meant.
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("chiliad-count-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    // Goes whatever comes of it; what runs ends before, since it was begun after.
    let _goes = Leftover::tree(&folder).map_err(|error| failed(who, &error))?;
    let file = folder.join("counted");
    let mut command = Command::new(TOOL);
    command.args(["--tool=cachegrind", "--cache-sim=no"]);
    command.arg(format!("--cachegrind-out-file={}", file.display())).arg(own(who)?);
    run(who, command.args(words))?;
    std::fs::read_to_string(&file).map_err(|error| failed(who, &error))
}

/// All instructions of what [`counted`] returns.
pub fn total(counted: &str) -> Option<f64> {
    let summary = counted.lines().find_map(|line| line.strip_prefix("summary:"))?;
    summary.trim().parse().ok()
}

/// This program.
pub fn own(who: &str) -> Result<PathBuf, Stop> {
    std::env::current_exe().map_err(|error| failed(who, &error))
}

/// Runs it to its end, and returns what it has printed.
pub fn run(who: &str, command: &mut Command) -> Result<String, Stop> {
    let out = output(command).map_err(|error| failed(who, &error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match out.status.success() {
        true => Ok(text(&out.stdout)),
        false => Err(failed(who, &format!("{command:?}: {}", text(&out.stderr)))),
    }
}

fn failed(who: &str, what: &dyn std::fmt::Display) -> Stop {
    Stop::Failed(format!("{who}: {what}"))
}

/// As [`Command::output`], of a process that ends with this one.
fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (child, leftover) = leftovers::process(command)?;
    let pipes = {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        (child.stdout.take(), child.stderr.take())
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    // One after the other: what a run says besides its result is little.
    pipes.0.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stdout))?;
    pipes.1.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stderr))?;
    let status = child.lock().unwrap_or_else(PoisonError::into_inner).wait()?;
    leftover.keep();
    Ok(Output { status, stdout, stderr })
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_summary_has_all_instructions() {
        assert_eq!(total("desc: x\nevents: Ir\nfn=f\n1 5\nsummary: 1234\n"), Some(1234.0));
        assert_eq!(total("fn=f\n1 5\n"), None);
    }
}
