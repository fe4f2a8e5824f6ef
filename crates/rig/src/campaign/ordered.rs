//! One case of the rig of tasks: transactions as ordered tasks on small hardware that speculates.

use super::run::Trouble;
use super::shown::Shown;
use super::small::small;
use crate::TaskCase;
use chiliad_machine::Fault;

/// The requests of a seed as ordered tasks.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// The workload's name.
    pub workload: &'static str,
    /// The seed.
    pub seed: u64,
    /// The cores, whatever the seed says.
    pub cores: Option<usize>,
    /// A planted bug.
    pub plant: Option<&'static Fault>,
}

impl Ordered {
    /// Runs it, and compares what it leaves with what the oracles say.
    ///
    /// # Errors
    /// [`Trouble`]: why it could not be run.
    pub fn run(&self) -> Result<Shown, Trouble> {
        let workload = small(self.workload).0;
        let case = TaskCase { workload, seed: self.seed, cores: self.cores, plant: self.plant };
        let report = case.run()?;
        let mut shown = Shown {
            marks: report.marks.into_iter().collect(),
            transactions: report.transactions,
            events: report.events,
            ..Shown::default()
        };
        report.wrong.iter().for_each(|(verdict, text)| shown.add(verdict, text));
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::WORKLOADS;

    fn run(case: &Ordered) -> Shown {
        case.run().expect("the host has room")
    }

    #[test]
    fn tasks_come_to_what_requests_one_after_another_do() {
        for seed in 0..6 {
            for workload in WORKLOADS {
                let shown = run(&Ordered { workload, seed, cores: None, plant: None });
                assert!(shown.passed(), "{workload} of seed {seed}: {}", shown.text);
            }
        }
    }
}
