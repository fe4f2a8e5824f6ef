//! A process with a database is killed again and again, and after each time what it had acknowledged is
//! looked for.
//!
//! ```text
//! plan      what the seed says: how the database is opened, and when the process is killed
//! victim    the process: opens the directory, runs clients, and says what it acknowledges
//! client    a client's loop           bank, tpcc  what clients do, and the books of it
//! together  the threads of a process  said        a line of the process
//! ledger    what must be there, compared with what is
//! joined    the same with servers that share a log
//! child     what a process is told
//! parent    start, kill, compare; place, report  where, and what comes of it
//! ```
//!
//! Which word of the command starts a process is no part of the rig. A pipe keeps what was written before the
//! kill. A kill leaves what the system has of the files; power failures are the simulated disk's business.

mod bank;
mod child;
mod client;
pub mod joined;
mod ledger;
mod order;
mod parent;
mod place;
mod plan;
mod report;
mod said;
mod together;
mod tpcc;
mod victim;

pub use child::run_child;
pub use client::{Acknowledges, Trouble};
pub use order::Order;
pub use parent::{Outcome, run};
pub use report::Report;
pub use victim::{Victim, Work};
