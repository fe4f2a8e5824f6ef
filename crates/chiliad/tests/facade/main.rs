//! The tests of the library from outside, in one program: what they share is compiled and linked once. Those that need a process
//! for themselves are beside it.

mod asynchronous;
mod bad_input;
mod batch;
mod batch_durable;
mod changes;
mod closing;
mod common;
mod copies;
mod durable;
mod footprint;
mod format_2;
mod handles;
mod indexes;
mod joined;
mod joined_bad_input;
mod joined_checkpoints;
mod layouts;
mod lock_tables;
mod log_failed;
mod memory;
mod migrations;
mod online_indexes;
mod promises;
mod queue;
mod refused_directories;
mod running;
mod savepoints;
mod schemas;
mod sequences;
mod snapshots;
mod threads;
mod typed;
mod waits;
mod walks;
