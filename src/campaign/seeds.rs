//! Seeds times schemes times workloads, on the host's threads, until one fails.

use super::trial::Trial;
use super::{Scope, bar};
use chiliad_host::Sink;
use chiliad_host::Stop;
use chiliad_host::interrupt::{self, Listening};
use chiliad_host::output::complain;
use chiliad_host::text::thousands;
use chiliad_host::threads::side_by_side;
use chiliad_lab::BUILD;
use chiliad_machine::Rig;
use chiliad_rig::campaign::{self, Case, Covers, Shown};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// What all threads have found together.
#[derive(Default)]
struct Found {
    runs: u64,
    transactions: u64,
    events: u64,
    marks: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// The first case that failed, by its number.
    failed: Option<(u64, Trial, Shown)>,
    /// What kept a case from running at all.
    stopped: Option<Stop>,
}

/// Runs the campaign; whether it passed.
pub fn run(seeds: Range<u64>, scope: &Scope, sink: &mut Sink) -> Result<bool, Stop> {
    let kinds = (scope.schemes.len() * scope.workloads.len()) as u64;
    let count = (seeds.end - seeds.start).saturating_mul(kinds);
    let next = AtomicU64::new(0);
    let last = AtomicU64::new(count);
    let found = Mutex::new(Found::default());
    let bar = bar(count, scope.quiet);
    let listening = Listening::begin();
    let started = Instant::now();
    let cases = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            // Cases before the first failure are run to the end, so that it is the first.
            if number >= last.load(Ordering::Relaxed) || listening.check().is_err() {
                return;
            }
            let case = case(number, seeds.start, scope);
            let shown = case.run();
            if shown.as_ref().map_or(true, |shown| !shown.passed()) {
                last.fetch_min(number, Ordering::Relaxed);
            }
            if let Ok(mut found) = found.lock() {
                found.add(number, case, shown);
            }
            bar.inc(1);
        }
    };
    let begun = thread::scope(|threads| {
        let begun = side_by_side(threads, scope.threads, cases);
        if begun.is_err() {
            last.store(0, Ordering::Relaxed);
        }
        begun
    });
    bar.finish_and_clear();
    begun?;
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seconds = started.elapsed().as_secs_f64();
    let passed = report(found, seeds, seconds, scope, sink)?;
    listening.check()?;
    Ok(passed)
}

/// The case of a number: all schemes and workloads of a seed before the next seed.
fn case(number: u64, first: u64, scope: &Scope) -> Trial {
    let (schemes, workloads) = (scope.schemes.len() as u64, scope.workloads.len() as u64);
    let scheme = scope.schemes[(number % schemes) as usize];
    let workload = scope.workloads[(number / schemes % workloads) as usize];
    let seed = first + number / (schemes * workloads);
    match scope.disk {
        true => Trial::new(Rig::Disk, workload, scheme, seed, None, None),
        false => {
            let case = Case::new(workload, scheme, seed, scope.cores);
            Trial::Interleaving(match scope.interleave {
                Some(interleave) => Case { interleave, ..case },
                None => case,
            })
        }
    }
}

impl Found {
    fn add(&mut self, number: u64, case: Trial, shown: Result<Shown, Stop>) {
        self.runs += 1;
        let shown = match shown {
            Ok(shown) => shown,
            Err(stop) => {
                self.stopped = self.stopped.take().or(Some(stop));
                return;
            }
        };
        self.transactions += shown.transactions;
        self.events += shown.events;
        self.marks.entry(case.workload()).or_default().extend(&shown.marks);
        let earlier = self.failed.as_ref().is_none_or(|(first, ..)| number < *first);
        if !shown.passed() && earlier {
            self.failed = Some((number, case, shown));
        }
    }
}

fn report(
    found: Found,
    seeds: Range<u64>,
    seconds: f64,
    scope: &Scope,
    sink: &mut Sink,
) -> Result<bool, Stop> {
    found.stopped.map_or(Ok(()), Err)?;
    let (schemes, workloads) = (scope.schemes.join(", "), scope.workloads.join(", "));
    sink.say(&format!(
        "{} runs of seeds {}..{} under {schemes} with {workloads}\n  {} transactions checked, {} \
         events, {seconds:.1} s, {:.1} runs/s\n",
        thousands(found.runs),
        seeds.start,
        seeds.end,
        thousands(found.transactions),
        thousands(found.events),
        found.runs as f64 / seconds.max(1e-9),
    ))?;
    let Scope { all_schemes, disk, interleave, .. } = *scope;
    let covers = Covers { all_schemes, disk, interleave };
    let mut covered = true;
    let mut missing_marks = BTreeMap::new();
    for &workload in &scope.workloads {
        let hit = found.marks.get(workload).cloned().unwrap_or_default();
        let missing = campaign::missing(workload, &hit, &covers);
        sink.say(&format!("  {workload}: {} rare branches taken", hit.len()))?;
        sink.say(&match missing.is_empty() {
            true => "\n".to_owned(),
            false => format!(", NOT TAKEN: {}\n", missing.join(", ")),
        })?;
        covered &= missing.is_empty();
        missing_marks.insert(workload, missing);
    }
    let must_cover = seeds.end - seeds.start >= campaign::SEEDS_MIN && !interrupt::asked();
    let failed = found.failed.as_ref().map(|(_, case, shown)| {
        json!({"seed": case.seed(), "replay": case.line(), "verdicts": shown.verdicts,
               "text": shown.text})
    });
    sink.json(&json!({
        "seeds": [seeds.start, seeds.end], "schemes": scope.schemes, "workloads": scope.workloads,
        "runs": found.runs, "transactions": found.transactions, "events": found.events,
        "marks": found.marks, "marks_missing": missing_marks, "failed": failed,
        "host_seconds": seconds, "host_runs_per_second": found.runs as f64 / seconds.max(1e-9),
        "build": BUILD,
    }))?;
    if let Some((_, case, shown)) = &found.failed {
        complain(&format!("FAILED: {}\n{}\n", case.line(), shown.text));
        return Ok(false);
    }
    if must_cover && !covered {
        complain("FAILED: rare branches that the campaign must take were not taken\n");
        return Ok(false);
    }
    sink.say(if interrupt::asked() {
        "interrupted; all of these passed\n"
    } else {
        "all passed\n"
    })?;
    Ok(true)
}
