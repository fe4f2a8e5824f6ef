//! The cases that a campaign covers, and how.

use super::trial::Trial;
use chiliad_simulator::description::Description;
use std::ops::Range;
use std::time::Duration;

/// The workloads that campaigns know.
pub const WORKLOADS: [&str; 14] = [
    "scan",
    "hash",
    "bank",
    "counters",
    "columns",
    "tpcc",
    "ycsb",
    "smallbank",
    "tatp",
    "txbench",
    "bidding",
    "tpce",
    "tpcb-sql",
    "tpcc-sql",
];

/// The cases that a campaign covers, and how.
pub struct Scope<'a> {
    /// The schemes.
    pub schemes: Vec<&'static str>,
    /// These are all.
    pub all_schemes: bool,
    /// The workloads.
    pub workloads: Vec<&'static str>,
    /// Crashes instead of interleavings.
    pub disk: bool,
    /// Servers of one shared log on hosts that crash, instead of interleavings.
    pub world: bool,
    /// Simulated cores, whatever the seed says.
    pub cores: Option<usize>,
    /// Transactions in flight on each core, whatever the seed says.
    pub interleave: Option<usize>,
    /// How many servers share a log, by the seed, under schemes that have such; `None`: as the seed says.
    pub servers: Option<Range<usize>>,
    /// Cases that run at once.
    pub threads: usize,
    /// No progress bar.
    pub quiet: bool,
    /// The machine of timed soaks.
    pub machine: &'a Description,
    /// The command line that repeats a case.
    pub again: fn(&Trial) -> String,
}

/// How long a case may take after a signal. In the sizes that seeds draw none has been seen to take a second on a busy
/// computer. With `--cores 64` and `--interleave 64` one takes a minute: such a campaign is ended without its report.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// The form of the bar over a campaign's cases.
pub(super) const BAR: &str = "{pos} of {len} [{bar:30}] {per_sec}, {eta} left {msg}";
