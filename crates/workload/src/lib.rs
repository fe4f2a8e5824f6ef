//! The workloads.
//!
//! A [`Workload`] says which tables it has, which rows they begin with, how a client makes up its
//! next request, what one request does inside a transaction, and what must hold at the end. It is
//! written once, against [`chiliad_api::Transaction`]: it knows no scheme and no machine.
//!
//! - [`tpcc`]: the order-entry benchmark, complete, with its twelve consistency conditions;
//! - [`ycsb`]: reads, writes and scans of one table of equal rows;
//! - [`smallbank`]: savings and checking accounts, short transactions, a hot spot;
//! - [`tatp`]: a telecom's subscribers, mostly looked up;
//! - [`txbench`]: range queries and updates of three tables alike, for lock managers;
//! - [`bidding`]: users bid for products, one short transaction;
//! - [`tpce`]: a brokerage house, six transactions that read much, and trade;
//! - [`sql`]: TPC-B and TPC-C once more, as statements of SQL;
//! - [`micro`]: a few dozen rows for simulated runs, where a handful of clients meet all the time.
//!
//! [`WorkloadOptions`] lists all of them. The drivers, in a crate of their own, load a workload, put its
//! clients on threads or on simulated cores, count, measure, and have what happened verified. Requests are
//! made up before their transaction begins and kept across retries.

#![forbid(unsafe_code)]

mod any_workload;
pub mod bidding;
mod catalog;
mod deferred;
mod each_row;
pub mod memory;
pub mod micro;
pub mod random;
mod ranges;
mod real;
pub mod row;
pub mod smallbank;
pub mod sql;
pub mod tasks;
pub mod tatp;
pub mod tpcc;
pub mod tpce;
pub mod txbench;
mod workload;
pub mod ycsb;
pub mod zipf;

pub use any_workload::{AnyClient, AnyWorkload};
pub use catalog::WorkloadOptions;
pub use deferred::{Deferred, Outcome, WORDS as DEFERRED_WORDS};
pub use workload::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
