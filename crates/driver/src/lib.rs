//! The drivers: they load a workload's rows, put its clients on a machine, count what happens and
//! have it verified.
//!
//! ```text
//! native.rs     clients are OS threads          simulated.rs  clients are simulated cores
//!        \                                          /
//!         target.rs   a database with a workload's tables, its scheme forgotten
//!             |
//!         client.rs   one client's loop; stalled.rs, a transaction that never ends;
//!             |       deferral/, requests that wait for the client that owns their partition
//!             |
//!         tally.rs    counts and histograms       history.rs  what a verified run records
//! ```
//!
//! Invariants: a request is made up before its transaction begins and is kept across retries;
//! a transaction counts in the phase in which it ends; nothing is allocated between two requests
//! of a client; what the drivers themselves share (phases, counters) is no part of the database and
//! causes no simulated event.

#![forbid(unsafe_code)]

mod appending;
mod bind;
mod catalog;
mod client;
mod deferral;
mod deferring;
mod durable;
pub mod explored;
mod history;
mod idle;
mod load;
mod lock_trial;
mod locking;
mod lookup;
mod melding;
mod native;
mod on;
mod open_loop;
mod opening;
mod ordered;
mod plan;
mod progress;
mod report;
mod sampling;
mod series;
mod servers;
mod signals;
mod simulated;
mod slices;
mod stalled;
mod stop;
mod tally;
mod target;
mod threads;
pub mod timed;
mod timestamps;
mod verify;
mod watch;
mod window;

pub use appending::{Appended, Appending, run_appending};
pub use bind::{NativeTarget, bind, bind_native};
pub use catalog::{
    faults, lies_in_directories, open_native, open_on_log, open_simulated, scheme, schemes,
    shares_log,
};
pub use chiliad_api::Backoff;
pub use chiliad_hyder::{
    Certifier, Group, Level, MeldPlan, MeldReport, MeldSetting, PIPELINE_MAX, Premeld, RollOptions,
    Stage,
};
pub use chiliad_lock::Mode as LockMode;
pub use chiliad_simulated::open_on_simulator;
pub use deferral::{Deferral, Deferrals, ResultRecord};
pub use durable::{Bell, Durability, TimedDisk};
pub use idle::Idle;
pub use lock_trial::{LockCounts, LockLoad, LockTrial, LockVerdict};
pub use locking::{LockTableKind, Locking, run_locking};
pub use lookup::{Lookup, run_lookup};
pub use melding::run_melding;
pub use native::{load_native, run_native};
pub use on::On;
pub use opening::{ClusterOptions, Home, Opening, SERVERS_MAX};
pub use ordered::{
    After, Form, LoadedTasks, Oracles, OrderedOptions, SWARM, conditions_of, fill, has_graph,
    is_ordered, load_tasks, ordered_kinds, run_serially, run_tasks,
};
pub use plan::{FOLLOWED_ONE_IN, Length, MEMORY_READY, Others, Plan, Recording, Retry};
pub use progress::{NoProgress, Progress};
pub use report::{Failure, NativeReport, SimulatedReport};
pub use sampling::Generator;
pub use series::{Sample, resident_bytes};
pub use servers::Role;
pub use simulated::{
    Loaded, SimulatedPlan, load_simulated, run_explained, run_loaded, run_simulated,
};
pub use slices::FollowingCost;
pub use tally::{Breakdown, KindTally, Tally};
pub use target::Target;
pub use timestamps::{Drawing, run_drawing, simulate_drawing};
pub use verify::{Judgement, judge, promised_isolation, write_history};
pub use window::Counted;
