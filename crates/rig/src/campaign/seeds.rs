//! Seeds times schemes times workloads, on the host's threads, until one fails.

use super::case::Case;
use super::marks::{self, Covers};
use super::run::Trouble;
use super::scope::{BAR, GRACE, Scope};
use super::shown::Shown;
use super::trial::Trial;
use super::worlds::World;
use chiliad_driver::SWARM;
use chiliad_host::bar::bar;
use chiliad_host::text::thousands;
use chiliad_host::threads::side_by_side;
use chiliad_host::{Listening, Stop};
use chiliad_machine::Rig;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The findings of all threads together.
#[derive(Default)]
struct Found {
    runs: u64,
    transactions: u64,
    events: u64,
    marks: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// The first case that failed, by its number.
    failed: Option<(u64, Trial, Shown)>,
    /// The reason why a case could not run at all.
    stopped: Option<Trouble>,
}

/// The outcome of a campaign.
pub struct Report {
    /// For people.
    pub text: String,
    /// For programs.
    pub json: Value,
    /// The first case that failed, or what else is wrong; `None` if all passed.
    pub failed: Option<String>,
}

/// Runs a campaign. A signal ends it early; what came of it until then is reported.
///
/// # Errors
/// The host has no room for a run.
pub fn run_seeds(seeds: Range<u64>, scope: &Scope<'_>) -> Result<Report, Stop> {
    let kinds = (scope.schemes.len() * scope.workloads.len()) as u64;
    let count = (seeds.end - seeds.start).saturating_mul(kinds);
    let next = AtomicU64::new(0);
    let last = AtomicU64::new(count);
    let found = Mutex::new(Found::default());
    let bar = bar(count, BAR, scope.quiet);
    let listening = Listening::within(GRACE);
    let started = Instant::now();
    let cases = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            // Cases before the first failure are run to the end, so that it is the first.
            if number >= last.load(Ordering::Relaxed) || listening.check().is_err() {
                return;
            }
            let case = case(number, seeds.start, scope);
            let shown = case.run(scope.machine);
            if shown.as_ref().map_or(true, |shown| !shown.passed()) {
                last.fetch_min(number, Ordering::Relaxed);
            }
            if let Ok(mut found) = found.lock() {
                found.add(number, case, shown);
            }
            bar.inc(1);
        }
    };
    let begun = side_by_side(scope.threads, cases);
    bar.finish_and_clear();
    begun?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = started.elapsed().as_secs_f64();
    found.report(seeds, seconds, scope, listening.check().is_err())
}

/// The case of a number: all schemes and workloads of a seed before the next seed.
fn case(number: u64, first: u64, scope: &Scope<'_>) -> Trial {
    let (schemes, workloads) = (scope.schemes.len() as u64, scope.workloads.len() as u64);
    let scheme = scope.schemes[(number % schemes) as usize];
    let workload = scope.workloads[(number / schemes % workloads) as usize];
    let seed = first + number / (schemes * workloads);
    match (scope.disk, scope.world) {
        (true, _) => Trial::new(Rig::Disk, workload, scheme, seed, None, None),
        (false, true) => {
            let world = World::new(workload, seed);
            let servers = scope.servers.clone().unwrap_or_else(|| world.servers.clone());
            Trial::World(World { servers, ..world })
        }
        (false, false) if scheme == SWARM.name => {
            Trial::new(Rig::Tasks, workload, scheme, seed, scope.cores, None)
        }
        (false, false) => {
            let mut case = Case::new(workload, scheme, seed, scope.cores);
            if let Some(interleave) = scope.interleave {
                case.interleave = interleave;
            }
            if let Some(servers) = scope.servers.clone() {
                case = case.servers(servers);
            }
            Trial::Interleaving(case)
        }
    }
}

impl Found {
    fn add(&mut self, number: u64, case: Trial, shown: Result<Shown, Trouble>) {
        self.runs += 1;
        let shown = match shown {
            Ok(shown) => shown,
            Err(trouble) => {
                self.stopped = self.stopped.take().or(Some(trouble));
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

    fn report(
        mut self,
        seeds: Range<u64>,
        seconds: f64,
        scope: &Scope<'_>,
        interrupted: bool,
    ) -> Result<Report, Stop> {
        if let Some(trouble) = self.stopped.take() {
            return Err(trouble.into());
        }
        let (schemes, workloads) = (scope.schemes.join(", "), scope.workloads.join(", "));
        let rate = self.runs as f64 / seconds.max(1e-9);
        let mut text = format!(
            "{} runs of seeds {}..{} under {schemes} with {workloads}\n  {} transactions checked, {} \
             events, {seconds:.1} s, {rate:.1} runs/s\n",
            thousands(self.runs),
            seeds.start,
            seeds.end,
            thousands(self.transactions),
            thousands(self.events),
        );
        let missing_marks = self.missing_marks(scope, &mut text);
        let covered = missing_marks.values().all(Vec::is_empty);
        let must_cover = seeds.end - seeds.start >= marks::SEEDS_MIN && !interrupted;
        let failed = self.failed.as_ref().map(|(_, case, shown)| {
            json!({"seed": case.seed(), "replay": (scope.again)(case), "verdicts": shown.verdicts,
                   "text": shown.text})
        });
        let json = json!({
            "seeds": [seeds.start, seeds.end], "schemes": scope.schemes,
            "workloads": scope.workloads, "runs": self.runs, "transactions": self.transactions,
            "events": self.events, "marks": self.marks, "marks_missing": missing_marks,
            "failed": failed, "host_seconds": seconds, "host_runs_per_second": rate,
        });
        let failed = match &self.failed {
            Some((_, case, shown)) => {
                Some(format!("FAILED: {}\n{}\n", (scope.again)(case), shown.text))
            }
            None if must_cover && !covered => {
                Some("FAILED: rare branches that the campaign must take were not taken\n".into())
            }
            None => None,
        };
        if failed.is_none() {
            let end =
                if interrupted { "interrupted; all of these passed\n" } else { "all passed\n" };
            text.push_str(end);
        }
        Ok(Report { text, json, failed })
    }

    /// The rare branches that were not taken, by workload; what is told of them goes to `text`.
    fn missing_marks(
        &self,
        scope: &Scope<'_>,
        text: &mut String,
    ) -> BTreeMap<&'static str, Vec<&'static str>> {
        let Scope { all_schemes, disk, world, interleave, .. } = *scope;
        let tasks = scope.schemes == [SWARM.name];
        let covers = Covers { all_schemes, tasks, disk, world, interleave };
        let mut all = BTreeMap::new();
        for &workload in &scope.workloads {
            let hit = self.marks.get(workload).cloned().unwrap_or_default();
            let missing = marks::missing(workload, &hit, &covers);
            // Writing to a string cannot fail.
            let _ = write!(text, "  {workload}: {} rare branches taken", hit.len());
            let _ = match missing.is_empty() {
                true => writeln!(text),
                false => writeln!(text, ", NOT TAKEN: {}", missing.join(", ")),
            };
            all.insert(workload, missing);
        }
        all
    }
}
