//! The results of a soak of servers that share a log, for people and as JSON.

use super::curve::{Curve, Halves, Of};
use super::member::CaughtUp;
use super::order::JoinedOrder;
use super::sampler::Samples;
use chiliad_host::text::thousands;
use chiliad_hyder::WINDOW;
use serde_json::{Value, json};
use std::fmt::Write;

/// The most that memory may have in the last quarter, beside the third.
const MEMORY_MAX: f64 = 1.10;

/// The same for the log, whose greatest size depends on when checkpoints end.
const LOG_MAX: f64 = 1.25;

/// Points of a curve in JSON, at most.
const POINTS: usize = 240;

/// Counts.
#[derive(Debug, Default)]
pub struct Tally {
    pub rounds: u64,
    /// Transactions that were judged, refused attempts among them.
    pub transactions: u64,
    /// Copies that were compared.
    pub compared: u64,
    /// How often a server left.
    pub left: u64,
    /// How often one joined while others worked.
    pub came: u64,
    /// Those that joined when the others rested, after they had worked as fast as they could.
    caught_up: Vec<CaughtUp>,
}

impl Tally {
    /// A server has joined, and caught up with the others, who rest.
    pub fn joined(&mut self, caught_up: CaughtUp) {
        self.caught_up.push(caught_up);
    }
}

/// The outcome.
pub struct JoinedReport {
    pub(super) tally: Tally,
    pub(super) samples: Samples,
    /// Records that were trimmed.
    pub(super) trimmed: u64,
    /// Intentions that were decided.
    pub(super) intentions: u64,
    pub(super) seconds: f64,
}

impl JoinedReport {
    /// Nothing where the first half had fewer intentions than the window: until then the rows that were removed stay, and
    /// what is known of the last writers of keys adds up.
    fn memory(&self) -> Option<Halves> {
        let is_full = self.intentions / 2 >= WINDOW;
        is_full.then(|| self.samples.memory.second_half(Of::Median)).flatten()
    }

    fn log(&self) -> Option<Halves> {
        self.samples.log.second_half(Of::Greatest)
    }

    /// The number that grows, if one does.
    pub(super) fn problem(&self) -> Option<String> {
        let grows = |what: &str, halves: Option<Halves>, most: f64| {
            let Halves { third, last } = halves.filter(|halves| halves.ratio() > most)?;
            let (third, last) = (thousands(third), thousands(last));
            Some(format!("{what} grows: {third} in the third quarter, {last} in the last"))
        };
        let memory = grows("memory", self.memory(), MEMORY_MAX);
        memory.or_else(|| grows("the log", self.log(), LOG_MAX))
    }

    /// The rate at which servers that joined read the log, in bytes a second; nothing where none did.
    fn catch_up(&self) -> Option<f64> {
        let all = &self.tally.caught_up;
        let bytes: u64 = all.iter().map(|it| it.bytes).sum();
        let seconds: f64 = all.iter().map(|it| it.time.as_secs_f64()).sum();
        (bytes > 0).then(|| bytes as f64 / seconds.max(1e-6))
    }

    /// For people.
    #[must_use]
    pub fn text(&self, order: &JoinedOrder<'_>) -> String {
        let Self { tally, samples, trimmed, seconds, .. } = self;
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{} servers and one more on {}, {} clients each, seed {}\n  rounds       {} in {seconds:.1} s\n  \
             transactions {}, {:.0} per second, one history a round: serializable",
            order.servers,
            order.name,
            order.threads,
            order.seed,
            tally.rounds,
            thousands(tally.transactions),
            tally.transactions as f64 / seconds,
        );
        let _ = writeln!(
            out,
            "  servers      {} left and joined again, {} while others worked; {} copies compared",
            tally.left,
            tally.came,
            thousands(tally.compared)
        );
        let mut flat = |name: &str, halves: Option<Halves>, most: f64| {
            let _ = match halves {
                Some(halves) => writeln!(
                    out,
                    "  {name:<12} {:.1} MiB in the third quarter, {:.1} in the last: {:.3} of it, {most:.2} at most",
                    mib(halves.third as f64),
                    mib(halves.last as f64),
                    halves.ratio()
                ),
                None => writeln!(out, "  {name:<12} too short to tell whether it grows"),
            };
        };
        flat("memory", self.memory(), MEMORY_MAX);
        flat("log", self.log(), LOG_MAX);
        let _ = writeln!(out, "  trimmed      {} records", thousands(*trimmed));
        if let Some(rate) = self.catch_up() {
            let _ = writeln!(
                out,
                "  catching up  {:.1} MiB/s; the log grew by {:.1} at its fullest: {:.1} times as fast",
                mib(rate),
                mib(samples.fullest),
                rate / samples.fullest.max(1.0)
            );
        }
        out
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self, order: &JoinedOrder<'_>) -> Value {
        let Self { tally, samples, trimmed, intentions, seconds } = self;
        let points = |curve: &Curve| -> Vec<u64> {
            let step = curve.all().len().div_ceil(POINTS).max(1);
            curve.all().iter().step_by(step).copied().collect()
        };
        let ratio = |halves: Option<Halves>| halves.map(Halves::ratio);
        let each: Vec<Value> = tally
            .caught_up
            .iter()
            .map(|it| json!({"bytes": it.bytes, "seconds": it.time.as_secs_f64()}))
            .collect();
        json!({
            "servers": order.servers, "threads": order.threads, "rate": order.rate, "seed": order.seed,
            "records": order.records, "shared_log": order.name,
            "checkpoint_bytes": order.checkpoint_log_bytes,
            "rounds": tally.rounds, "transactions": tally.transactions, "intentions": intentions,
            "compared": tally.compared,
            "left": tally.left, "came": tally.came, "trimmed_records": trimmed,
            "memory_bytes": points(&samples.memory), "memory_growth": ratio(self.memory()),
            "log_bytes": points(&samples.log), "log_growth": ratio(self.log()),
            "log_bytes_per_second_max": samples.fullest,
            "caught_up": each, "catch_up_bytes_per_second": self.catch_up(),
            "catch_up_ratio": self.catch_up().map(|rate| rate / samples.fullest.max(1.0)),
            "problem": self.problem(), "seconds": seconds,
        })
    }
}
