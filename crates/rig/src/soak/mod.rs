//! Loads on few rows, watched for commits: a cell fails where nobody gets on.
//!
//! ```text
//! cell   a scheme, a workload, transactions in flight, a machine    setup  the same with every default filled in
//! run    a cell run, and what it has come to
//! ```

mod cell;
mod run;
mod setup;

pub use cell::{Cell, Load, On, WORKLOADS};
pub use run::Measured;
pub use setup::{Run, Setup};
