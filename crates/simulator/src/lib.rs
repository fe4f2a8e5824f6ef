//! `Sim`: many simulated cores on one host thread, deterministic by seed.
//!
//! Every simulated core is a stackful coroutine. Every shared access (an operation on a
//! [`chiliad_machine::Word`] or [`chiliad_machine::Link`], a fence, a look at the clock) is an
//! *event*, before which the schedule may hand the host thread to another core. A [`Run`] is
//! therefore a pure function of its [`Config`]: schedule, store buffers, memory and randomness all
//! come out of the seed, and no host address, clock or hash seed takes part in any decision.
//!
//! ```
//! use chiliad_machine::{Class, Machine, Ordering, Word};
//! use chiliad_simulator::{Config, Run, Sim, Verdict};
//! use std::alloc::Layout;
//!
//! type SimWord = <Sim as Machine>::Word;
//! let mut run = Run::new(Config::new(1));
//! let counter = run.outside(|| {
//!     let block = Sim::alloc(Layout::new::<SimWord>(), Class::Control).expect("room");
//!     let counter = block.cast::<SimWord>();
//!     // SAFETY: the block is ours and large enough; it lives as long as the run.
//!     unsafe {
//!         counter.write(SimWord::new(0));
//!         counter.as_ref()
//!     }
//! });
//! for name in ["left", "right"] {
//!     run.spawn(name, move || {
//!         counter.fetch_add(1, Ordering::Relaxed);
//!     });
//! }
//! let outcome = run.go();
//! assert!(matches!(outcome.verdict, Verdict::Completed));
//! assert_eq!(run.outside(|| counter.load(Ordering::Relaxed)), 2);
//! ```
//!
//! Cores may form *hosts*: groups that share no memory, of which one crashes, or is stopped, while the others go on,
//! and starts again.
//!
//! ```
//! use chiliad_machine::Machine;
//! use chiliad_simulator::{Config, Host, Run, Sim, crash, spawn_during};
//!
//! let mut run = Run::new(Config::new(1));
//! run.spawn_on(Host(1), "server", || {
//!     loop {
//!         Sim::pause();
//!     }
//! });
//! run.spawn("chaos", || {
//!     crash(Host(1));
//!     spawn_during(Host(1), "server, started again", || {});
//! });
//! let outcome = run.go();
//! assert!(outcome.verdict.is_completed() && outcome.crashed == 1);
//! ```
//!
//! From the bottom up: `random` (generators), `host`, `region` (memory, whose it is and what is freed in it),
//! `sparse` and `tail` (memory of which only a part exists),
//! `store_buffer` (total store order), `schedule` (which core runs next), `round` (which of its workers),
//! `timed` (what takes time), `fibre` (coroutines and their stacks), `outcome`; `state`, which holds them
//! all, and what one event does to it; over it
//! `visibility` (of stores), `turns` (of a core's workers), `freed` (uses of memory that is freed or another host's),
//! `section` (waits where none may be), `swarm` (hardware that runs ordered tasks speculatively), `waiting` (parking, time, the end), `hosts` (which crash, stop and
//! start), `word` and `machine` (the seam's operations), and `run`;
//! beside them `disk` and `shared_log`, which outlive runs and are reached through `device`, and `fork`, by which many
//! runs begin where one has come to.

mod config;
pub mod description;
mod device;
mod disk;
mod fibre;
pub mod fork;
mod freed;
mod hook;
mod host;
mod hosts;
mod machine;
mod outcome;
mod random;
mod region;
mod round;
mod run;
mod schedule;
mod section;
mod shared_log;
mod sparse;
mod state;
mod store_buffer;
mod swarm;
mod tail;
mod timed;
mod turns;
mod visibility;
mod waiting;
mod word;

pub use config::{Config, MemoryModel, Schedule};
pub use disk::{DiskCounters, DiskFaults, DiskLosses, FaultyDisk};
pub use host::Host;
pub use hosts::{
    crash, host, outside_on, pause, spawn_crew_during, spawn_daemon_during, spawn_during,
};
pub use machine::{Sim, lose_core, stopping};
pub use outcome::{
    Access, Breach, CorePanic, Counters, ForeignAccess, Freed, Outcome, Rule, Step, TooManySteps,
    Trace, UseOfFreedMemory, Verdict, Waiter,
};
pub use region::NoMemory;
pub use run::{Run, trace_freeing};
pub use shared_log::{FaultyLog, LogCounters, LogFaults, LogLooks};
pub use swarm::{
    Aborts, Begun, Canary, Cause, CommitEntry, Hardware, Passed, Place, SetKind, TASK_FAULTS,
    TaskCounts, TaskOptions, TaskVerdict,
};
pub use timed::{CoreTime, Timings, begin_core_time, end_core_time};
pub use word::{SimLink, SimWord};
