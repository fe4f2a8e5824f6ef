//! A result for people.

use chiliad_host::text::{counted, thousands};
use serde_json::Value;
use std::fmt::Write;

/// The readable form of a result, as JSON has it; of a sweep, with the flag that tells its `point` from
/// the others.
pub fn text(result: &Value, point: Option<&str>) -> String {
    let mut out = String::new();
    head(&mut out, result);
    if let Some(point) = point {
        line(&mut out, "point", point);
    }
    if result["interrupted"] == true {
        line(&mut out, "interrupted", "the window ended before its time");
    }
    counts(&mut out, result);
    transactions(&mut out, result);
    deferred(&mut out, &result["deferred"]);
    shares(&mut out, "time", &result["breakdown"]);
    breakdown_cost(&mut out, &result["breakdown_cost"]);
    shares(&mut out, "core time", &result["core_time"]);
    tasks(&mut out, &result["tasks"]);
    simulation(&mut out, result);
    verified(&mut out, &result["verified"]);
    consistency(&mut out, &result["consistency"]);
    differences(&mut out, &result["differences"]);
    let is_same = result["differences"].as_array().is_none_or(Vec::is_empty);
    if result["tasks"].is_object() && !result["consistency"].is_null() && is_same {
        line(&mut out, "rows, answers", "those of tasks in order, of statements, and of silo");
    }
    out
}

