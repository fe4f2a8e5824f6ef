//! The figures' lines are what the command takes, and mean what they should.

use crate::jobs::parse;
use chiliad_lab::figure::describe::{self, Figure};
use chiliad_lab::figure::grid::Grid;
use chiliad_lab::figure::{estimate, table};
use chiliad_lab::run::Job;
use chiliad_lab::spec::Database;
use std::time::Duration;

/// Every line of every figure is what the command takes, but where a machine has too few partitions
/// for a line, or fewer cores than it, which the page says.
#[test]
fn every_line_is_taken_by_the_command() {
    let mut refused = Vec::new();
    for (native, quick, cores) in
        [(true, true, 2), (true, false, 64), (false, true, 2), (false, false, 2)]
    {
        let grid = Grid { quick, cores };
        for figure in describe::all(native).expect("every description parses") {
            for panel in &figure.panels {
                for line in grid.columns(panel).iter().flat_map(|column| &column.lines) {
                    if let Err(stop) = parse(line) {
                        refused.push((line.join(" "), format!("{stop:?}")));
                    }
                }
            }
        }
    }
    for (line, problem) in &refused {
        let simulated = line.starts_with("simulate ");
        let known =
            problem.contains("--parts-per-txn") || simulated && line.contains(NOT_SIMULATED);
        assert!(known, "{line}: {problem}");
    }
}

/// The machine that has no more cores than this one, whatever the grid says.
const NOT_SIMULATED: &str = "--machine host";

fn job(line: &str) -> Job {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    parse(&words).expect(line)
}

fn database(line: &str) -> Option<Database> {
    job(line).database()
}

#[test]
fn a_database_is_used_again_where_only_the_run_differs() {
    let one = database("bench ycsb --records 1000 --threads 1 --duration 1s");
    let same = |line: &str| assert_eq!(one, database(line), "{line}");
    same("bench ycsb --records 1000 --threads 2 --duration 2s --backoff none");
    same("bench ycsb --records 1000 --threads 1 --interleave 4");
    same("bench ycsb --records 1000 --threads 1 --interleave auto");
    let other = |line: &str| assert_ne!(one, database(line), "{line}");
    other("bench ycsb --records 1000 --threads 1 --scheme occ");
    other("bench ycsb --records 1000 --threads 1 --theta 0.5");
    other("bench ycsb --records 2000 --threads 1");
    assert_eq!(database("bench timestamps --threads 1"), None);
}

#[test]
fn simulated_runs_of_the_same_rows_share_a_database() {
    let one = database("simulate ycsb --cores 2");
    let same = |line: &str| assert_eq!(one, database(line), "{line}");
    same("simulate ycsb --cores 8 --theta 0.5 --seed 3 --cost-scale 2");
    same("simulate ycsb --cores 4 --read-ratio 10 --duration 100us");
    same("simulate ycsb --cores 1 --partitions 4");
    let other = |line: &str| assert_ne!(one, database(line), "{line}");
    other("simulate ycsb --cores 2 --scheme occ");
    other("simulate ycsb --cores 2 --records 1000");
    other("simulate ycsb --cores 2 --verify");
    other("simulate ycsb --cores 2 --machine xeon-32");
    let partitioned = |count: u32| {
        database(&format!("simulate ycsb --cores 2 --scheme h-store --partitions {count}"))
    };
    assert_ne!(partitioned(2), partitioned(4));
    assert_eq!(database("simulate ycsb --cores 2 --schedule random"), None);
}

#[test]
fn another_seed_or_price_is_as_if_it_had_been_typed() {
    use chiliad_lab::spec::Price;
    for line in ["simulate ycsb --cores 2 --theta 0.5", "simulate timestamps --cores 4"] {
        let again = job(line).again(3, Price::Half);
        let typed = job(&format!("{line} --seed 3 --cost-scale 0.5"));
        assert_eq!(format!("{again:?}"), format!("{typed:?}"));
    }
}

#[test]
fn all_quick_figures_together_are_quick() {
    let grid = Grid { quick: true, cores: 2 };
    let full = Grid { quick: false, ..grid };
    for (native, minutes) in [(true, 20), (false, 60)] {
        let figures = describe::all(native).expect("every description parses");
        let total: Duration = figures.iter().map(|figure| estimate(figure, grid, &parse)).sum();
        assert!(total < Duration::from_secs(minutes * 60), "{total:?}");
        let more = |it: &Figure| {
            let [quick, full] = [grid, full].map(|grid| estimate(it, grid, &parse));
            // Where nothing can be run yet there is nothing to estimate.
            full > quick || full.is_zero()
        };
        assert!(figures.iter().all(more));
    }
}

#[test]
fn every_figure_has_a_line() {
    let figures = describe::all(false).expect("every description parses");
    let table = table(&figures, 2, &parse);
    assert_eq!(table.lines().count(), figures.len() + 2);
    assert!(table.lines().any(|line| line.starts_with("cores-5-10       Figure 5-10")), "{table}");
}
