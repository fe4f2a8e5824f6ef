//! `chiliad campaign`: many seeded interleavings, each verified; or planted bugs, each caught.
//!
//! What is run, and what it shows, is the rig's ([`chiliad_rig::campaign`]). Each case can be repeated by typing a
//! line of `chiliad simulate`, or, with `--disk` and `--world`, where it is a database that crashes and recovers, or
//! servers that do, by a campaign of one seed.

use crate::args::{CampaignFlags, check_shares_log};
use crate::{lines, settings};
use chiliad_driver::{SWARM, faults, lies_in_directories, schemes, shares_log};
use chiliad_engine::Info;
use chiliad_host::output::complain;
use chiliad_host::{Sink, Stop, computer, interrupt};
use chiliad_lab::{BUILD, machines};
use chiliad_rig::TASK_CORES_MAX;
use chiliad_rig::campaign::{Scope, WORKLOADS, is_searched, run_planted, run_seeds, table};
use serde_json::json;

/// Runs the campaign.
pub fn run(flags: &CampaignFlags) -> Result<(), Stop> {
    let mut sink = flags.output.sink()?;
    let machine = machines::timed()?;
    let scope = Scope {
        schemes: chosen_schemes(flags)?,
        all_schemes: flags.scheme == "all",
        workloads: chosen_workloads(&flags.workload)?,
        disk: flags.disk,
        world: flags.world,
        cores: flags.cores,
        interleave: flags.interleave,
        servers: flags.servers.clone(),
        threads: flags.threads.unwrap_or_else(computer::cores),
        quiet: flags.output.quiet,
        machine: &machine,
        again: lines::trial,
    };
    let passed = match flags.plant.as_deref() {
        None => seeds(flags, &scope, &mut sink)?,
        Some("list") => {
            sink.say(&table())?;
            true
        }
        Some(name) => planted(name, flags.seeds.start, &scope, &mut sink)?,
    };
    sink.finish()?;
    if passed { Ok(()) } else { Err(Stop::FailedAndSaid) }
}

fn seeds(flags: &CampaignFlags, scope: &Scope<'_>, sink: &mut Sink) -> Result<bool, Stop> {
    let mut report = run_seeds(flags.seeds.clone(), scope)?;
    report.json["build"] = json!(BUILD);
    sink.say(&report.text)?;
    sink.json(&report.json)?;
    if let Some(failed) = &report.failed {
        complain(failed);
    }
    not_interrupted(report.failed.is_none())
}

/// Looks for the bug of this name, or for all; whether each was caught.
fn planted(name: &str, seed: u64, scope: &Scope<'_>, sink: &mut Sink) -> Result<bool, Stop> {
    let all = name == "all";
    let mut bugs = if all { faults() } else { vec![settings::plant(name)?] };
    bugs.retain(|bug| is_searched(bug, scope));
    if bugs.is_empty() {
        return Err(shows_elsewhere(name, scope.schemes[0]));
    }
    let found = run_planted(&bugs, seed, scope)?;
    sink.say(&found.table)?;
    if let (Some(first), false) = (&found.first, all) {
        sink.say(&format!("\n{first}\n"))?;
    }
    sink.json(&json!({"plants": found.rows, "passed": found.passed, "build": BUILD}))?;
    not_interrupted(found.passed)
}

/// The bug of this name does not show under the scheme that was asked for.
fn shows_elsewhere(name: &str, scheme: &str) -> Stop {
    let schemes = settings::plant(name).map(|bug| bug.schemes.join(", "));
    let accepted = match schemes {
        Ok(schemes) if scheme != SWARM.name => format!("all, {schemes}"),
        _ => "all, and bugs whose rig is tasks (--plant list)".into(),
    };
    Stop::bad("--plant", format!("{name} with --scheme {scheme}; accepted: {accepted}"))
}

fn not_interrupted(passed: bool) -> Result<bool, Stop> {
    if interrupt::asked() { Err(Stop::Interrupted) } else { Ok(passed) }
}

fn chosen_schemes(flags: &CampaignFlags) -> Result<Vec<&'static str>, Stop> {
    let name = &flags.scheme;
    if name == SWARM.name {
        return ordered_tasks(flags);
    }
    if name != "all" {
        let chosen =
            if flags.disk { settings::in_directory(name) } else { settings::scheme(name) }?;
        for (flag, is_given) in [("--servers", flags.servers.is_some()), ("--world", flags.world)] {
            if is_given {
                check_shares_log(flag, chosen)?;
            }
        }
        return Ok(vec![chosen.name]);
    }
    // What a crash leaves in a directory is compared with a serial order.
    let is_meant = |info: &Info| match (flags.disk, flags.world) {
        (true, _) => info.is_serializable() && lies_in_directories(info),
        (false, true) => shares_log(info),
        (false, false) => info.has_transactions(),
    };
    Ok(schemes().iter().filter(|info| is_meant(info)).map(|info| info.name).collect())
}

/// The scheme of ordered tasks, which have small machines of their own.
fn ordered_tasks(flags: &CampaignFlags) -> Result<Vec<&'static str>, Stop> {
    let given = [
        ("--disk", flags.disk),
        ("--world", flags.world),
        ("--servers", flags.servers.is_some()),
        ("--interleave", flags.interleave.is_some()),
    ];
    let name = SWARM.name;
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Stop::bad(flag, format!("with --scheme {name}; accepted: with other schemes")));
    }
    match flags.cores.filter(|&cores| cores > TASK_CORES_MAX) {
        Some(cores) => {
            let problem = format!("{cores} with --scheme {name}; accepted: 1 to {TASK_CORES_MAX}");
            Err(Stop::bad("--cores", problem))
        }
        None => Ok(vec![name]),
    }
}

fn chosen_workloads(name: &str) -> Result<Vec<&'static str>, Stop> {
    if name == "all" { Ok(WORKLOADS.to_vec()) } else { Ok(vec![workload(name, &WORKLOADS)?]) }
}

/// The one of these workloads that has this name.
pub fn workload(name: &str, known: &[&'static str]) -> Result<&'static str, Stop> {
    known.iter().find(|&&known| known == name).copied().ok_or_else(|| {
        let names = known.join(", ");
        Stop::bad("--workload", format!("`{name}` is unknown; accepted: all, {names}"))
    })
}
