//! `cargo xtask interleaving`: whether the default number of transactions in flight costs anything.
//!
//! Clients find out while they run how many pay (`docs/machine.md`). So the default should reach the better one
//! of `--interleave 1` and `--interleave 8` on every load, whichever that is. The three run in turn, since a
//! shared machine drifts, and what is judged is the median of the rounds' ratios.

use crate::compare::{self, median};
use clap::Args;
use std::path::{Path, PathBuf};

/// What runs in turn; the last is the default.
const NUMBERS: [&str; 3] = ["1", "8", "adaptive"];

/// TPC-C under the default scheme: threads and warehouses.
const TPCC: [(usize, usize); 4] = [(1, 1), (2, 1), (2, 2), (2, 8)];

/// YCSB under every scheme: skew and operations.
const YCSB: [(f64, usize); 4] = [(0.0, 1), (0.0, 16), (0.9, 1), (0.9, 16)];

#[derive(Args)]
pub struct Arguments {
    /// Only loads whose line has all of these words in it
    #[arg(long, value_name = "WORDS", default_value = "")]
    only: String,
    /// How often each runs
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Warm-up and window of a run, as flags
    #[arg(long, default_value = "--warmup 1s --duration 2s", allow_hyphen_values = true)]
    times: String,
    /// The least share of the better one that is accepted
    #[arg(long, default_value_t = 0.98)]
    least: f64,
    /// Our program, already built; by default the release build of this tree
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Runs the loads and prints a line for each.
///
/// # Errors
/// When a run fails, or the default stays behind the better one on any load.
pub fn run(arguments: &Arguments, root: &Path) -> Result<(), String> {
    let binary = compare::binary(arguments.binary.as_deref(), root)?;
    println!("{:>10} {:>10} {:>10} {:>6}", "1", "8", "default", "share");
    let mut behind = 0;
    let schemes = compare::schemes(&binary)?;
    for load in loads(&schemes).iter().filter(|load| is_meant(load, &arguments.only)) {
        let mut rounds = Vec::new();
        for _ in 0..arguments.rounds {
            let mut round = [0.0; NUMBERS.len()];
            for (number, rate) in NUMBERS.iter().zip(&mut round) {
                let line = format!("{load} {} --interleave {number}", arguments.times);
                *rate = compare::run_ours(&binary, &line)?;
            }
            rounds.push(round);
        }
        let rate = |at: usize| median(rounds.iter().map(|round| round[at]));
        let share = median(rounds.iter().map(share));
        let verdict = if share < arguments.least { "  behind" } else { "" };
        behind += usize::from(share < arguments.least);
        let (one, eight, default) = (rate(0), rate(1), rate(2));
        println!("{one:>10.0} {eight:>10.0} {default:>10.0} {share:>6.3}  {load}{verdict}");
    }
    match behind {
        0 => Ok(()),
        _ => Err(format!("the default is behind on {behind} loads")),
    }
}

/// The default's rate over the better one of the others.
fn share([one, eight, default]: &[f64; NUMBERS.len()]) -> f64 {
    default / one.max(*eight)
}

/// The loads under `schemes`, as arguments of `chiliad bench`.
fn loads(schemes: &[String]) -> Vec<String> {
    let tpcc =
        |(threads, warehouses)| format!("tpcc --threads {threads} --warehouses {warehouses}");
    let ycsb = |scheme: &str, (theta, ops): (f64, usize)| {
        format!("ycsb --scheme {scheme} --threads 2 --theta {theta} --ops {ops}")
    };
    let under = |scheme: &String| YCSB.map(|it| ycsb(scheme, it));
    let many = "txbench --scheme lock-table --threads 2 --clients 500".to_owned();
    TPCC.into_iter().map(tpcc).chain(schemes.iter().flat_map(under)).chain([many]).collect()
}

fn is_meant(load: &str, words: &str) -> bool {
    words.split_whitespace().all(|word| load.split_whitespace().any(|it| it == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_loads_are_named_once_and_can_be_chosen() {
        let loads = loads(&["silo", "occ", "lock-table"].map(String::from));
        let number = |words| loads.iter().filter(|load| is_meant(load, words)).count();
        assert_eq!((number(""), number("tpcc"), number("ycsb silo")), (17, 4, 4));
        assert_eq!((number("lock-table"), number("txbench")), (5, 1));
    }

    #[test]
    fn the_better_one_is_what_counts() {
        assert_eq!(share(&[100.0, 50.0, 99.0]), 0.99);
        assert_eq!(share(&[100.0, 200.0, 150.0]), 0.75);
    }
}
