//! The flags of servers that share a log.

use chiliad_driver::{
    Certifier, ClusterOptions, Group, Level, PIPELINE_MAX, Premeld, SERVERS_MAX, schemes,
    shares_log,
};
use chiliad_engine::Info;
use chiliad_host::{Stop, values};
use chiliad_words::value::Words;
use chiliad_words::{Typed, flags, take};
use std::ops::Range;

/// Threads that premeld, and intentions that each lies back, at most.
const PREMELD_MAX: (usize, usize) = (64, 65_536);

flags! {
    /// What servers that share a log have; of other schemes nobody may say it.
    ClusterFlags {
        /// Servers that share a log, each with a full copy, 1 to 64, under hyder: the clients are spread over them
        /// [default: 1].
        servers: count(1, SERVERS_MAX),
        /// How a server finds the verdict on what the log says next, under hyder: each key in its newest state; by melding
        /// a tree of the transaction's own into it; or each key in a table of the last writers [default: plain].
        certifier: one_of(CERTIFIERS, Certifier),
        /// With --certifier meld, what a transaction's tree meets before its turn comes: nothing, the newest state, or,
        /// with T threads, the state after the transaction T x D + 1 before it [default: off].
        #[arg(long, value_name = "off|newest|T,D", value_parser = premeld)]
        pub premeld: Option<Premeld>,
        /// With --certifier meld, whether two transactions are melded into one first
        /// [default: off].
        group: one_of(GROUPS, Group),
        /// What a transaction depends on under hyder: on all that it reads, or on what it writes [default: serializable].
        isolation: one_of(LEVELS, Level),
        /// Threads of each server under hyder that roll the log forward, 0 to 64, and one more that appends: one plays all
        /// stages, two have the last stage apart, more build trees; with 0 there are none, and clients do it that wait for a
        /// verdict [default: 1 natively, 0 in simulation].
        pipeline: small(0, PIPELINE_MAX),
        /// How long an append to the log takes under hyder, on average in simulation, and at least otherwise: what others
        /// append meanwhile is what a transaction may conflict with [default: as long as the log takes].
        append_latency: time(),
    }
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
    pub fn options(
        flags: &Typed<Self>,
        scheme: &Info,
        log_faults: Option<u64>,
    ) -> Result<ClusterOptions, Stop> {
        if let Some(flag) = flags.first().or(log_faults.map(|_| "--log-faults")) {
            check_shares_log(flag, scheme)?;
        }
        let mut options = ClusterOptions::default();
        take!(options, flags: servers, append_latency);
        take!(options.roll, flags: certifier, premeld, group, pipeline);
        options.roll.level = flags.isolation.unwrap_or(options.roll.level);
        options.log_fails_one_in = log_faults.unwrap_or(options.log_fails_one_in);
        Ok(options)
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
