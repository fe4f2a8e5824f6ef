//! Shared logs of one computer.
//!
//! | implementation | for |
//! | --- | --- |
//! | [`MemoryLog`] | servers of one process; gone with it |
//! | [`FileLog`] | the embedded default: local files, durable; servers of one process |
//!
//! [`chiliad_machine::shared_log`] says what each of them promises; `tests/contract` holds all of them to it.
//!
//! From the bottom up: `batch` (the records of an append), `window` (a stretch of a log in memory), `memory`; `file`.

mod batch;
mod file;
mod memory;
mod window;

pub use file::{FAULTS, FileLog, FileLogOptions};
pub use memory::MemoryLog;

/// The most bytes that a record may have, where nobody says otherwise.
pub const RECORD_BYTES_MAX: usize = 8 << 20;
