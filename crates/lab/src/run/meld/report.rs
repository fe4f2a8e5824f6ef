//! The costs of the stages, as text and as JSON.

use super::{MeldSpec, Way};
use crate::BUILD;
use crate::result::{Costs, Reading};
use crate::spec::level_name;
use chiliad_driver::{MeldPlan, MeldReport};
use serde_json::{Value, json};
use std::fmt::Write;

/// The costs of the stages, of each way.
#[derive(Clone, Debug)]
pub struct MeldResult {
    /// The specification.
    pub spec: MeldSpec,
    /// The ways, in their order, with the counts of all intentions and the time of each stage in nanoseconds.
    pub reports: Vec<(Way, MeldReport)>,
}

/// A stage's share of one intention.
fn each(number: u64, report: &MeldReport) -> f64 {
    number as f64 / report.intentions.max(1) as f64
}

fn sum(report: &MeldReport) -> u64 {
    report.stages().iter().map(|(_, stage)| stage.time).sum()
}

impl MeldResult {
    /// The problem, if there is one: ways that must come to the same verdicts and rows have not.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let exact = self.reports.iter().filter(|(way, _)| way.is_exact());
        let outcome = |report: &MeldReport| (report.digest, report.state_digest, report.committed);
        let mut outcomes = exact.map(|(_, report)| outcome(report));
        let first = outcomes.next();
        let agree = outcomes.all(|other| Some(other) == first);
        (!agree).then(|| "the ways have not come to the same verdicts and rows".into())
    }

    /// The costs, a line for each way.
    #[must_use]
    pub fn text(&self) -> String {
        let MeldPlan { operations, writes, records, zone, .. } = self.spec.plan;
        let mut out = format!(
            "nanoseconds for each intention of {operations} keys, {writes} of them written; {records} rows, zone \
             {zone}; threads: {}\n{:<18}",
            self.spec.pipeline, "way"
        );
        for (stage, _) in MeldReport::default().stages() {
            // Writing to a string cannot fail.
            let _ = write!(out, "{stage:>9}");
        }
        out.push_str("      all  last/s whole/s   visited     made  refused\n");
        for (way, report) in &self.reports {
            let _ = write!(out, "{:<18}", way.name());
            for (_, stage) in report.stages() {
                let _ = write!(out, "{:>9.0}", each(stage.time, report));
            }
            let _ = writeln!(
                out,
                "{:>9.0}{:>7.0}K{:>7.0}K{:>10.1}{:>9.1}{:>8.2}%",
                each(sum(report), report),
                1e6 / each(report.last.time, report).max(1.0),
                1e6 / each(report.elapsed, report).max(1.0),
                each(report.last.visited, report),
                each(report.last.made, report),
                100.0 - 100.0 * each(report.committed, report),
            );
        }
        out.push_str(
            "last/s, whole/s: intentions that the last stage alone, and the whole, decide in a second\n\
             visited, made: nodes of the last stage\n",
        );
        out
    }

    /// The same as JSON, an object for each way.
    #[must_use]
    pub fn json(&self) -> Vec<Value> {
        self.reports.iter().map(|(way, report)| self.row(*way, report)).collect()
    }

    /// The numbers that charts are made of, for each way.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        self.reports.iter().map(|(_, report)| self.reading(report)).collect()
    }

    /// The rate is that of the last stage, which alone goes in the order of the log: what there would be with cores for
    /// all others.
    fn reading(&self, report: &MeldReport) -> Reading {
        let of = |name: &str| {
            let stages = report.stages();
            let stage = stages.iter().find(|(known, _)| *known == name);
            each(stage.map_or(0, |(_, stage)| stage.time), report)
        };
        let last_ns = of("last");
        Reading {
            throughput: (last_ns > 0.0).then(|| 1e9 / last_ns),
            ops: Some(self.spec.plan.operations as f64),
            abort_rate: Some(1.0 - each(report.committed, report)),
            costs: Some(Costs {
                build_ns: of("build"),
                premeld_ns: of("premeld"),
                last_ns,
                all_ns: each(sum(report), report),
                visited: each(report.last.visited, report),
                made: each(report.last.made, report),
                zone_left: each(report.zone_left, report),
            }),
            ..Reading::default()
        }
    }

    fn row(&self, way: Way, report: &MeldReport) -> Value {
        let MeldSpec { plan, level, premeld, repeat, pipeline, .. } = &self.spec;
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
            "way": way.name(),
            "records": plan.records,
            "record_bytes": plan.record_bytes,
            "ops": plan.operations,
            "writes": plan.writes,
            "zone": plan.zone,
            "theta": plan.theta,
            "premeld": format!("{},{}", premeld.0, premeld.1),
            "isolation": level_name(*level),
            "seed": plan.seed,
            "repeat": repeat,
            "intentions": report.intentions,
            "committed": report.committed,
            "digest": format!("{:016x}", report.digest),
            "stages": stages,
            "pipeline": pipeline,
            "elapsed_ns": each(report.elapsed, report),
            "meld": {
                "last_stage_ns": each(report.last.time, report),
                "rollforward_ns": each(sum(report), report),
                "last_stage_nodes": each(report.last.visited, report),
                "verdict_digest": format!("{:016x}", report.digest),
                "state_digest": format!("{:016x}", report.state_digest),
            },
            "build": BUILD,
        })
    }
}
