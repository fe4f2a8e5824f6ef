//! TPC-C by go-tpc: two warehouses, sixteen terminals. A terminal does not run again what is refused, so what is refused is
//! counted beside what is done.

use super::servers::{Kind, Server, Servers};
use crate::compare::{median, number_after, output};
use std::path::Path;
use std::process::Command;

const WAREHOUSES: &str = "2";
const TERMINALS: &str = "16";
/// A shorter run has few transactions.
const SECONDS_MIN: u32 = 5;

/// A server under this load.
struct Side {
    label: &'static str,
    kind: Kind,
    isolation: &'static str,
}

/// What a run has shown.
struct Sample {
    /// New orders in a minute.
    rate: f64,
    /// The share of transactions, of any kind, that were refused.
    refused: f64,
}

/// Loads each server, runs the terminals in turn, by Unix sockets or TCP, and prints a table.
///
/// # Errors
/// When a server does not start, or go-tpc fails.
pub fn run(
    servers: &mut Servers<'_>,
    program: &Path,
    tcp: bool,
    (rounds, seconds): (u32, u32),
) -> Result<(), String> {
    if output(Command::new(program).arg("version")).is_err() {
        println!("\nskipped: {} is not installed (go-tpc)", program.display());
        return Ok(());
    }
    let side = |label, kind, isolation| Side { label, kind, isolation };
    let sides = [
        side("PostgreSQL, read committed", Kind::Postgres, "2"),
        side("PostgreSQL, serializable", Kind::Postgres, "6"),
        side("chiliad, silo", Kind::ours("silo", "sync"), "6"),
        side("chiliad, lock-table", Kind::ours("lock-table", "sync"), "6"),
    ];
    let mut samples: [Vec<Sample>; 4] = std::array::from_fn(|_| Vec::new());
    let mut loaded: Vec<&Kind> = Vec::new();
    for side in &sides {
        if !loaded.contains(&&side.kind) {
            let server = servers.get(&side.kind)?;
            let words = ["prepare", "-T", "4", "--dropdata", "--no-check"];
            output(tpcc(program, server, tcp).args(words))?;
            loaded.push(&side.kind);
        }
    }
    let time = format!("{}s", seconds.max(SECONDS_MIN));
    for _ in 0..rounds {
        for (side, samples) in sides.iter().zip(&mut samples) {
            let mut command = tpcc(program, servers.get(&side.kind)?, tcp);
            command.args(["run", "-T", TERMINALS, "--time", &time, "--ignore-error", "--silence"]);
            let said = output(command.args(["--isolation", side.isolation]))?.0;
            samples.push(sample(&said).ok_or_else(|| format!("go-tpc says no tpmC: {said}"))?);
        }
    }
    println!(
        "\ngo-tpc, {WAREHOUSES} warehouses, {TERMINALS} terminals{}",
        if tcp { ", TCP" } else { "" }
    );
    println!("{:<28} {:>9} {:>6} {:>8}", "", "tpmC", "ratio", "refused");
    for (side, rounds) in sides.iter().zip(&samples) {
        let ratios = rounds.iter().zip(&samples[0]).map(|(it, first)| it.rate / first.rate);
        println!(
            "{:<28} {:>9.0} {:>6.2} {:>7.1}%",
            side.label,
            median(rounds.iter().map(|it| it.rate)),
            median(ratios),
            median(rounds.iter().map(|it| it.refused)) * 100.0,
        );
    }
    Ok(())
}

/// The program for TPC-C on a server.
fn tpcc(program: &Path, server: &Server, tcp: bool) -> Command {
    // The program takes no directory for a host, but one among the parameters of its driver, if there is no other host.
    let params = format!("sslmode=disable&host={}", server.host(tcp).display());
    let mut command = Command::new(program);
    command.args(["tpcc", "-d", "postgres", "-H", "\"\"", "-P", &server.port().to_string()]);
    command.args(["-U", "postgres", "-D", "postgres", "--conn-params", &params]);
    command.args(["--warehouses", WAREHOUSES]);
    command
}

/// The summary of a run.
fn sample(said: &str) -> Option<Sample> {
    let (mut done, mut refused) = (0.0, 0.0);
    for line in said.lines().filter_map(|line| line.strip_prefix("[Summary] ")) {
        let count = number_after("Count:", line)?;
        match line.split(' ').next().is_some_and(|name| name.ends_with("_ERR")) {
            true => refused += count,
            false => done += count,
        }
    }
    let rate = number_after("tpmC:", said)?;
    Some(Sample { rate, refused: refused / f64::max(done + refused, 1.0) })
}

#[cfg(test)]
mod tests {
    use super::sample;

    #[test]
    fn the_summary_is_read() {
        let said = "[Summary] NEW_ORDER - Takes(s): 11.1, Count: 30, TPM: 1297.4\n\
            [Summary] NEW_ORDER_ERR - Takes(s): 11.1, Count: 10, TPM: 1168.2\ntpmC: 1297.4, tpmTotal: 3680.9";
        let sample = sample(said).expect("it is complete");
        assert_eq!((sample.rate, sample.refused), (1297.4, 0.25));
    }
}
