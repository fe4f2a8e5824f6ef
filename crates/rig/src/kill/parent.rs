//! The parent: cycle after cycle, start, kill, compare.

use super::child::Child;
use super::client::WINDOW;
use super::ledger::{Findings, Ledger};
use super::order::Order;
use super::place::Place;
use super::plan::{Cycle, End};
use super::report::{Ending, Report};
use super::said::Said;
use super::victim::Victim;
use crate::directory::refusal;
use chiliad::{Database, Options};
use chiliad_host::bar::bar;
use chiliad_host::text::thousands;
use chiliad_host::{Heard, Listening, Process, Stop};
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The outcome of the cycles.
pub struct Outcome {
    /// The counts.
    pub report: Report,
    /// Why they ended early, or what was found amiss.
    pub failure: Option<Stop>,
    /// The directory.
    pub data: PathBuf,
}

impl Outcome {
    /// Something was found amiss, or the cycles could not be run to their end; the directory is kept.
    #[must_use]
    pub fn failed(&self) -> bool {
        !matches!(self.failure, None | Some(Stop::Interrupted))
    }
}

/// Runs the cycles. A signal ends them early; what came of them until then is reported.
///
/// # Errors
/// Before anything is killed: the directory cannot be used.
pub fn run(order: &Order) -> Result<Outcome, Stop> {
    let mut place = Place::new(order.data.as_deref())?;
    // Committed, or acknowledged and not sent yet.
    let in_flight = if order.waits { 1 } else { 2 * WINDOW as u64 };
    let mut run = Run {
        order,
        ledger: Ledger::new(order.work, in_flight),
        report: Report::default(),
        opening: Duration::from_millis(20),
    };
    run.adopt(&place.path)?;
    place.begin()?;
    let listening = Listening::begin();
    let template = "{pos} of {len} [{bar:30}] {per_sec}, {eta} left, {msg}";
    let bar = bar(order.cycles, template, order.quiet);
    let started = Instant::now();
    let result = run.cycles(&place.path, &bar, &listening);
    run.report.seconds = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let failure = result.err().or_else(|| run.report.problem().map(Stop::Failed));
    let outcome = Outcome { report: run.report, failure, data: place.path.clone() };
    if outcome.failed() {
        place.keep();
    }
    Ok(outcome)
}

struct Run<'a> {
    order: &'a Order,
    ledger: Ledger,
    report: Report,
    /// How long it took last from the start of a process to an open database.
    opening: Duration,
}

impl Run<'_> {
    /// Takes over what an earlier run has left in the directory.
    fn adopt(&mut self, data: &Path) -> Result<(), Stop> {
        let is_empty = std::fs::read_dir(data).map_or(true, |mut names| names.next().is_none());
        if is_empty {
            return Ok(());
        }
        let refuse = |error| refusal(data, &error);
        let found = chiliad::directory::inspect(data, &|_, _, _| {}).map_err(refuse)?;
        if !self.order.work.made(&found.tables) {
            let place = data.display();
            let workload = self.order.work.name();
            let problem = format!(
                "{place} holds a database of another kind; accepted: an empty directory, or one \
                 that `chiliad crash --workload {workload}` has made"
            );
            return Err(Stop::bad("--data", problem));
        }
        let mut findings = Findings::default();
        let options = Options::default().scheme(self.order.scheme).read_only(true);
        let adopted =
            Database::open_with(data, options).and_then(|db| self.ledger.adopt(&db, &mut findings));
        adopted.map_err(refuse)?;
        match findings.problems.first() {
            None => Ok(()),
            Some(problem) => Err(Stop::bad("--data", format!("{}: {problem}", data.display()))),
        }
    }

    fn cycles(
        &mut self,
        data: &Path,
        bar: &ProgressBar,
        listening: &Listening,
    ) -> Result<(), Stop> {
        for number in 0..self.order.cycles {
            listening.check()?;
            let cycle = Cycle::draw(self.order.seed, number, self.opening);
            let mut findings = Findings::default();
            self.live(data, number, cycle, &mut findings)?;
            self.look(data, cycle.parent_writes, &mut findings)?;
            let is_clean = findings.is_clean();
            self.report.add(number, findings);
            if !is_clean {
                return Ok(());
            }
            let acknowledged = thousands(self.report.acknowledged);
            bar.set_message(format!("{acknowledged} acknowledged"));
            bar.inc(1);
        }
        Ok(())
    }

    /// The process of cycle `number`.
    fn victim(&self, data: &Path, number: u64, checkpoints: bool) -> Child {
        let Order { work, threads, scheme, acknowledges, seed, .. } = self.order;
        Child::Victim(Victim {
            data: data.to_owned(),
            work: *work,
            threads: *threads,
            scheme: scheme.name().into(),
            acknowledges: *acknowledges,
            seed: *seed,
            cycle: number,
            checkpoints,
        })
    }

    /// Lets a process live until its end has come.
    fn live(
        &mut self,
        data: &Path,
        number: u64,
        cycle: Cycle,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        let checkpoints = matches!(cycle.end, End::Checkpoint(_));
        let started = Instant::now();
        let words = (self.order.child)(self.victim(data, number, checkpoints).word()?);
        let mut process = Process::start(words, Said::read)?;
        let mut ending = Ending::Opening;
        let mut deadline = match cycle.end {
            End::Opening(after) => Some(started + after),
            _ => None,
        };
        let mut over = false;
        loop {
            // Once it is over what is left in the pipe is read to its end.
            match process.hear(deadline.filter(|_| !over))? {
                Heard::Said(said) => {
                    if !over {
                        ending.follow(&said);
                    }
                    match (&said, cycle.end) {
                        (Said::Opened(time), _) => {
                            self.opening = started.elapsed();
                            self.report.openings_us.push(*time);
                        }
                        (Said::Ready, End::Working(after) | End::Close(after))
                        | (Said::CheckpointBegins, End::Checkpoint(after)) => {
                            deadline.get_or_insert_with(|| Instant::now() + after);
                        }
                        _ => {}
                    }
                    if self.ledger.note(&said, findings) {
                        self.report.acknowledged += 1;
                    }
                }
                Heard::Time => {
                    over = true;
                    match cycle.end {
                        End::Close(_) => process.close(),
                        _ => process.kill()?,
                    }
                }
                Heard::End => break,
            }
        }
        let ended = process.wait()?;
        let closes = matches!(cycle.end, End::Close(_));
        findings.demand(over && ended.orderly == closes, || {
            format!("the process ended by itself: {}", ended.why)
        });
        self.report.ended(if closes { Ending::Closed } else { ending });
        Ok(())
    }

    /// Opens the directory and compares.
    fn look(&mut self, data: &Path, writes: bool, findings: &mut Findings) -> Result<(), Stop> {
        let has_database = std::fs::read_dir(data)
            .is_ok_and(|names| names.flatten().any(|name| name.file_name() == "MANIFEST"));
        // Before there is a manifest there is nothing to look at.
        let options =
            Options::default().scheme(self.order.scheme).read_only(!writes && has_database);
        let start = Instant::now();
        let looked = Database::open_with(data, options).and_then(|db| {
            self.report.looks_us.push(start.elapsed().as_micros() as u64);
            self.ledger.compare(&db, findings)
        });
        if let Err(error) = looked {
            findings.demand(false, || format!("the directory is refused: {error}"));
        }
        Ok(())
    }
}
