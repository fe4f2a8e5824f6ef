//! `chiliad crash`: a process with a database is killed again and again, and after each time what it
//! had acknowledged is looked for.
//!
//! The command starts itself as a child ([`child`]) that writes a line to standard output for each transaction
//! that it may give out. The parent ([`parent`]) kills it at a moment drawn from the seed, opens the directory
//! itself and compares. What the child does, what must be there and when it is killed is the rig's
//! ([`chiliad_rig::kill`]).

mod child;
mod parent;
mod process;
mod report;

pub use child::child;
pub use parent::run;
