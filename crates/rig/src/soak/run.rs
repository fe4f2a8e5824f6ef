//! A cell run, and what it has come to.

use super::cell::{Cell, Load};
use super::setup::{Run, Setup};
use chiliad_driver::{
    Failure, Plan, Progress, SimulatedPlan, Tally, open_native, open_simulated, run_native,
    run_simulated,
};
use chiliad_engine::Reason;
use chiliad_machine::{Fault, Ticks};

/// The outcome of a run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Transactions that committed.
    pub committed: u64,
    /// Attempts that were refused.
    pub refused: u64,
    /// Its length, in ticks of its machine.
    pub length: Ticks,
    /// The longest time without a commit.
    pub longest_idle: Ticks,
    /// How long the machine stood still in all.
    pub stood_still: Ticks,
    /// The problem, by name and for people; `None` if there is none.
    pub wrong: Option<(String, String)>,
    /// Simulated events.
    pub events: u64,
    /// Rare branches taken.
    pub marks: Vec<&'static str>,
}

/// The verdict where nobody has committed for too long.
const STARVED: &str = "starved";

impl Measured {
    fn new(tally: &Tally) -> Self {
        Self { committed: tally.committed(), refused: tally.aborted(), ..Self::default() }
    }

    fn starved(&mut self, tally: &Tally) {
        let counts = Reason::ALL.iter().zip(&tally.reasons).filter(|&(_, &count)| count > 0);
        let refused: Vec<String> =
            counts.map(|(reason, count)| format!("{} {count}", reason.name())).collect();
        let text = format!("nobody has committed for too long; refused: {}", refused.join(", "));
        self.wrong.get_or_insert((STARVED.to_owned(), text));
    }
}

impl Cell {
    /// Runs it; `progress` can end a native cell early.
    ///
    /// # Errors
    /// The host has no room for the run, which is no verdict on the scheme.
    pub fn run(
        &self,
        seed: u64,
        load: &Load<'_>,
        plant: Option<&'static Fault>,
        progress: &dyn Progress,
    ) -> Result<Measured, Failure> {
        let refused = |error| Failure::Engine { doing: "making up the cell", error };
        self.setup(seed, load, plant).map_err(refused)?.measure(progress)
    }
}

impl Setup {
    /// Runs it; `progress` can end a native one early.
    ///
    /// # Errors
    /// As [`Cell::run`].
    pub fn measure(&self, progress: &dyn Progress) -> Result<Measured, Failure> {
        match &self.run {
            Run::Native(plan) => self.native(plan, progress),
            Run::Simulated(plan) => self.simulated(plan),
        }
    }

    fn simulated(&self, plan: &SimulatedPlan) -> Result<Measured, Failure> {
        let open = || open_simulated(self.scheme, &self.workload, self.engine.clone());
        let report = run_simulated(plan, open)?;
        let mut measured = Measured {
            length: report.ticks,
            longest_idle: report.idle.longest,
            events: report.outcome.events,
            marks: report.outcome.marks.iter().copied().collect(),
            ..Measured::new(&report.tally)
        };
        let verdict = &report.outcome.verdict;
        if let Some(failure) = report.failures.first() {
            measured.wrong = Some(("failed".to_owned(), failure.to_string()));
        } else if !verdict.is_completed() {
            measured.wrong = Some((verdict.name().to_owned(), verdict.to_string()));
        } else if report.idle.exceeded {
            measured.starved(&report.tally);
        }
        Ok(measured)
    }

    fn native(&self, plan: &Plan, progress: &dyn Progress) -> Result<Measured, Failure> {
        let target = open_native(self.scheme, &self.workload, self.engine.clone(), None)?;
        let report = match run_native(&*target, plan, progress) {
            Ok(report) => report,
            // No verdict on the scheme.
            Err(failure @ (Failure::Host(_) | Failure::Interrupted)) => return Err(failure),
            Err(failure) => {
                let wrong = Some(("failed".to_owned(), failure.to_string()));
                return Ok(Measured { wrong, ..Measured::default() });
            }
        };
        let mut measured = Measured {
            length: (report.seconds * 1e9) as Ticks,
            longest_idle: report.idle.longest,
            stood_still: report.idle.stood_still,
            ..Measured::new(&report.tally)
        };
        if report.idle.exceeded {
            measured.starved(&report.tally);
        }
        Ok(measured)
    }
}
