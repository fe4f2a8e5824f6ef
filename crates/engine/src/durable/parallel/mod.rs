//! Work that several threads share: dealt out by number or by pieces of a table, and done by the threads of a host.

pub mod crew;
pub mod next;
pub mod walk;