fn line(out: &mut String, name: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  {name:<12} {text}");
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn head(out: &mut String, result: &Value) {
    let (workload, scheme) = (word(&result["workload"]), word(&result["scheme"]));
    let (machine, seed) = (word(&result["machine"]), &result["seed"]);
    let clients = counted(result["clients"].as_u64().unwrap_or(0), "client");
    let cores = counted(result["threads"].as_u64().unwrap_or(0), "core");
    let under = if scheme.is_empty() { String::new() } else { format!(" under {scheme}") };
    let _ = writeln!(out, "{workload}{under}, {machine}: {clients} on {cores}, seed {seed}");
    if let Some(runs) = result["runs"].as_array() {
        line(out, "medians of", &format!("{} runs", runs.len()));
    }
    let options = &result["options"];
    if let Some(log) = options["shared_log"].as_str() {
        let servers = counted(options["servers"].as_u64().unwrap_or(1), "server");
        let processes = options["processes"].as_u64().unwrap_or(1);
        let apart = if processes > 1 { ", each a process" } else { ", in one process" };
        line(out, "shared log", &format!("{log}: {servers}{apart}"));
    }
    if options["interleave_auto"] == true {
        line(out, "in flight", &format!("{} for each client, by trial", options["interleave"]));
    }
}

fn counts(out: &mut String, result: &Value) {
    let committed = whole(&result["committed"]);
    let seconds = result["seconds"].as_f64().unwrap_or(0.0);
    match result["throughput_tps"].as_f64() {
        Some(rate) => {
            let rate = thousands(rate.round() as u64);
            line(out, "throughput", &format!("{rate} per second ({committed} in {seconds:.2} s)"));
        }
        None => line(out, "committed", &committed),
    }
    let rate = result["abort_rate"].as_f64().unwrap_or(0.0) * 100.0;
    let mut text = format!("{} ({rate:.2} %)", whole(&result["aborted"]));
    for (reason, count) in result["abort_reasons"].as_object().into_iter().flatten() {
        let _ = write!(text, ", {reason} {}", whole(count));
    }
    line(out, "aborted", &text);
    if result["rolled_back"].as_u64().is_some_and(|count| count > 0) {
        line(out, "rolled back", &whole(&result["rolled_back"]));
    }
    if !result["latency_us"].is_null() {
        line(out, "latency", &latency(&result["latency_us"]));
    }
    disk(out, result);
    versions(out, &result["versions"]);
    if let Some(bytes) = result["host_memory_bytes"].as_u64() {
        line(out, "memory", &format!("{:.1} MiB resident", bytes as f64 / (1 << 20) as f64));
    }
}

/// How many records have how many older versions.
fn versions(out: &mut String, counts: &Value) {
    let Some(counts) = counts.as_array() else { return };
    let each =
        counts.iter().enumerate().map(|(older, count)| format!("{} with {older}", whole(count)));
    line(out, "versions", &format!("records: {}", each.collect::<Vec<_>>().join(", ")));
}

/// The work of a run with a log on its disk.
fn disk(out: &mut String, result: &Value) {
    if !result["durable_latency_us"].is_null() {
        line(out, "durable", &latency(&result["durable_latency_us"]));
    }
    let disk = &result["disk"];
    if disk.is_null() {
        return;
    }
    let megabytes = disk["log_bytes"].as_f64().unwrap_or(0.0) / 1e6;
    let each = disk["log_bytes_per_transaction"].as_f64().unwrap_or(0.0);
    let (syncs, checkpoints) = (whole(&disk["syncs"]), whole(&disk["checkpoints"]));
    let text = format!(
        "{megabytes:.0} MB, {each:.0} bytes a transaction, {syncs} syncs, {checkpoints} checkpoints"
    );
    line(out, "log", &text);
    if !disk["sync_us"].is_null() {
        line(out, "syncs", &latency(&disk["sync_us"]));
    }
}

fn latency(value: &Value) -> String {
    let at = |name: &str| value[name].as_f64().unwrap_or(0.0);
    format!(
        "p50 {:.1}  p95 {:.1}  p99 {:.1}  p99.9 {:.1}  max {:.1} us",
        at("p50"),
        at("p95"),
        at("p99"),
        at("p999"),
        at("max")
    )
}

fn transactions(out: &mut String, result: &Value) {
    let Some(kinds) = result["transactions"].as_object().filter(|kinds| kinds.len() > 1) else {
        return;
    };
    let width = kinds.keys().map(String::len).max().unwrap_or(0);
    for (name, kind) in kinds {
        let mut text = format!("{:>12} committed", whole(&kind["committed"]));
        if kind["unsuccessful"].as_u64().is_some_and(|count| count > 0) {
            let _ = write!(text, ", {} unsuccessful", whole(&kind["unsuccessful"]));
        }
        let _ = write!(text, ", {} aborted", whole(&kind["aborted"]));
        if let Some(p50) = kind["latency_us"]["p50"].as_f64() {
            let p99 = kind["latency_us"]["p99"].as_f64().unwrap_or(0.0);
            let _ = write!(text, ", p50 {p50:.1}  p99 {p99:.1} us");
        }
        line(out, &format!("{name:<width$}"), &text);
    }
}

/// Requests that waited: TPC-C's deliveries.
fn deferred(out: &mut String, deferred: &Value) {
    if deferred.is_null() {
        return;
    }
    let (queued, completed) = (whole(&deferred["queued"]), whole(&deferred["completed"]));
    let mut text = format!("{queued} deliveries queued, {completed} done");
    if let Some(share) = deferred["within_80s"].as_f64() {
        let rule = if deferred["rule_holds"] == true { "" } else { " (90 % ARE TO BE)" };
        let _ = write!(text, ", {:.1} % within 80 s{rule}", share * 100.0);
    }
    let delay = &deferred["delay_us"];
    if let (Some(mean), Some(p90)) = (delay["mean"].as_f64(), delay["p90"].as_f64()) {
        let _ = write!(text, ", after {mean:.1} us, p90 {p90:.1} us");
    }
    if deferred["run_at_once"].as_u64().is_some_and(|count| count > 0) {
        let _ = write!(text, "; {} run at once", whole(&deferred["run_at_once"]));
    }
    line(out, "deferred", &text);
    let (orders, skipped) = (whole(&deferred["orders"]), whole(&deferred["districts_skipped"]));
    line(out, "", &format!("{orders} orders delivered, {skipped} districts skipped"));
    if let Some(problem) = deferred["problem"].as_str() {
        line(out, "WRONG", problem);
    }
}

fn shares(out: &mut String, of: &str, shares: &Value) {
    let Some(shares) = shares.as_object() else { return };
    let part = |(name, share): (&String, &Value)| {
        format!("{name} {:.1} %", share.as_f64().unwrap_or(0.0) * 100.0)
    };
    line(out, of, &shares.iter().map(part).collect::<Vec<_>>().join("  "));
}

fn tasks(out: &mut String, tasks: &Value) {
    let Some(aborted) = tasks["aborted"].as_object() else { return };
    let (dispatched, committed) = (whole(&tasks["dispatched"]), whole(&tasks["committed"]));
    let all = thousands(aborted.values().filter_map(Value::as_u64).sum());
    let causes = aborted.iter().map(|(cause, count)| format!(", {cause} {}", whole(count)));
    let causes: String = causes.collect();
    let text = format!("{dispatched} dispatched, {committed} committed, {all} aborted{causes}");
    line(out, "tasks", &text);
}

fn breakdown_cost(out: &mut String, cost: &Value) {
    let (Some(share), Some(error)) = (cost["share"].as_f64(), cost["error"].as_f64()) else {
        return;
    };
    let (share, error) = (share * 100.0, error * 100.0);
    line(out, "measuring it", &format!("costs {share:.2} % of throughput, +- {error:.2}"));
}

fn simulation(out: &mut String, result: &Value) {
    if result["events"].is_null() {
        return;
    }
    let (events, verdict) = (whole(&result["events"]), word(&result["verdict"]));
    let switches = whole(&result["switches"]);
    line(out, "machine", &format!("{verdict} after {events} events, {switches} switches"));
    for failure in result["failures"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "\n{}\n", word(failure));
    }
    let rate = result["host_events_per_second"].as_f64().unwrap_or(0.0) / 1e6;
    let seconds = result["host_seconds"].as_f64().unwrap_or(0.0);
    let load = result["host_load_seconds"].as_f64().unwrap_or(0.0);
    let text = format!("{seconds:.3} s ({rate:.1} million events/s), loading {load:.3} s");
    line(out, "host", &text);
}

