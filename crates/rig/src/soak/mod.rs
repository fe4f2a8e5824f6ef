//! Loads on few rows, watched for commits: a cell fails where nobody gets on.
//!
//! ```text
//! cell   a scheme, a workload, transactions in flight, a machine    setup  the same with every default filled in
//! run    a cell run, and what it has come to                      rounds, report  all cells, seed after seed
//! ```
//!
//! [`joined`] is about servers that share a log: whether they stay alike and small for as long as they run.

mod cell;
pub mod joined;
mod report;
mod rounds;
mod run;
mod setup;

pub use cell::{Cell, Load, WORKLOADS};
pub use chiliad_driver::On;
pub use report::Report;
pub use rounds::{Order, run_rounds};
pub use run::Measured;
pub use setup::{Run, Setup};
