//! `chiliad bench meld`: intentions made up with an exact conflict zone, decided in one way after the other.

use crate::args::{Alone, MeldFlags, Way};
use chiliad_driver::{Certifier, Group, Level, Premeld, RollOptions};
use chiliad_host::{Sink, Stop, interrupt, limit};
use chiliad_hyder::{MeldPlan, MeldReport, MeldSetting, Stage, run_meld};
use chiliad_lab::BUILD;
use chiliad_machine::Interleaved;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::fmt::Write;

/// Bytes of a row beside its value: a node, and the head of the value; and what the zone keeps of it.
const ROW_BYTES: u64 = 96;

/// Bytes that an intention of the zone keeps from being freed, for each key.
const ZONE_KEY_BYTES: u64 = 2_000;

/// Runs all ways and says what each stage has cost.
pub fn run(bench: &Alone<MeldFlags>) -> Result<(), Stop> {
    let flags = &bench.flags;
    let mut sink = Sink::new(bench.output.json.as_deref(), bench.output.quiet)?;
    let plan = plan(flags)?;
    let rows = plan.records * (ROW_BYTES + plan.record_bytes.next_multiple_of(16) as u64);
    let zone = plan.zone * plan.operations * ZONE_KEY_BYTES;
    limit::check_memory("--records", rows + zone)?;
    let mut reports: Vec<Vec<MeldReport>> = vec![Vec::new(); flags.ways.len()];
    for _ in 0..flags.repeat {
        for (way, reports) in flags.ways.iter().zip(&mut reports) {
            if interrupt::asked() {
                return Err(Stop::Interrupted);
            }
            let setting = setting(flags, *way);
            let report = run_meld::<Interleaved>(&plan, setting, u64::MAX);
            reports.push(report.map_err(|error| Stop::Failed(error.to_string()))?);
        }
    }
    let medians: Vec<_> = reports.iter().map(|reports| median(reports)).collect();
    sink.say(&table(flags, &medians))?;
    for (way, report) in flags.ways.iter().zip(&medians) {
        sink.json(&as_json(flags, *way, report))?;
    }
    sink.finish()?;
    // Those that share their fate have verdicts of their own.
    let exact = |(way, _): &(&Way, _)| !matches!(way, Way::Fate | Way::PremeldFate);
    let reports = flags.ways.iter().zip(&medians).filter(exact);
    let mut verdicts = reports.map(|(_, report)| (report.digest, report.committed));
    let first = verdicts.next();
    match verdicts.all(|other| Some(other) == first) {
        true => Ok(()),
        false => Err(Stop::Failed("the ways have not come to the same verdicts".into())),
    }
}

fn plan(flags: &MeldFlags) -> Result<MeldPlan, Stop> {
    if flags.ops > flags.records {
        let problem =
            format!("{} of {} rows; accepted: at most --records", flags.ops, flags.records);
        return Err(Stop::bad("--ops", problem));
    }
    if flags.writes > flags.ops {
        let problem = format!("{} of {} keys; accepted: at most --ops", flags.writes, flags.ops);
        return Err(Stop::bad("--writes", problem));
    }
    Ok(MeldPlan {
        records: flags.records as u64,
        record_bytes: flags.record_bytes,
        operations: flags.ops as u64,
        writes: flags.writes as u64,
        zone: flags.zone as u64,
        theta: flags.theta,
        intentions: flags.transactions as u64,
        seed: flags.seed,
    })
}

