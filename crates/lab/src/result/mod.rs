//! The results of a run: as JSON, the median of several, and for people.

mod deferred;
mod reading;
mod repeat;
mod run_result;
mod summary;
mod task_counts;

pub use deferred::DeferredResult;
pub use reading::{CORE_TIME, Costs, PARTS, Reading};
pub use repeat::merge;
pub use run_result::{
    Consistency, Counts, DiskUse, FoundAnomaly, Latency, MemoryCounts, RunResult, Shares,
    Simulation, Verified,
};
pub use summary::text as summary;
