//! One case: a command line of `chiliad simulate`, and what running it shows.

use crate::args::{self, Command, SimulateCommand, SimulateWorkload, each_workload};
use crate::failure::Stop;
use crate::result::RunResult;
use crate::runs::Files;
use crate::{settings, simulate};
use chiliad_engine::Timestamps;
use chiliad_machine::{MutexKind, Rig};

/// A simulated, verified run.
#[derive(Clone)]
pub struct Case {
    /// The workload's name.
    pub workload: &'static str,
    /// The scheme's name.
    pub scheme: &'static str,
    /// The seed.
    pub seed: u64,
    /// Simulated cores.
    pub cores: usize,
    /// Transactions in flight on each.
    pub interleave: usize,
    /// Total store order rather than sequential consistency.
    pub tso: bool,
    /// Few preemptions rather than a random schedule.
    pub few_preemptions: bool,
    /// More rows and more transactions than the workload's own micro scale, so that nodes divide
    /// and go while clients are at work.
    pub large: bool,
    /// No snapshots of the past, so that what is overwritten and removed goes at once, in the same
    /// commit epoch.
    pub no_snapshots: bool,
    /// Epochs a tenth as long, so that snapshots and what collects after them are seldom far off.
    pub short_epochs: bool,
    /// YCSB's transactions lock in the order of keys, and wait for ever rather than look for
    /// deadlocks.
    pub in_order: bool,
    /// TPC-C's items are in an ordinary table.
    pub no_read_only: bool,
    /// Where timestamps come from: each kind in turn.
    pub timestamps: &'static str,
    /// How those wait who draw them under a mutex: each way in turn.
    pub latch: &'static str,
    /// A planted bug.
    pub plant: Option<&'static str>,
}

/// What a case showed.
#[derive(Default)]
pub struct Shown {
    /// What is wrong, by name: anomaly classes, `consistency`, how the machine stopped. Empty if
    /// nothing is.
    pub verdicts: Vec<String>,
    /// The same for people, with the cycle.
    pub text: String,
    /// Rare branches taken.
    pub marks: Vec<&'static str>,
    /// Transactions checked.
    pub transactions: u64,
    /// Events simulated.
    pub events: u64,
}

impl Case {
    /// The case of `seed`: half the seeds under total store order, the schedules in turn, a quarter
    /// larger than the others, a third without snapshots, a third with many epochs, timestamps of
    /// each kind in turn, a seventh locking in order, two
    /// fifths without read-only tables, a third with two or three transactions in flight on each core,
    /// 4 to 8 cores unless told.
    pub fn new(
        workload: &'static str,
        scheme: &'static str,
        seed: u64,
        cores: Option<usize>,
    ) -> Self {
        Self {
            workload,
            scheme,
            seed,
            cores: cores.unwrap_or(4 + (seed % 5) as usize),
            interleave: if seed / 3 % 3 == 2 { Self::crew(seed / 9) } else { 1 },
            tso: seed % 2 == 1,
            few_preemptions: seed / 2 % 2 == 1,
            large: seed / 4 % 4 == 3,
            no_snapshots: seed % 3 == 1,
            short_epochs: seed % 3 == 2,
            in_order: seed % 7 == 6,
            no_read_only: seed % 5 > 2,
            timestamps: Timestamps::ALL[(seed / 2 % 5) as usize].name(),
            latch: MutexKind::ALL[(seed / 10 % 4) as usize].name(),
            plant: None,
        }
    }

    /// Two or three members in turn.
    fn crew(seed: u64) -> usize {
        2 + (seed % 2) as usize
    }

    /// The same under the memory model of `rig`, and with siblings only if it is for them, unless told.
    pub fn on(self, rig: Rig, interleave: Option<usize>) -> Self {
        let own = if rig == Rig::SimCrews { Self::crew(self.seed) } else { 1 };
        Self { tso: rig == Rig::SimTso, interleave: interleave.unwrap_or(own), ..self }
    }

    /// The same with a planted bug.
    pub fn plant(self, name: &'static str) -> Self {
        Self { plant: Some(name), ..self }
    }

    /// The words after the program's name.
    fn words(&self) -> Vec<String> {
        let schedule = if self.few_preemptions { "few-preemptions" } else { "random" };
        let memory_model = if self.tso { "tso" } else { "sc" };
        let mut line = format!(
            "simulate {} --scheme {} --cores {} --seed {} --schedule {schedule} --memory-model \
             {memory_model} --timestamps {} --verify",
            self.workload, self.scheme, self.cores, self.seed, self.timestamps
        );
        if self.timestamps == Timestamps::Latched.name() {
            line.push_str(&format!(" --latch {}", self.latch));
        }
        if matches!(self.workload, "scan" | "hash") {
            let (keys, each) = if self.large { (160, 80) } else { (40, 40) };
            let all = each * self.cores * self.interleave;
            line.push_str(&format!(" --keys {keys} --transactions {all}"));
        }
        if self.workload == "ycsb" && self.in_order {
            line.push_str(" --lock-order key --wait-timeout none --deadlock-check none");
        }
        if self.workload == "tpcc" && self.no_read_only {
            line.push_str(" --read-only-tables no");
        }
        if self.interleave > 1 {
            line.push_str(&format!(" --interleave {}", self.interleave));
        }
        if self.short_epochs {
            line.push_str(" --epoch 50us");
        }
        if self.no_snapshots {
            line.push_str(" --snapshots off");
        }
        if let Some(plant) = self.plant {
            line.push_str(&format!(" --plant {plant}"));
        }
        line.split(' ').map(str::to_owned).collect()
    }

    /// What to type to run the case.
    pub fn line(&self) -> String {
        format!("chiliad {}", self.words().join(" "))
    }

    /// Runs it.
    pub fn run(&self) -> Result<Shown, Stop> {
        let mut files = Files::default();
        let Command::Simulate(SimulateCommand::Workload(simulate)) =
            args::parse(&self.words())?.command
        else {
            return Err(Stop::Failed("not a simulated run".into()));
        };
        let (settings, plan) =
            each_workload!(simulate, SimulateWorkload, flags => settings::simulated(&flags))?;
        let result = simulate::run(&settings, &plan, &mut files)?;
        Ok(Shown::new(&result))
    }
}

impl Shown {
    fn new(result: &RunResult) -> Self {
        let mut shown = Self::default();
        if let Some(simulation) = &result.simulation {
            shown.marks.clone_from(&simulation.marks);
            shown.events = simulation.events;
            if simulation.verdict != "completed" {
                shown.add(simulation.verdict, &simulation.failures.join("\n"));
            }
        }
        if let Some(verified) = &result.verified {
            shown.transactions = verified.transactions;
            for anomaly in verified.anomalies.iter().filter(|anomaly| anomaly.violation) {
                shown.add(anomaly.class, &anomaly.text);
            }
            if !verified.complete {
                shown.add("incomplete", "the history reached its limit of memory");
            }
        }
        if let Some(consistency) = result.consistency.as_ref().filter(|c| !c.failed.is_empty()) {
            shown.add("consistency", &consistency.failed.join("\n"));
        }
        shown
    }

    /// Adds something that is wrong, unless it is known.
    pub fn add(&mut self, verdict: &str, text: &str) {
        if !self.verdicts.iter().any(|known| known == verdict) {
            self.verdicts.push(verdict.to_owned());
            self.text.push_str(&format!("{verdict}\n{}\n", text.trim_end()));
        }
    }

    /// Nothing is wrong.
    pub fn passed(&self) -> bool {
        self.verdicts.is_empty()
    }
}
