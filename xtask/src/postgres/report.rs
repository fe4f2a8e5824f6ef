//! The tables.

use super::cases::{Case, Side};
use super::pgbench::Sample;
use crate::compare::median;

/// Prints the medians of a case's sides, and each side's rate over that of the first.
pub fn case(case: &Case, sides: &[(&Side, Vec<Sample>)]) {
    let of = |samples: &[Sample], what: fn(&Sample) -> f64| median(samples.iter().map(what));
    println!("\n{}, {} clients", case.name, case.clients);
    println!(
        "{:<28} {:>9} {:>6} {:>13} {:>9} {:>9} {:>9} {:>8}",
        "", "tx/s", "ratio", "least-most", "user us", "system us", "client us", "retried"
    );
    let Some((_, firsts)) = sides.first() else { return };
    for (side, rounds) in sides {
        // Round by round: the machine drifts between them.
        let ratios = || rounds.iter().zip(firsts).map(|(it, first)| it.rate / first.rate);
        let (least, most) =
            (ratios().fold(f64::INFINITY, f64::min), ratios().fold(f64::NEG_INFINITY, f64::max));
        println!(
            "{:<28} {:>9.0} {:>6.2} {:>13} {:>9.2} {:>9.2} {:>9.2} {:>7.1}%",
            side.label,
            of(rounds, |it| it.rate),
            median(ratios()),
            format!("{least:.2}-{most:.2}"),
            of(rounds, |it| it.server_user),
            of(rounds, |it| it.server_system),
            of(rounds, |it| it.client),
            of(rounds, |it| it.retried) * 100.0,
        );
    }
}
