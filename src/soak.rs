//! `chiliad soak`: loads on few rows under every scheme, watched for commits. A cell fails where nobody gets on.

use crate::args::SoakFlags;
use crate::campaign::workload;
use crate::{lines, settings, soak_servers};
use chiliad_driver::schemes;
use chiliad_host::output::complain;
use chiliad_host::{Stop, computer, interrupt};
use chiliad_lab::spec::RunSpec;
use chiliad_lab::{BUILD, machines};
use chiliad_rig::soak::{Cell, Load, On, Order, Run, WORKLOADS, run_rounds};
use serde_json::json;

/// Runs the rounds.
pub fn run(flags: &SoakFlags) -> Result<(), Stop> {
    if let Some(servers) = flags.joined.servers {
        return soak_servers::run(flags, servers);
    }
    let mut sink = flags.output.sink()?;
    let cells = cells(flags)?;
    let cores = flags.threads.unwrap_or_else(computer::cores);
    let machine = machines::timed()?;
    let report = run_rounds(&Order {
        cells,
        load: Load { cores, length: flags.cell, idle_max: flags.idle_max, machine: &machine },
        seed: flags.seed,
        rounds: flags.rounds,
        duration: flags.duration,
        quiet: flags.output.quiet,
        again: lines::cell,
        fits: |setup| match &setup.run {
            Run::Native(plan) => RunSpec::check_native_fit(&setup.workload, &setup.engine, plan),
            Run::Simulated(_) => Ok(()),
        },
    })?;
    let mut json = report.json();
    json["build"] = json!(BUILD);
    sink.say(&report.text())?;
    sink.json(&json)?;
    sink.finish()?;
    match report.problem() {
        None if interrupt::asked() => Err(Stop::Interrupted),
        None => Ok(()),
        Some(problem) => {
            complain(&format!("{problem}\n"));
            Err(Stop::FailedAndSaid)
        }
    }
}

/// All cells of a round.
fn cells(flags: &SoakFlags) -> Result<Vec<Cell>, Stop> {
    let schemes: Vec<&'static str> = match flags.scheme.as_str() {
        "all" => {
            schemes().iter().filter(|info| info.has_transactions()).map(|info| info.name).collect()
        }
        name => vec![settings::scheme(name)?.name],
    };
    let workloads: Vec<&'static str> = match flags.workload.as_str() {
        "all" => WORKLOADS.to_vec(),
        name => vec![workload(name, &WORKLOADS)?],
    };
    let machines: &[On] = match (flags.native, flags.simulated) {
        (true, _) => &[On::Native],
        (_, true) => &[On::Timed, On::Explored],
        _ => &[On::Timed, On::Explored, On::Native],
    };
    let mut interleave = flags.interleave.clone();
    interleave.sort_unstable();
    interleave.dedup();
    Ok(Cell::all(machines, &workloads, &schemes, &interleave))
}
