//! SwarmDB: an engine whose transactions are ordered tasks, for hardware that speculates on their order (Yan, 2015).
//!
//! There is no concurrency control here: no version, no latch, no guard, no epoch. A transaction is a range of
//! timestamps, its steps are tasks ([`chiliad_machine::tasks`]), and what runs the tasks sees to it that the result
//! is that of all of them one after another. What is left is storage that lets them run side by side: *tasks that
//! touch different rows touch different lines*, wherever that can be.
//!
//! | to see | look into |
//! | --- | --- |
//! | rows: whole lines of their own | `record` |
//! | the ordered index, in whose leaves siblings do not meet | `tree` |
//! | the hash index | `hash` |
//! | what the body of a task sees of the database | [`View`], [`Record`] |
//! | how bodies become a program of tasks | [`Graph`], [`Bodies`] |
//! | what tasks write, as a log, and how it comes back | [`TaskLog`], [`recover`] |
//! | tables, and the database as any engine's: [`chiliad_api::Store`] | `table`, [`Swarm`] |
//! | a transaction of statements, at once and undone from a list | `attempt`, `session` |
//!
//! A workload runs in two ways. As it is, through [`chiliad_api::Transaction`]: a whole transaction is one task ([`Whole`], on
//! [`Statements`]), or none, by a session. And as a graph of fine tasks, which is written for it.

mod attempt;
mod base;
mod hash;
mod log;
mod memory;
mod record;
mod session;
mod store;
mod table;
mod tasks;
mod transaction;
mod tree;
mod view;
mod whole;

pub use attempt::Attempt;
pub use log::faults::FAULTS;
pub use log::{Change, Entry, Recovered, TaskLog, To, recover};
pub use store::{INFO, Swarm};
pub use tasks::{Bodies, Graph};
pub use transaction::Statements;
pub use view::{Record, View};
pub use whole::Whole;

use chiliad_machine::Machine;

/// A word of a machine.
type Word<M> = <M as Machine>::Word;

/// A link of a machine.
type Link<M, T> = <M as Machine>::Link<T>;
