//! `chiliad campaign`: many seeded interleavings, each verified; or planted bugs, each caught.
//!
//! A case of a campaign is the rig's ([`chiliad_rig::campaign`]). Each can be replayed by typing a line of
//! `chiliad simulate`, or, with `--disk`, where it is a database that crashes and recovers, by a campaign of one
//! seed.

mod line;
mod planted;
mod seeds;
mod trial;

use crate::args::CampaignFlags;
use crate::{host, plants, settings};
use chiliad_driver::schemes;
use chiliad_host::Sink;
use chiliad_host::Stop;
use chiliad_lab::spec;
use indicatif::{ProgressBar, ProgressStyle};

/// The workloads that campaigns know.
const WORKLOADS: [&str; 8] =
    ["scan", "hash", "bank", "tpcc", "ycsb", "smallbank", "tatp", "txbench"];

/// Runs the campaign.
pub fn run(flags: &CampaignFlags) -> Result<(), Stop> {
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let scope = Scope {
        schemes: chosen_schemes(&flags.scheme, flags.disk)?,
        all_schemes: flags.scheme == "all",
        workloads: chosen_workloads(&flags.workload)?,
        disk: flags.disk,
        cores: flags.cores,
        interleave: flags.interleave,
        threads: flags.threads.unwrap_or_else(host::cores),
        quiet: flags.quiet,
    };
    let passed = match flags.plant.as_deref() {
        None => seeds::run(flags.seeds.clone(), &scope, &mut sink)?,
        Some("list") => {
            sink.say(&plants::table())?;
            true
        }
        Some(name) => planted::run(name, flags.seeds.start, &scope, &mut sink)?,
    };
    sink.finish()?;
    if passed { Ok(()) } else { Err(Stop::FailedAndSaid) }
}

/// What a campaign covers, and how.
struct Scope {
    schemes: Vec<&'static str>,
    all_schemes: bool,
    workloads: Vec<&'static str>,
    /// Crashes instead of interleavings.
    disk: bool,
    cores: Option<usize>,
    /// Transactions in flight on each core, whatever the seed says.
    interleave: Option<usize>,
    threads: usize,
    quiet: bool,
}

fn chosen_schemes(name: &str, disk: bool) -> Result<Vec<&'static str>, Stop> {
    if name != "all" {
        return Ok(vec![settings::scheme(name)?.name]);
    }
    // What a crash leaves is compared with a serial order.
    let promises = match disk {
        true => spec::promises_serializability,
        false => spec::promises_transactions,
    };
    Ok(schemes().iter().filter(|info| promises(info)).map(|info| info.name).collect())
}

fn chosen_workloads(name: &str) -> Result<Vec<&'static str>, Stop> {
    if name == "all" {
        return Ok(WORKLOADS.to_vec());
    }
    let known = WORKLOADS.into_iter().find(|&known| known == name);
    known.map(|name| vec![name]).ok_or_else(|| {
        let names = WORKLOADS.join(", ");
        Stop::bad("--workload", format!("`{name}` is unknown; accepted: all, {names}"))
    })
}

/// A progress bar over `length` cases.
pub fn bar(length: u64, quiet: bool) -> ProgressBar {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(length) };
    if let Ok(style) =
        ProgressStyle::with_template("{pos} of {len} [{bar:30}] {per_sec}, {eta} left {msg}")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
