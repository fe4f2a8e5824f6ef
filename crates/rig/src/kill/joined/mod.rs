//! Servers that share a log are killed and stopped again and again, and so are those that keep the log; after each time
//! everything acknowledged is looked for, once, and the copies are compared.
//!
//! ```text
//! order        what was asked for
//! cycle        what the seed says: which processes are killed or stopped, and when
//! server       the process: joins, runs clients, says what it acknowledges and in the end what it has
//! fleet        all processes of a cycle       log_servers  those that keep the log, by a script
//! parent       cycle after cycle              report       what comes of them
//! place        where log and checkpoints are
//! ```
//!
//! On a log in files, which one process at a time has open, one process has all servers. What clients do, the books of
//! it and the lines of a process are those of databases in directories ([`super`]).

mod cycle;
mod fleet;
mod log_servers;
mod order;
mod parent;
mod place;
mod report;
mod server;

pub use order::SharedOrder;
pub use parent::{Outcome, run};
pub use place::Place;
pub use server::Server;
