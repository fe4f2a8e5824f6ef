//! The schedules under which the indexes run on simulated cores.

use chiliad_machine::Fault;
use chiliad_simulator::{Config, MemoryModel, Schedule};

/// The configuration of a seed: half of the seeds have total store order, and a third has few preemptions.
pub fn config(seed: u64, fault: Option<&'static Fault>) -> Config {
    let memory_model = if seed.is_multiple_of(2) { MemoryModel::Sc } else { MemoryModel::Tso };
    let schedule =
        if seed.is_multiple_of(3) { Schedule::few_preemptions() } else { Schedule::Random };
    Config { memory_model, schedule, fault, ..Config::new(seed) }
}
