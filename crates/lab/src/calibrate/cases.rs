//! The runs that prices are found from: small tables, one client, some schemes, and loads that lean on
//! different sites, so that each shows apart from the others.

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

/// All of them: a workload and its flags.
pub fn all() -> Vec<String> {
    let everywhere = priced_under()
        .flat_map(|scheme| LOADS.iter().map(move |load| format!("{load} --scheme {scheme}")));
    everywhere.chain(FURTHER.map(String::from)).collect()
}

/// Case `number` of [`all`]; the one after the last is [`WARM`].
pub fn number(number: usize) -> Option<String> {
    all().into_iter().chain([WARM.to_owned()]).nth(number)
}

/// A case on one of this computer's cores, as a description has it.
pub fn native(case: &str) -> Vec<String> {
    words(&format!("bench {case} --threads 1"))
}

/// A case on one simulated core, of which only the steps count: when they happen does not matter.
pub fn simulated(case: &str) -> Vec<String> {
    words(&format!("simulate {case} --cores 1 --schedule random"))
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
    }
}
