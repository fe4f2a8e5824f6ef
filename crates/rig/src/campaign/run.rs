//! An interleaving run and judged.

use super::case::Case;
use super::setup::Setup;
use super::shown::Shown;
use chiliad_checker::Recorder;
use chiliad_driver::{
    Deferrals, Failure, Judgement, SimulatedPlan, SimulatedReport, judge, load_simulated,
    open_simulated, run_explained,
};

/// Why a case could not be run or judged, which says nothing of the engine.
#[derive(Debug)]
pub enum Trouble {
    /// The driver's failure, before the cores have started.
    Driver(Failure),
    /// The recorded history could not be judged.
    Unjudged(String),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Driver(failure)
    }
}

impl Case {
    /// Runs it.
    ///
    /// # Errors
    /// [`Trouble`]: why it could not be run or judged.
    pub fn run(&self) -> Result<Shown, Trouble> {
        let refused = |error| Failure::Engine { doing: "making up the case", error };
        let setup = self.setup().map_err(refused)?;
        let Setup { scheme, workload, opening, plan } = &setup;
        let load = |plan: &SimulatedPlan| {
            load_simulated(plan, || open_simulated(scheme, workload, opening.clone()))
        };
        let loaded = load(plan)?;
        let judgement = Judgement::new(loaded.target(), true).map_err(Trouble::Unjudged)?;
        let mut report = run_explained(loaded, plan, load)?;
        let mut shown = Shown {
            marks: report.outcome.marks.iter().copied().collect(),
            events: report.outcome.events,
            ..Shown::default()
        };
        let recorders = std::mem::take(&mut report.recorders);
        // Cores that did not return have taken what they recorded with them.
        if shown.ended(&report) {
            let judgement = Judgement { complete: report.complete, ..judgement };
            shown.judged(&judgement, recorders)?;
        }
        let problem = report.deferrals.as_ref().and_then(Deferrals::problem);
        if let Some(problem) = problem.filter(|_| shown.passed()) {
            shown.add("deferred", &problem);
        }
        let conditions = report.conditions.iter().flatten();
        let failed = conditions.filter_map(|condition| {
            let failure = condition.failure.as_ref()?;
            Some(format!("{}: {failure}", condition.name))
        });
        let failed: Vec<String> = failed.collect();
        if !failed.is_empty() {
            shown.add("consistency", &failed.join("\n"));
        }
        if !report.differences.is_empty() {
            shown.add("digest differs", &report.differences.join("\n"));
        }
        Ok(shown)
    }
}

impl Shown {
    /// Takes note of how the run ended; whether all cores returned without a failure.
    fn ended(&mut self, report: &SimulatedReport) -> bool {
        let verdict = &report.outcome.verdict;
        let returned = verdict.is_completed();
        let mut failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
        failures.extend((!returned).then(|| verdict.to_string()));
        let passed = failures.is_empty();
        if !passed {
            self.add(if returned { "failed" } else { verdict.name() }, &failures.join("\n"));
        }
        passed
    }

    /// Has the checker judge what was recorded.
    fn judged(&mut self, judgement: &Judgement, recorders: Vec<Recorder>) -> Result<(), Trouble> {
        let verdict = judge(judgement, recorders)
            .map_err(|error| Trouble::Unjudged(format!("the recorded history: {error}")))?;
        self.transactions = verdict.transactions;
        for anomaly in verdict.anomalies.iter().filter(|anomaly| anomaly.violation) {
            self.add(anomaly.class.name(), &anomaly.text);
        }
        if !verdict.complete {
            self.add("incomplete", "the history reached its limit of memory");
        }
        Ok(())
    }
}
