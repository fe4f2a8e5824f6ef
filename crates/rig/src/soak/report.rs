//! The results of all rounds, cell by cell, for people and as JSON.

use super::cell::Cell;
use super::run::Measured;
use chiliad_driver::On;
use chiliad_host::text::thousands;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// The runs of a cell together.
#[derive(Default)]
struct Sum {
    runs: u64,
    committed: u64,
    refused: u64,
    length: u64,
    longest_idle: u64,
    /// The seed of the run in which that was.
    seed: u64,
}

/// The results of the rounds.
pub struct Report {
    begun: Instant,
    first_seed: u64,
    last_seed: u64,
    cells: BTreeMap<Cell, Sum>,
    events: u64,
    /// For how long the machine let native cells stand, in nanoseconds.
    stood_still: u64,
    failed: Vec<(Cell, u64, String, String)>,
    /// The command line that runs a cell again with a seed.
    again: fn(Cell, u64) -> String,
}

impl Report {
    /// Nothing yet, from this seed on.
    pub fn new(seed: u64, again: fn(Cell, u64) -> String) -> Self {
        Self {
            begun: Instant::now(),
            first_seed: seed,
            last_seed: seed,
            cells: BTreeMap::new(),
            events: 0,
            stood_still: 0,
            failed: Vec::new(),
            again,
        }
    }

    /// A run is over.
    pub fn add(&mut self, cell: Cell, seed: u64, measured: &Measured) {
        self.last_seed = self.last_seed.max(seed);
        self.events += measured.events;
        self.stood_still += measured.stood_still;
        let sum = self.cells.entry(cell).or_default();
        sum.runs += 1;
        sum.committed += measured.committed;
        sum.refused += measured.refused;
        sum.length += measured.length;
        if sum.runs == 1 || measured.longest_idle > sum.longest_idle {
            (sum.longest_idle, sum.seed) = (measured.longest_idle, seed);
        }
        if let Some((verdict, text)) = &measured.wrong {
            self.failed.push((cell, seed, verdict.clone(), text.clone()));
        }
    }

    /// The first problem, if there is one.
    pub fn problem(&self) -> Option<String> {
        let lines: Vec<String> = self
            .failed
            .iter()
            .map(|(cell, seed, verdict, _)| {
                format!("FAILED, {verdict}: {}", (self.again)(*cell, *seed))
            })
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// For people.
    pub fn text(&self) -> String {
        let head = ["machine", "scheme", "workload", "flight", "runs", "throughput", "refused"];
        let mut out = format!(
            "{:<9}{:<28}{:<9}{:>6}{:>6}{:>16}{:>9}  longest without a commit (seed)\n",
            head[0], head[1], head[2], head[3], head[4], head[5], head[6]
        );
        for (cell, sum) in &self.cells {
            let Cell { on, scheme, workload, interleave } = cell;
            let throughput = format!("{}/{}", whole(sum.throughput(*on)), rate_unit(*on));
            let (idle, unit) = match on {
                On::Native => (format!("{:.1}", sum.longest_idle as f64 / 1e6), "ms"),
                _ => (thousands(sum.longest_idle), on.unit()),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{:<9}{scheme:<28}{workload:<9}{interleave:>6}{:>6}{throughput:>16}{:>7.1} %  \
                 {idle} {unit} ({})",
                on.name(),
                sum.runs,
                100.0 * sum.share_refused(),
                sum.seed
            );
        }
        let runs: u64 = self.cells.values().map(|sum| sum.runs).sum();
        let _ = writeln!(
            out,
            "{} runs of {} cells, seeds {} to {}, in {:.1} s: {}; the machine ran something else for \
             {:.1} s",
            thousands(runs),
            self.cells.len(),
            self.first_seed,
            self.last_seed,
            self.begun.elapsed().as_secs_f64(),
            match self.failed.len() {
                0 => "somebody always got on".to_owned(),
                failed => format!("{failed} FAILED"),
            },
            self.stood_still as f64 / 1e9,
        );
        out
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let cells: Vec<Value> = self
            .cells
            .iter()
            .map(|(cell, sum)| {
                json!({
                    "machine": cell.on.name(), "scheme": cell.scheme, "workload": cell.workload,
                    "interleave": cell.interleave, "runs": sum.runs, "committed": sum.committed,
                    "aborted": sum.refused, "abort_rate": sum.share_refused(),
                    "throughput": sum.throughput(cell.on),
                    "throughput_per": rate_unit(cell.on),
                    "longest_idle": match cell.on {
                        On::Native => json!(sum.longest_idle as f64 / 1e6),
                        _ => json!(sum.longest_idle),
                    },
                    "longest_idle_unit": cell.on.unit(), "longest_idle_seed": sum.seed,
                })
            })
            .collect();
        let failed: Vec<Value> = self
            .failed
            .iter()
            .map(|(cell, seed, verdict, text)| {
                json!({"seed": seed, "replay": (self.again)(*cell, *seed), "verdict": verdict, "text": text})
            })
            .collect();
        json!({
            "seeds": [self.first_seed, self.last_seed], "cells": cells, "failed": failed,
            "events": self.events, "machine_stood_still_seconds": self.stood_still as f64 / 1e9,
            "host_seconds": self.begun.elapsed().as_secs_f64()
        })
    }
}

impl Sum {
    /// Commits per second natively, and per million ticks in simulation.
    fn throughput(&self, on: On) -> f64 {
        let ticks = if on == On::Native { 1e9 } else { 1e6 };
        self.committed as f64 * ticks / (self.length as f64).max(1.0)
    }

    fn share_refused(&self) -> f64 {
        self.refused as f64 / ((self.committed + self.refused) as f64).max(1.0)
    }
}

/// The unit of time of the throughput.
fn rate_unit(on: On) -> &'static str {
    match on {
        On::Native => "s",
        On::Timed => "Mcycle",
        On::Explored => "Mevent",
    }
}

fn whole(number: f64) -> String {
    thousands(number.round() as u64)
}
