//! The flags of servers that share a log.

use chiliad_driver::{
    Certifier, ClusterOptions, Group, Level, PIPELINE_MAX, Premeld, RollOptions, SERVERS_MAX,
    schemes, shares_log,
};
use chiliad_engine::Info;
use chiliad_host::{Stop, values};
use chiliad_words::value::{Words, choice, count};
use clap::Args;
use std::ops::Range;
use std::time::Duration;

/// Threads that premeld, and intentions that each lies back, at most.
const PREMELD_MAX: (usize, usize) = (64, 65_536);

/// What servers that share a log have; of other schemes nobody may say it.
#[derive(Args)]
pub struct ClusterFlags {
    /// Servers that share a log, each with a full copy, 1 to 64, under hyder: the clients are spread over them
    /// [default: 1].
    #[arg(long, value_name = "N", value_parser = count(1, SERVERS_MAX))]
    pub servers: Option<usize>,
    /// How a server finds the verdict on what the log says next, under hyder: each key in its newest state; by melding
    /// a tree of the transaction's own into it; or each key in a table of the last writers [default: plain].
    #[arg(long, value_name = "KIND", value_parser = choice(CERTIFIERS))]
    pub certifier: Option<Certifier>,
    /// With --certifier meld, what a transaction's tree meets before its turn comes: nothing, the newest state, or,
    /// with T threads, the state after the transaction T x D + 1 before it [default: off].
    #[arg(long, value_name = "off|newest|T,D", value_parser = premeld)]
    pub premeld: Option<Premeld>,
    /// With --certifier meld, whether two transactions are melded into one first
    /// [default: off].
    #[arg(long, value_name = "KIND", value_parser = choice(GROUPS))]
    pub group: Option<Group>,
    /// What a transaction depends on under hyder: on all that it reads, or on what it writes [default: serializable].
    #[arg(long, value_name = "LEVEL", value_parser = choice(LEVELS))]
    pub isolation: Option<Level>,
    /// Threads of each server under hyder that roll the log forward, 0 to 64, and one more that appends: one plays all
    /// stages, two have the last stage apart, more build trees; with 0 there are none, and clients do it that wait for a
    /// verdict [default: 1 natively, 0 in simulation].
    #[arg(long, value_name = "N", value_parser = count(0, PIPELINE_MAX as usize))]
    pub pipeline: Option<usize>,
    /// How long an append to the log takes under hyder, on average in simulation, and at least otherwise: what others
    /// append meanwhile is what a transaction may conflict with [default: as long as the log takes].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub append_latency: Option<Duration>,
}

/// `--certifier`.
const CERTIFIERS: &Words<Certifier> = &[
    ("plain", Certifier::Plain, "Each key in the newest state"),
    ("meld", Certifier::Meld, "By melding trees"),
    ("window", Certifier::Window, "Each key in a table of the last writers"),
];

/// `--group`.
const GROUPS: &Words<Group> = &[
    ("off", Group::Off, "None"),
    ("exact", Group::Exact, "Two, which come apart where one of them does not commit"),
];

/// `--isolation`.
const LEVELS: &Words<Level> = &[
    ("serializable", Level::Serializable, "On all that it reads and writes"),
    ("snapshot", Level::Snapshot, "On what it writes"),
];

impl ClusterFlags {
    /// The servers that the flags describe, of a log that fails once in so many calls.
    pub fn options(&self, scheme: &Info, log_faults: Option<u64>) -> Result<ClusterOptions, Stop> {
        let given = [
            ("--servers", self.servers.is_some()),
            ("--certifier", self.certifier.is_some()),
            ("--premeld", self.premeld.is_some()),
            ("--group", self.group.is_some()),
            ("--isolation", self.isolation.is_some()),
            ("--pipeline", self.pipeline.is_some()),
            ("--append-latency", self.append_latency.is_some()),
            ("--log-faults", log_faults.is_some()),
        ];
        if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
            check_shares_log(flag, scheme)?;
        }
        let base = ClusterOptions::default();
        let roll = RollOptions {
            certifier: self.certifier.unwrap_or(Certifier::Plain),
            premeld: self.premeld.unwrap_or_default(),
            group: self.group.unwrap_or(Group::Off),
            level: self.isolation.unwrap_or(Level::Serializable),
            pipeline: self.pipeline.map_or(base.roll.pipeline, |threads| threads as u32),
            ..base.roll
        };
        Ok(ClusterOptions {
            servers: self.servers.unwrap_or(base.servers),
            roll,
            log_fails_one_in: log_faults.unwrap_or(base.log_fails_one_in),
            append_latency: self.append_latency.unwrap_or(base.append_latency),
        })
    }
}

/// Refuses a flag of servers that share a log under another scheme.
pub fn check_shares_log(flag: &str, scheme: &Info) -> Result<(), Stop> {
    if shares_log(scheme) {
        return Ok(());
    }
    let sharing = schemes().iter().filter(|info| shares_log(info));
    let names: Vec<_> = sharing.map(|info| info.name).collect();
    let problem = format!(
        "the scheme {} has no servers that share a log; accepted: with --scheme {}",
        scheme.name,
        names.join(", ")
    );
    Err(Stop::bad(flag, problem))
}

/// Reads `--premeld`.
fn premeld(text: &str) -> Result<Premeld, String> {
    match text {
        "off" => return Ok(Premeld::Off),
        "newest" => return Ok(Premeld::Newest),
        _ => {}
    }
    let (threads_max, distance_max) = PREMELD_MAX;
    let read = || {
        let (threads, distance) = text.split_once(',')?;
        let threads = values::count(threads, 1, threads_max).ok()?;
        let distance = values::count(distance, 1, distance_max).ok()?;
        Some(Premeld::Fixed { threads: threads as u32, distance: distance as u32 })
    };
    read().ok_or_else(|| {
        format!(
            "nothing to meet; accepted: off, newest, or threads 1 to {threads_max} and a distance 1 to \
             {distance_max}, such as 5,10"
        )
    })
}

/// Reads the `--servers` of a campaign: a number, or from A up to, but without, B.
pub fn servers(text: &str) -> Result<Range<usize>, String> {
    let read = || match text.split_once("..") {
        None => {
            let number = values::count(text, 1, SERVERS_MAX).ok()?;
            Some(number..number + 1)
        }
        Some((first, end)) => {
            let first = values::count(first, 1, SERVERS_MAX).ok()?;
            let end = values::count(end, 2, SERVERS_MAX + 1).ok()?;
            (first < end).then_some(first..end)
        }
    };
    read().ok_or_else(|| format!("no number of servers; accepted: 1 to {SERVERS_MAX}, or A..B"))
}
