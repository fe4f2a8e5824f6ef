//! The workloads, and the drivers that run them.

mod workload;

pub use workload::{ClientSeat, Condition, RunReadOnly, Shape, Workload};
