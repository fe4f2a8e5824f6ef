//! `chiliad crash`: a process with a database is killed again and again, and after each time what it
//! had acknowledged is looked for.
//!
//! The command starts itself as a child ([`child`]) that writes a line to standard output for each transaction
//! that it may give out. What the child does, when it is killed and what must be there then is the rig's
//! ([`chiliad_rig::kill`]).

use crate::args::{ChildFlags, CrashDurability, CrashFlags, check_shares_log, typed};
use crate::crash_servers;
use crate::directory::refusal;
use crate::settings;
use chiliad_driver::shares_log;
use chiliad_host::output::complain;
use chiliad_host::{Sink, Stop, computer, threads};
use chiliad_lab::BUILD;
use chiliad_rig::kill::{Order, Trouble, Victim, run as run_cycles};
use serde_json::json;
use std::ffi::OsString;
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
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let threads = flags.threads.unwrap_or_else(computer::cores);
    let child = |data: &Path, cycle, checkpoints| words(flags, threads, data, cycle, checkpoints);
    let order = Order {
        cycles: flags.cycles,
        work: flags.workload.work(),
        threads,
        scheme,
        waits: flags.durability == CrashDurability::Sync,
        seed: flags.seed,
        data: flags.data.clone(),
        quiet: flags.quiet,
        child: &child,
        refusal,
    };
    let outcome = run_cycles(&order)?;
    let text = outcome.report.text(&order);
    match outcome.failed() {
        true => complain(&text),
        false => sink.say(&text)?,
    }
    let mut json = outcome.report.json(&order);
    json["build"] = json!(BUILD);
    sink.json(&json)?;
    sink.finish()?;
    let kept = format!("the directory is kept: {}", outcome.data.display());
    match outcome.failure {
        None => Ok(()),
        Some(Stop::Failed(text)) => Err(Stop::Failed(format!("{text}\n{kept}"))),
        Some(other) => Err(other),
    }
}

/// The words of the process that is killed.
fn words(
    flags: &CrashFlags,
    threads: usize,
    data: &Path,
    cycle: u64,
    checkpoints: bool,
) -> Vec<OsString> {
    let (workload, durability) = (typed(&flags.workload), typed(&flags.durability));
    let line = format!(
        "crash-child --workload {workload} --durability {durability} --scheme {} --threads {threads} \
         --seed {} --cycle {cycle}",
        flags.scheme, flags.seed
    );
    let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    words.extend(["--data".into(), data.into()]);
    if checkpoints {
        words.push("--checkpoints".into());
    }
    if let Some(plant) = &flags.plant {
        words.extend(["--plant".into(), typed(plant).into()]);
    }
    words
}

/// The process that is killed: runs until it is, or is asked to end.
pub fn child(flags: &ChildFlags) -> Result<(), Stop> {
    let scheme = flags.scheme.parse().map_err(|error| refusal(&flags.data, &error))?;
    let victim = Victim {
        data: &flags.data,
        work: flags.workload.work(),
        threads: flags.threads,
        scheme,
        acknowledges: flags.durability.acknowledges(flags.plant),
        seed: flags.seed,
        cycle: flags.cycle,
        checkpoints: flags.checkpoints,
    };
    victim.run().map_err(|trouble| match trouble {
        Trouble::Database(error) => refusal(&flags.data, &error),
        Trouble::Pipe(error) => Stop::bad("standard output", error),
        Trouble::NoThread(error) => threads::refused(error),
    })
}
