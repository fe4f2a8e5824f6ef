//! The outcome of a run.

use crate::host::Host;
use crate::swarm::{Begun, Passed, TaskCounts, TaskVerdict};
use crate::timed::{CoreTime, Timings};
use chiliad_machine::{Cost, Ticks, WorkerId};
use std::backtrace::Backtrace;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Code outside of the schedule has made more accesses than it was allowed: [`crate::Run::outside_within`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManySteps;

/// A kind of access to a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Access {
    /// It was read.
    Load = 1,
    /// It was written.
    Store = 2,
    /// It was read and written in one step.
    Rmw = 3,
    /// Its block was freed.
    Free = 4,
    /// It was poisoned or unpoisoned.
    Poison = 5,
    /// Its block was handed out.
    Alloc = 6,
}

/// A stack, captured where something happened and resolved only when it is shown.
#[derive(Clone)]
pub struct Trace(Arc<Backtrace>);

impl Trace {
    /// The stack of the caller.
    pub(crate) fn capture() -> Self {
        Self(Arc::new(Backtrace::force_capture()))
    }
}

/// Functions that say nothing about the program: the language's and the simulator's own.
const FOREIGN: [&str; 6] = ["std::", "core::", "alloc::", "chiliad_simulator::", "__", "rust_"];

/// Where the program ends and what started it begins.
const ROOTS: [&str; 2] = ["chiliad_simulator::run::", "corosensei::"];

impl fmt::Display for Trace {
    /// The frames of the simulated program, one per line, the innermost first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let mut lines = text.lines().peekable();
        let mut shown = false;
        while let Some(line) = lines.next() {
            let place = lines.next_if(|next| next.trim_start().starts_with("at "));
            let Some((_, function)) = line.split_once(": ") else { continue };
            let bare = function.trim_start_matches(['<', '&', '(']);
            if ROOTS.iter().any(|prefix| bare.starts_with(prefix)) {
                break;
            }
            if FOREIGN.iter().any(|prefix| bare.starts_with(prefix)) {
                continue;
            }
            if shown {
                writeln!(f)?;
            }
            shown = true;
            write!(f, "{function}")?;
            if let Some(place) = place {
                write!(f, " {}", place.trim_start())?;
            }
        }
        if shown { Ok(()) } else { f.write_str("(no frames of the program)") }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The free or poisoning that closed a word.
#[derive(Clone, Debug)]
pub struct Freed {
    /// Which free or poisoning of the run it was: what [`crate::Config::trace_free`] asks for.
    pub serial: u64,
    /// Whose it was.
    pub worker: WorkerId,
    /// The name of that core.
    pub name: String,
    /// When it was.
    pub event: u64,
    /// Poisoned, not freed.
    pub poisoned: bool,
    /// The stack there, if the run was asked to record it.
    pub trace: Option<Trace>,
}

/// An access to memory that was freed, poisoned or never handed out.
#[derive(Clone, Debug)]
pub struct UseOfFreedMemory {
    /// The word.
    pub address: u64,
    /// The access.
    pub access: Access,
    /// By which worker.
    pub worker: WorkerId,
    /// The name of that core.
    pub name: String,
    /// When.
    pub event: u64,
    /// The stack there.
    pub trace: Trace,
    /// The operation that closed the word; nothing if it was never handed out.
    pub freed: Option<Freed>,
}

impl fmt::Display for UseOfFreedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "use of freed memory: {:?} of {:#x} by worker {} ({}) at event {}",
            self.access, self.address, self.worker.0, self.name, self.event
        )?;
        writeln!(f, "{}", self.trace)?;
        match &self.freed {
            None => f.write_str("never allocated"),
            Some(freed) => {
                let how = if freed.poisoned { "poisoned" } else { "freed" };
                let (worker, name, event) = (freed.worker.0, &freed.name, freed.event);
                write!(f, "{how} by worker {worker} ({name}) at event {event}")?;
                match &freed.trace {
                    None => write!(f, " (stack: run again with trace_free {})", freed.serial),
                    Some(trace) => write!(f, "\n{trace}"),
                }
            }
        }
    }
}

/// An access to memory that belongs to another host.
#[derive(Clone, Debug)]
pub struct ForeignAccess {
    /// The host of the core that made it.
    pub host: Host,
    /// The host that the memory was handed out to.
    pub owner: Host,
    /// The word.
    pub address: u64,
    /// The access.
    pub access: Access,
    /// By which worker.
    pub worker: WorkerId,
    /// The name of that core.
    pub name: String,
    /// When.
    pub event: u64,
    /// The stack there.
    pub trace: Trace,
}

impl fmt::Display for ForeignAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, owner, address, access, worker, name, event, trace } = self;
        writeln!(f, "{host} touched memory of {owner}: {access:?} of {address:#x}")?;
        write!(f, "by worker {} ({name}) at event {event}\n{trace}", worker.0)
    }
}

/// One access of the transcript.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// When.
    pub event: u64,
    /// Whose.
    pub worker: WorkerId,
    /// The access.
    pub access: Access,
    /// To which word or block.
    pub address: u64,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, worker, access, address } = self;
        write!(f, "{event:>9} worker {:>3} {access:?} {address:#x}", worker.0)
    }
}

/// A core that had not ended when the run was given up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiter {
    /// The core.
    pub worker: WorkerId,
    /// Its name.
    pub name: String,
    /// Whether it was parked; it was running or spinning otherwise.
    pub parked: bool,
    /// Until when it was parked at most.
    pub until: Option<Ticks>,
    /// The event at which it parked, or the last one before it was switched away from.
    pub since: u64,
}