fn verified(out: &mut String, verified: &Value) {
    if verified.is_null() {
        return;
    }
    let outcome = if verified["passed"] == true { "holds" } else { "VIOLATED" };
    let mut text = format!("{} {outcome}", word(&verified["isolation"]));
    let _ = write!(text, ", {} transactions", whole(&verified["transactions"]));
    if verified["complete"] == false {
        text.push_str(", ended early: the history reached --verify-memory");
    }
    line(out, "verified", &text);
    for anomaly in verified["anomalies"].as_array().into_iter().flatten() {
        let allowed = if anomaly["violation"] == true { "" } else { " (allowed here)" };
        let _ = writeln!(out, "\n{}{allowed}\n{}", word(&anomaly["class"]), word(&anomaly["text"]));
    }
}

fn differences(out: &mut String, differences: &Value) {
    for (number, difference) in differences.as_array().into_iter().flatten().enumerate() {
        line(out, if number == 0 { "DIFFERENT" } else { "" }, word(difference));
    }
}

fn consistency(out: &mut String, consistency: &Value) {
    if consistency.is_null() {
        return;
    }
    let failed = consistency["failed"].as_array().map_or(0, Vec::len);
    let checked = consistency["checked"].as_u64().unwrap_or(0);
    let text = match failed {
        0 => format!("all {checked} conditions hold"),
        _ => format!("{failed} of {checked} conditions DO NOT HOLD"),
    };
    line(out, "consistency", &text);
    for failure in consistency["failed"].as_array().into_iter().flatten() {
        line(out, "", word(failure));
    }
}

fn whole(value: &Value) -> String {
    thousands(value.as_u64().unwrap_or(0))
}
