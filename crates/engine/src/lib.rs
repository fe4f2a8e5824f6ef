//! Transactions, and the schemes that order them.
//!
//! Follow one with a finger: a [`Worker`] begins a [`Tx`]; each operation of the [`Transaction`]
//! interface goes through the index to a record and through the scheme's hook to a version; the
//! commit (`commit.rs`) is prepare, append, install, release. One direction, no call back up.

mod access;
mod arena;
mod breakdown;
mod catalog;
mod commit;
mod database;
mod epoch;
mod error;
mod index_ops;
mod options;
mod read_ops;
mod recorder;
mod scheme;
mod secondary;
mod stamp;
mod stats;
mod table;
mod transaction;
mod tx;
mod worker;
mod write_ops;

pub use breakdown::Part;
pub use chiliad_storage::{KEY_BYTES_MAX, Usage, VALUE_BYTES_MAX, key};
pub use database::Database;
pub use error::{Error, Reason, Result};
pub use options::{Options, Snapshots};
pub use recorder::{Recorder, Stamp, WriteKind};
pub use scheme::names;
pub use scheme::{GlobalTid, Info, Isolation, KeyValue, Partitioned, Scheme, Silo};
pub use stats::{Hold, HotRecord, Stats};
pub use table::{IndexKind, KeyPart, PartType, SecondarySpec, Source, TableId, TableSpec};
pub use transaction::{Entry, Get, Intent, Range, Row, Scanned, Transaction};
pub use tx::{Committed, Tx};
pub use worker::Worker;

/// The planted bugs of this room, for the rigs that must catch them.
#[must_use]
pub fn faults() -> &'static [&'static chiliad_machine::Fault] {
    scheme::FAULTS
}