/// A panic that was not caught on the core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CorePanic {
    /// The core.
    pub worker: WorkerId,
    /// Its name.
    pub name: String,
    /// The message, with its place.
    pub message: String,
    /// When its unwinding was over.
    pub event: u64,
}

/// The rules of sections that every worker keeps (`section`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// In a section no worker lets a sibling run.
    SwitchInSection,
    /// A section has a begin and an end.
    UnbalancedSection,
    /// A worker that keeps the core while it waits does so for one in a section.
    SpinForNobody,
}

impl Rule {
    /// The name of the verdict on a worker that breaks it.
    #[must_use]
    pub fn verdict(self) -> &'static str {
        match self {
            Self::SwitchInSection => "switch in a section",
            Self::UnbalancedSection => "unbalanced section",
            Self::SpinForNobody => "spin for nobody",
        }
    }
}

/// A rule of sections that was broken.
#[derive(Clone, Debug)]
pub struct Breach {
    /// Which.
    pub rule: Rule,
    /// How, such as `a park`.
    pub what: &'static str,
    /// By which worker.
    pub worker: WorkerId,
    /// The name of that worker.
    pub name: String,
    /// When.
    pub event: u64,
    /// The stack there.
    pub trace: Trace,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, what, worker, name, event, trace } = self;
        let verdict = rule.verdict();
        write!(f, "{verdict}: {what}, by worker {} ({name}) at event {event}\n{trace}", worker.0)
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// All cores returned.
    Completed,
    /// A core touched memory that it must not touch; the run stopped there.
    UseOfFreedMemory(Box<UseOfFreedMemory>),
    /// A core touched memory of another host; the run stopped there.
    ForeignMemory(Box<ForeignAccess>),
    /// A worker broke a rule of sections; the run stopped there.
    RuleBroken(Box<Breach>),
    /// A core panicked; the others went on.
    CorePanicked(CorePanic),
    /// A run of tasks ended before they had all committed.
    Task(Box<TaskVerdict>),
    /// All cores were parked, and none was left to wake them.
    Deadlock {
        /// They.
        waiting: Vec<Waiter>,
    },
    /// The run had all its events and did not end.
    EventLimit {
        /// The cores that had not ended.
        waiting: Vec<Waiter>,
    },
}

impl Verdict {
    /// A short name, such as `use of freed memory`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::UseOfFreedMemory(_) => "use of freed memory",
            Self::ForeignMemory(_) => "foreign memory",
            Self::RuleBroken(breach) => breach.rule.verdict(),
            Self::CorePanicked(_) => "core panicked",
            Self::Task(_) => "task",
            Self::Deadlock { .. } => "deadlock",
            Self::EventLimit { .. } => "event limit",
        }
    }

    /// Whether all cores returned.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str(self.name()),
            Self::UseOfFreedMemory(report) => write!(f, "{report}"),
            Self::ForeignMemory(report) => write!(f, "{report}"),
            Self::RuleBroken(breach) => write!(f, "{breach}"),
            Self::CorePanicked(panic) => {
                write!(f, "worker {} ({}) panicked: {}", panic.worker.0, panic.name, panic.message)
            }
            Self::Task(verdict) => verdict.fmt(f),
            Self::Deadlock { waiting } | Self::EventLimit { waiting } => {
                f.write_str(self.name())?;
                for waiter in waiting {
                    let how = if waiter.parked { "parked" } else { "running" };
                    let (worker, name, since) = (waiter.worker.0, &waiter.name, waiter.since);
                    write!(f, "\nworker {worker} ({name}) {how} since event {since}")?;
                    if let Some(until) = waiter.until {
                        write!(f, " until {until}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Operations of cores besides accesses, summed over the run. Nothing here takes simulated time yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Calls of `await_line`.
    pub lines_awaited: u64,
    /// Times that a core's turn passed from one of its workers to another.
    pub hand_overs: u64,
    /// Times that one thread took over a core from another, where threads share cores.
    pub context_switches: u64,
    /// Of these, times that the other's slice was over.
    pub preemptions: u64,
    /// Calls of `prefetch`.
    pub prefetches: u64,
    /// Units of `work`, by [`Cost::index`].
    pub work: [u64; Cost::COUNT],
    /// Lines accessed of which nothing exists: see [`chiliad_machine::SparseShape`].
    pub hole_lines: u64,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// Events performed by cores.
    pub events: u64,
    /// Switches from one core to another.
    pub switches: u64,
    /// All panics that reached a core's root, in order.
    pub panics: Vec<CorePanic>,
    /// Cores that neither returned nor stopped when told to and were discarded where they stood.
    pub discarded: u32,
    /// Workers that died with their host.
    pub crashed: u32,
    /// The rare branches taken.
    pub marks: BTreeSet<&'static str>,
    /// A digest of every event: its number, core, address and kind. Equal for equal runs.
    pub trace_hash: u64,
    /// The counts of a timed run.
    pub timings: Option<Timings>,
    /// Where the time of the workers of a timed run went that said so; nothing where none did.
    pub core_time: Option<CoreTime>,
    /// The counts of a run of tasks.
    pub tasks: Option<TaskCounts>,
    /// The global virtual times of a run of tasks that were told to its tiles, rising. The run may end before it is told
    /// of the last.
    pub passed: Vec<Passed>,
    /// When executions began of the tasks that a run of tasks watched, rising.
    pub begun: Vec<Begun>,
    /// The last accesses, if the run was asked to list them.
    pub transcript: Vec<Step>,
    /// Memory handed out, freed blocks included.
    pub memory_bytes: u64,
    /// Further counts.
    pub counters: Counters,
    /// Host seconds until the last of the workers began to take time, where some did not at first.
    pub untimed_seconds: f64,
}
