//! The interface of any engine: databases, sessions, transactions, tables, and their errors.
//!
//! Clients, crash harnesses and the facade speak these types and none of an engine's own, so that an engine is
//! added beneath them without a change of theirs. Everything is object-safe: callers are compiled once for each
//! machine.
//!
//! | to see | look into |
//! | --- | --- |
//! | a database, its log and its directory | `store`, `report`, `host`, `stats` |
//! | a session, and the transaction in progress on it | `session`, `transaction`, `numbers`, `encoded_rows`, `cancel`, `undo` |
//! | how a transaction is run until it goes through | `retry`, `backoff` |
//! | tables, their columns and secondary indexes | `table`, `table_change`, `layout`, `layout_differs`, `secondary`, `validate` |
//! | what a verified run reports | `recorder`, `stamp` |
//! | errors | `error`, `duplicate`, `not_unique`, `migration_failed` |
//! | what a scheme promises | `info` |
//! | where the time goes | `part` |

mod agree;
mod backoff;
mod cancel;
pub mod catalog;
mod columns;
mod duplicate;
mod encoded_rows;
mod error;
mod group;
mod host;
mod info;
mod layout;
mod layout_differs;
mod migration_failed;
mod not_unique;
mod numbers;
mod part;
mod recorder;
mod report;
mod retry;
mod secondary;
mod session;
pub mod stamp;
mod stats;
mod store;
mod table;
mod table_change;
mod table_memory;
mod transaction;
mod undo;
mod validate;

pub use backoff::{Backoff, WaitLimit};
pub use cancel::{Cancel, Sleeper};
pub use chiliad_log::{BadPosition, ChangeReader, EpochChanges, Position, Stepped, WriteOf};
pub use chiliad_machine::{Fault, Rig};
pub use chiliad_row as row;
pub use chiliad_row::{
    BadNumber, BadRow, ColumnType, Integer, NoColumnType, Number, SchemaError, key,
};
pub use chiliad_storage::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use columns::Columns;
pub use duplicate::DuplicateKey;
pub use encoded_rows::EncodedRows;
pub use error::{Error, Nested, PassedPosition, Reason, Result};
pub use group::GROUPS_MAX;
pub use host::{Alone, Crew, Host, Phase, Work};
pub use info::{Info, Isolation};
pub use layout::{Column, Layout, TableLayout, TableSchema};
pub use layout_differs::{Change, Difference, LayoutDiffers, Part as LayoutPart};
pub use migration_failed::MigrationFailed;
pub use not_unique::NotUnique;
pub use numbers::Numbers;
pub use part::Part;
pub use recorder::{Recorder, Stamp, WriteKind};
pub use report::{Checkpointed, Contents, Copied, LogContents, Recovered};
pub use retry::{Attempt, Attempts, retry};
pub use secondary::{Secondary, reach};
pub use session::{Committed, Running, Session};
pub use stats::{Hold, HotRecord, RolledForward, Stats, Tally};
pub use store::{
    LogTask, NativeSession, NativeStore, OpenedNatively, OpenedOn, OpenedStore, Rewrite,
    RewrittenRow, Store,
};
pub use table::{
    ColumnPart, GroupSpec, IndexKind, IndexParts, KeyPart, PartType, Placement, SecondarySpec,
    Source, TableId, TableSpec, Writes,
};
pub use table_change::TableChange;
pub use table_memory::{Footprint, TableMemory};
pub use transaction::{Entry, Get, GetKind, Intent, Outer, Range, Row, Scanned, Transaction};
pub use transaction::{Visit, VisitIndex, VisitMany};
pub use undo::{Savepoint, UndoLog};

/// The planted bugs of clients.
pub static FAULTS: &[&Fault] = &[&undo::UNDO_FORGOTTEN];
