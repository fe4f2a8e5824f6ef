//! `chiliad damage`: directories are built, damaged, and looked at: what was acknowledged is there, or the
//! damage is told.
//!
//! The rig ([`chiliad_rig::damage`]) builds, damages and judges; here are the cycles, and what is told of them.

mod report;

use crate::args::DamageFlags;
use crate::{settings, threads};
use chiliad::Scheme;
use chiliad_host::Leftover;
use chiliad_host::Sink;
use chiliad_host::Stop;
use chiliad_host::interrupt;
use chiliad_lab::spec;
use chiliad_rig::damage::{Base, Case, Kind, Trouble, Verdict};
use chiliad_workload::random::Random;
use indicatif::ProgressBar;
use report::Report;
use std::path::Path;
use std::time::Instant;

/// Damaged copies of one base.
const COPIES: u64 = 40;

/// Runs the cycles.
pub fn run(flags: &DamageFlags) -> Result<(), Stop> {
    let info = settings::scheme(&flags.scheme)?;
    if !spec::promises_transactions(info) {
        let problem = format!("`{}` has no transactions; accepted: a scheme that has", info.name);
        return Err(Stop::bad("--scheme", problem));
    }
    let scheme: Scheme = flags.scheme.parse().map_err(|error| Stop::bad("--scheme", error))?;
    let only = flags.kind.as_deref().map(kind).transpose()?;
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let place = std::env::temp_dir().join(format!("chiliad-damage-{}", std::process::id()));
    let _gone = Leftover::tree(&place).map_err(|error| Stop::bad(place.display(), error))?;
    let started = Instant::now();
    let mut report = Report::default();
    let bar = if flags.quiet { ProgressBar::hidden() } else { ProgressBar::new(flags.cycles) };
    let problem = cycles(flags, scheme, only, &place, &mut report, &bar)?;
    bar.finish_and_clear();
    report.seconds = started.elapsed().as_secs_f64();
    sink.say(&report.text(flags))?;
    sink.json(&report.json(flags))?;
    sink.finish()?;
    problem.map_or(Ok(()), |problem| Err(Stop::Failed(problem)))
}

/// Goes through the cycles, up to the first that fails: what is to be said of that.
fn cycles(
    flags: &DamageFlags,
    scheme: Scheme,
    only: Option<Kind>,
    place: &Path,
    report: &mut Report,
    bar: &ProgressBar,
) -> Result<Option<String>, Stop> {
    let mut base: Option<(u64, Base)> = None;
    // A cycle is a function of its own seed: seed N with one cycle does what cycle N of seed 0 does.
    let listening = interrupt::Listening::begin();
    for seed in flags.seed..flags.seed.saturating_add(flags.cycles) {
        if listening.check().is_err() {
            break;
        }
        let number = seed / COPIES;
        if base.as_ref().is_none_or(|(of, _)| *of != number) {
            let path = place.join("base");
            base = Some((number, Base::build(&path, number, scheme).map_err(stop)?));
            report.bases += 1;
        }
        let Some((_, base)) = &base else { continue };
        let mut random = Random::new(seed, 0xda);
        let kind = only.unwrap_or(Kind::ALL[(seed % Kind::ALL.len() as u64) as usize]);
        let case = Case { base, kind, scheme, place, skip_checks: flags.plant.is_some() };
        let judged = case.judge(&mut random).map_err(stop)?;
        report.add(kind, &judged.verdict);
        if let Verdict::Lost(what) | Verdict::Wrong(what) = &judged.verdict {
            let again = format!("chiliad damage --cycles 1 --seed {seed} --kind {}", kind.name());
            return Ok(Some(format!(
                "{}: {}\n{what}\nagain: {again} --scheme {}",
                kind.name(),
                judged.what,
                flags.scheme
            )));
        }
        bar.inc(1);
    }
    Ok(None)
}

/// The kind of damage of this name.
fn kind(name: &str) -> Result<Kind, Stop> {
    Kind::named(name).ok_or_else(|| {
        let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        Stop::bad("--kind", format!("`{name}` is no kind; accepted: {}", names.join(", ")))
    })
}

/// What the system refuses.
fn stop(trouble: Trouble) -> Stop {
    match trouble {
        Trouble::Files(error) => Stop::Failed(format!("the rig's own files: {error}")),
        Trouble::NoThread(error) => threads::refused(error),
    }
}
