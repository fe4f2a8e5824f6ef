//! The results of the cycles, for people and as JSON.

use super::order::SharedOrder;
use crate::kill::ledger::Findings;
use chiliad_host::text::thousands;
use serde_json::{Value, json};
use std::fmt::Write;

/// The outcome of the cycles.
#[derive(Default)]
pub struct Report {
    /// How long all took.
    pub seconds: f64,
    /// Transactions that the processes acknowledged.
    pub acknowledged: u64,
    /// How long processes took to join, in microseconds.
    pub openings_us: Vec<u64>,
    /// Processes of servers that were killed.
    pub killed: u64,
    /// Those that were stopped for a while.
    pub paused: u64,
    /// Those that found the log trimmed beyond what they had read.
    pub left_behind: u64,
    /// Servers that keep the log that were killed.
    pub log_killed: u64,
    /// Those that were stopped for a while.
    pub log_paused: u64,
    /// Those that were taken off the network for a while.
    pub log_cut: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Copies that were compared.
    pub compared: u64,
    cycles: u64,
    found: Findings,
}

impl Report {
    /// A cycle is over.
    pub fn add(&mut self, number: u64, findings: Findings) {
        self.cycles += 1;
        self.found.add(number, findings);
    }

    /// The problems, if there are any.
    pub fn problem(&self) -> Option<String> {
        self.found.complaint()
    }

    /// The longest that a process took to join, in microseconds.
    fn slowest_us(&self) -> u64 {
        self.openings_us.iter().copied().max().unwrap_or(0)
    }

    /// For people.
    pub fn text(&self, order: &SharedOrder<'_>) -> String {
        let mut out = format!(
            "bank under hyder, {} servers on {}: {} clients each, seed {}\n",
            order.servers, order.log, order.threads, order.seed
        );
        let mut line = |name: &str, text: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {name:<12} {text}");
        };
        line("cycles", format!("{} in {:.1} s", self.cycles, self.seconds));
        line(
            "servers",
            format!(
                "{} killed, {} stopped for a while, {} left behind by a trimmed log",
                self.killed, self.paused, self.left_behind
            ),
        );
        if order.log_script.is_some() {
            let text = format!(
                "{} killed, {} stopped for a while, {} cut off",
                self.log_killed, self.log_paused, self.log_cut
            );
            line("log servers", text);
        }
        let (acknowledged, lost) = (thousands(self.acknowledged), self.found.lost);
        let text = format!(
            "{acknowledged}, of which {lost} are lost; {} more were there",
            self.found.unacknowledged
        );
        line("acknowledged", text);
        line("checkpoints", thousands(self.checkpoints));
        line("copies", format!("{} compared", self.compared));
        line("joining", format!("at most {:.1} ms", self.slowest_us() as f64 / 1e3));
        for problem in &self.found.problems {
            line("wrong", problem.clone());
        }
        out
    }

    /// As JSON.
    pub fn json(&self, order: &SharedOrder<'_>) -> Value {
        json!({
            "workload": "bank", "scheme": "hyder", "servers": order.servers,
            "processes": order.processes(), "shared_log": order.log, "threads": order.threads,
            "seed": order.seed, "seconds": self.seconds, "cycles": self.cycles,
            "killed": self.killed, "paused": self.paused, "left_behind": self.left_behind,
            "log_killed": self.log_killed, "log_paused": self.log_paused,
            "log_cut": self.log_cut,
            "checkpoints": self.checkpoints, "compared": self.compared,
            "acknowledged": self.acknowledged, "lost": self.found.lost,
            "unacknowledged": self.found.unacknowledged, "joining_us_max": self.slowest_us(),
            "problems": self.found.problems,
        })
    }
}
