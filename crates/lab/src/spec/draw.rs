//! A run of timestamps alone.

use super::machine::{MachineSpec, Order, Price};
use chiliad_driver::Drawing;
use chiliad_engine::Timestamps;
use std::time::Duration;

/// A run of timestamps alone: threads, or simulated cores, draw them and do nothing else.
#[derive(Clone, Debug)]
pub struct DrawSpec {
    /// Where timestamps come from, how many draw them, and for how long.
    pub drawing: Drawing,
    /// The simulated machine; `None`: this computer.
    pub machine: Option<MachineSpec>,
    /// The seed of a simulated run.
    pub seed: u64,
    /// How often it runs.
    pub repeat: usize,
}

impl DrawSpec {
    /// The window on a simulated machine, and what comes before it, where none is asked for. A thousand cores take a
    /// millisecond to queue up for a mutex; without a queue little has to be seen.
    #[must_use]
    pub fn simulated_times(kind: Timestamps) -> (Duration, Duration) {
        let (duration, warmup) = match kind {
            Timestamps::Latched => (4_000, 2_000),
            Timestamps::Clock | Timestamps::Hardware => (20, 10),
            _ => (1_000, 200),
        };
        (Duration::from_micros(duration), Duration::from_micros(warmup))
    }

    /// This specification with this seed, and on a machine whose time passes at this price of computation.
    #[must_use]
    pub fn again(&self, seed: u64, price: Price) -> Self {
        let mut again = Self { seed, ..self.clone() };
        if let Some(MachineSpec { order: Order::Timed(timed), .. }) = &mut again.machine {
            timed.price = price;
        }
        again
    }
}
