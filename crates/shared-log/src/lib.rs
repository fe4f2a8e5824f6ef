//! Shared logs of one computer.
//!
//! | implementation | for |
//! | --- | --- |
//! | [`MemoryLog`] | servers of one process; gone with it |
//! | [`FileLog`] | the embedded default: local files, durable; servers of one process |
//! | [`DelayedLog`] | more records of others between the making of a record and its place in the log |
//!
//! [`chiliad_machine::shared_log`] says what each of them promises; `tests/contract` holds all of them to it.
//!
//! From the bottom up: `batch` (the records of an append), `window` (a stretch of a log in memory), `sleeper`; `memory`; `file`; `delayed`.

mod batch;
mod delayed;
mod file;
mod memory;
mod sleeper;
mod window;

pub use delayed::DelayedLog;
pub use file::{FAULTS, FileLog, FileLogOptions};
pub use memory::MemoryLog;

/// The most bytes that a record may have, where nobody says otherwise.
pub const RECORD_BYTES_MAX: usize = 8 << 20;
