//! The drivers' runs: every workload on the toy engine, natively and simulated, verified.

use crate::common::Engine;
use crate::store::{ToyOptions, open, open_native};
use chiliad_driver::{bind, bind_native};
use chiliad_simulator::Sim;
use chiliad_workload::WorkloadOptions;

fn engine(options: ToyOptions) -> Engine {
    if options.plant.is_some() { Engine::Planted } else { Engine::Sound }
}

/// Runs a workload on threads with so many transactions in flight on each, and says what is wrong.
pub fn natively(workload: &WorkloadOptions, options: ToyOptions, in_flight: usize) -> Vec<String> {
    let made = workload.make().expect("a workload");
    let target = bind_native(made, open_native(options)).expect("tables");
    engine(options).natively(&target, in_flight)
}

/// Runs a workload on simulated cores in the schedule of `seed`, and says what is wrong.
pub fn simulated(workload: &WorkloadOptions, options: ToyOptions, seed: u64) -> Vec<String> {
    let made = workload.make().expect("a workload");
    engine(options).simulated(seed, || bind(made, open::<Sim>(options)))
}
