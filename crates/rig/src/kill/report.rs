//! The results of the cycles, for people and as JSON.

use super::ledger::Findings;
use super::order::Order;
use super::said::Said;
use chiliad_host::text::thousands;
use serde_json::{Value, json};
use std::fmt::Write;

/// The phase of a process when it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Opening the database.
    Opening,
    /// Making tables and their first rows.
    Loading,
    /// Working.
    Working,
    /// Working, and writing a checkpoint that was asked for.
    Checkpoint,
    /// Closed as it was asked to.
    Closed,
}

impl Ending {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Opening, "opening"),
        (Self::Loading, "loading"),
        (Self::Working, "working"),
        (Self::Checkpoint, "checkpoint"),
        (Self::Closed, "closed"),
    ];

    /// Goes on to what a line says.
    pub fn follow(&mut self, said: &Said) {
        match said {
            Said::Opened(_) => *self = Self::Loading,
            Said::Ready | Said::CheckpointEnds => *self = Self::Working,
            Said::CheckpointBegins => *self = Self::Checkpoint,
            _ => {}
        }
    }
}

/// The outcome of the cycles.
#[derive(Default)]
pub struct Report {
    /// How long all took.
    pub seconds: f64,
    /// Transactions that the processes acknowledged.
    pub acknowledged: u64,
    /// Openings by the process, in microseconds.
    pub openings_us: Vec<u64>,
    /// Openings by the parent.
    pub looks_us: Vec<u64>,
    cycles: u64,
    found: Findings,
    endings: [u64; 5],
}

impl Report {
    /// A cycle is over.
    pub fn add(&mut self, number: u64, findings: Findings) {
        self.cycles += 1;
        self.found.add(number, findings);
    }

    /// A process has ended.
    pub fn ended(&mut self, ending: Ending) {
        self.endings[ending as usize] += 1;
    }

    /// The first problem, if there is one.
    pub fn problem(&self) -> Option<String> {
        self.found.complaint()
    }

    /// For people.
    pub fn text(&self, order: &Order) -> String {
        let mut out = format!(
            "{} under {}, {}: {} clients, seed {}\n",
            order.work.name(),
            order.scheme.name(),
            order.durability(),
            order.threads,
            order.seed
        );
        let mut line = |name: &str, text: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {name:<12} {text}");
        };
        let rate = self.cycles as f64 / self.seconds.max(1e-9);
        let endings: Vec<String> = Ending::ALL
            .iter()
            .map(|&(ending, name)| format!("{} {name}", self.endings[ending as usize]))
            .collect();
        line(
            "cycles",
            format!("{} in {:.1} s, {rate:.1} per second", thousands(self.cycles), self.seconds),
        );
        line("ended", endings.join(", "));
        line("acknowledged", thousands(self.acknowledged));
        line("lost", thousands(self.found.lost));
        line("under way", format!("{} found whole", thousands(self.found.unacknowledged)));
        for (name, times) in [("recovery", &self.openings_us), ("looking", &self.looks_us)] {
            let [p50, p95, max] = percentiles(times).map(|us| us as f64 / 1000.0);
            line(name, format!("p50 {p50:.1} ms, p95 {p95:.1} ms, max {max:.1} ms"));
        }
        out
    }

    /// For programs.
    pub fn json(&self, order: &Order) -> Value {
        let endings: serde_json::Map<String, Value> = Ending::ALL
            .iter()
            .map(|&(ending, name)| (name.into(), self.endings[ending as usize].into()))
            .collect();
        let times = |times: &[u64]| {
            let [p50, p95, max] = percentiles(times);
            json!({ "p50": p50, "p95": p95, "max": max })
        };
        json!({
            "workload": order.work.name(), "scheme": order.scheme.name(),
            "durability": order.durability(), "threads": order.threads, "seed": order.seed,
            "seconds": self.seconds, "cycles": self.cycles, "ended": endings,
            "acknowledged": self.acknowledged, "lost": self.found.lost,
            "unacknowledged": self.found.unacknowledged,
            "recovery_us": times(&self.openings_us), "looking_us": times(&self.looks_us),
            "problems": self.found.problems,
        })
    }
}

/// The median, the 95th of a hundred, and the greatest; zeros of nothing.
fn percentiles(times: &[u64]) -> [u64; 3] {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |share: usize| sorted.get((sorted.len().saturating_sub(1)) * share / 100).copied();
    [50, 95, 100].map(|share| at(share).unwrap_or(0))
}
