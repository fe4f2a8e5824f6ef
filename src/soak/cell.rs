//! One cell: a scheme, a workload, a number of transactions in flight and a machine.

use crate::args::{
    self, BenchCommand, BenchWorkload, Command, SimulateCommand, SimulateWorkload, each_workload,
};
use crate::bench::stop;
use crate::failure::Stop;
use crate::{bench, interrupt, settings, simulate};
use chiliad_engine::Reason;
use chiliad_machine::Ticks;
use chiliad_workload::driver::{Failure, Progress, Tally, run_loaded, run_native};
use std::time::Duration;

/// Cores, and clients, of a simulated cell.
const CORES: usize = 4;

/// What a simulated cell runs for, and after what time without a commit it fails. Simulated time: on a timed
/// machine a cycle is a nanosecond, and where events are drawn one event is a microsecond.
const TIMED: (Duration, Duration) = (Duration::from_millis(3), Duration::from_millis(3));
const EXPLORED: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(4));

/// The workloads that cells know.
pub const WORKLOADS: [&str; 4] = ["scan", "hash", "bank", "ycsb"];

/// Where a cell runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum On {
    /// The host's cores.
    Native,
    /// Simulated cores whose time passes.
    Timed,
    /// Simulated cores in an order that the seed draws.
    Explored,
}

impl On {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Timed => "timed",
            Self::Explored => "explored",
        }
    }

    /// The unit of its time.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Native => "ms",
            Self::Timed => "cycles",
            Self::Explored => "events",
        }
    }
}

/// A cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell {
    /// Where it runs.
    pub on: On,
    /// The scheme's name.
    pub scheme: &'static str,
    /// The workload's name.
    pub workload: &'static str,
    /// Transactions that each client has in flight.
    pub interleave: usize,
}

/// What the runs of a cell have in common.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Cores of native cells; each has a client or two.
    pub cores: usize,
    /// How long native cells run.
    pub length: Duration,
    /// For how long nobody may have committed in them.
    pub idle_max: Duration,
}

impl Load {
    /// Where no cell is native.
    pub fn simulated() -> Self {
        Self { cores: 1, length: Duration::ZERO, idle_max: Duration::MAX }
    }
}

/// What a run has come to.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub committed: u64,
    /// Attempts that were refused.
    pub refused: u64,
    /// Its length, in ticks of its machine.
    pub length: Ticks,
    /// The longest time without a commit.
    pub longest_idle: Ticks,
    /// How long the machine stood still in all.
    pub stood_still: Ticks,
    /// What is wrong, by name and for people; `None` if nothing is.
    pub wrong: Option<(String, String)>,
    /// Simulated events.
    pub events: u64,
    /// Rare branches taken.
    pub marks: Vec<&'static str>,
}

/// The verdict where nobody has committed for too long.
pub const STARVED: &str = "starved";

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
    /// The command line of a run like this.
    fn words(&self, seed: u64, load: &Load, plant: Option<&str>) -> Vec<String> {
        let Self { on, scheme, workload, interleave } = *self;
        let command = if on == On::Native { "bench" } else { "simulate" };
        let mut line = format!(
            "{command} {workload} --scheme {scheme} --interleave {interleave} --seed {seed} \
             --warmup 0s --backoff exponential"
        );
        match on {
            On::Native => {
                let clients = load.cores * (1 + seed as usize % 2);
                line.push_str(&format!(" --threads {} --clients {clients}", load.cores));
            }
            On::Timed => line.push_str(&format!(" --cores {CORES} --epoch 100us")),
            On::Explored => line.push_str(&format!(" --cores {CORES} --schedule random")),
        }
        if workload == "ycsb" {
            line.push_str(" --records 100 --record-bytes 16 --ops 8 --theta 0.95 --rmw");
            line.push_str(" --scan-ratio 0 --index ");
            line.push_str(if (seed / 2).is_multiple_of(2) { "ordered" } else { "hash" });
            if settings::scheme(scheme).is_ok_and(|info| info.needs_partitions) {
                line.push_str(" --partitions 4 --multi-partition 20");
            }
        }
        if let Some(plant) = plant {
            line.push_str(&format!(" --plant {plant}"));
        }
        line.split(' ').map(str::to_owned).collect()
    }

    /// What to type to run it again.
    pub fn line(&self, seed: u64) -> String {
        let Self { on, scheme, workload, interleave } = self;
        let machine = if *on == On::Native { "native" } else { "simulated" };
        format!(
            "chiliad soak --{machine} --scheme {scheme} --workload {workload} --interleave \
             {interleave} --seed {seed}"
        )
    }

    /// Runs it.
    pub fn run(&self, seed: u64, load: &Load, plant: Option<&str>) -> Result<Measured, Stop> {
        match args::parse(&self.words(seed, load, plant))?.command {
            Command::Bench(BenchCommand::Workload(bench)) => {
                let settings =
                    each_workload!(bench, BenchWorkload, flags => settings::native(&flags))?;
                native(settings, load)
            }
            Command::Simulate(SimulateCommand::Workload(run)) => {
                let (settings, plan) =
                    each_workload!(run, SimulateWorkload, flags => settings::simulated(&flags))?;
                self.simulated(&settings, plan)
            }
            _ => Err(Stop::Failed("not a run".into())),
        }
    }

    fn simulated(
        &self,
        settings: &settings::Settings,
        mut plan: chiliad_workload::driver::SimulatedPlan,
    ) -> Result<Measured, Stop> {
        let (length, idle_max) = if self.on == On::Timed { TIMED } else { EXPLORED };
        plan.plan.watched(length, idle_max);
        plan.plan.rehearsals = 0;
        plan.config.events_max = u64::MAX;
        let report = run_loaded(simulate::load(settings, &plan)?, &plan).map_err(stop)?;
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
}

/// A signal ends a cell early.
struct Listens;

impl Progress for Listens {
    fn interrupted(&self) -> bool {
        interrupt::asked()
    }
}

fn native(mut settings: settings::Settings, load: &Load) -> Result<Measured, Stop> {
    settings.plan.watched(load.length, load.idle_max);
    let target = bench::open(&settings)?;
    let report = match run_native(&*target, &settings.plan, &Listens) {
        Ok(report) => report,
        // No verdict on the scheme.
        Err(failure @ (Failure::Host(_) | Failure::Interrupted)) => return Err(stop(failure)),
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
