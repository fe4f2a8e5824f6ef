//! Timed runs against times computed by hand from the machine's description.
//!
//! The machine is [`chiliad_simulator::description::Description::mesh`] with a line's home at its number
//! modulo the tiles, so that a test can say where a line lives.

mod additions;
mod bandwidth;
mod chips;
mod coherence;
mod crews;
mod ends;
mod kept;
mod kit;
mod latency;
mod litmus;
mod mutexes;
mod naps;
mod repeat;
mod shared_log;
mod tiles;
mod timeshare;
mod waits;
