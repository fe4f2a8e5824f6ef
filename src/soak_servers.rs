//! `chiliad soak --servers N`: servers that share a log, watched for growth and for copies that differ.

use crate::args::{SoakFlags, check_shares_log};
use crate::settings;
use chiliad::shared_log::SharedLog;
use chiliad_host::Stop;
use chiliad_host::output::complain;
use chiliad_lab::BUILD;
use chiliad_rig::kill::joined::Place;
use chiliad_rig::soak::joined::{JoinedOrder, run as run_servers};
use serde_json::json;
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
    let mut sink = flags.output.sink()?;
    let (log, data) = (of.shared_log.as_deref(), of.data.as_deref());
    let place = Place::new("chiliad-soak", data, log, settings::is_directory)?;
    let log = place.log.as_str();
    let shared = match settings::spans_processes(log) {
        true => None,
        false => Some(settings::open_log(log)?),
    };
    // A server on the network opens it for itself.
    let open = || match &shared {
        Some(shared) => Ok(Arc::clone(shared)),
        None => settings::open_log(log),
    };
    let open: &(dyn Fn() -> Result<Arc<dyn SharedLog>, Stop> + Sync) = &open;
    let order = JoinedOrder {
        name: log,
        log: open,
        servers,
        threads: flags.threads.unwrap_or(2),
        rate: of.rate,
        records: of.records,
        duration: flags.duration.unwrap_or(DURATION),
        seed: flags.seed,
        checkpoints_in: place.checkpoints_in.clone(),
        checkpoint_log_bytes: of.checkpoint_bytes,
        quiet: flags.output.quiet,
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
