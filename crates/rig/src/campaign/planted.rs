//! Planted bugs: each must be caught within the seeds that its own table names.
//!
//! Caught means: the clean run of a seed passes, and the run of the same seed with the bug gives
//! one of the expected verdicts. A hang, a crash or another verdict is not counted, and a clean run
//! that fails ends the search.

use super::plants::rig_name;
use super::run::Trouble;
use super::scope::{BAR, GRACE, Scope, WORKLOADS};
use super::trial::Trial;
use chiliad_driver::{LockLoad, SWARM};
use chiliad_host::bar::bar;
use chiliad_host::threads::side_by_side;
use chiliad_host::{Listening, Stop};
use chiliad_machine::{Fault, Rig};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The outcome of the searches.
pub struct Searches {
    /// For people.
    pub table: String,
    /// The findings of the first search.
    pub first: Option<String>,
    /// For programs: a row for each search.
    pub rows: Vec<Value>,
    /// Each bug was caught.
    pub passed: bool,
}

/// How the search for one bug ended.
enum Search {
    /// With this case and verdict.
    Caught { case: Trial, verdict: String, text: String },
    /// A clean run failed.
    CleanFailed { case: Trial, text: String },
    /// No seed gave an expected verdict; these came up instead.
    Escaped { others: Vec<String> },
    /// Another rig guards against it.
    Elsewhere,
}

/// Searches for each of these bugs. A signal ends it early; what came of it until then is reported.
///
/// # Errors
/// The host has no room for a run.
pub fn run_planted(
    faults: &[&'static Fault],
    first_seed: u64,
    scope: &Scope<'_>,
) -> Result<Searches, Stop> {
    let faults: Vec<_> = faults.iter().flat_map(|fault| broken(fault, scope)).collect();
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Option<Result<Search, Trouble>>>> =
        Mutex::new(faults.iter().map(|_| None).collect());
    let bar = bar(faults.len() as u64, BAR, scope.quiet);
    let listening = Listening::within(GRACE);
    let searches = || {
        while let Some((number, fault)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            faults.get(number).map(|&fault| (number, fault))
        } {
            let Some(search) =
                search(fault.0, fault.1, first_seed, (scope, &listening)).transpose()
            else {
                return;
            };
            if let Ok(mut found) = found.lock() {
                found[number] = Some(search);
            }
            bar.inc(1);
        }
    };
    let started = side_by_side(scope.threads, searches);
    bar.finish_and_clear();
    started?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut searches = Vec::new();
    for (&(fault, scheme), search) in faults.iter().zip(found) {
        // A signal came before some searches ended.
        if let Some(search) = search {
            searches.push((fault, scheme, search?));
        }
    }
    let mut table = vec![["planted bug", "scheme", "rig", "seed", "verdict"].map(str::to_owned)];
    let again = scope.again;
    table.extend(searches.iter().map(|(fault, scheme, search)| search.row(fault, scheme, again)));
    let rows: Vec<Value> = searches
        .iter()
        .map(|(fault, scheme, search)| search.to_json(fault, scheme, again))
        .collect();
    Ok(Searches {
        table: aligned(&table),
        first: rows.first().map(|row| row["text"].as_str().unwrap_or_default().to_owned()),
        passed: searches.iter().all(|(.., search)| search.is_good()),
        rows,
    })
}

/// Rows as a table: each column as wide as its widest cell, and two blanks between them.
fn aligned(rows: &[[String; 5]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..5).map(|column| width(column).unwrap_or(0) + 2).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        out.push_str(cells.collect::<String>().trim_end());
        out.push('\n');
    }
    out
}

/// Whether a bug is searched under any scheme in `scope`.
#[must_use]
pub fn is_searched(fault: &'static Fault, scope: &Scope<'_>) -> bool {
    !broken(fault, scope).is_empty()
}

/// A bug once for each scheme that must show it, of those in `scope`. One that names no scheme shows under the first in
/// `scope`, but for ordered tasks, which run other code; a lock table's has none to show under.
fn broken(fault: &'static Fault, scope: &Scope<'_>) -> Vec<(&'static Fault, &'static str)> {
    if fault.schemes.is_empty() {
        let scheme = match scope.schemes[0] {
            first if first == SWARM.name => return Vec::new(),
            _ if LockLoad::named(fault.workload).is_some() => "-",
            first => first,
        };
        return vec![(fault, scheme)];
    }
    let asked = |scheme: &&str| scope.all_schemes || scope.schemes.contains(scheme);
    fault.schemes.iter().copied().filter(asked).map(|scheme| (fault, scheme)).collect()
}

