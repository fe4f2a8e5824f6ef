//! The simulated machine of a run, and the prices of its computation.

use crate::machines::{Unfit, find, scale_prices, unfit};
use chiliad_driver::{explored, timed};
use chiliad_host::Stop;
use chiliad_machine::{Cost, Fault};
use chiliad_simulator::description::{Coherence, Description, PRICE_BITS, TaskUnits};
use chiliad_simulator::{Config, MemoryModel, Schedule};

/// Times the prices of computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Price {
    /// Themselves.
    One,
    /// Half of them.
    Half,
    /// Twice as much.
    Double,
}

impl Price {
    /// The prices that tell what is owed to prices.
    pub const OTHERS: [Self; 2] = [Self::Half, Self::Double];

    /// As results have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Half => "0.5",
            Self::Double => "2",
        }
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::One => "at these prices",
            Self::Half => "at half price",
            Self::Double => "at double price",
        }
    }

    fn factor(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Half => 0.5,
            Self::Double => 2.0,
        }
    }
}

/// A simulated machine.
#[derive(Clone, Debug)]
pub struct MachineSpec {
    /// Which core performs the next access.
    pub order: Order,
    /// When a core's stores become visible to the others.
    pub memory_model: MemoryModel,
    /// A planted bug.
    pub fault: Option<&'static Fault>,
    /// Obtaining memory and giving it back costs as much as in tasks, under every scheme.
    pub ideal_memory: bool,
}

/// Which core performs the next access.
#[derive(Clone, Debug)]
pub enum Order {
    /// The one whose time it is.
    Timed(Box<Timed>),
    /// One that the seed draws.
    Random,
    /// One core until one of a few preemptions.
    FewPreemptions,
}

/// A machine whose time passes.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The machine at its own prices.
    pub description: Description,
    /// Times these.
    pub price: Price,
}

/// Numbers of a machine's task units in the place of those of its description.
#[derive(Clone, Copy, Debug, Default)]
pub struct Units {
    /// Entries of the task queue for each core.
    pub queue: Option<u32>,
    /// Entries of the commit queue for each core.
    pub commit_queue: Option<u32>,
    /// Cycles between two updates of the global virtual time.
    pub gvt_period: Option<u32>,
}

impl Timed {
    /// Takes other numbers of the machine's task units; what has none is refused where tasks are to run.
    ///
    /// # Errors
    /// Bad input: numbers that its tiles cannot have.
    pub fn set_units(&mut self, wanted: Units) -> Result<(), Stop> {
        let machine = &mut self.description;
        let (Some(units), Some(tiles)) = (&mut machine.tasks, machine.tiles) else { return Ok(()) };
        units.queue = wanted.queue.unwrap_or(units.queue);
        units.commit_queue = wanted.commit_queue.unwrap_or(units.commit_queue);
        units.gvt_period = wanted.gvt_period.unwrap_or(units.gvt_period);
        let Some(Unfit { field, problem, accepted }) = unfit(units, tiles.cores) else {
            return Ok(());
        };
        let flag = if field == "queue" { "--task-queue" } else { "--commit-queue" };
        Err(Stop::bad(flag, format!("{problem}; accepted: {accepted}")))
    }

    /// The machine of this name or file, for so many cores, with another protocol between its caches where one is given.
    ///
    /// # Errors
    /// Bad input: as [`find`], and more cores than it has.
    pub fn new(
        machine: &str,
        cores: usize,
        coherence: Option<Coherence>,
        price: Price,
    ) -> Result<Self, Stop> {
        let mut description = find(machine)?;
        let most = description.cores_max;
        if cores > most as usize {
            let problem = format!("{cores} on {}; accepted: 1 to {most}", description.name);
            return Err(Stop::bad("--cores", problem));
        }
        description.coherence = coherence.unwrap_or(description.coherence);
        Ok(Self { description, price })
    }
}

impl MachineSpec {
    /// The machine whose time passes, if it is one.
    #[must_use]
    pub fn timed(&self) -> Option<&Timed> {
        match &self.order {
            Order::Timed(timed) => Some(timed),
            Order::Random | Order::FewPreemptions => None,
        }
    }

    /// The configuration of the simulator, without an end to the events of timed runs.
    #[must_use]
    pub fn config(&self, seed: u64) -> Config {
        let schedule = match &self.order {
            Order::Timed(timed) => {
                let mut description = timed.description.clone();
                scale_prices(&mut description, timed.price.factor());
                if self.ideal_memory {
                    set_ideal_memory(&mut description);
                }
                return Config { fault: self.fault, ..timed::config(description, seed) };
            }
            Order::Random => Schedule::Random,
            Order::FewPreemptions => Schedule::few_preemptions(),
        };
        Config {
            memory_model: self.memory_model,
            fault: self.fault,
            ..explored::config(schedule, seed)
        }
    }
}

/// Sets the price of memory to that of task units, those of Yan (2015) where the machine has none.
fn set_ideal_memory(machine: &mut Description) {
    let cycles = machine.tasks.unwrap_or(TaskUnits::YAN).allocate;
    for site in [Cost::Allocate, Cost::Free] {
        machine.prices[site.index()] =
            (cycles * machine.instructions_per_100_cycles / 100) << PRICE_BITS;
    }
}
