//! The runs that prices are found from: small tables, one client, some schemes, and loads that lean on
//! different sites, so that each shows apart from the others.

use super::rooms::{self, Room};
use chiliad_driver::schemes;
use chiliad_engine::Info;

/// Transactions of the longer run; the shorter has half. What both have in common, such as loading, is no
/// part of a transaction's price.
pub const TRANSACTIONS: u64 = 2_000;

/// Under each scheme of [`PRICED`].
const LOADS: [&str; 5] = [
    "ycsb --scale spec --records 4000",
    "ycsb --scale spec --records 4000 --index hash --rmw",
    "ycsb --scale spec --records 4000 --read-ratio 100 --ops 8",
    "tpcc --scale micro --warehouses 1 --snapshot-reads no",
    "smallbank --scale spec --hot-accounts 100 --accounts 1000 --partitions 1 --snapshot-reads no",
];

/// Under one or another.
const FURTHER: [&str; 22] = [
    "ycsb --scale spec --records 200 --read-ratio 100 --scheme silo",
    "ycsb --scale spec --records 200 --read-ratio 100 --index hash --scheme silo",
    "ycsb --scale spec --records 30000 --read-ratio 100 --scheme silo",
    "ycsb --scale spec --records 4000 --ops 1 --read-ratio 100 --scheme silo",
    "ycsb --scale spec --records 4000 --ops 1 --read-ratio 0 --scheme silo",
    "ycsb --scale spec --records 4000 --ops 1 --read-ratio 100 --scheme partitioned",
    "ycsb --scale spec --records 4000 --ops 1 --read-ratio 0 --index hash --scheme no-wait",
    "ycsb --scale spec --records 4000 --ops 1 --read-ratio 100 --index hash --scheme mvcc",
    "ycsb --scale spec --records 4000 --ops 40 --read-ratio 100 --scheme silo",
    "ycsb --scale spec --records 4000 --read-ratio 0 --scheme silo",
    "ycsb --scale spec --records 4000 --record-bytes 16 --scheme silo",
    "ycsb --scale spec --records 4000 --record-bytes 1000 --scheme silo",
    "ycsb --scale spec --records 4000 --record-bytes 1000 --read-ratio 100 --scheme occ",
    "ycsb --scale spec --records 4000 --record-bytes 1000 --rmw --read-ratio 0 --scheme mvcc",
    "ycsb --scale spec --records 4000 --ops 1 --scan-ratio 100 --scan-length 50 --scheme silo",
    "ycsb --scale spec --records 4000 --ops 1 --scan-ratio 100 --scan-length 10 --scheme no-wait",
    "tpcc --scale micro --warehouses 1 --mix new-order --snapshot-reads no --scheme silo",
    "tpcc --scale micro --warehouses 1 --mix payment --snapshot-reads no --scheme silo",
    "tatp --scale spec --subscribers 1000 --partitions 1 --snapshot-reads no --scheme silo",
    "tatp --scale spec --subscribers 1000 --partitions 1 --snapshot-reads no --scheme wait-die",
    "bank --accounts 200 --snapshot-reads no --scheme silo",
    "bank --accounts 200 --snapshot-reads no --scheme no-wait",
];

/// Of SwarmDB, whose transactions are graphs of tasks.
const TASKS: [&str; 9] = [
    "tpcc --scale micro --warehouses 1",
    "tpcc --scale micro --warehouses 1 --mix np",
    "tpcc --scale micro --warehouses 1 --mix new-order",
    "tpcc --scale micro --warehouses 1 --mix payment",
    "tpcc --scale micro --warehouses 4",
    "bidding --scale micro",
    "bidding --scale spec --users 1000",
    "tpce --scale micro",
    "tpce --scale micro --mix thesis",
];

/// A run that is counted: a workload and its flags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Case {
    /// Transactions of the engine.
    Transactions(String),
    /// Transactions of SwarmDB as tasks.
    Tasks(String),
}

impl Case {
    /// The workload and its flags.
    pub fn line(&self) -> &str {
        match self {
            Self::Transactions(line) | Self::Tasks(line) => line,
        }
    }

    /// The parts of the source that its instructions go to.
    pub fn rooms(&self) -> &'static [Room] {
        match self {
            Self::Transactions(_) => &rooms::ALL,
            Self::Tasks(_) => &rooms::TASKS,
        }
    }

    /// The words of the run on one simulated core, of which only the steps count: when they happen does not matter.
    pub fn simulated(&self) -> Vec<String> {
        match self {
            Self::Transactions(line) => {
                words(&format!("simulate {line} --cores 1 --schedule random"))
            }
            Self::Tasks(line) => words(&format!(
                "simulate {line} --cores 1 --machine {TASKS_MACHINE} --scheme swarm"
            )),
        }
    }
}

/// The machine whose prices of tasks are found.
pub const TASKS_MACHINE: &str = "swarm-64";

/// The run that tells how many instructions a core completes in a cycle: everything it touches is in its
/// own caches.
pub const WARM: &str = "ycsb --scale spec --records 1000 --scheme silo";

/// The sources of the schemes that prices are fitted to: the machine is priced for the figures of these two. A scheme
/// of another source does not change the prices.
const PRICED: [&str; 2] = ["Tu, 2013", "Yu, 2015"];

/// The names of those schemes that have transactions.
fn priced_under() -> impl Iterator<Item = &'static str> {
    let is_priced = |info: &&Info| PRICED.iter().any(|source| info.source.starts_with(source));
    let schemes = schemes().iter().filter(is_priced);
    schemes.filter(|info| info.has_transactions()).map(|info| info.name)
}

/// All of the engine.
pub fn all() -> Vec<Case> {
    let everywhere = priced_under()
        .flat_map(|scheme| LOADS.iter().map(move |load| format!("{load} --scheme {scheme}")));
    everywhere.chain(FURTHER.map(String::from)).map(Case::Transactions).collect()
}

/// All of tasks.
pub fn tasks() -> Vec<Case> {
    TASKS.map(|line| Case::Tasks(line.into())).to_vec()
}

/// Case `number` of [`all`]; the one after the last is [`WARM`], and then come those of [`tasks`].
pub fn number(number: usize) -> Option<Case> {
    let warm = Case::Transactions(WARM.into());
    all().into_iter().chain([warm]).chain(tasks()).nth(number)
}

/// The number of the first of [`tasks`].
pub fn first_of_tasks() -> usize {
    all().len() + 1
}

/// A case on one of this computer's cores, as a description has it.
pub fn native(case: &str) -> Vec<String> {
    words(&format!("bench {case} --threads 1"))
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prices were fitted to these runs: more or fewer would change all of them.
    #[test]
    fn as_many_cases_as_the_prices_were_fitted_to() {
        assert_eq!(priced_under().count(), 11);
        assert_eq!(all().len(), 11 * LOADS.len() + FURTHER.len());
        assert_eq!(number(first_of_tasks()), tasks().first().cloned());
    }
}
