//! Gain of several transactions in flight on one thread: look-ups that depend on each other, by a loop over `run` and
//! by `run_each`, in turns, with the ratio of each turn.
//!
//! ```text
//! cargo bench -p chiliad --bench in_flight -- \
//!     [rows] [look-ups per transaction] [in flight] [transactions per call]
//! ```

use chiliad::{Database, Error, RunOptions, Table};
use std::time::Instant;

const TRANSACTIONS: u64 = 200_000;
const TURNS: usize = 5;

/// Each row holds the key of another one, far away.
type Rows = Table<u64, u64>;

/// Where a row of `rows` leads; every row is led to by one other.
fn far(key: u64, rows: u64) -> u64 {
    (key + rows / 2 + 7_919) % rows
}

/// The key with which a transaction begins: looks random, the same in every turn.
fn first(number: u64, rows: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) % rows
}

/// Follows the rows, each look-up with what the last one found.
fn follow(
    tx: &mut chiliad::Transaction<'_>,
    rows: &Rows,
    first: u64,
    lookups: u64,
) -> Result<u64, Error> {
    (0..lookups).try_fold(first, |key, _| Ok(tx.get(rows, &key)?.unwrap_or(0)))
}

/// The argument at `place`, or `usual`.
fn argument(place: usize, usual: u64) -> u64 {
    // Cargo says `--bench` to every bench.
    let given = std::env::args().filter(|word| word != "--bench").nth(place);
    given.map_or(usual, |given| given.parse().expect("numbers, as the head of the file says"))
}

fn main() -> Result<(), Error> {
    let (rows, lookups, in_flight) = (argument(1, 10_000_000), argument(2, 4), argument(3, 8));
    let per_call = argument(4, 10_000).max(1);
    let db = Database::in_memory()?;
    let table: Rows = db.create_table("rows")?;
    db.bulk_load(&table, (0..rows).map(|key| (key, far(key, rows))))?;
    println!(
        "{rows} rows, {lookups} look-ups in each of {TRANSACTIONS} transactions, {per_call} in a call"
    );

    let options = RunOptions::default().in_flight(in_flight as usize);
    let mut ratios = Vec::new();
    for _ in 0..TURNS {
        let keys = || (0..TRANSACTIONS).map(|number| first(number, rows));

        let start = Instant::now();
        let alone: Vec<Result<u64, Error>> =
            keys().map(|key| db.run(|tx| follow(tx, &table, key, lookups))).collect();
        let alone_time = start.elapsed();

        let start = Instant::now();
        let mut together = Vec::new();
        let mut keys = keys();
        while together.len() < alone.len() {
            let some = keys.by_ref().take(per_call as usize);
            together.extend(
                db.run_each_with(&options, some, |tx, key| follow(tx, &table, *key, lookups))?,
            );
        }
        let together_time = start.elapsed();

        assert!(alone == together, "the same transactions with the same results");
        let per_second = |time: std::time::Duration| TRANSACTIONS as f64 / time.as_secs_f64();
        let ratio = alone_time.as_secs_f64() / together_time.as_secs_f64();
        println!(
            "one by one {:>10.0} per second, {in_flight} in flight {:>10.0}: {ratio:.2} times",
            per_second(alone_time),
            per_second(together_time),
        );
        ratios.push(ratio);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    println!("median: {:.2} times", ratios[TURNS / 2]);
    Ok(())
}
