//! A server of a shared log as a process of its own: it runs its part of the clients and tells the process that has
//! started it what came of them.
//!
//! ```text
//! it says                                        it is told
//! ready              it has all rows             go DIRECTORY    its clients begin; histories go there
//! ran {json}         its clients have ended      compare         all clients of all servers have
//! has TEXT           what its copy has
//! ```

use super::verify::judgement;
use crate::spec::{RunSpec, SharedLogSpec};
use chiliad_driver::{
    NativeReport, NativeTarget, Others, Plan, Progress, Role, open_on_log, run_native,
    write_history,
};
use chiliad_host::{OutputFile, Stop, orders};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

/// A line of a server.
pub enum Line {
    /// It has joined and has read all rows.
    Ready,
    /// Its clients' results.
    Ran(Value),
    /// The fingerprint of its copy, when all clients have ended.
    Has(String),
}

impl Line {
    /// Reads a line; `None` if it is none of ours.
    pub fn read(line: &str) -> Option<Self> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match what {
            "ready" => Self::Ready,
            "ran" => Self::Ran(serde_json::from_str(rest).ok()?),
            "has" => Self::Has(rest.into()),
            _ => return None,
        })
    }

    fn say(&self) -> Result<(), Stop> {
        let line = match self {
            Self::Ready => "ready".into(),
            Self::Ran(value) => format!("ran {value}"),
            Self::Has(text) => format!("has {text}"),
        };
        let mut out = io::stdout().lock();
        let said = writeln!(out, "{line}").and_then(|()| out.flush());
        said.map_err(|error| Stop::bad("standard output", error))
    }
}

/// The part of the clients that server `server` of `of` runs.
pub fn part(plan: &Plan, server: usize, of: usize) -> Plan {
    let first = |server: usize| server * plan.clients / of;
    let (before, end) = (first(server), first(server + 1));
    let others = Others { before, after: plan.clients - end };
    Plan { clients: end - before, others, load: false, conditions: false, ..plan.clone() }
}

/// The place of the history of server `server`.
pub fn history_in(directory: &Path, server: usize) -> PathBuf {
    directory.join(format!("history-{server}"))
}

/// Runs the server that `spec` says, which is not the first.
///
/// # Errors
/// Why it has not done its part.
pub fn serve(spec: &RunSpec, shared: &SharedLogSpec) -> Result<(), Stop> {
    let orders = Orders::listen()?;
    let log = (shared.open)(&shared.name)?;
    let target = open_on_log(&spec.workload, &spec.opening(), &log, Role::Other)?;
    Line::Ready.say()?;
    let directory = orders.next("go ")?;
    let plan = part(&spec.plan, shared.server, spec.cluster.servers);
    let report = run_native(&*target, &plan, &orders.end)?;
    let history = (!report.recorders.is_empty()).then(|| {
        let path = history_in(Path::new(&directory), shared.server);
        keep_history(&path, &target, &report)
    });
    history.transpose()?;
    Line::Ran(told(&report)).say()?;
    orders.next("compare")?;
    let has = target.fingerprint()?.unwrap_or_default();
    Line::Has(has).say()
}

/// A report for another process, without the history.
fn told(report: &NativeReport) -> Value {
    json!({
        "seconds": report.seconds, "tally": report.tally.to_numbers(), "complete": report.complete,
        "interrupted": report.interrupted, "memory": report.memory_bytes,
    })
}

fn keep_history(path: &Path, target: &NativeTarget, report: &NativeReport) -> Result<(), Stop> {
    let judgement = judgement(&**target, report.complete)?;
    OutputFile::create("the history of a server", path)?
        .finish(|file| write_history(&judgement, &report.recorders, file))
}

/// Orders on standard input.
struct Orders {
    lines: Receiver<String>,
    end: End,
}

/// Whether standard input has ended: then nobody wants the run any more.
struct End(Arc<AtomicBool>);

impl Orders {
    fn listen() -> Result<Self, Stop> {
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        // Relaxed: nothing is handed over by it.
        let lines = orders::listen(|| {}, move || over.store(true, Ordering::Relaxed));
        let lines = lines.map_err(chiliad_host::threads::refused)?;
        Ok(Self { lines, end: End(is_over) })
    }

    /// Waits for an order of this kind; what it says besides.
    fn next(&self, kind: &str) -> Result<String, Stop> {
        let line = self.lines.recv().map_err(|_| Stop::Interrupted)?;
        let rest = line.strip_prefix(kind).map(ToOwned::to_owned);
        rest.ok_or_else(|| Stop::Failed(format!("an order that is none: {line}")))
    }
}

impl Progress for End {
    fn interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
