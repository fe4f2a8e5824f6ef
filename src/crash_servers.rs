//! `chiliad crash --scheme hyder`: servers that share a log are killed and stopped again and again, and so are those that
//! keep the log.
//!
//! As for databases in directories, the command starts itself as a child; what happens then is the rig's
//! ([`chiliad_rig::kill::joined`]).

use crate::args::CrashFlags;
use crate::cycles::{self, Told};
use crate::settings;
use chiliad_host::Stop;
use chiliad_rig::kill::joined::{Place, SharedOrder, run as run_cycles};
use chiliad_rig::kill::{Acknowledges, Work};

/// Servers, where nobody says how many.
const SERVERS: usize = 3;

/// Runs the cycles.
pub fn run(flags: &CrashFlags) -> Result<(), Stop> {
    check(flags)?;
    let sink = flags.output.sink()?;
    let (log, data) = (flags.shared_log.as_deref(), flags.data.as_deref());
    let place = Place::new("chiliad-crash", data, log, settings::is_directory)?;
    let apart = settings::spans_processes(&place.log);
    let threads = flags.threads.unwrap_or(2);
    let (log, checkpoints_in) = (place.log.as_str(), place.checkpoints_in.as_path());
    let order = SharedOrder {
        cycles: flags.cycles,
        log,
        apart,
        servers: flags.servers.unwrap_or(SERVERS),
        threads,
        seed: flags.seed,
        checkpoints_in: checkpoints_in.into(),
        log_script: flags.log_script.clone(),
        quiet: flags.output.quiet,
        acknowledges_early: flags.plant.is_some(),
        child: cycles::words,
    };
    let outcome = run_cycles(&order)?;
    let told = Told {
        text: outcome.text(&order),
        json: outcome.json(&order),
        failed: outcome.failed(),
        kept: format!("the log is kept: {log}"),
        failure: outcome.failure,
    };
    if matches!(told.failure, Some(Stop::Failed(_))) {
        place.keep();
    }
    cycles::tell(sink, told)
}

/// Refuses what is about the other schemes.
fn check(flags: &CrashFlags) -> Result<(), Stop> {
    if flags.workload != Work::Bank {
        return Err(Stop::bad("--workload", "tpcc with servers that share a log; accepted: bank"));
    }
    if flags.durability != Acknowledges::Sync {
        let problem = "epoch with servers that share a log, whose calls return when the log has what \
                       they did; accepted: sync";
        return Err(Stop::bad("--durability", problem));
    }
    let log = flags.shared_log.as_deref().unwrap_or_default();
    if log.starts_with("memory") {
        let problem =
            "a log in memory, which goes with the process; accepted: a directory, or nats://..";
        return Err(Stop::bad("--shared-log", problem));
    }
    if flags.log_script.is_some() && !settings::spans_processes(log) {
        let problem = "without --shared-log nats://..; accepted: with it";
        return Err(Stop::bad("--log-script", problem));
    }
    match &flags.log_script {
        Some(script) if !script.is_file() => {
            let problem = format!("{}: no file; accepted: a script", script.display());
            Err(Stop::bad("--log-script", problem))
        }
        _ => Ok(()),
    }
}
