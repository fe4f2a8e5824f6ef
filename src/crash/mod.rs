//! `chiliad crash`: a process with a database is killed again and again, and after each time what it
//! had acknowledged is looked for.
//!
//! The command starts itself as a child ([`child`]) that opens the directory, runs clients and writes
//! a line to standard output for each transaction that it may give out: a pipe keeps what was
//! written before the kill. The parent ([`parent`]) kills it at a moment drawn from the seed
//! ([`plan`]), opens the directory itself and compares ([`ledger`]). A kill leaves what the system has
//! of the files; power failures are the simulated disk's business.

mod bank;
mod child;
mod client;
mod ledger;
mod parent;
mod plan;
mod process;
mod report;
mod said;
mod tpcc;

pub use child::child;
pub use parent::run;
