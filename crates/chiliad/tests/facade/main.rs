//! The tests of the library from outside, in one program: what they share is compiled and linked once. Those that need a process
//! for themselves are beside it.

mod bad_input;
mod batch;
mod batch_durable;
mod changes;
mod closing;
mod common;
mod copies;
mod durable;
mod feed;
mod feed_positions;
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
mod promises;
mod queue;
mod refused_directories;
mod running;
mod schemas;
mod snapshots;
mod threads;
mod typed;
mod waits;
mod walks;
