//! The configuration of a run: the run is a function of it.
//!
//! Two runs of one program with equal configurations perform the same events in the same order.

use crate::description::Description;
use chiliad_machine::Fault;

/// The order in which cores run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// At every event another core, drawn evenly, takes over with a probability that the seed draws
    /// once per run (from certain down to one in 256), so that seeds differ in character.
    Random,
    /// Cores have random priorities and the highest that can run does, but for a few preemptions
    /// at random events, which put the running core last. Bugs that need few ordering
    /// constraints show with a probability that does not fall with the length of the run
    /// (Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs").
    FewPreemptions {
        /// How many preemptions a run has.
        preemptions: u32,
        /// The number of events among which they are drawn: about the length of the run.
        events: u64,
    },
}

impl Schedule {
    /// Few preemptions with values that suit runs of some ten thousand events.
    #[must_use]
    pub const fn few_preemptions() -> Self {
        Self::FewPreemptions { preemptions: 3, events: 20_000 }
    }
}

/// In which order the stores of one core become visible to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryModel {
    /// Sequential consistency: at once. Finds errors of logic.
    Sc,
    /// Total store order: stores weaker than `SeqCst` pass through a buffer per core. Finds missing
    /// barriers between a store and a later load.
    Tso,
}

/// Everything that determines a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The source of all randomness of the run.
    pub seed: u64,
    /// The order in which cores run.
    pub schedule: Schedule,
    /// When stores become visible.
    pub memory_model: MemoryModel,
    /// The machine whose time passes, in place of the schedule: a timed run, sequentially consistent.
    pub machine: Option<Description>,
    /// In a timed run, cores sleep through their spins, in the same cycles: off to see that.
    pub naps: bool,
    /// The planted bug that is switched on.
    pub fault: Option<&'static Fault>,
    /// Memory that the run may allocate in all, in bytes. It is reserved, not touched.
    pub region_bytes: usize,
    /// Whether the run's memory is watched: fresh blocks hold garbage, and uses of freed or poisoned
    /// memory end the run. Without it fresh memory is as the host maps it, and costs the host only
    /// what is written: for large databases.
    pub checked: bool,
    /// Events after which the run is given up.
    pub events_max: u64,
    /// From this event on [`crate::stopping`] is true for cores that are no daemons.
    pub stop_after: Option<u64>,
    /// The free or poisoning, by its serial number, whose stack is recorded. See
    /// [`crate::trace_freeing`].
    pub trace_free: Option<u64>,
    /// How many accesses the outcome lists, the last ones of the run: to see how it came to its
    /// verdict. Zero costs nothing.
    pub transcript_last: usize,
    /// The size of a core's stack in bytes. A core that needs more ends the process by a signal.
    pub stack_bytes: usize,
}

impl Config {
    /// Ticks of the run's clock per second: cycles of its machine, or a million events.
    #[must_use]
    pub fn ticks_per_second(&self) -> u64 {
        self.machine.as_ref().map_or(1_000_000, |machine| machine.hertz)
    }

    /// A random schedule, sequentially consistent, no planted bug, 256 MiB of watched memory,
    /// 10 million events.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            schedule: Schedule::Random,
            memory_model: MemoryModel::Sc,
            machine: None,
            naps: true,
            fault: None,
            region_bytes: 256 << 20,
            checked: true,
            events_max: 10_000_000,
            stop_after: None,
            trace_free: None,
            transcript_last: 0,
            stack_bytes: 256 << 10,
        }
    }
}
