//! Transactions, and the schemes that order them.

mod error;
mod options;
mod recorder;
mod table;
mod transaction;

pub use chiliad_storage::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use error::{Error, Reason, Result};
pub use options::{Options, Snapshots};
pub use recorder::{Recorder, Stamp};
pub use table::{IndexKind, KeyPart, PartType, SecondarySpec, Source, TableId, TableSpec};
pub use transaction::{Entry, Get, Intent, Range, Row, Scanned, Transaction};