/// Looks for one bug; `None` where a signal came first.
fn search(
    fault: &'static Fault,
    scheme: &'static str,
    first_seed: u64,
    (scope, listening): (&Scope<'_>, &Listening),
) -> Result<Option<Search>, Trouble> {
    if matches!(fault.rig, Rig::Loom | Rig::Waits) {
        return Ok(Some(Search::Elsewhere));
    }
    let workload = WORKLOADS.into_iter().chain(LockLoad::ALL.map(LockLoad::name));
    let workload = workload.into_iter().find(|&known| known == fault.workload);
    let workload = workload.ok_or_else(|| {
        Trouble::Unjudged(format!("{}: no campaign workload `{}`", fault.name, fault.workload))
    })?;
    let mut others: Vec<String> = Vec::new();
    for seed in first_seed..first_seed + u64::from(fault.seeds) {
        if listening.check().is_err() {
            return Ok(None);
        }
        let clean = Trial::new(fault.rig, workload, scheme, seed, scope.cores, scope.interleave);
        let shown = clean.run(scope.machine)?;
        if !shown.passed() {
            return Ok(Some(Search::CleanFailed { case: clean, text: shown.text }));
        }
        let case = clean.plant(fault);
        let shown = case.run(scope.machine)?;
        let caught = shown.verdicts.iter().find(|name| fault.expected.contains(&name.as_str()));
        if let Some(verdict) = caught.cloned() {
            return Ok(Some(Search::Caught { case, verdict, text: shown.text }));
        }
        others.extend(shown.verdicts);
        others.sort();
        others.dedup();
    }
    Ok(Some(Search::Escaped { others }))
}

impl Search {
    /// Caught, or another rig's task.
    fn is_good(&self) -> bool {
        matches!(self, Self::Caught { .. } | Self::Elsewhere)
    }

    fn row(&self, fault: &Fault, scheme: &str, again: fn(&Trial) -> String) -> [String; 5] {
        let (seed, verdict) = match self {
            Self::Caught { case, verdict, .. } => (case.seed().to_string(), verdict.clone()),
            Self::CleanFailed { case, .. } => {
                (case.seed().to_string(), format!("THE CLEAN RUN FAILED: {}", again(case)))
            }
            Self::Escaped { others } if others.is_empty() => {
                ("-".into(), format!("NOT CAUGHT within {} seeds", fault.seeds))
            }
            Self::Escaped { others } => {
                let others = others.join(", ");
                ("-".into(), format!("NOT CAUGHT within {} seeds, but {others}", fault.seeds))
            }
            Self::Elsewhere => ("-".into(), format!("{}: by the tests", rig_name(fault.rig))),
        };
        [fault.name.into(), scheme.into(), rig_name(fault.rig).into(), seed, verdict]
    }

    fn to_json(&self, fault: &Fault, scheme: &str, again: fn(&Trial) -> String) -> Value {
        let mut row = json!({
            "name": fault.name, "scheme": scheme, "step": fault.step, "rig": rig_name(fault.rig),
            "workload": fault.workload, "expected": fault.expected, "seeds": fault.seeds,
            "caught": matches!(self, Self::Caught { .. }),
        });
        match self {
            Self::Caught { case, verdict, text } => {
                row["seed"] = case.seed().into();
                row["verdict"] = verdict.as_str().into();
                row["replay"] = again(case).into();
                row["text"] = text.as_str().into();
            }
            Self::CleanFailed { case, text } => {
                row["clean_run_failed"] = again(case).into();
                row["text"] = text.as_str().into();
            }
            Self::Escaped { others } => row["other_verdicts"] = others.as_slice().into(),
            Self::Elsewhere => {}
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn long_seeds_stay_apart_from_verdicts() {
        let row = |seed: &str| ["bug", "silo", "disk", seed, "lost"].map(str::to_owned);
        let table = aligned(&[row("seed"), row("12345678901234567890")]);
        let at = |line: &str| line.find("lost");
        let places: Vec<_> = table.lines().map(at).collect();
        assert_eq!(places[0], places[1], "{table}");
        assert!(table.contains("12345678901234567890  lost"), "{table}");
    }
}
