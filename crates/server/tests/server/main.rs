//! The server's tests from outside, in one program: what they share is compiled and linked once. Those that look at the
//! memory of their process are programs of their own.

mod bulk;
mod claims;
mod clients;
#[path = "../common/mod.rs"]
mod common;
mod declared;
mod derived;
mod disconnects;
mod drains;
mod durable_columns;
mod durable_replies;
mod hermitage;
mod late;
mod loads;
mod lock_timeout;
mod logins;
mod looks;
mod moves;
mod portals;
mod procedures;
mod refused_values;
mod resumed_blocks;
mod schema_changes;
mod slices;
mod tls;
mod waits;
