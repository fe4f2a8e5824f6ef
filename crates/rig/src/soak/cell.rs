//! One cell: a scheme, a workload, a number of transactions in flight and a machine.

use chiliad_driver::On;
use chiliad_simulator::description::Description;
use std::time::Duration;

/// The workloads that cells know.
pub const WORKLOADS: [&str; 4] = ["scan", "hash", "bank", "ycsb"];

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

impl Cell {
    /// All cells of these machines, workloads, schemes and numbers in flight, in this order.
    #[must_use]
    pub fn all(
        machines: &[On],
        workloads: &[&'static str],
        schemes: &[&'static str],
        interleave: &[usize],
    ) -> Vec<Self> {
        let mut cells = Vec::new();
        for &on in machines {
            for &workload in workloads {
                for &scheme in schemes {
                    let numbers = interleave.iter();
                    cells.extend(numbers.map(|&interleave| Self {
                        on,
                        scheme,
                        workload,
                        interleave,
                    }));
                }
            }
        }
        cells
    }
}

/// Settings that the runs of a cell have in common.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// Cores of native cells; each has a client or two.
    pub cores: usize,
    /// How long native cells run.
    pub length: Duration,
    /// For how long nobody may have committed in them.
    pub idle_max: Duration,
    /// The machine of timed cells.
    pub machine: &'a Description,
}

impl<'a> Load<'a> {
    /// Where no cell is native.
    #[must_use]
    pub fn simulated(machine: &'a Description) -> Self {
        Self { cores: 1, length: Duration::ZERO, idle_max: Duration::MAX, machine }
    }
}
