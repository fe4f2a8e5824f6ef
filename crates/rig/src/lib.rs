//! The rigs that look for bugs: they run databases where things go wrong, and judge what comes of it.
//!
//! - [`campaign`]: the cases of many seeds, interleavings, each verified, and crashes;
//! - [`run_crash`]: a database that lives, crashes and recovers on a simulated disk that tears, reorders, loses and
//!   fails;
//! - [`run_world`]: servers of one shared log on simulated hosts that crash, stop and are cut off;
//! - [`TaskCase`]: transactions as ordered tasks, on small hardware that speculates, beside three oracles;
//! - [`soak`]: loads on few rows, watched for commits;
//! - [`kill`]: a process that is killed while it works;
//! - [`damage`]: directories that were damaged; [`directory`]: what one holds, for people.
//!
//! A rig is told everything by types, also how to say what repeats a case: the command parses words into them, and prints
//! what comes of it.

#![forbid(unsafe_code)]

pub mod campaign;
mod clients;
mod crash;
pub mod damage;
pub mod directory;
pub mod kill;
pub mod soak;
mod tasks;
mod ways;
mod world;

pub use crash::{CrashCase, CrashReport, Verdicts, run_crash};
pub use tasks::{CORES_MAX as TASK_CORES_MAX, TaskCase, TaskReport};
pub use world::{WorldCase, WorldReport, run_world};
