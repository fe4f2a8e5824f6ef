//! The contents of a directory, as text and as JSON.

use chiliad::Recovered;
use chiliad::directory::{Contents, LogContents};
use chiliad_host::text::{counted, thousands};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// A directory that was read and is sound.
pub struct Inspected<'a> {
    /// The directory.
    pub directory: &'a Path,
    /// Its contents.
    pub contents: &'a Contents,
    /// What making its tables has taken, where that was done.
    pub rebuilt: Option<&'a Recovered>,
}

impl Inspected<'_> {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { directory, contents: found, rebuilt } = *self;
        let mut out = format!("{}: sound, format version {}\n", directory.display(), found.format);
        line(&mut out, "database", &format!("{:032x}", found.database));
        let tables = match found.tables.is_empty() {
            true => "none".into(),
            false => found.tables.join(", "),
        };
        line(&mut out, "tables", &tables);
        line(&mut out, "bytes", &thousands(found.bytes));
        let checkpoint = match found.recovered.checkpoint {
            None => "none".into(),
            Some(it) => format!(
                "number {}, {} parts, {} rows, from incarnation {}, epochs {} to {}",
                it.number,
                it.parts,
                thousands(found.recovered.checkpoint_rows),
                it.incarnation,
                it.redo_after,
                it.end
            ),
        };
        line(&mut out, "checkpoint", &checkpoint);
        for log in &found.logs {
            line(&mut out, "log", &told_log(log));
        }
        replayed(&mut out, &found.recovered);
        if let Some(rebuilt) = rebuilt {
            let seconds = |ns: u64| format!("{:.2} s", ns as f64 / 1e9);
            let (rows, replay) = (thousands(rebuilt.rows), seconds(rebuilt.replay_ns));
            let (rate, finalize) = (thousands(rate(rebuilt) as u64), seconds(rebuilt.finalize_ns));
            let text = format!(
                "{rows} rows; {rate} versions per second in {replay}, then {finalize} to settle them"
            );
            line(&mut out, "rebuilt", &text);
        }
        out
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let Self { directory, contents: found, rebuilt } = *self;
        let log = |log: &LogContents| {
            json!({
                "incarnation": log.incarnation, "writer": log.writer, "segments": log.segments,
                "epoch": log.epoch, "torn": log.torn, "closed": log.closed,
            })
        };
        let mut value = recovered(&found.recovered);
        // Rows are counted where tables are made, which looking does not do.
        value["rows"] = rebuilt.map(|rebuilt| rebuilt.rows).into();
        value["rebuilt"] = rebuilt.map_or(Value::Null, |rebuilt| {
            json!({
                "replay_seconds": rebuilt.replay_ns as f64 / 1e9,
                "settle_seconds": rebuilt.finalize_ns as f64 / 1e9,
                "versions_per_second": rate(rebuilt),
            })
        });
        value["directory"] = directory.display().to_string().into();
        value["format"] = found.format.into();
        value["database"] = format!("{:032x}", found.database).into();
        value["tables"] = found.tables.clone().into();
        value["logs"] = found.logs.iter().map(log).collect();
        value["bytes"] = found.bytes.into();
        value
    }
}

/// A directory of which was saved what could be saved.
pub struct Salvaged<'a> {
    /// The damaged one.
    pub from: &'a Path,
    /// The new one.
    pub to: &'a Path,
    /// The tables that were saved, and those that were not.
    pub saved: &'a Recovered,
}

impl Salvaged<'_> {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { from, to, saved } = *self;
        let mut out =
            format!("{}: saved what could be saved to {}\n", from.display(), to.display());
        line(&mut out, "rows", &thousands(saved.rows));
        replayed(&mut out, saved);
        match saved.losses.is_empty() {
            true => line(&mut out, "lost", "nothing"),
            false => saved.losses.iter().for_each(|loss| line(&mut out, "lost", &loss.to_string())),
        }
        out
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut value = recovered(self.saved);
        value["directory"] = self.from.display().to_string().into();
        value["salvaged_to"] = self.to.display().to_string().into();
        value
    }
}

/// Versions replayed for each second of it.
fn rate(rebuilt: &Recovered) -> f64 {
    let versions = rebuilt.checkpoint_rows + rebuilt.writes;
    versions as f64 / (rebuilt.replay_ns.max(1) as f64 / 1e9)
}

fn line(out: &mut String, name: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  {name:<12} {text}");
}

fn told_log(log: &LogContents) -> String {
    let end = match (log.closed, log.torn) {
        (true, _) => "closed",
        (false, true) => "cut short in a write",
        (false, false) => "not closed",
    };
    format!(
        "incarnation {} writer {}: {}, through epoch {}, {end}",
        log.incarnation,
        log.writer,
        counted(log.segments as u64, "segment"),
        log.epoch
    )
}

fn replayed(out: &mut String, recovered: &Recovered) {
    let Recovered { transactions, writes, dropped, bytes, .. } = *recovered;
    let text = format!("{} with {} writes", thousands(transactions), thousands(writes));
    line(out, "transactions", &text);
    line(out, "dropped", &format!("{}, which were not durable", thousands(dropped)));
    line(out, "read", &format!("{} bytes", thousands(bytes)));
    line(out, "durable", &format!("through epoch {}", recovered.durable_epoch));
    let closed = if recovered.closed { "closed as it should be" } else { "not closed: a crash" };
    line(out, "end", closed);
}

fn recovered(it: &Recovered) -> Value {
    let checkpoint = it.checkpoint.map(|info| {
        json!({
            "number": info.number, "parts": info.parts, "incarnation": info.incarnation,
            "floor": info.redo_after, "end": info.end, "rows": it.checkpoint_rows,
        })
    });
    json!({
        "durable_epoch": it.durable_epoch, "checkpoint": checkpoint,
        "transactions": it.transactions, "writes": it.writes, "dropped": it.dropped,
        "read_bytes": it.bytes, "rows": it.rows, "torn": it.torn, "closed": it.closed,
        "losses": it.losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
