//! Single commands that are timed: loading, and the count of a table.

use super::servers::{Kind, Server, Servers};
use crate::compare::{median, output};
use std::time::Instant;

/// How long a call takes, in seconds.
fn seconds(run: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let begun = Instant::now();
    run()?;
    Ok(begun.elapsed().as_secs_f64())
}

fn both(
    servers: &mut Servers<'_>,
    rounds: u32,
    what: &str,
    run: impl Fn(&Server) -> Result<(), String>,
) -> Result<(), String> {
    let sides = [Kind::Postgres, Kind::ours("silo", "sync")];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (side, times) in sides.iter().zip(&mut times) {
            let server = servers.get(side)?;
            times.push(seconds(|| run(server))?);
        }
    }
    let [postgres, ours] = times.map(|times| median(times.into_iter()));
    println!(
        "\n{what}: PostgreSQL {postgres:.3} s, chiliad {ours:.3} s, {:.2} times",
        ours / postgres
    );
    Ok(())
}

/// `pgbench -i`.
pub fn init(servers: &mut Servers<'_>, rounds: u32) -> Result<(), String> {
    both(servers, rounds, "pgbench -i", Server::load)
}

/// `SELECT count(*)` of all accounts, in a transaction of the present.
pub fn count(servers: &mut Servers<'_>, rounds: u32) -> Result<(), String> {
    both(servers, rounds, "count(*) of the accounts", |server| {
        let mut command = server.client("psql");
        command.args(["-qAt", "-c", "SELECT count(*) FROM pgbench_accounts", "postgres"]);
        let counted = output(&mut command)?.0;
        let expected = u64::from(server.scale) * 100_000;
        match counted.trim() == expected.to_string() {
            true => Ok(()),
            false => Err(format!("{} accounts were counted, not {expected}", counted.trim())),
        }
    })
}
