//! The world rig: servers of one shared log on simulated hosts of their own, each with clients, a disk and a
//! checkpointer, all on one schedule; chaos, which crashes, stops and cuts them off; and judges.
//!
//! ```text
//! plan         what the seed says           common   what the cores of a world share
//! incarnation  a server from its start to its crash: it joins, and has its cores begin
//! client       runs requests, and tells what it was answered
//! aside        a table that comes and goes meanwhile
//! chaos        crashes hosts and starts them again, stops them, cuts them off, takes the log's leader
//! broken       the log breaks its promises: how, and whether it was noticed
//! witness      another server, where it does
//! story        all of it, in order
//! verdicts by what: accounts   what clients were told, beside what must come of the log
//!                   history    what all clients have seen, for the checker
//!                   copies     the rows of all servers, and of fresh ones that decide otherwise
//! ```
//!
//! The outcome of the log comes from an oracle that reads all records ever appended and decides each by itself
//! ([`chiliad_hyder::Oracle`]). A transaction whose client died has committed if the oracle says so.

mod accounts;
mod aside;
mod broken;
mod chaos;
mod client;
mod common;
mod copies;
mod history;
mod incarnation;
mod plan;
mod story;
mod witness;

use crate::clients::told::told;
use crate::clients::verdicts::Verdicts;
use chiliad_machine::Fault;
use chiliad_workload::WorkloadOptions;
use std::collections::BTreeSet;
use std::ops::Range;
use story::Story;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct WorldCase {
    /// The workload, in a size for simulation.
    pub workload: WorkloadOptions,
    /// How many servers there are, by the seed.
    pub servers: Range<usize>,
    /// Everything else.
    pub seed: u64,
    /// A planted bug.
    pub fault: Option<&'static Fault>,
}

/// The outcome.
#[derive(Clone, Debug, Default)]
pub struct WorldReport {
    /// What is wrong.
    pub verdicts: Verdicts,
    /// Why the host could not run the case to its end; the report says nothing then.
    pub refused: Option<String>,
    /// Rare branches taken.
    pub marks: BTreeSet<&'static str>,
    /// Transactions that were judged.
    pub transactions: u64,
    /// Events simulated.
    pub events: u64,
}

/// Runs a case.
///
/// # Panics
/// Never: what panics is a verdict.
#[must_use]
pub fn run_world(case: &WorldCase) -> WorldReport {
    let mut report = WorldReport::default();
    told(
        &case.workload,
        &mut report,
        |report| &mut report.verdicts,
        |workload, report| {
            Story::new(case, workload, report).tell();
        },
    );
    report
}
