//! Shared logs of one computer.
//!
//! | implementation | for |
//! | --- | --- |
//! | [`MemoryLog`] | servers of one process; gone with it |
//!
//! [`chiliad_machine::shared_log`] says what each of them promises; `tests/contract` holds all of them to it.

mod batch;
mod memory;
mod window;

pub use memory::MemoryLog;

/// The most bytes that a record may have, where nobody says otherwise.
pub const RECORD_BYTES_MAX: usize = 8 << 20;
