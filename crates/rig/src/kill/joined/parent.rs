//! The parent: cycle after cycle, start, kill, compare.

use super::cycle::{Cycle, LogFaults};
use super::fleet::Fleet;
use super::log_servers::LogServers;
use super::order::SharedOrder;
use super::report::Report;
use super::server::Server;
use crate::kill::child::Child;
use crate::kill::ledger::{Findings, Ledger};
use crate::kill::victim::Work;
use chiliad_host::bar::bar;
use chiliad_host::text::thousands;
use chiliad_host::{Listening, Stop};
use indicatif::ProgressBar;
use std::time::Instant;

/// Transactions of a client that may be there without having been acknowledged: the one that it was about to, and the
/// one of the client of that number in the process before, whose append the log may have taken late.
const IN_FLIGHT: u64 = 2;

/// The outcome of the cycles.
pub struct Outcome {
    report: Report,
    /// Why they ended early, or what was found amiss.
    pub failure: Option<Stop>,
}

impl Outcome {
    /// Something was found amiss, or the cycles could not be run to their end.
    #[must_use]
    pub fn failed(&self) -> bool {
        !matches!(self.failure, None | Some(Stop::Interrupted))
    }

    /// For people.
    #[must_use]
    pub fn text(&self, order: &SharedOrder<'_>) -> String {
        self.report.text(order)
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self, order: &SharedOrder<'_>) -> serde_json::Value {
        self.report.json(order)
    }
}

/// Runs the cycles. A signal ends them early; what came of them until then is reported.
///
/// # Errors
/// Before anything is killed: the log cannot be used, or is not empty.
pub fn run(order: &SharedOrder<'_>) -> Result<Outcome, Stop> {
    refuse_rows(order)?;
    let listening = Listening::begin();
    let template = "{pos} of {len} [{bar:30}] {per_sec}, {eta} left, {msg}";
    let bar = bar(order.cycles, template, order.quiet);
    let started = Instant::now();
    let log_servers = order.log_script.clone().map(|script| LogServers::new(script, order.log));
    let mut run = Run {
        order,
        ledger: Ledger::new(Work::Bank, IN_FLIGHT),
        log_faults: log_servers.as_ref().map_or(LogFaults::None, LogServers::faults),
        log_servers,
        report: Report::default(),
    };
    let result = run.cycles(&bar, &listening);
    run.report.seconds = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let failure = result.err().or_else(|| run.report.problem().map(Stop::Failed));
    Ok(Outcome { report: run.report, failure })
}

/// Refuses a log that cannot be used or has records in it.
fn refuse_rows(order: &SharedOrder<'_>) -> Result<(), Stop> {
    let bad = |error: String| Stop::bad("--shared-log", error);
    let log = chiliad::shared_log::open(order.log).map_err(|error| bad(error.to_string()))?;
    let bounds = log.bounds().map_err(|error| bad(error.to_string()))?;
    match bounds.end > 1 {
        true => Err(bad(format!(
            "{} holds a database; accepted: a log that is empty or missing",
            order.log
        ))),
        false => Ok(()),
    }
}

struct Run<'a> {
    order: &'a SharedOrder<'a>,
    ledger: Ledger,
    log_servers: Option<LogServers>,
    log_faults: LogFaults,
    report: Report,
}

impl Run<'_> {
    fn cycles(&mut self, bar: &ProgressBar, listening: &Listening) -> Result<(), Stop> {
        for number in 0..self.order.cycles {
            listening.check()?;
            let mut findings = Findings::default();
            let has = self.live(number, &mut findings)?;
            self.look(has, &mut findings);
            let is_clean = findings.is_clean();
            self.report.add(number, findings);
            if !is_clean {
                return Ok(());
            }
            bar.set_message(format!("{} acknowledged", thousands(self.report.acknowledged)));
            bar.inc(1);
        }
        Ok(())
    }

    /// Lets the processes live until the cycle is over; what each server has that was not killed.
    fn live(&mut self, number: u64, findings: &mut Findings) -> Result<Vec<String>, Stop> {
        let order = self.order;
        let processes = order.processes();
        let cycle = Cycle::draw(order.seed, number, processes, self.log_faults);
        let words = |process| {
            // One of them is enough: each trims the log for all.
            let checkpoints = cycle.checkpoints && process == number as usize % processes;
            let server = Server {
                log: order.log.into(),
                checkpoints_in: order.checkpoints_in.clone(),
                servers: order.servers / processes,
                first_client: process * order.threads,
                threads: order.threads,
                seed: order.seed,
                cycle: number,
                checkpoints,
                acknowledges_early: order.acknowledges_early,
            };
            Ok((order.child)(Child::Server(server).word()?))
        };
        let words = (0..processes).map(words).collect::<Result<_, Stop>>()?;
        let (ledger, report) = (&mut self.ledger, &mut self.report);
        let mut fleet = Fleet::start(words, cycle.early, ledger, report, findings)?;
        let log_servers = &mut self.log_servers;
        fleet.work(&cycle.events, cycle.work, log_servers, (ledger, report), findings)?;
        fleet.end(ledger, report, findings)
    }

    /// Joins as one more server, looks for all that was acknowledged, and compares the copies.
    fn look(&mut self, has: Vec<String>, findings: &mut Findings) {
        let looked = self.order.join().and_then(|db| {
            self.ledger.compare(&db, findings)?;
            db.fingerprint()
        });
        self.report.compared += has.len() as u64;
        let others = has.windows(2).find(|pair| pair[0] != pair[1]);
        findings.demand(others.is_none(), || format!("two servers differ: {others:?}"));
        match looked {
            Err(error) => findings.demand(false, || format!("the log is refused: {error}")),
            Ok(own) => {
                let own = own.unwrap_or_default();
                let other = has.iter().find(|other| rows(other) != rows(&own));
                findings.demand(other.is_none(), || format!("rows differ: {own}; {other:?}"));
            }
        }
    }
}

/// The part of a fingerprint about rows: the one about verdicts changes when a server joins.
fn rows(fingerprint: &str) -> &str {
    fingerprint.split_once(", ").map_or(fingerprint, |(_, rows)| rows)
}
