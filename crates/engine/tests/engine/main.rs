//! The engine's tests, in one program: what they share, which is each scheme on each machine, is compiled once.

mod additions;
mod basics;
mod breakdown;
#[path = "../../../log/tests/damage/mod.rs"]
mod damage;
mod damaged_directories;
mod dropped_tables;
mod durable;
mod durable_simulated;
mod gaps;
mod gaps_at_once;
mod groups;
mod hosts;
mod indexes;
mod inserts;
mod kept_payload;
mod kit;
mod log_files;
mod lost_ends;
mod moves;
mod one_core;
mod online_indexes;
mod opacity;
mod placeholders;
mod savepoints;
mod sealed;
mod tally;
mod threads;
mod timestamps;
mod versions;
mod visits;
mod visits_at_once;
mod wait_limits;
mod waits;
