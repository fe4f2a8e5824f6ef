//! A run on a log that stays: all servers in this process, or one here and each of the others in one of its own.
//!
//! This process loads the rows; the others read them from the log. All clients begin together, each server's in its own
//! process, and what came of them is put together here: counts, latencies, one history. When all have ended the copies
//! are compared.

use super::files::Files;
use super::judged::judge;
use super::progress::Bar;
use super::server::{Line, history_in, part};
use crate::result::RunResult;
use crate::spec::{RunSpec, SharedLogSpec};
use chiliad_checker::{History, Recorder};
use chiliad_driver::{
    NativeReport, NativeTarget, Progress, Role, Tally, load_native, open_on_log, run_native,
};
use chiliad_host::{Heard, Leftover, Process, Stop, interrupt};
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a wait for a server's line looks for an interrupt.
const LISTEN: Duration = Duration::from_millis(200);

/// Runs the workload on a log that is empty.
pub fn run(
    spec: &RunSpec,
    shared: &SharedLogSpec,
    bar: &Bar,
    files: &mut Files,
) -> Result<RunResult, Stop> {
    let log = (shared.open)(&shared.name)?;
    if spec.processes() == 1 {
        let target = open_on_log(&spec.workload, &spec.opening(), &log, Role::All)?;
        let report = run_native(&*target, &spec.plan, bar)?;
        bar.checking();
        return judge(spec, &*target, report, None, files);
    }
    let target = open_on_log(&spec.workload, &spec.opening(), &log, Role::First)?;
    load_native(&*target, &spec.plan, bar)?;
    let mut others = Others::start(&shared.words, spec.cluster.servers)?;
    others.go()?;
    let plan = part(&spec.plan, 0, spec.cluster.servers);
    let mut report = run_native(&*target, &plan, bar)?;
    bar.checking();
    others.add_to(&mut report)?;
    if spec.plan.conditions {
        // The others have all they need once they have told; this is the copy that is looked at.
        report.differences = others.compare(&target)?;
        report.conditions = Some(target.conditions()?);
    }
    judge(spec, &*target, report, None, files)
}

/// The other servers, from number 1 on.
struct Others {
    processes: Vec<Process<Line>>,
    /// Where their histories go.
    histories: PathBuf,
    _leftover: Leftover,
}

impl Others {
    fn start(words: &[String], servers: usize) -> Result<Self, Stop> {
        let name = format!("chiliad-servers-{}", std::process::id());
        let histories = std::env::temp_dir().join(name);
        let leftover = Leftover::tree(&histories).map_err(|error| {
            let accepted = "accepted: a directory for temporary files that can be written to";
            Stop::bad(histories.display(), format!("{error}; {accepted}"))
        })?;
        let start = |server: usize| {
            let words = words.iter().cloned().chain([server.to_string()]);
            Process::start(words.map(Into::into).collect(), Line::read)
        };
        let processes = (1..servers).map(start).collect::<Result<_, _>>()?;
        Ok(Self { processes, histories, _leftover: leftover })
    }

    /// Tells all to begin, once all can.
    fn go(&mut self) -> Result<(), Stop> {
        for process in &mut self.processes {
            match hear(process)? {
                Line::Ready => {}
                _ => return Err(out_of_turn()),
            }
        }
        let order = format!("go {}", self.histories.display());
        self.processes.iter_mut().for_each(|process| process.tell(&order));
        Ok(())
    }

    /// Adds what came of their clients.
    fn add_to(&mut self, report: &mut NativeReport) -> Result<(), Stop> {
        for (process, server) in self.processes.iter_mut().zip(1..) {
            let Line::Ran(told) = hear(process)? else { return Err(out_of_turn()) };
            add(report, &told).ok_or_else(out_of_turn)?;
            let history = history_in(&self.histories, server);
            if history.exists() {
                report.recorders.extend(read_history(&history)?);
            }
        }
        Ok(())
    }

    /// How their copies differ from this process's.
    fn compare(&mut self, target: &NativeTarget) -> Result<Vec<String>, Stop> {
        let own = target.fingerprint()?.unwrap_or_default();
        let mut differences = Vec::new();
        self.processes.iter_mut().for_each(|process| process.tell("compare"));
        for (process, number) in self.processes.iter_mut().zip(2..) {
            let Line::Has(has) = hear(process)? else { return Err(out_of_turn()) };
            if has != own {
                differences.push(format!("servers 1 and {number}: {own}; {has}"));
            }
        }
        Ok(differences)
    }
}

fn out_of_turn() -> Stop {
    Stop::Failed("a server has said something out of turn".into())
}

/// The next line of a server, however long it takes: it may have much to read, or a leader of the log to wait for.
fn hear(process: &mut Process<Line>) -> Result<Line, Stop> {
    loop {
        match process.hear(Some(Instant::now() + LISTEN))? {
            Heard::Said(line) => return Ok(line),
            Heard::Time if interrupt::asked() => return Err(Stop::Interrupted),
            Heard::Time => {}
            Heard::End => return Err(Stop::Failed(format!("a server: {}", process.wait()?.why))),
        }
    }
}

/// Adds what the clients of another process have told to what came of this one's.
fn add(report: &mut NativeReport, told: &Value) -> Option<()> {
    let numbers = told["tally"].as_array()?;
    let numbers: Vec<u64> = numbers.iter().map(Value::as_u64).collect::<Option<_>>()?;
    report.tally.add(&Tally::from_numbers(report.tally.kinds.len(), &numbers)?);
    report.seconds = report.seconds.max(told["seconds"].as_f64()?);
    report.complete &= told["complete"].as_bool()?;
    report.interrupted |= told["interrupted"].as_bool()?;
    report.memory_bytes += told["memory"].as_u64()?;
    Some(())
}

fn read_history(path: &Path) -> Result<Vec<Recorder>, Stop> {
    let failed = |error: String| Stop::Failed(format!("the history of a server: {error}"));
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let history = History::read(BufReader::new(file));
    Ok(history.map_err(|error| failed(error.to_string()))?.to_recorders())
}
