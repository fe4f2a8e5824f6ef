//! The workloads, and the drivers that run them.

#![forbid(unsafe_code)]

pub mod driver;
pub mod micro;
pub mod random;
pub mod row;
pub mod tpcc;
mod workload;
pub mod ycsb;
pub mod zipf;

pub use workload::{ClientSeat, Condition, InsertRow, RunReadOnly, Shape, Workload};
