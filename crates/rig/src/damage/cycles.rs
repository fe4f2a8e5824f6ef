//! Cycles: a base is built, copies of it are damaged and judged, up to the first that fails.

use super::base::Base;
use super::judge::{Case, Verdict};
use super::kinds::Kind;
use super::order::Order;
use super::report::Report;
use super::trouble::Trouble;
use chiliad_host::{Leftover, Listening, Stop, threads};
use chiliad_workload::random::Random;
use indicatif::ProgressBar;
use std::path::Path;
use std::time::Instant;

/// Damaged copies of one base.
const COPIES: u64 = 40;

/// Runs the cycles: what was counted, and what is to be said of the first that failed.
///
/// # Errors
/// The host refuses a file or a process.
pub fn run(order: &Order) -> Result<(Report, Option<String>), Stop> {
    let place = std::env::temp_dir().join(format!("chiliad-damage-{}", std::process::id()));
    let _gone = Leftover::tree(&place).map_err(|error| Stop::bad(place.display(), error))?;
    let started = Instant::now();
    let mut report = Report::default();
    let bar = if order.quiet { ProgressBar::hidden() } else { ProgressBar::new(order.cycles) };
    let problem = cycles(order, &place, &mut report, &bar)?;
    bar.finish_and_clear();
    report.seconds = started.elapsed().as_secs_f64();
    Ok((report, problem))
}

/// Goes through the cycles, up to the first that fails: what is to be said of that.
fn cycles(
    order: &Order,
    place: &Path,
    report: &mut Report,
    bar: &ProgressBar,
) -> Result<Option<String>, Stop> {
    let scheme = order.scheme;
    let mut base: Option<(u64, Base)> = None;
    // A cycle is a function of its own seed: seed N with one cycle does what cycle N of seed 0 does.
    let listening = Listening::begin();
    for seed in order.seed..order.seed.saturating_add(order.cycles) {
        if listening.check().is_err() {
            break;
        }
        let number = seed / COPIES;
        if base.as_ref().is_none_or(|(of, _)| *of != number) {
            let path = place.join("base");
            base = Some((number, Base::build(&path, number, scheme)?));
            report.bases += 1;
        }
        let Some((_, base)) = &base else { continue };
        let mut random = Random::new(seed, 0xda);
        let kind = order.kind.unwrap_or(Kind::ALL[(seed % Kind::ALL.len() as u64) as usize]);
        let case = Case { base, kind, scheme, place, skip_checks: order.skip_checks };
        let judged = case.judge(&mut random)?;
        report.add(kind, &judged.verdict);
        if let Verdict::Lost(what) | Verdict::Wrong(what) = &judged.verdict {
            let again = (order.again)(seed, kind, scheme);
            return Ok(Some(format!("{}: {}\n{what}\nagain: {again}", kind.name(), judged.what)));
        }
        bar.inc(1);
    }
    Ok(None)
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Files(error) => Self::Failed(format!("the rig's own files: {error}")),
            Trouble::NoThread(error) => threads::refused(error),
        }
    }
}
