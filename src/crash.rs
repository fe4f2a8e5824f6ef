//! `chiliad crash`: a process with a database is killed again and again, and after each time what it
//! had acknowledged is looked for.
//!
//! The command starts itself as a child ([`child`]) that writes a line to standard output for each transaction
//! that it may give out. What the child does, when it is killed and what must be there then is the rig's
//! ([`chiliad_rig::kill`]).

use crate::args::{ACKNOWLEDGES, ChildFlags, CrashFlags, check_shares_log, typed};
use crate::crash_servers;
use crate::cycles::{self, Told};
use crate::settings;
use chiliad_driver::shares_log;
use chiliad_host::{Stop, computer};
use chiliad_rig::directory::refusal;
use chiliad_rig::kill::{Acknowledges, Order, Victim, run as run_cycles};
use std::path::Path;

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
    let (workload, durability) = (flags.workload.name(), typed(ACKNOWLEDGES, &flags.durability));
    let line = format!(
        "crash-child --workload {workload} --durability {durability} --scheme {}",
        flags.scheme
    );
    let child = |data: &Path, cycle, checkpoints| {
        let data = ["--data".into(), data.into()];
        cycles::words(flags, &line, (threads, cycle, checkpoints), data)
    };
    let order = Order {
        cycles: flags.cycles,
        work: flags.workload,
        threads,
        scheme,
        waits: flags.durability == Acknowledges::Sync,
        seed: flags.seed,
        data: flags.data.clone(),
        quiet: flags.output.quiet,
        child: &child,
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

/// The process that is killed: runs until it is, or is asked to end.
pub fn child(flags: &ChildFlags) -> Result<(), Stop> {
    let scheme = flags.scheme.parse().map_err(|error| refusal(&flags.data, &error))?;
    let cycle = &flags.cycle;
    let victim = Victim {
        data: &flags.data,
        work: flags.workload,
        threads: cycle.threads,
        scheme,
        acknowledges: cycle.plant.unwrap_or(flags.durability),
        seed: cycle.seed,
        cycle: cycle.cycle,
        checkpoints: cycle.checkpoints,
    };
    victim.run().map_err(|trouble| cycles::ended(trouble, |error| refusal(&flags.data, error)))
}
