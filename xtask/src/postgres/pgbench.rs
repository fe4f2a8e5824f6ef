//! One run of pgbench.

use super::cases::{Case, Side};
use super::servers::{Server, cpu};
use crate::compare::{number_after, output};

/// What a run of pgbench has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub rate: f64,
    /// Microseconds of processor time for each transaction: the server's as a program and in the system, the client's.
    pub server_user: f64,
    pub server_system: f64,
    pub client: f64,
    /// The share of transactions that were run more than once.
    pub retried: f64,
}

/// Microseconds of a tick in which Linux counts processor time.
const TICK_MICROS: f64 = 10_000.0;

/// Runs a case on a server.
///
/// # Errors
/// When pgbench fails.
pub fn run(server: &Server, case: &Case, side: &Side, seconds: u32) -> Result<Sample, String> {
    let mut command = server.client_by("pgbench", case.tcp);
    command.env("PGOPTIONS", side.options).arg("-n").args(case.flags);
    command.args(["-s", &server.scale.to_string(), "-T", &seconds.to_string()]);
    command.args(["-c", &case.clients.to_string(), "-j", &case.clients.min(2).to_string()]);
    if let Some(script) = case.script {
        command.arg("-f").arg(server.file("script.sql", script)?);
    }
    command.arg("postgres");
    let (before, client_before) = (server.cpu(), cpu::of_children());
    let said = output(&mut command)?.0;
    let (after, client_after) = (server.cpu(), cpu::of_children());
    let count = number(&said, "actually processed:")?;
    let micros = |before: u64, after: u64| (after - before) as f64 * TICK_MICROS / count.max(1.0);
    Ok(Sample {
        rate: number(&said, "tps =")?,
        server_user: micros(before.user, after.user),
        server_system: micros(before.system, after.system),
        client: micros(client_before, client_after),
        retried: number(&said, "transactions retried:").unwrap_or(0.0) / count.max(1.0),
    })
}

/// The number after a word of what pgbench says.
fn number(said: &str, word: &str) -> Result<f64, String> {
    number_after(word, said).ok_or_else(|| format!("pgbench does not say {word:?}"))
}
