//! The crash rig: a database that runs, loses power and recovers, several times, on a simulated
//! machine with a disk that tears, reorders, loses and fails; and an oracle that knows what must be
//! there afterwards.
//!
//! ```text
//! plan         drawn from the seed           open_database   an open database, its scheme erased
//! incarnation  the cores of one incarnation  client   commits, and learns later what is durable
//! serial       the survivors' history        oracle   survivors, and the state that they make
//! damage       a bit turned over             cut      the end of a log taken away
//! story        all of it, in order
//! ```
//!
//! Each incarnation has a run of its own: recovery happens outside its schedule, then clients run, and the
//! crash is the end of both. Its record is on the host's heap.

mod client;
mod cut;
mod damage;
mod incarnation;
mod open_database;
mod oracle;
mod plan;
mod serial;
mod story;

use crate::clients::told::told;
pub use crate::clients::verdicts::Verdicts;
use chiliad_checker::Isolation;
use chiliad_machine::Fault;
use chiliad_workload::WorkloadOptions;
use std::collections::BTreeSet;
use story::Story;

/// The case to run.
#[derive(Clone, Debug)]
pub struct CrashCase {
    /// The workload, in a size for simulation.
    pub workload: WorkloadOptions,
    /// Partitions of the database, for schemes that need them.
    pub partitions: u32,
    /// Names of schemes: the first incarnation is ruled by the first one, later ones by any of them.
    pub schemes: Vec<&'static str>,
    /// The isolation that all of them promise.
    pub isolation: Isolation,
    /// Everything else.
    pub seed: u64,
    /// A planted bug.
    pub fault: Option<&'static Fault>,
}

/// The outcome.
#[derive(Clone, Debug, Default)]
pub struct CrashReport {
    /// The violations.
    pub verdicts: Verdicts,
    /// Why the host could not run the case to its end; it says nothing then.
    pub refused: Option<String>,
    /// Rare branches taken.
    pub marks: BTreeSet<&'static str>,
    /// Incarnations that ran.
    pub incarnations: u64,
    /// Transactions that survived.
    pub survivors: u64,
    /// Transactions that were lost, and rightly so.
    pub lost: u64,
    /// Transactions that were acknowledged.
    pub acknowledged: u64,
    /// Events simulated.
    pub events: u64,
}

/// Runs a case.
///
/// # Panics
/// Never: what panics is a verdict.
#[must_use]
pub fn run_crash(case: &CrashCase) -> CrashReport {
    let mut report = CrashReport::default();
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
