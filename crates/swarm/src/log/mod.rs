//! The log of transactions as tasks: the values that they write, by timestamp (Yan, 2015, 4.3).
//!
//! ```text
//!   a task that writes ── makes an entry ── its child puts the entry into a slot, by a hash of the timestamp
//!   the global virtual time passes ── a process beside the cores drains what is before it, sorted ── a disk
//! ```
//!
//! Tasks run out of order, and what they have logged may be taken back, as all that they write. What virtual time has passed
//! stays. It is drained in the order of timestamps, so a disk holds a prefix of the order whenever a crash comes, and a
//! transaction is finished where the record of its commit is there, which has its last timestamp.
//!
//! - `entry`: what one task has written, and as bytes;
//! - `area`: slots, and tasks that fill them;
//! - `drain`: from slots to bytes in order;
//! - `recover`: from bytes to what finished transactions have written, and to rows.

mod area;
mod drain;
mod entry;
pub(crate) mod faults;
mod recover;

pub use area::TaskLog;
pub use entry::{Change, Entry, To};
pub use recover::{Recovered, recover};
