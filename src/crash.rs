//! `chiliad crash`: a process with a database is killed again and again, and after each time what it
//! had acknowledged is looked for.
//!
//! The command starts itself as a child that writes a line to standard output for each transaction
//! that it may give out. What the child does, when it is killed and what must be there then is the rig's
//! ([`chiliad_rig::kill`]).

use crate::args::{CrashFlags, check_shares_log};
use crate::crash_servers;
use crate::cycles::{self, Told};
use crate::settings;
use chiliad_driver::shares_log;
use chiliad_host::{Stop, computer};
use chiliad_rig::kill::{Acknowledges, Order, run as run_cycles};

/// Runs the cycles.
pub fn run(flags: &CrashFlags) -> Result<(), Stop> {
    let info = settings::scheme(&flags.scheme)?;
    if shares_log(info) {
        return crash_servers::run(flags);
    }
    let given = [
        ("--servers", flags.servers.is_some()),
        ("--shared-log", flags.shared_log.is_some()),
        ("--log-script", flags.log_script.is_some()),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        check_shares_log(flag, info)?;
    }
    let scheme = settings::with_transactions(&flags.scheme)?;
    let sink = flags.output.sink()?;
    let threads = flags.threads.unwrap_or_else(computer::cores);
    let order = Order {
        cycles: flags.cycles,
        work: flags.workload,
        threads,
        scheme,
        waits: flags.durability == Acknowledges::Sync,
        seed: flags.seed,
        data: flags.data.clone(),
        quiet: flags.output.quiet,
        acknowledges: flags.plant.unwrap_or(flags.durability),
        child: cycles::words,
    };
    let outcome = run_cycles(&order)?;
    cycles::tell(
        sink,
        Told {
            text: outcome.report.text(&order),
            json: outcome.report.json(&order),
            failed: outcome.failed(),
            kept: format!("the directory is kept: {}", outcome.data.display()),
            failure: outcome.failure,
        },
    )
}
