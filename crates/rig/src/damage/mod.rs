//! Directories that are built, damaged, and looked at: what was acknowledged is there, or the damage is
//! reported.
//!
//! ```text
//! base    a directory with a history that is known: what was acknowledged, and how it ended
//! kinds   what can happen to one
//! judge   a copy damaged, looked at, opened: refused, whole, or something is lost without a word
//! cycles  copy after copy, up to the first that fails; report  what came of them
//! ```
//!
//! What may be missing is decided by the ledger alone: where the database was closed nothing; where it was
//! killed the last transfer of each client, since whatever a client began later shows that all before was
//! witnessed, or, where a segment was put back to an earlier moment of its own, the transfers after that.

mod base;
mod cycles;
mod judge;
mod kinds;
mod order;
mod report;
mod trouble;

pub use cycles::run;
pub use kinds::Kind;
pub use order::Order;
pub use report::Report;
