//! The parent: cycle after cycle, start, kill, compare.

use super::process::{Heard, Process};
use super::report::{Ending, Report};
use crate::args::{CrashDurability, CrashFlags};
use crate::directory::refusal;
use crate::{host, settings};
use chiliad::{Database, Options, Scheme};
use chiliad_host::Leftover;
use chiliad_host::Listening;
use chiliad_host::Sink;
use chiliad_host::Stop;
use chiliad_host::output::complain;
use chiliad_lab::spec;
use chiliad_machine::disk::{Lock, NativeDisk};
use chiliad_rig::kill::{Cycle, End, Findings, Ledger, Said, WINDOW};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs the cycles.
pub fn run(flags: &CrashFlags) -> Result<(), Stop> {
    let info = settings::scheme(&flags.scheme)?;
    if !spec::promises_transactions(info) {
        let problem = format!("`{}` has no transactions; accepted: a scheme that has", info.name);
        return Err(Stop::bad("--scheme", problem));
    }
    let scheme: Scheme = flags.scheme.parse().map_err(|error| Stop::bad("--scheme", error))?;
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let mut place = Place::new(flags.data.as_deref())?;
    let in_flight = match flags.durability {
        CrashDurability::Sync => 1,
        // Committed, or acknowledged and not sent yet.
        CrashDurability::Epoch => 2 * WINDOW as u64,
    };
    let mut run = Run {
        flags,
        scheme,
        threads: flags.threads.unwrap_or_else(host::cores),
        ledger: Ledger::new(flags.workload.work(), in_flight),
        report: Report::default(),
        opening: Duration::from_millis(20),
    };
    run.adopt(&place.path)?;
    place.begin()?;
    let listening = Listening::begin();
    let bar = bar(flags.cycles, flags.quiet);
    let started = Instant::now();
    let result = run.cycles(&place.path, &bar, &listening);
    run.report.seconds = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let failure = result.err().or_else(|| run.report.problem().map(Stop::Failed));
    let failed = !matches!(failure, None | Some(Stop::Interrupted));
    if failed {
        place.keep();
    }
    let text = run.report.text(flags, run.threads);
    match failed {
        true => complain(&text),
        false => sink.say(&text)?,
    }
    sink.json(&run.report.json(flags, run.threads))?;
    sink.finish()?;
    let Some(failure) = failure else { return Ok(()) };
    let kept = format!("the directory is kept: {}", place.path.display());
    Err(match failure {
        Stop::Failed(text) => Stop::Failed(format!("{text}\n{kept}")),
        other => other,
    })
}

struct Run<'a> {
    flags: &'a CrashFlags,
    scheme: Scheme,
    threads: usize,
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
        if !self.flags.workload.work().made(&found.tables) {
            let place = data.display();
            let workload = crate::args::typed(&self.flags.workload);
            let problem = format!(
                "{place} holds a database of another kind; accepted: an empty directory, or one \
                 that `chiliad crash --workload {workload}` has made"
            );
            return Err(Stop::bad("--data", problem));
        }
        let mut findings = Findings::default();
        let options = Options::default().scheme(self.scheme).read_only(true);
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
        for number in 0..self.flags.cycles {
            listening.check()?;
            let cycle = Cycle::draw(self.flags.seed, number, self.opening);
            let mut findings = Findings::default();
            self.live(data, number, cycle, &mut findings)?;
            self.look(data, cycle.parent_writes, &mut findings)?;
            let is_clean = findings.is_clean();
            self.report.add(number, findings);
            if !is_clean {
                return Ok(());
            }
            let acknowledged = chiliad_host::text::thousands(self.report.acknowledged);
            bar.set_message(format!("{acknowledged} acknowledged"));
            bar.inc(1);
        }
        Ok(())
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
        let mut process = Process::start(self.flags, self.threads, data, number, checkpoints)?;
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
        let options = Options::default().scheme(self.scheme).read_only(!writes && has_database);
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

/// The directory of a run.
struct Place {
    path: PathBuf,
    /// It was missing: a temporary one goes when the run is over, one that was asked for until the run
    /// begins.
    leftover: Option<Leftover>,
    temporary: bool,
}

impl Place {
    fn new(given: Option<&Path>) -> Result<Self, Stop> {
        let refuse = |path: &Path, error: std::io::Error| match given {
            Some(_) => {
                let accepted = "accepted: a directory that can be written to, or a name for one";
                Stop::bad("--data", format!("{}: {error}; {accepted}", path.display()))
            }
            None => Stop::bad(path.display(), format!("{error}; accepted: --data DIR")),
        };
        let name = format!("chiliad-crash-{}", std::process::id());
        let path = given.map_or_else(|| std::env::temp_dir().join(name), Path::to_owned);
        let leftover = match path.exists() && given.is_some() {
            true => {
                std::fs::read_dir(&path).map_err(|error| refuse(&path, error))?;
                None
            }
            false => Some(Leftover::tree(&path).map_err(|error| refuse(&path, error))?),
        };
        Ok(Self { path, leftover, temporary: given.is_none() })
    }

    /// Processes will write to it, once it is known that they can.
    fn begin(&mut self) -> Result<(), Stop> {
        NativeDisk::open(&self.path, Lock::Exclusive).map_err(|error| {
            let accepted = "accepted: a directory that can be written to, and nobody else uses";
            Stop::bad("--data", format!("{}: {error}; {accepted}", self.path.display()))
        })?;
        if !self.temporary {
            self.keep();
        }
        Ok(())
    }

    fn keep(&mut self) {
        if let Some(made) = self.leftover.take() {
            made.keep();
        }
    }
}

fn bar(cycles: u64, quiet: bool) -> ProgressBar {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(cycles) };
    if let Ok(style) =
        ProgressStyle::with_template("{pos} of {len} [{bar:30}] {per_sec}, {eta} left, {msg}")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
