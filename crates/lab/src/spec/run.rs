//! A run of a workload.

use super::machine::{MachineSpec, Order, Price};
use chiliad_driver::{ClusterOptions, On, Opening, OrderedOptions, Plan, SimulatedPlan, explored};
use chiliad_engine::{DurableOptions, Info, Options};
use chiliad_host::Stop;
use chiliad_machine::shared_log::SharedLog;
use chiliad_workload::WorkloadOptions;
use chiliad_workload::tpcc::Scale;
use std::path::PathBuf;
use std::sync::Arc;

/// A run of a workload, with every default filled in.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The scheme.
    pub scheme: &'static Info,
    /// The workload with its options.
    pub workload: WorkloadOptions,
    /// The workload is one of a handful of rows.
    pub micro: bool,
    /// How the database is opened.
    pub engine: Options,
    /// The servers, where the scheme has some that share a log.
    pub cluster: ClusterOptions,
    /// How transactions are ordered tasks, where the scheme has them so.
    pub ordered: OrderedOptions,
    /// The plan of the clients, with the seed.
    pub plan: Plan,
    /// The place that it runs on.
    pub on: Place,
    /// Check the history and the conditions.
    pub verify: bool,
    /// Memory for the history, in bytes.
    pub verify_memory: u64,
    /// How often it runs.
    pub repeat: usize,
}

/// The place of a run.
#[derive(Clone, Debug)]
pub enum Place {
    /// The host's cores.
    Host(HostSpec),
    /// Simulated ones.
    Simulated(MachineSpec),
}

/// Settings that only a run on the host's cores has.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    /// Whether trials choose how many transactions each client has in flight.
    pub trials: Trials,
    /// How the run uses its disk; `None`: not at all.
    pub storage: Option<Storage>,
    /// The log that its servers share; `None`: one of its own, which goes with the run.
    pub shared_log: Option<SharedLogSpec>,
}

/// A log that servers share and that stays.
#[derive(Clone, Debug)]
pub struct SharedLogSpec {
    /// Its name.
    pub name: String,
    /// Opens it.
    pub open: OpenLog,
    /// Each server is a process of its own.
    pub apart: bool,
    /// Which of them this process is: 0 loads the rows, starts the others and judges.
    pub server: usize,
    /// The words, after the program's name, that start another one, but for its number, which comes last.
    pub words: Vec<String>,
}

/// Opens a shared log by its name.
pub type OpenLog = fn(&str) -> Result<Arc<dyn SharedLog>, Stop>;

/// Trials that choose how many transactions each client has in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trials {
    /// None: the plan says it.
    #[default]
    None,
    /// Before the run.
    Ahead,
    /// They were made, and the plan has their choice.
    Made,
}

/// A run with a log.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The directory; `None`: a temporary one.
    pub data: Option<PathBuf>,
    /// How it is used.
    pub options: DurableOptions,
}

impl Place {
    /// The kind of place.
    #[must_use]
    pub fn kind(&self) -> On {
        match self {
            Self::Host(_) => On::Native,
            Self::Simulated(machine) if machine.timed().is_some() => On::Timed,
            Self::Simulated(_) => On::Explored,
        }
    }
}

impl RunSpec {
    /// The options that a database is opened with.
    #[must_use]
    pub fn opening(&self) -> Opening {
        Opening { engine: self.engine.clone(), cluster: self.cluster.clone() }
    }

    /// The simulated machine, if it runs on one.
    #[must_use]
    pub fn machine(&self) -> Option<&MachineSpec> {
        match &self.on {
            Place::Host(_) => None,
            Place::Simulated(machine) => Some(machine),
        }
    }

    /// The plan for the simulated driver, if the run is simulated.
    #[must_use]
    pub fn simulated(&self) -> Option<SimulatedPlan> {
        let machine = self.machine()?;
        let mut config = machine.config(self.plan.seed);
        if machine.timed().is_none() {
            config.events_max = explored::events_max(&self.plan);
        }
        Some(SimulatedPlan { plan: self.plan.clone(), config })
    }

    /// How the run uses the host's disk, if it does.
    #[must_use]
    pub fn storage(&self) -> Option<&Storage> {
        match &self.on {
            Place::Host(host) => host.storage.as_ref(),
            Place::Simulated(_) => None,
        }
    }

    /// The log that its servers share, where that stays.
    #[must_use]
    pub fn shared_log(&self) -> Option<&SharedLogSpec> {
        match &self.on {
            Place::Host(host) => host.shared_log.as_ref(),
            Place::Simulated(_) => None,
        }
    }

    /// Says with which words another process of the run is started: see [`SharedLogSpec::words`].
    pub fn set_words(&mut self, words: Vec<String>) {
        if let Place::Host(HostSpec { shared_log: Some(shared), .. }) = &mut self.on {
            shared.words = words;
        }
    }

    /// How many processes it has.
    #[must_use]
    pub fn processes(&self) -> usize {
        match self.shared_log() {
            Some(SharedLogSpec { apart: true, .. }) => self.cluster.servers,
            _ => 1,
        }
    }

    /// Whether trials choose how many transactions are in flight.
    #[must_use]
    pub fn trials(&self) -> Trials {
        match &self.on {
            Place::Host(host) => host.trials,
            Place::Simulated(_) => Trials::None,
        }
    }

    /// Takes the number of transactions in flight that trials have chosen, for this run and those that repeat it.
    pub fn interleave(&mut self, chosen: usize) {
        self.plan.interleave = chosen;
        if let Place::Host(host) = &mut self.on {
            host.trials = Trials::Made;
        }
    }

    /// This specification with this seed, and on a machine whose time passes at this price of computation.
    #[must_use]
    pub fn again(&self, seed: u64, price: Price) -> Self {
        let mut again = self.clone();
        again.plan.seed = seed;
        if let Place::Simulated(MachineSpec { order: Order::Timed(timed), .. }) = &mut again.on {
            timed.price = price;
        }
        again
    }

    /// Whether the workload has the size that its specification says.
    pub(super) fn has_full_scale(&self) -> bool {
        match &self.workload {
            WorkloadOptions::Tpcc(options) | WorkloadOptions::TpccSql(options) => {
                options.scale == Scale::Spec
            }
            WorkloadOptions::InsertDelete(_)
            | WorkloadOptions::Bank(_)
            | WorkloadOptions::Counters(_)
            | WorkloadOptions::ByColumn(_) => false,
            WorkloadOptions::Ycsb(_)
            | WorkloadOptions::Smallbank(_)
            | WorkloadOptions::Tatp(_)
            | WorkloadOptions::Txbench(_)
            | WorkloadOptions::Bidding(_)
            | WorkloadOptions::Tpce(_)
            | WorkloadOptions::TpcbSql(_) => !self.micro,
        }
    }
}
