//! `chiliad soak --servers N`: servers that share a log, watched for growth and for copies that differ.

use crate::args::{SoakFlags, check_shares_log};
use crate::settings;
use chiliad::shared_log::SharedLog;
use chiliad_host::output::complain;
use chiliad_host::{Leftover, Sink, Stop};
use chiliad_lab::BUILD;
use chiliad_rig::soak::joined::{JoinedOrder, run as run_servers};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long it lasts, where nobody says.
const DURATION: Duration = Duration::from_secs(180);

/// Runs the servers.
pub fn run(flags: &SoakFlags, servers: usize) -> Result<(), Stop> {
    match flags.scheme.as_str() {
        "all" => {
            return Err(Stop::bad("--servers", "with all schemes; accepted: with --scheme hyder"));
        }
        name => check_shares_log("--servers", settings::scheme(name)?)?,
    }
    let of = &flags.joined;
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let (log, data, _temporary) = place(of.shared_log.as_deref(), of.data.as_deref())?;
    let shared = match settings::spans_processes(&log) {
        true => None,
        false => Some(settings::open_log(&log)?),
    };
    // A server on the network opens it for itself.
    let open = || match &shared {
        Some(shared) => Ok(Arc::clone(shared)),
        None => settings::open_log(&log),
    };
    let open: &(dyn Fn() -> Result<Arc<dyn SharedLog>, Stop> + Sync) = &open;
    let order = JoinedOrder {
        name: &log,
        log: open,
        servers,
        threads: flags.threads.unwrap_or(2),
        rate: of.rate,
        records: of.records,
        duration: flags.duration.unwrap_or(DURATION),
        seed: flags.seed,
        checkpoints_in: data.join("checkpoints"),
        checkpoint_log_bytes: of.checkpoint_bytes,
        quiet: flags.quiet,
    };
    let (report, failure) = run_servers(&order)?;
    let mut json = report.json(&order);
    json["build"] = json!(BUILD);
    match failure {
        None | Some(Stop::Interrupted) => sink.say(&report.text(&order))?,
        Some(_) => complain(&report.text(&order)),
    }
    sink.json(&json)?;
    sink.finish()?;
    failure.map_or(Ok(()), Err)
}

/// The log, the directory above the checkpoints, and a directory that was made for them and goes again.
fn place(
    log: Option<&str>,
    data: Option<&Path>,
) -> Result<(String, PathBuf, Option<Leftover>), Stop> {
    let is_directory = |log: &str| !settings::spans_processes(log) && !log.starts_with("memory");
    let (data, temporary) = match (data, log) {
        (Some(data), _) => (data.to_owned(), None),
        (None, Some(log)) if is_directory(log) => (PathBuf::from(log), None),
        (None, _) => {
            let data = std::env::temp_dir().join(format!("chiliad-soak-{}", std::process::id()));
            let made = Leftover::tree(&data).map_err(|error| {
                let accepted = "accepted: a directory that can be written to, or a name for one";
                Stop::bad("--data", format!("{}: {error}; {accepted}", data.display()))
            })?;
            (data, Some(made))
        }
    };
    let log = log.map_or_else(|| data.join("log").display().to_string(), str::to_owned);
    Ok((log, data, temporary))
}
