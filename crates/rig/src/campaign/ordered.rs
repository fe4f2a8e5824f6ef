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
    use chiliad_driver::faults;

    fn run(workload: &'static str, seed: u64, plant: Option<&'static Fault>) -> Shown {
        let case = Ordered { workload, seed, cores: None, plant };
        case.run().expect("the host has room")
    }

    #[test]
    fn tasks_come_to_what_requests_one_after_another_do() {
        for seed in 0..4 {
            for workload in WORKLOADS {
                let shown = run(workload, seed, None);
                assert!(shown.passed(), "{workload} of seed {seed}: {}", shown.text);
            }
        }
    }

    #[test]
    fn a_case_is_a_function_of_its_seed() {
        for seed in 0..4 {
            let [one, other] = [(); 2].map(|()| run("tpcc", seed, None));
            assert_eq!((one.events, one.marks), (other.events, other.marks));
        }
    }

    /// Seeds at which bugs show: one or more of each kind. `chiliad campaign --plant all` has the others.
    const SEEDS: [(&str, u64); 7] = [
        ("swarm-no-tile-check", 0),
        ("swarm-sticky", 0),
        ("swarm-undo-order", 2),
        ("swarm-undo-unchecked", 1),
        ("swarm-column", 0),
        ("swarm-join", 0),
        ("swarm-log-early", 1),
    ];

    #[test]
    fn planted_bugs_are_caught() {
        let faults = faults();
        for (name, seed) in SEEDS {
            let fault = faults.iter().find(|fault| fault.name == name).expect("declared");
            let caught = (seed..u64::from(fault.seeds)).any(|seed| {
                let shown = run(fault.workload, seed, Some(fault));
                shown.verdicts.iter().any(|found| fault.expected.contains(&found.as_str()))
            });
            assert!(caught, "{name}: not caught");
        }
    }
}
