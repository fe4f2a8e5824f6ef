//! The workloads' tests, in one program: what they share, such as graphs of tasks on each runtime, is compiled once.
//! Those that count allocations are programs of their own.

mod bidding;
#[path = "../graphs/mod.rs"]
mod graphs;
mod hardware;
mod micro;
mod model;
mod room;
mod smallbank;
mod task_log;
mod tasks;
mod tatp;
mod tpcc_conditions;
mod tpcc_load;
mod tpcc_transactions;
mod tpce;
mod txbench;
mod ycsb;