fn setting(flags: &MeldFlags, way: Way) -> MeldSetting {
    let level = if flags.snapshot { Level::Snapshot } else { Level::Serializable };
    let (threads, distance) = flags.premeld;
    let fixed = Premeld::Fixed { threads, distance };
    let plain = RollOptions { level, overlap: false, ..RollOptions::default() };
    let meld = RollOptions { certifier: Certifier::Meld, ..plain };
    let window = RollOptions { certifier: Certifier::Window, ..plain };
    let roll = match way {
        Way::Base | Way::Fused => meld,
        Way::Group => RollOptions { group: Group::Exact, ..meld },
        Way::Premeld => RollOptions { premeld: fixed, ..meld },
        Way::Both => RollOptions { premeld: fixed, group: Group::Exact, ..meld },
        Way::Fate => RollOptions { group: Group::Fate, ..meld },
        Way::PremeldFate => RollOptions { premeld: fixed, group: Group::Fate, ..meld },
        Way::FusedOverlapped => RollOptions { overlap: true, ..meld },
        Way::Plain => plain,
        Way::Overlapped => RollOptions { overlap: true, ..plain },
        Way::Window => window,
        Way::WindowOverlapped => RollOptions { overlap: true, ..window },
    };
    MeldSetting { roll, fused: matches!(way, Way::Fused | Way::FusedOverlapped) }
}

/// Of each stage the median time of some runs, which do the same otherwise.
fn median(reports: &[MeldReport]) -> MeldReport {
    let of = |stage: fn(&MeldReport) -> Stage| {
        let mut times: Vec<_> = reports.iter().map(|report| stage(report).time).collect();
        times.sort_unstable();
        Stage { time: times[times.len() / 2], ..stage(&reports[0]) }
    };
    MeldReport {
        decode: of(|report| report.decode),
        build: of(|report| report.build),
        premeld: of(|report| report.premeld),
        last: of(|report| report.last),
        free: of(|report| report.free),
        ..reports[0]
    }
}

fn name(way: Way) -> String {
    way.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
}

/// A stage's share of one intention.
fn each(number: u64, report: &MeldReport) -> f64 {
    number as f64 / report.intentions.max(1) as f64
}

fn sum(report: &MeldReport) -> u64 {
    report.stages().iter().map(|(_, stage)| stage.time).sum()
}

fn table(flags: &MeldFlags, reports: &[MeldReport]) -> String {
    let mut out = format!(
        "nanoseconds for each intention of {} keys, {} of them written; {} rows, zone {}\n{:<18}",
        flags.ops, flags.writes, flags.records, flags.zone, "way"
    );
    for (stage, _) in MeldReport::default().stages() {
        // Writing to a string cannot fail.
        let _ = write!(out, "{stage:>9}");
    }
    out.push_str("      all  last/s   visited     made  refused\n");
    for (way, report) in flags.ways.iter().zip(reports) {
        let _ = write!(out, "{:<18}", name(*way));
        for (_, stage) in report.stages() {
            let _ = write!(out, "{:>9.0}", each(stage.time, report));
        }
        let refused = 100.0 - 100.0 * each(report.committed, report);
        let _ = writeln!(
            out,
            "{:>9.0}{:>7.0}K{:>10.1}{:>9.1}{:>8.2}%",
            each(sum(report), report),
            1e6 / each(report.last.time, report).max(1.0),
            each(report.last.visited, report),
            each(report.last.made, report),
            refused,
        );
    }
    out.push_str("last/s: intentions that the last stage alone decides in a second; visited, made: its nodes\n");
    out
}

fn as_json(flags: &MeldFlags, way: Way, report: &MeldReport) -> Value {
    let stages: serde_json::Map<String, Value> = report
        .stages()
        .iter()
        .map(|(name, stage)| {
            let cost = json!({
                "ns": each(stage.time, report),
                "visited": each(stage.visited, report),
                "made": each(stage.made, report),
            });
            ((*name).to_owned(), cost)
        })
        .collect();
    json!({
        "workload": "meld",
        "way": name(way),
        "records": flags.records,
        "record_bytes": flags.record_bytes,
        "ops": flags.ops,
        "writes": flags.writes,
        "zone": flags.zone,
        "theta": flags.theta,
        "premeld": format!("{},{}", flags.premeld.0, flags.premeld.1),
        "isolation": if flags.snapshot { "snapshot" } else { "serializable" },
        "seed": flags.seed,
        "repeat": flags.repeat,
        "intentions": report.intentions,
        "committed": report.committed,
        "digest": format!("{:016x}", report.digest),
        "stages": stages,
        "build": BUILD,
    })
}
